"""Compiled functions: kept in numba's cache, or compiled anew by each process where there is no place for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import event

Function = Callable[..., Any]


def njit(*, cache: bool, **options: Any) -> Callable[[Function], Function]:
    """Compile a function as :func:`numba.njit` does, without a cache where nothing can be written.

    Numba refuses to cache where neither the package's folder nor the user's can be written to, as in an installation
    that is read-only, for a user without a home. A shared folder is no cure: whoever can write there could put code in.
    """

    def compiled(function: Function) -> Function:
        try:
            dispatcher: Function = numba.njit(cache=cache, **options)(function)
        except RuntimeError:  # "cannot cache function …: no locator available"
            dispatcher = numba.njit(**options)(function)
        return dispatcher

    return compiled


@contextmanager
def compilation_told(tell: Callable[[], None]) -> Iterator[None]:
    """Call a function, once, when something begins to be compiled; what is in numba's cache is only loaded."""

    class Listener(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            self.told = False

        def on_start(self, _: event.Event) -> None:
            if not self.told:
                self.told = True
                tell()

        def on_end(self, _: event.Event) -> None: ...

    with event.install_listener("numba:compile", Listener()):
        yield
