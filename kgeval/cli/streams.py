"""Streams: what is said reaches terminals, pipes and files of whatever encoding, spelled with what that has."""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from contextlib import suppress
from typing import Any, TextIO

import click

SPELLINGS = {
    "─": "-",
    "—": "-",
    "–": "-",
    "−": "-",
    "⁻": "-",
    "·": ".",
    "…": "...",
    "×": "x",
    "′": "'",
    "½": "1/2",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "‖": "||",
    "∣": "|",
    "⟨": "<",
    "⟩": ">",
    "√": "sqrt ",
    "∞": "inf",
    "Σ": "Sum",
    "∑": "Sum",
    "Π": "Prod",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "→": "->",
    "∈": " in ",
    "∘": " o ",
    "⊙": " o ",
    "⊗": "(x)",
    "⋆": "*",
    "⌊": "floor(",
    "⌋": ")",
    "⌈": "ceil(",
    "⌉": ")",
    "ŵ": "w^",
    "ŷ": "y^",
    "̂": "^",
}
"""characters of tables and formulas, in ASCII"""

RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀᵉᵐᵖˣ]+")


def say(text: str, *, err: bool = False) -> None:
    """Print a line to standard output, or to standard error; what is closed is not written to."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None:
        click.echo(spelled(text, stream), file=stream)


def say_json(content: Any) -> None:
    """Print what a machine reads: JSON, escaped where the stream's encoding lacks a character."""
    import json

    from kgeval.run_directory.contents import as_json

    text = as_json(content)
    if sys.stdout is not None:
        text = text if _holds(sys.stdout, text) else json.dumps(content, indent=2) + "\n"
        click.echo(text, nl=False, file=sys.stdout)


def discard_output() -> None:
    """Write to nowhere from here on, so that nothing of what is left goes to a pipe that was closed."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a stream may be closed, missing, or none of the system's
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def spelled(text: str, stream: TextIO) -> str:
    r"""Replace the characters that a stream's encoding lacks: those of formulas by ASCII, those of labels by escapes.

    >>> from io import BytesIO, TextIOWrapper
    >>> print(spelled("Σ 1/rank² ≤ β, Zoë", TextIOWrapper(BytesIO(), encoding="ascii")))
    Sum 1/rank^2 <= beta, Zo\xeb
    """
    if _holds(stream, text):
        return text
    raised = RAISED.sub(lambda found: found[0] if _holds(stream, found[0]) else f"^{found[0]}", text)
    return "".join(char if _holds(stream, char) else _plain(char) for char in raised)


def width(*, err: bool = False) -> int | None:
    """Columns of the terminal; none where nobody watches (a pipe, a file): lines are as long as they need to be."""
    stream = sys.stderr if err else sys.stdout
    return shutil.get_terminal_size().columns if stream is not None and stream.isatty() else None


def _holds(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _plain(char: str) -> str:
    if char in SPELLINGS:
        return SPELLINGS[char]
    name, decomposed = unicodedata.name(char, ""), unicodedata.decomposition(char)
    if name.startswith("GREEK") and "LETTER" in name:
        return name.rpartition(" ")[2].lower()
    if decomposed.startswith(("<super>", "<sub>")):
        return "".join(part if part.isascii() else _plain(part) for part in unicodedata.normalize("NFKD", char))
    return char.encode("ascii", "backslashreplace").decode()
