"""Threads: how many of them compute, and blocks of work spread over them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

_bound: ContextVar[int | None] = ContextVar("bound", default=None)


def threads() -> int:
    """How many threads compute: what an evaluation is bound to, or one for each core that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return _bound.get() or cores or 1


@contextmanager
def bound_threads(count: int | None) -> Iterator[None]:
    """Let blocks of work, BLAS, OpenMP and torch use at most ``count`` threads; with none given, leave all as it is."""
    if count is None:
        yield
        return
    token = _bound.set(count)
    try:
        with _controller().limit(limits=count), _torch(count):
            yield
    finally:
        _bound.reset(token)


def spread(work: Callable[[slice], None], total: int, step: int) -> None:
    """Do blocks of work side by side; the work lets go of Python's lock where it computes.

    Blocks are taken as threads come free: no thread waits for another before the end, and one that a busy machine
    holds up takes fewer. Inside a block, the libraries compute in that one thread.

    >>> done = [0] * 5
    >>> def double(part):
    ...     for place in range(part.start, part.stop):
    ...         done[place] = 2 * place
    >>> spread(double, total=5, step=2)
    >>> done
    [0, 2, 4, 6, 8]
    """
    parts = list(slices(total, step))
    count = min(threads(), len(parts))
    if count <= 1:
        for part in parts:
            work(part)
        return
    with (
        _controller().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(count, initializer=_compute_alone) as pool,
    ):
        for _ in pool.map(work, parts):
            pass


def slices(total: int, step: int) -> Iterator[slice]:
    """Cut a range into blocks.

    >>> list(slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(start, min(start + step, total)) for start in range(0, total, step))


def _compute_alone() -> None:
    """Have torch compute in the calling thread alone."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def _torch(count: int) -> Iterator[None]:
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
