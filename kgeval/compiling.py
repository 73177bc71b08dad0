"""Compiled functions: kept in numba's cache, or compiled anew by each process where there is no place for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

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
