"""The sum in eight lanes, compiled: the bits of ``ordered_sum`` in ``similarity``, for loops that write terms down."""

from __future__ import annotations

from kgeval.compiling import njit
from kgeval.scorers.numerics.similarity import LANES


@njit(cache=True)
def sum_in_lanes(terms):  # type: ignore[no-untyped-def]
    """Sum terms: lane l takes up the terms l, l + 8, …; then the lanes from the first to the last."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = len(terms) - len(terms) % LANES
    for k in range(0, whole, LANES):
        s0 += terms[k]
        s1 += terms[k + 1]
        s2 += terms[k + 2]
        s3 += terms[k + 3]
        s4 += terms[k + 4]
        s5 += terms[k + 5]
        s6 += terms[k + 6]
        s7 += terms[k + 7]
    rest = len(terms) - whole
    s0 += terms[whole] if rest > 0 else 0.0
    s1 += terms[whole + 1] if rest > 1 else 0.0
    s2 += terms[whole + 2] if rest > 2 else 0.0
    s3 += terms[whole + 3] if rest > 3 else 0.0
    s4 += terms[whole + 4] if rest > 4 else 0.0
    s5 += terms[whole + 5] if rest > 5 else 0.0
    s6 += terms[whole + 6] if rest > 6 else 0.0
    return ((((((s0 + s1) + s2) + s3) + s4) + s5) + s6) + s7
