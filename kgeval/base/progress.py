"""Progress on standard error: on a terminal a bar or the seconds, elsewhere a plain line every ten seconds.

Loops that may be long are a :func:`long_loop`; commands show them within :func:`watching` or :func:`loops_shown`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TextIO

from kgeval.base.contexts import holding

Progress = Callable[[int], None]
"""a function that is called with the number of ranks, or other steps, that were just computed"""


@dataclass(frozen=True)
class Pace:
    """How often progress is written."""

    every: float = 10.0
    """seconds from one line to the next"""
    tick: float = 0.5
    """seconds from one status to the next on a terminal"""
    patience: float = 2.0
    """seconds that a loop takes before a terminal shows its bar"""


USUAL = Pace()

CLEARED = "\r\x1b[K"
"""the characters that clear the line of a status or a bar on a terminal"""

_shown: ContextVar[Pace | None] = ContextVar("shown", default=None)
"""how often long loops show progress; None: never"""


def unreported(_count: int) -> None:
    """Report no progress."""


def loops_shown(pace: Pace | None = USUAL) -> AbstractContextManager[None]:
    """Show the progress of long loops in the ``with`` block, or of none if ``pace`` is None; outside, none is shown."""
    return holding(_shown, pace)


@contextmanager
def long_loop(what: str, total: int, *, unit: str) -> Iterator[Progress]:
    """Count the steps of a loop, and show its progress within :func:`loops_shown` if it takes long.

    Of nested loops only the outer one is shown, unless it has a single step. The loop calls the function that it gets,
    in any thread, with the number of new steps; ``unit`` is the plural of a step.
    """
    pace = _shown.get()
    if pace is None or total <= 1:
        yield unreported
        return
    lock, start, done = threading.Lock(), time.perf_counter(), 0
    report: Progress | None = None
    with loops_shown(None), ExitStack() as display:

        def count(more: int) -> None:
            nonlocal done, report
            with lock:
                done += more
                if report is not None:
                    report(more)
                elif time.perf_counter() - start >= pace.patience:
                    report = display.enter_context(_display(what, total, unit, pace))
                    report(done)

        if sys.stderr is not None and not sys.stderr.isatty():
            report = display.enter_context(_display(what, total, unit, pace))
        yield count


@contextmanager
def watching(what: str, total: int | None = None, *, unit: str = "ranks", pace: Pace = USUAL) -> Iterator[Progress]:
    """Show the progress of the ``with`` block, or without a ``total`` the elapsed time; ``unit`` is a plural."""
    with loops_shown(None), _display(what, total, unit, pace) as report:
        yield report


def reporting(
    total: int | None, *, progress: Progress | bool | None, what: str = "ranking", unit: str = "ranks"
) -> AbstractContextManager[Progress]:
    """Resolve the argument ``progress`` of an evaluation: a function to call, or whether to show a bar."""
    if callable(progress):
        return nullcontext(progress)
    return watching(what, total, unit=unit) if progress else nullcontext(unreported)


def _display(what: str, total: int | None, unit: str, pace: Pace) -> AbstractContextManager[Progress]:
    """Choose between bar and lines; a closed stream has neither."""
    if sys.stderr is None:
        return nullcontext(unreported)
    is_terminal = sys.stderr.isatty()
    if is_terminal and total:
        return _bar(what, total, unit)
    return _lines(what, total, unit, sys.stderr, pace.tick if is_terminal else pace.every)


@contextmanager
def _bar(what: str, total: int, unit: str) -> Iterator[Progress]:
    from tqdm import tqdm

    with tqdm(total=total, desc=what, unit=f" {unit}", leave=False, file=sys.stderr) as bar:
        yield bar.update
        bar.refresh()  # the last count


@contextmanager
def _lines(what: str, total: int | None, unit: str, stream: TextIO, every: float) -> Iterator[Progress]:
    """Write a line ``every`` so many seconds; on a terminal, over the line before."""
    start, done, over = time.perf_counter(), 0, threading.Event()
    before, after = (CLEARED, "") if stream.isatty() else ("", "\n")

    def report(more: int) -> None:
        nonlocal done
        done += more

    def show() -> None:
        line = _line(what, done, total, time.perf_counter() - start, unit)
        print(f"{before}{line}", end=after, file=stream, flush=True)

    def write() -> None:
        while not over.wait(every):
            show()

    if before:  # a terminal has it at once
        show()
    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield report
    finally:
        over.set()
        writer.join()
        print(before, end="", file=stream, flush=True)


def _line(what: str, done: int, total: int | None, seconds: float, unit: str = "ranks") -> str:
    """Format the progress of some work.

    >>> _line("ranking", 500, 2000, 10), _line("ranking", 0, 2000, 10), _line("loading umls", 0, None, 20)
    ('ranking: 500 of 2,000 ranks, 50 ranks/s, 30 s left', 'ranking: 0 of 2,000 ranks, 10 s', 'loading umls: 20 s')
    >>> _line("report", 5, 9, 20, "sections")
    'report: 5 of 9 sections, 0.2 sections/s, 16 s left'
    """
    if not total:
        return f"{what}: {seconds:.0f} s"
    counts = f"{what}: {done:,} of {total:,} {unit}"
    if not done:
        return f"{counts}, {seconds:.0f} s"
    rate = f"{done / seconds:,.{int(done < seconds)}f} {unit}/s"
    return f"{counts}, {rate}, {max(total - done, 0) * seconds / done:,.0f} s left"
