"""The correction for several tests: p-values of several pairs of models, and what a note says of it.

The three tests of pairs of models, ``pair_tests.py``, ``seed_differences.py`` and ``label_comparison.py``, pass their
differences to ``with_adjusted_p``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kgeval.base.arrays import Float64Array
from kgeval.ranking.corruption.generator import size_range

if TYPE_CHECKING:
    from kgeval.analysis.comparison.paired_difference import PairedDifference


def with_adjusted_p(pairs: Iterable[PairedDifference], apart: Collection[str] = ()) -> tuple[PairedDifference, ...]:
    """Adjust p-values for the pairs of models that are tested by the same metric in the same group (Holm, 1979).

    Pairs with one of the models ``apart`` (baselines) are adjusted by themselves.
    """
    found, families = list(pairs), dict[object, list[int]]()
    for place, pair in enumerate(found):
        if pair.p is not None:
            of_apart = pair.model in apart or pair.other in apart
            families.setdefault((pair.metric, of_apart, *pair.group.items()), []).append(place)
    for family in families.values():
        adjusted = holm(np.array([found[place].p for place in family], np.float64))
        for place, p in zip(family, adjusted.tolist(), strict=True):
            found[place] = replace(found[place], adjusted_p=p, family=len(family))
    return tuple(found)


def holm(p_values: Float64Array) -> Float64Array:
    """Multiply the smallest of m p-values by m, the next by m − 1, …; let none be below the one before (Holm, 1979).

    >>> holm(np.array([0.01, 0.04, 0.03, 0.005])).round(6)
    array([0.03, 0.06, 0.06, 0.02])
    """
    order = np.argsort(p_values, kind="stable")
    remaining = np.arange(len(p_values), 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(remaining * p_values[order]), 1)
    return np.asarray(adjusted[np.argsort(order)], np.float64)


def adjustment(tested: Sequence[PairedDifference]) -> str:
    """Name the number of pairs of models for which p-values are adjusted."""
    if all(pair.family == 1 for pair in tested):
        return "not adjusted (one pair of models)"
    pairs = size_range(np.array([pair.family for pair in tested]))
    by = ["metric"] if len({pair.metric for pair in tested}) > 1 else []
    by += ["group"] if tested[0].group else []
    per = f" per {' and '.join(by)}" if by else ""
    return f"adjusted for {pairs} pairs of models{per} (Holm, 1979)"
