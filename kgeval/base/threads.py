"""Threads: how many are used, a parallel loop over blocks of work, and what a forked process may use.

Kernels count blocks of queries with :func:`parallel_for`, within the :func:`bound_threads` of an evaluation.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

from kgeval.base.contexts import holding

_bound: ContextVar[int | None] = ContextVar("bound", default=None)


def threads() -> int:
    """Return the number of threads to use: that of :func:`bound_threads`, or one for each core of this process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return _bound.get() or cores or 1


@contextmanager
def bound_threads(count: int | None) -> Iterator[None]:
    """Let blocks of work, BLAS, OpenMP and torch use at most ``count`` threads; with None, change nothing.

    A library has one number for the whole process: of several evaluations at once, the last to end restores it.
    """
    if count is None:
        yield
        return
    libraries = [*_loaded(), *([_Torch()] if "torch" in sys.modules else [])]
    with holding(_bound, count), _held(libraries, count):
        yield


def parallel_for(work: Callable[[slice], None], total: int, step: int) -> None:
    """Call ``work`` for blocks, slices of ``range(total)``, in parallel; it releases the GIL where it computes.

    Blocks are taken as threads come free: no thread waits for another before the end, and one that a busy machine
    holds up takes fewer. Inside a block, the libraries compute in that one thread.
    """
    parts, libraries, bound = list(slices(total, step)), _known_libraries(), _bound.get()
    count = min(threads(), len(parts))
    if count <= 1:
        for part in parts:
            work(part)
        return
    blas = [library for library in libraries if library.user_api == "blas"]
    with _held(blas, 1), ThreadPoolExecutor(count, initializer=_compute_alone, initargs=(bound, libraries)) as pool:
        for _ in pool.map(work, parts):
            pass
    for library in blas if bound and not _is_forked else ():
        library.set_num_threads(bound)


def slices(total: int, step: int) -> Iterator[slice]:
    """Cut ``range(total)`` into slices of ``step``."""
    return (slice(start, min(start + step, total)) for start in range(0, total, step))


def _compute_alone(bound: int | None, libraries: list[Any]) -> None:
    _bound.set(bound)
    if torch := sys.modules.get("torch"):
        torch.get_num_threads()  # where torch is first asked, it sets the number; it must not do so later
    for library in libraries:
        if library.user_api == "openmp":
            library.set_num_threads(1)


@contextmanager
def _held(libraries: list[Any], count: int) -> Iterator[None]:
    """Set the threads of libraries for a ``with`` block; the last of all blocks to end restores the numbers before."""
    with _lock:
        for library in libraries:
            _before.setdefault(library.filepath, (library, library.num_threads))
        for library in libraries:
            library.set_num_threads(1 if _is_forked else count)
        _holders.append(None)
    try:
        yield
    finally:
        with _lock:
            _holders.pop()
            if not _holders:
                for library, before in _before.values():
                    library.set_num_threads(before)
                _before.clear()


def _known_libraries() -> list[Any]:
    """Find the libraries once, and once more after torch has brought its own: looking for them takes milliseconds."""
    torch_is_there = "torch" in sys.modules
    if torch_is_there not in _found:
        _found[torch_is_there] = _loaded()
    return _found[torch_is_there]


def _loaded() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().lib_controllers)


class _Torch:
    """Torch as one of the libraries; it has its own number of threads."""

    filepath, user_api = "torch", "torch"

    @property
    def num_threads(self) -> int:
        return int(sys.modules["torch"].get_num_threads())

    def set_num_threads(self, count: int) -> None:
        sys.modules["torch"].set_num_threads(count)


def _compute_alone_after_fork() -> None:
    """Let libraries compute in one thread for the rest of a process that is forked after work was done here.

    Blocks of work still use several. A process that has only imported kgeval leaves the libraries as they are.
    OpenMP, and so torch, waits for ever for the threads of its first computation, which a fork does not copy.
    """
    global _lock, _is_forked
    _lock, _is_forked = Lock(), True  # another thread may have held the lock
    by_path = {library.filepath: library for libraries in _found.values() for library in libraries}
    for library in [*by_path.values(), *([_Torch()] if by_path and "torch" in sys.modules else [])]:
        library.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_compute_alone_after_fork)

_is_forked = False
_lock = Lock()
_holders: list[None] = []
_before: dict[str, tuple[Any, int]] = {}
_found: dict[bool, list[Any]] = {}
