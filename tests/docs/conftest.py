"""The nine checkpoints of the tutorial: trained once, by the file that its page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock

from tests.docs.shown_commands import printed_by
from tests.docs.tutorial_page import PAGE, TRAINING, titled

# PyKEEN collects garbage after each epoch, which takes half of the time unless its own modules are left out.
FROZEN = "import gc, pykeen.pipeline\ngc.freeze()\n"


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A folder with ``checkpoints`` and with what the training printed, shared by all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "tutorial"
    folder.mkdir(exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "printed.txt").exists():
            file = titled(PAGE.read_text(encoding="utf-8"), "train.py")
            (folder / "train.py").write_text(FROZEN + file, encoding="utf-8")
            printed = printed_by(TRAINING, folder)
            (folder / "printed.txt").write_text(printed, encoding="utf-8")
    return folder


@pytest.fixture
def place(trained, tmp_path) -> Path:
    """An empty folder, but for the checkpoints."""
    (tmp_path / "checkpoints").symlink_to(trained / "checkpoints", target_is_directory=True)
    return tmp_path
