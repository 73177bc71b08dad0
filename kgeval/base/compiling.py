"""Compiled functions: stored in numba's cache, or compiled by each process if there is no place for a cache.

Kernels, the inner loops of ranking, are compiled with :func:`njit` in place of numba's; the command line shows a
message before it waits for the compiler (:func:`telling`).

Numba renews a function in its disk cache if the file of the function has changed, but not if another file has changed
whose functions or constants it uses: then delete the ``.nbi`` and ``.nbc`` in ``__pycache__`` or ``NUMBA_CACHE_DIR``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any, cast

from kgeval.base.contexts import holding

Function = Callable[..., Any]

CACHED: list[Any] = []
"""the compiled functions (numba's dispatchers) that are stored in its disk cache"""


def njit(*, cache: bool, **options: Any) -> Callable[[Function], Function]:
    """Compile a function as :func:`numba.njit` does, without a cache if no folder is writable.

    Numba refuses to cache if neither the package's folder nor the user's can be written to, as in a read-only
    installation for a user without a home. A shared folder would not be safe: others could put code there.
    """
    import numba

    def compiled(function: Function) -> Function:
        try:
            stored = cache_class()(function) if cache else None
        except RuntimeError:  # "cannot cache function …: no locator available"
            stored = None
        dispatcher: Any = numba.njit(**options)(function)
        if stored is not None:
            dispatcher._cache = stored  # as numba does itself, with its own class
            CACHED.append(dispatcher)
        return cast("Function", dispatcher)

    return compiled


@cache
def cache_class() -> Any:
    """Return numba's cache class, changed: a damaged file counts as missing, and a full disk raises no error."""
    from numba.core.caching import FunctionCache

    class Cache(FunctionCache):  # type: ignore[misc]  # numba has no types
        def load_overload(self, *arguments: Any) -> Any:
            try:
                return super().load_overload(*arguments)
            except Exception:  # unpickling raises anything
                with suppress(OSError):
                    self.flush()
                return None

        def is_warm(self) -> bool:
            with suppress(Exception):
                return bool(self._cache_file._load_index())
            return False

        def save_overload(self, *arguments: Any) -> None:
            with suppress(OSError):
                super().save_overload(*arguments)

    return Cache


_on_compiling: ContextVar[Callable[[], None] | None] = ContextVar("on_compiling", default=None)


def telling(tell: Callable[[], None]) -> AbstractContextManager[None]:
    """In the ``with`` block, call ``tell`` before functions are compiled for the first time on this machine."""
    return holding(_on_compiling, tell)


def tell_if_cold() -> None:
    """Call the function of :func:`telling` if functions have to be compiled first; kernels call this as they start."""
    if (tell := _on_compiling.get()) is not None and is_cache_cold():
        tell()


def is_cache_cold(functions: list[Any] | None = None) -> bool:
    """Whether no function in the list, by default ``CACHED``, has a cache file of its source as it is now."""
    return not any(function._cache.is_warm() for function in (CACHED if functions is None else functions))
