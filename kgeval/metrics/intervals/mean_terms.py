"""Mean terms: a metric as a function of means, and how much each unit contributes to it.

Most metrics are f(M_1, M_2, …) of weighted means M_j of values of the rows. ``mean_terms`` computes these values: a
metric name and a selection of rows go in, :class:`MeanTerms` come out. A unit is a triple, query, relation or time,
which is resampled as one block. The intervals of this folder and the tests of ``kgeval.analysis`` are computed from
what each unit adds to f.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.metrics.averages import numbered
from kgeval.metrics.intervals.interval import Unit
from kgeval.metrics.kinds import Needs
from kgeval.metrics.lists.ranked_lists import PerList
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import MetricName
from kgeval.metrics.ranks.rank_metrics import FunctionOfMeans, ZScore
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.selection import RowSelection

STEP = 1e-30
"""the h of complex-step derivatives, f'(x) = Im f(x + ih) / h, which lose no digits (Squire and Trapp, 1998)"""


@dataclass(frozen=True, eq=False)
class MeanTerms:
    """A metric f(M_1, M_2, …) of some rows (or lists): M_j = Σ w x_j / Σ w is the weighted mean of a value of each row.

    An example with the mean of one value, and two units of two rows: the mean of the second unit is .25 above the mean,
    the mean of the first .25 below it.

    >>> units = Units.numbered("triple", np.array([0, 0, 1, 1]))
    >>> terms = MeanTerms(np.array([[0.0, 0.5, 0.5, 1.0]]), np.ones(4), lambda mean: mean, units)
    >>> terms.value, terms.deviations, standard_error(terms.deviations)
    (0.5, array([-0.125,  0.125]), 0.25)
    """

    values: Float64Array
    """the values x; float64[term, row]"""
    weights: Float64Array
    """the weights w; float64[row]"""
    combine: Callable[..., Any]
    """f: takes a mean for each term"""
    units: Units
    """the unit of each row"""
    limits: Callable[[], tuple[Float64Array, Float64Array]] | None = None
    """() -> the values of x at both ends of each row's range, such as those of the first and the last rank; two arrays
    of float64[term, row], or of shapes that broadcast to it. ``None`` where the range has no end"""

    @cached_property
    def means(self) -> Float64Array:
        """The means M_j; float64[term]."""
        return np.asarray(self.values @ self.weights / self.weights.sum(), np.float64)

    @property
    def value(self) -> float:
        return float(self.combine(*self.means))

    def gradient_at(self, means: Float64Array) -> Float64Array:
        """∂f / ∂M_j at given means: float64[term] or, at the means of many groups, float64[term, group]."""
        steps = STEP * np.eye(len(means)).reshape(len(means), len(means), *(1 for _ in means.shape[1:]))
        return np.array([np.imag(self.combine(*(means + 1j * step))) / STEP for step in steps])

    def linear_at(self, means: Float64Array) -> tuple[Float64Array, Float64Array]:
        """The linear function of x that stands in for f: its value at given means, and its slopes.

        With one term it is the mean itself, of which f is a monotone function; with several terms, it is f linearised
        at the means. ``means`` are float64[term, group]; the results are float64[group] and float64[term, group].
        """
        if len(means) == 1:
            return means[0], np.ones_like(means)
        return np.asarray(self.combine(*means), np.float64), self.gradient_at(means)

    @cached_property
    def unit_sums(self) -> Float64Array:
        """Σ w x_j over the rows of each unit, as a share of all Σ w: they add up to the means; float64[term, unit]."""
        shares = self.weights / self.weights.sum()
        return np.stack([self.units.sums(shares * row) for row in self.values])

    @cached_property
    def unit_shares(self) -> Float64Array:
        """The share of each unit in the weights; float64[unit]."""
        return self.units.sums(self.weights / self.weights.sum())

    @property
    def deviations(self) -> Float64Array:
        """What each unit adds to f: Σ_j ∂f/∂M_j (Σ w x_j − M_j Σ w) / W; float64[unit].

        The sums are over the rows of the unit; W is Σ w over all rows.
        """
        return np.asarray(
            self.gradient_at(self.means) @ (self.unit_sums - np.outer(self.means, self.unit_shares)), np.float64
        )


