"""The tutorial shows what its commands print.

A training with a seed gives the same numbers on processors that round alike. If ``train.py`` prints the numbers of the
page here, each further output must be that of the page. On other processors the outputs must have the same structure,
and the MRRs that PyKEEN prints must be near.
"""

from __future__ import annotations

import re

import pytest

from tests.docs.structure import structure
from tests.docs.tutorial_page import DOCS, FENCE, PAGE, TRAINING, blocks, replayed, rewritten

TEXT = PAGE.read_text(encoding="utf-8")


def test_every_output_is_what_its_command_prints(trained, place):
    printed = (trained / "printed.txt").read_text(encoding="utf-8")
    outputs = list(replayed(TEXT, place, {TRAINING: printed}))
    if outputs[0][0].text == printed:
        assert rewritten(TEXT, outputs) == TEXT, "scripts/tutorial writes what is printed now"
        return
    for block, output in outputs:
        assert structure(output) == structure(block.text)
    trained_here, shown = (
        [float(line.split()[-1]) for line in text.splitlines()] for text in (printed, outputs[0][0].text)
    )
    assert trained_here == pytest.approx(shown, abs=0.05)


@pytest.mark.parametrize("block", blocks(TEXT), ids=lambda block: block.title or block.language)
def test_a_block_is_at_most_84_columns_wide(block):
    assert max(map(len, block.text.splitlines())) <= 84


def test_numbers_of_the_prose_are_in_an_output():
    outputs = "".join(block.text for block in blocks(TEXT))
    said = re.findall(r"\d+\.\d+|\d{2,}", FENCE.sub("", TEXT).replace(",", ""))
    assert not {number for number in said if number not in outputs} - {"84"}


def test_pictures_are_there():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)
    assert len(pictures) == 3
    assert all((DOCS / picture).is_file() for picture in pictures)
