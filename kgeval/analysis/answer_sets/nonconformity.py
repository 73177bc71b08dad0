"""Nonconformity: how badly a candidate fits its query, in numbers that compare over queries; and the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from kgeval.analysis.answer_sets.scored_split import ScoredSplit
from kgeval.arrays import Float64Array
from kgeval.discovery import by_name, instances
from kgeval.errors import MetricError, did_you_mean
from kgeval.ranking.tie_rules import tied_under


class SplitNonconformities(ABC):
    """The nonconformities of one split.

    The set of a row has the candidates whose nonconformity is at most the row's limit. A higher score never makes it
    larger, so these are the candidates from some score on: candidates that tie are in it together, or not.
    """

    @property
    @abstractmethod
    def values(self) -> Float64Array:
        """The nonconformity of each answer; float64[row]."""

    @abstractmethod
    def lowest_scores(self, limits: Float64Array) -> Float64Array:
        """Find the lowest score in each set, for the limits of the rows (float64[row]).

        Returns
        -------
        Float64Array
            float64[row]: −∞ where all candidates are in, +∞ where none is
        """


@dataclass(frozen=True)
class Nonconformity:
    """A nonconformity: its name, its formula, and how a split is measured by it."""

    name: str
    formula: str
    """of a score s"""
    measure: Callable[[ScoredSplit], SplitNonconformities]


@dataclass(frozen=True, eq=False)
class BelowReference(SplitNonconformities):
    """How far a score s is below a reference of its row: V = reference − s."""

    scores: Float64Array
    """float64[row], of the answers"""
    references: Float64Array
    """float64[row]"""

    @property
    def values(self) -> Float64Array:
        """The differences; where the reference is infinite, 0 for a score of +∞ and +∞ for any other."""
        infinite = np.where(self.scores == np.inf, 0.0, np.inf)
        finite = np.isfinite(self.references)
        return np.where(finite, np.where(finite, self.references, 0.0) - self.scores, infinite)

    def lowest_scores(self, limits: Float64Array) -> Float64Array:
        """Find the smallest number s with reference − s ≤ limit, rounded as the differences are."""
        finite = np.isfinite(self.references)
        references, reach = np.where(finite, self.references, 0.0), np.where(np.isinf(limits), 0.0, limits)
        lowest, _ = tied_under(lambda scores: np.asarray(references - scores <= reach, np.float64))(references)
        return np.where(np.isinf(limits), -np.inf, np.where(finite, lowest, np.inf))


@cache
def nonconformities() -> dict[str, Nonconformity]:
    """Return all nonconformities by name."""
    return by_name("nonconformities", instances("kgeval.analysis.answer_sets", Nonconformity))


def find_nonconformity(name: str) -> Nonconformity:
    """Find a nonconformity by name.

    Raises
    ------
    MetricError
        if there is none, with the nearest one
    """
    if not isinstance(name, str) or name not in nonconformities():
        hint = did_you_mean(str(name), nonconformities())
        raise MetricError(f"nonconformity: unknown {name!r:.60}. {hint}")
    return nonconformities()[name]
