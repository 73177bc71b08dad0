"""Interruptions: SIGTERM, as schedulers send it, stops a command as SIGINT does; the exit status says which."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Termination(KeyboardInterrupt):
    """SIGTERM was received."""


@contextmanager
def termination_as_interrupt() -> Iterator[None]:
    """Raise a KeyboardInterrupt on SIGTERM, so that locks are released and what is done is kept.

    In another thread than the main one nothing changes: Python lets only that one handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_status(stop: KeyboardInterrupt) -> int:
    """Return the exit status of an interrupted command, as shells report it: 130, or 143 after SIGTERM.

    >>> exit_status(KeyboardInterrupt()), exit_status(_Termination())
    (130, 143)
    """
    terminated = isinstance(stop, _Termination) or isinstance(stop.__cause__, _Termination)
    return 128 + (signal.SIGTERM if terminated else signal.SIGINT)


def _raise(_signal: int, _frame: FrameType | None) -> None:
    raise _Termination
