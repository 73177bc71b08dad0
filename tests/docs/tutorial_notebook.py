"""docs/tutorial.ipynb: run its cells in a kernel, and compare what they show."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import nbclient
import nbformat

from tests.docs.tutorial_page import DOCS

NOTEBOOK = DOCS / "tutorial.ipynb"

KEPT = ("image/svg+xml", "image/png", "text/html", "text/plain")
"""the kinds of outputs that are stored"""


def stored() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def executed(notebook: Any, folder: Path, training: str, printed: str) -> Any:
    """Run all cells in a folder; the cell of the training, which was run there earlier, shows what it printed."""
    notebook = nbformat.from_dict(notebook)
    (first,) = (cell for cell in notebook.cells if cell.source == training.rstrip("\n"))
    first.source = f"print({printed!r}, end='')"
    places = {name: str(folder / ".jupyter") for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR")}
    here = {"metadata": {"path": str(folder)}}
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources=here,
        record_timing=False,
        extra_arguments=["--log-level=40"],
    )
    with mock.patch.dict(os.environ, {**places, "PYTHONWARNINGS": "ignore"}):  # tqdm warns of widgets that lack
        client.execute()
    first.source = training.rstrip("\n")
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data = {kind: output.data[kind] for kind in KEPT if kind in output.data}
                output.metadata = {}
    return notebook


def shown(cell: Any, mask: Callable[[str], str]) -> list[tuple[str, str]]:
    """Return the outputs of a cell as pairs of kind and masked text; pictures have no text."""
    found = []
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            found.append((output.name, mask(output.text)))
        for kind, text in sorted(output.get("data", {}).items()):
            found.append((kind, "" if kind.startswith("image/") else mask(visible(text))))
    return found


def visible(text: str) -> str:
    """Remove the tags of HTML."""
    return html.unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", text, flags=re.DOTALL))
