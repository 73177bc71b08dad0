"""The terminal of a command: text goes out in the characters that it can show, and interruptions come in.

All that commands print goes through ``say`` and ``say_json``. The command line enters ``termination_as_interrupt``
around each command: SIGTERM then interrupts it as Ctrl-C does, so that locks are released and what is done is kept.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TextIO

import click

from kgeval.base.errors import CONTROLS, visible


def say(text: str, *, err: bool = False) -> None:
    """Print a line to standard output, or to standard error; a closed stream is skipped."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None:
        _write(encodable(text, stream) + "\n", stream)


def say_json(content: Any) -> None:
    """Print JSON, with escapes for the characters that the stream's encoding lacks."""
    import json

    from kgeval.stored.contents import as_json

    text = as_json(content)
    if sys.stdout is not None:
        text = text if _can_encode(sys.stdout, text) else json.dumps(content, indent=2) + "\n"
        text = CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
        _write(text, sys.stdout)


PIECE = 2**13
"""the characters that are written at once: without a buffer, Python does not notice that a pipe took only a part"""


def _write(text: str, stream: TextIO) -> None:
    """Write a text; an error names the stream that could not be written, as an error of a file names the file."""
    try:
        for start in range(0, len(text), PIECE):
            click.echo(text[start : start + PIECE], nl=False, file=stream)
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


WAIT, PATIENCE = 0.02, 10.0
"""after a signal during an import: seconds between two looks whether it has ended, and the most seconds to wait"""


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Raise a KeyboardInterrupt on SIGTERM as on SIGINT, so that locks are released and what is done is kept.

    In another thread than the main one nothing changes: Python lets only that one handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interruption = _Interruption()
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGALRM", "SIGINT") if hasattr(signal, name)]
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # a shell's background jobs ignore it
        numbers.remove(signal.SIGINT)
    before = {number: signal.signal(number, interruption) for number in numbers}
    sys.unraisablehook = interruption.ignored
    try:
        yield
    finally:
        _call_again(0)
        sys.unraisablehook = interruption.show
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_status(stop: KeyboardInterrupt) -> int:
    """Return the exit status of an interrupted command, as shells report it: 130, or 143 after SIGTERM.

    >>> exit_status(KeyboardInterrupt()), exit_status(_Termination())
    (130, 143)
    """
    terminated = isinstance(stop, _Termination) or isinstance(stop.__cause__, _Termination)
    return 128 + (signal.SIGTERM if terminated else signal.SIGINT)


class _Termination(KeyboardInterrupt):
    """SIGTERM was received; an instance is a KeyboardInterrupt to all code that cleans up."""


class _Interruption:
    """A handler of signals that raises KeyboardInterrupt at a moment when the exception is not lost.

    Inside an import it waits: an exception there may leave the lock of all imports held for ever, or become another
    one. Python ignores an exception in a finalizer, so it is raised again.
    """

    def __init__(self) -> None:
        self.kind, self.since = KeyboardInterrupt, 0.0
        self.show = sys.unraisablehook

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if number in (signal.SIGINT, signal.SIGTERM):
            self.kind = _Termination if number == signal.SIGTERM else KeyboardInterrupt
            self.since = time.monotonic()
        if time.monotonic() - self.since < PATIENCE and _is_importing(frame) and _call_again(WAIT):
            return
        raise self.kind

    def ignored(self, unraisable: sys.UnraisableHookArgs) -> None:
        if not (isinstance(unraisable.exc_value, KeyboardInterrupt) and _call_again(WAIT)):
            self.show(unraisable)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def _call_again(seconds: float) -> bool:
    """Let SIGALRM arrive after some seconds, never if 0; False on a system without that signal."""
    if sys.platform == "win32":
        return False
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return True
