"""Stopping: how many triples the next sample has, until the interval is narrow enough.

To look at the error after every block, and to stop at the first that seems small enough, would favour samples whose
variance is underestimated (Chow and Robbins, 1965). Two things keep that bias small: the least sample is large, and the
next one is a tenth larger than the variance so far asks for (Cox, 1952), so that two or three looks are enough.
"""

from __future__ import annotations

import math

MARGIN = 1.1
"""how much larger the next sample is than the variance so far asks for, and than the one before"""

MOST_GROWTH = 4
"""how many times as large as the sample before the next one may be: its variance is an estimate itself"""


def next_size(drawn: int, half_width: float, error: float, of: int) -> int:
    """Choose the next sample of a split of ``of`` triples, after one with an interval that is too wide.

    A half width falls as √(1/n − 1/N).

    >>> next_size(1000, half_width=0.02, error=0.01, of=1_000_000), next_size(1000, 0.011, 0.01, of=1_000_000)
    (4000, 1331)
    >>> next_size(1000, half_width=0.02, error=0.01, of=3000)
    2200
    """
    squared = (error / half_width) ** 2 * (1 / drawn - 1 / of)
    needed = MARGIN / (squared + 1 / of)
    return min(of, math.ceil(min(max(needed, MARGIN * drawn), MOST_GROWTH * drawn)))
