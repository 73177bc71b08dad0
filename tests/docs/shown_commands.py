"""The commands of the tutorial, run in this process as on a terminal, and what they print."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from kgeval.base.progress import CLEARED

WIDTH = 80
"""columns of the terminal"""


class Terminal(io.StringIO):
    """A stream, for standard output and standard error, that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def commands_of(block: str) -> list[str]:
    """Split a block into commands: one a line, or several lines joined by backslashes."""
    return [line for line in re.sub(r"\\\n\s*", "", block).splitlines() if line.strip()]


def printed_by(command: str, folder: Path) -> str:
    """Run a command in a folder; return what a terminal shows, with lines of LaTeX broken."""
    program, *arguments = shlex.split(command)
    if program == "kgeval":
        return broken(_kgeval(arguments, folder))
    assert program == "python", f"the tutorial runs kgeval and python: {command}"
    called = [sys.executable, *arguments]
    result = subprocess.run(called, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def broken(text: str) -> str:
    """Break the lines that are wider than the terminal: those of LaTeX."""
    wrap = {"width": WIDTH, "break_long_words": False, "break_on_hyphens": False}
    lines = [
        line.rstrip()
        for line in text.replace(CLEARED, "").strip("\n").splitlines()
        if not line.startswith("Compiling ")
    ]
    return "\n".join("\n".join(textwrap.wrap(line, **wrap)) if len(line) > WIDTH else line for line in lines) + "\n"


@contextlib.contextmanager
def _terminal(folder: Path, screen: Terminal) -> Iterator[None]:
    """Work in a folder and print to a terminal without progress, which depends on the speed of the machine."""
    before, no_progress = Path.cwd(), contextlib.nullcontext(lambda done: None)
    size = mock.patch.dict(os.environ, {"COLUMNS": str(WIDTH), "LINES": "24"})
    progress = mock.patch("kgeval.base.progress._display", return_value=no_progress)
    os.chdir(folder)
    try:
        with size, progress, contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
            yield
    finally:
        os.chdir(before)


def _kgeval(arguments: list[str], folder: Path) -> str:
    from kgeval.cli import main

    screen, code = Terminal(), 0
    with _terminal(folder, screen):
        try:
            main(arguments, prog_name="kgeval")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    assert code == 0, screen.getvalue()
    return screen.getvalue()
