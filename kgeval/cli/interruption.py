"""Interruptions: SIGTERM interrupts a command as Ctrl-C does, so that locks are released and what is done is kept.

The command line enters ``termination_as_interrupt`` around every command, and ends an interrupted one with
``exit_status``. In between, both signals raise a KeyboardInterrupt.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WAIT, PATIENCE = 0.02, 10.0
"""seconds until an import is looked at again that a signal met, and for which at most the signal waits"""


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
    """A handler of signals that raises where the exception arrives.

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
