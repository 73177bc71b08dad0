"""The README's first Python prints what the README shows."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from tests.docs.structure import structure
from tests.docs.tutorial_page import blocks

README = Path(__file__).parents[2] / "README.md"


def test_six_lines_print_what_is_shown(trained, tmp_path, monkeypatch):
    """The demo's ComplEx and the tutorial's first one are trained alike."""
    shown = blocks(README.read_text(encoding="utf-8"))
    first = next(index for index, block in enumerate(shown) if block.language == "python")
    (tmp_path / "runs/quickstart").mkdir(parents=True)
    (tmp_path / "runs/quickstart/model").symlink_to(trained / "checkpoints/ComplEx-0", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(shown[first].text, str(README), "exec"), {})
    assert structure(printed.getvalue()) == structure(shown[first + 1].text)
