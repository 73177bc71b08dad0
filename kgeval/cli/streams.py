"""Output streams: text in the characters that a stream's encoding has, without those that control a terminal.

All that commands print goes through ``say`` and ``say_json``.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import click

from kgeval.base.errors import CONTROLS, visible


def say(text: str, *, err: bool = False) -> None:
    """Print a line to standard output, or to standard error; a closed stream is skipped."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None:
        with _naming_stream(stream):
            click.echo(encodable(text, stream), file=stream)


def say_json(content: Any) -> None:
    """Print JSON, with escapes for the characters that the stream's encoding lacks."""
    import json

    from kgeval.ranking.run_directory.contents import as_json

    text = as_json(content)
    if sys.stdout is not None:
        text = text if _can_encode(sys.stdout, text) else json.dumps(content, indent=2) + "\n"
        text = CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
        with _naming_stream(sys.stdout):
            click.echo(text, nl=False, file=sys.stdout)


@contextmanager
def _naming_stream(stream: TextIO) -> Iterator[None]:
    """Let an error say which stream could not be written, as those of files say which file."""
    try:
        yield
    except OSError as error:
        error.filename = "standard error" if stream is sys.stderr else "standard output"
        raise


def discard_output() -> None:
    """Redirect all further output to the null device, after the reader has closed the pipe."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a stream may be closed, missing, or have no descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def encodable(text: str, stream: TextIO) -> str:
    r"""Write characters as escapes that control a terminal, or that a stream's encoding lacks; rules as hyphens.

    >>> from io import BytesIO, TextIOWrapper
    >>> print(encodable("β of Zoë ──", TextIOWrapper(BytesIO(), encoding="ascii")))
    \u03b2 of Zo\xeb --
    """
    text, encoding = visible(text), stream.encoding or "utf-8"
    if _can_encode(stream, text):
        return text
    return text.replace("─", "-").encode(encoding, "backslashreplace").decode(encoding)


def width(*, err: bool = False) -> int | None:
    """Columns of the terminal; None for a pipe or a file, where lines may have any length."""
    stream = sys.stderr if err else sys.stdout
    return shutil.get_terminal_size().columns if stream is not None and stream.isatty() else None


def _can_encode(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
