"""The kernel of sign flips: the sums of many units under random signs, many draws at once.

``sign_flips.signed_sums`` calls it, a block of draws in each thread.

The units, such as triples, are summed in groups of 8, and a group has only 256 signed sums. They are computed once;
each draw then adds the sum that a random byte names (the "four Russians": Arlazarov et al., 1970).
"""

from __future__ import annotations

import numpy as np

from kgeval.base.compiling import njit
from kgeval.ranking.corruption.keyed_draws import mix

UNITS = 8
"""the units of a group, one for each bit of a byte"""


@njit(cache=True, nogil=True)
def add_signed_sums(contributions, seed, first, sums):  # type: ignore[no-untyped-def]
    """Add to each draw the sum of all units under its signs, which are a function of (seed, group, draw).

    ``contributions`` has the difference in each unit; float64[group, unit, column], 8 units in a group. ``first`` is
    the number of the first draw, a multiple of 8. ``sums`` is zero on entry, and is filled; float64[draw, column], the
    number of draws a multiple of 8.
    """
    signed = np.empty((256, sums.shape[1]))
    for group in range(len(contributions)):
        _fill(signed, contributions[group])
        key = mix(seed ^ mix(np.uint64(group)))
        for word in range(len(sums) // 8):
            flips = mix(key + np.uint64(first // 8 + word))
            for draw in range(8 * word, 8 * word + 8):
                row = np.int64(flips & np.uint64(255))
                flips >>= np.uint64(8)
                for column in range(sums.shape[1]):
                    sums[draw, column] += signed[row, column]


@njit(cache=True)
def _fill(signed, units):  # type: ignore[no-untyped-def]
    """Sum eight units under all 256 signs: bit u of a row's number says whether unit u is added or subtracted."""
    for column in range(signed.shape[1]):
        signed[0, column] = 0.0
        for unit in range(UNITS):
            signed[0, column] -= units[unit, column]
    for unit in range(UNITS):
        bit = 1 << unit
        for row in range(bit):
            for column in range(signed.shape[1]):
                signed[bit + row, column] = signed[row, column] + 2 * units[unit, column]
