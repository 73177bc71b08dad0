"""The notebook of the tutorial runs, and shows what it stores.

If training gives the stored numbers here, all texts must be equal. On a processor that rounds otherwise they must have
the same structure, as in the tutorial.
"""

from __future__ import annotations

from tests.docs.structure import structure
from tests.docs.tutorial_notebook import executed, shown, stored
from tests.docs.tutorial_page import PAGE, titled

TRAINING = titled(PAGE.read_text(encoding="utf-8"), "train.py")


def test_each_cell_shows_what_is_stored(trained, place):
    before, printed = stored(), (trained / "printed.txt").read_text(encoding="utf-8")
    after = executed(before, place, TRAINING, printed)
    texts = [output.text for cell in before.cells for output in cell.get("outputs", ()) if "text" in output]
    mask = str if texts[0] == printed else structure
    for old, new in zip(before.cells, after.cells, strict=True):
        assert shown(new, mask) == shown(old, mask), f"scripts/tutorial stores what is shown now of:\n{old.source}"


def test_no_output_needs_a_network():
    for cell in stored().cells:
        for kind, text in shown(cell, str):
            assert "http" not in text, (kind, cell.source)


def test_no_line_is_too_wide():
    code = [cell.source for cell in stored().cells if cell.cell_type == "code"]
    assert max(len(line) for source in code for line in source.splitlines()) <= 84
