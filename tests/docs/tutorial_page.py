"""docs/tutorial.md as what it shows: files, commands, and the output of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tests.docs.shown_commands import commands_of, printed_by

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "tutorial.md"

FENCE = re.compile(r'^```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)

TRAINING = "python train.py"


@dataclass(frozen=True)
class Block:
    language: str
    title: str | None
    text: str
    place: tuple[int, int]
    """where its text begins and ends in the page"""


def blocks(page: str) -> list[Block]:
    return [
        Block(found["language"], found["title"], found["text"], found.span("text")) for found in FENCE.finditer(page)
    ]


def titled(page: str, title: str) -> str:
    """Return the file of a title that a page shows."""
    (text,) = (block.text for block in blocks(page) if block.title == title)
    return text


def replayed(page: str, folder: Path, known: dict[str, str]) -> Iterator[tuple[Block, str]]:
    """Write the files of a page, run its commands in order, and give each block of output with what is printed now.

    ``known`` has what some commands printed when they ran in this folder earlier.
    """
    shown = blocks(page)
    for block, after in zip(shown, [*shown[1:], None], strict=True):
        if block.title is not None:
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            assert after is not None, block.text
            assert after.language == "text", f"no output is shown of {block.text}"
            yield after, "".join(known.get(it) or printed_by(it, folder) for it in commands_of(block.text))
        elif block.language == "bibtex":
            yield block, citation()


def citation() -> str:
    from kgeval.reports.trust import CITATION

    return (CITATION % version("kgeval")).replace(", ", ",\n  ") + "\n"


def rewritten(page: str, outputs: list[tuple[Block, str]]) -> str:
    """Put outputs into a page."""
    for block, output in sorted(outputs, key=lambda pair: -pair[0].place[0]):
        begin, end = block.place
        page = page[:begin] + output + page[end:]
    return page
