"""Threads: bind every library that computes to a number of them, for as long as an evaluation lasts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def bound_threads(count: int | None) -> Iterator[None]:
    """Let numba's loops, BLAS, OpenMP and torch use at most ``count`` threads; with none given, leave all as it is."""
    if count is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(count), _numba(count), _torch(count):
        yield


@contextmanager
def _numba(count: int) -> Iterator[None]:
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    try:
        yield
    finally:
        numba.set_num_threads(before)


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
