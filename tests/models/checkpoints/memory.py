"""Watch how much memory something asks for."""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager

MEBIBYTE = 2**20


@contextmanager
def at_most(mebibytes):
    """Fail if more than that is allocated at a time (numpy and Python report what they ask for, touched or not)."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < mebibytes * MEBIBYTE, f"{peak / MEBIBYTE:.0f} MiB were allocated"
