"""The metrics that a framework, such as LibKGE, prints: names, sides, settings, and the precision of the mean.

A ``Protocol`` lists them as ``FrameworkMetric``, and has one of the functions here, ``float64`` to ``histogram32``, as
its ``mean``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import comb
from typing import Any, Literal

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.metrics.names import Part, parse
from kgeval.ranking.rules import SecondFilter

Setting = Literal["filtered", "raw"] | SecondFilter

PREFIXES: dict[Setting, str] = {"filtered": "", "raw": "raw_", "with_test": "with_test_", "static": "static_"}
"""the prefix of a setting's counts among the columns of a rank table"""


@dataclass(frozen=True)
class FrameworkMetric:
    """A number that a framework prints."""

    name: str
    """the framework's name of the metric"""
    metric: str
    """kgeval's name of the metric"""
    side: Part = "both"
    setting: Setting = "filtered"
    from_zero: bool = False
    """whether the framework counts ranks from 0 in this metric"""

    def values(self, competitors: IntArray) -> Values:
        """Return the function of ranks whose mean is the metric.

        ``competitors`` (int64[row]) is the number of candidates of each rank without the answer. A value of hits@k_n is
        summed term by term, as ULTRA does it.
        """
        name = parse(self.metric)
        if name.metric.pair:
            return partial(_hits_among, competitors, *name.metric.pair)
        return {
            "mr": lambda ranks: ranks,
            "mrr": lambda ranks: 1 / ranks,
            "hits": lambda ranks: (ranks <= name.k).astype(ranks.dtype),
        }[name.name]


def _hits_among(competitors: IntArray, k: int, n: int, ranks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    above = (ranks - 1) / np.maximum(competitors, 1).astype(ranks.dtype)
    terms = (float(comb(n - 1, i)) * above**i * (1 - above) ** (n - 1 - i) for i in range(k))
    return sum(terms, np.zeros_like(ranks))


def named(pattern: str = "{metric}", **axes: Mapping[str, str]) -> tuple[FrameworkMetric, ...]:
    """Make a ``FrameworkMetric`` for each combination of the axes ``metric``, ``side`` and ``setting``.

    An axis maps the framework's words to kgeval's. ``pattern`` makes the printed name of the framework's words. The
    last axis varies fastest.

    >>> [one.name for one in named("{metric}{side}", side={"": "both", " lhs": "head"}, metric=hits("hits@{}", 1, 3))]
    ['hits@1', 'hits@3', 'hits@1 lhs', 'hits@3 lhs']
    """
    metrics = []
    for words in product(*axes.values()):
        texts = dict(zip(axes, words, strict=True))
        fields: dict[str, Any] = {axis: axes[axis][word] for axis, word in texts.items()}
        metrics.append(FrameworkMetric(pattern.format(**texts), **fields))
    return tuple(metrics)


def hits(pattern: str, *ks: int) -> dict[str, str]:
    """Name hits at several k."""
    return {pattern.format(k): f"hits@{k}" for k in ks}


Values = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
"""ranks, float[row] -> the value of each rank, in the same precision"""

MeanFunction = Callable[[Float64Array, Values], Any]
"""(ranks, function of ranks) -> the mean of its values, in the precision of the computation"""


def float64(ranks: Float64Array, values: Values) -> Any:
    """Average in float64."""
    return np.mean(values(ranks), dtype=np.float64)


def float32(ranks: Float64Array, values: Values) -> Any:
    """Average in float32 by pairwise sums, as torch does; the mean of two such means is float32 too."""
    return np.mean(values(ranks.astype(np.float32)), dtype=np.float32)


def float32_then_64(ranks: Float64Array, values: Values) -> Any:
    """Average in float32, and convert the mean to float64."""
    return float(float32(ranks, values))


def sum32(ranks: Float64Array, values: Values) -> Any:
    """Add in float32 by pairwise sums, and divide in float64."""
    return float(np.sum(values(ranks.astype(np.float32)), dtype=np.float32)) / len(ranks)


def running32(ranks: Float64Array, values: Values) -> Any:
    """Add one value after the other in float32: rounding errors accumulate, and a sum of ones stops at 2²⁴.

    >>> bool(running32(np.array([2.0**24, 1.0, 1.0]), lambda ranks: ranks) == np.float32(2**24) / np.float32(3))
    True
    """
    sums = np.add.accumulate(values(ranks.astype(np.float32)).astype(np.float32), dtype=np.float32)
    return sums[-1] / np.float32(len(ranks))


def histogram32(ranks: Float64Array, values: Values, most: int = 0) -> Any:
    """Sum the values of a histogram of ranks, weighted by its counts, in float32, and divide in float64.

    The order of torch's sum, which depends on the length of the histogram, decides the last digits. ``most`` is that
    length: the most candidates that an answer has.

    >>> float(histogram32(np.array([1.0, 3.0]), lambda ranks: 1 / ranks))
    0.6666666865348816
    """
    counts = np.bincount(ranks.astype(np.int64), minlength=most + 1)[1:].astype(np.float32)
    places = np.arange(1, len(counts) + 1, dtype=np.float32)
    return float(sum_as_torch(counts * values(places))) / len(ranks)


def sum_as_torch(terms: np.ndarray[Any, Any]) -> Any:
    """Add float32 numbers in the order of torch on a CPU: four rows of eight lanes, in a cascade of four levels.

    >>> sum_as_torch(np.arange(9, dtype=np.float32))
    np.float32(36.0)
    """
    width = 8 if len(terms) >= 8 else 1
    rows = terms[: len(terms) // (4 * width) * 4 * width].reshape(-1, 4, width)
    further = terms[rows.size : len(terms) // width * width].reshape(-1, width)
    step, levels = 1 << max(4, max(len(rows) - 1, 0).bit_length() // 4), []
    for _ in range(3):
        whole = len(rows) // step * step
        levels.append(_added(rows[whole:]))
        rows = _added(rows[:whole].reshape(-1, step, 4, width).swapaxes(0, 1))
    lanes = _added(np.stack([*levels, _added(rows)]))
    lanes[0] = _added(np.stack([lanes[0], *further]))
    return _added(np.append(terms[len(terms) // width * width :], _added(lanes)))


def _added(rows: np.ndarray[Any, Any]) -> Any:
    """Add rows one after the other."""
    return np.add.accumulate(np.concatenate([np.zeros((1, *rows.shape[1:]), np.float32), rows]))[-1]