def mean_terms(name: MetricName, selection: RowSelection, units: Units) -> MeanTerms | None:
    """Compute the terms of a metric of some rows, whose units are given; ``None`` if it is no function of means."""
    compute: object = name.metric.compute
    if isinstance(compute, FunctionOfMeans | ZScore):
        ranks = selection.ranks(name.ties, name.average)
        compute.refuse(ranks, name.k)
        values = np.stack([term(ranks, name.k) for term in compute.terms])
        weights = _or_ones(ranks.weights, len(ranks))
        return MeanTerms(values, weights, compute.combine, units, partial(_of_first_and_last, compute, ranks, name.k))
    if isinstance(compute, PerList):
        lists = selection.lists(name.average)
        values = compute.values(lists, name.k or None)
        weights = _or_ones(lists.weights, len(values))
        defined = ~np.isnan(values)
        values, weights = np.where(defined, values, 0)[None], np.where(defined, weights, 0)
        return MeanTerms(values, weights, lambda mean: mean, units, ends_of_range(name.metric))
    return None


def ends_of_range(metric: Metric) -> Callable[[], tuple[Float64Array, Float64Array]] | None:
    """Return the range of a metric as the range of the values that it is the mean of; ``None`` if it is infinite."""
    ends = np.array([[[metric.lowest]], [[metric.highest]]])
    return (lambda: (ends[0], ends[1])) if np.isfinite(ends).all() else None


def _of_first_and_last(compute: FunctionOfMeans | ZScore, ranks: Ranks, k: int) -> tuple[Float64Array, Float64Array]:
    """Compute the terms of each row at the first and at the last rank of its candidates; float64[term, row] each."""
    last = np.maximum(ranks.candidates, ranks.pessimistic) - 1
    ends = (replace(ranks, greater=greater, tied=0 * last) for greater in (0 * last, last))
    first, worst = (np.stack([term(end, k) for term in compute.terms]) for end in ends)
    return first, worst


def _or_ones(weights: Float64Array | None, count: int) -> Float64Array:
    """Return the weights, or ones, scaled so that the largest is 1: huge weights times large values would overflow."""
    return np.ones(count) if weights is None else weights / weights.max(initial=np.finfo(float).tiny)


def standard_error(deviations: Float64Array) -> float:
    """√(C/(C−1) Σ deviation²) over C units (cluster-robust linearisation; Binder, 1983); NaN for a single unit."""
    count = len(deviations)
    return float(np.sqrt(count / (count - 1) * deviations @ deviations)) if count > 1 else float("nan")


@dataclass(frozen=True, eq=False)
class Units:
    """The unit that each row, or each list, belongs to: what is resampled as one block."""

    kind: Unit
    ids: IntArray
    """int64[row], the number of each row's unit, from 0, in the order of the table's ids"""
    count: int
    """how many units there are"""

    @classmethod
    def numbered(cls, kind: Unit, keys: IntArray) -> Units:
        """Number units by their keys (int64[row], from 0), in ascending order.

        >>> units = Units.numbered("relation", np.array([7, 2, 7]))
        >>> units.ids, units.count
        (array([1, 0, 1]), 2)
        """
        distinct, ids = numbered(keys)
        return cls(kind, ids, len(distinct))

    def sums(self, values: Float64Array) -> Float64Array:
        """Sum a value of the rows over each unit; float64[unit]."""
        return np.asarray(np.bincount(self.ids, values, minlength=self.count), np.float64)


def units_of(selection: RowSelection, unit: Unit, *, needs: Needs) -> Units:
    """Number the units of some rows (``needs="ranks"``) or of their lists (``"lists"``).

    A list is resampled as a whole: in place of triples, the queries of lists are the units.
    """
    if needs == "lists":
        if unit in ("relation", "time"):
            return Units.numbered(unit, selection.of_lists(selection.numbers(unit)))
        return Units.numbered("query", np.arange(len(selection.unweighed.lengths)))
    return Units.numbered(unit, selection.numbers(unit))
