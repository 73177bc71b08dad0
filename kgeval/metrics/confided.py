"""Confided facts: what every metric of confidences is a function of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.metrics.lists import RankedLists
from kgeval.metrics.metric import Undefined
from kgeval.metrics.ranks import Ranks, Ties


@dataclass(frozen=True, eq=False)
class RankedFacts:
    """The ranks of facts, one per fact and side, each with the confidence of its fact."""

    ranks: Ranks
    """filtered"""
    weights: Float64Array
    """float64[task], the confidence of the fact"""
    scores: Float64Array
    """float64[task], the score of the answer"""
    queries: IntArray
    """int64[task], the query (h, r, ?) that it answers; below 0 for the head of a fact"""
    relations: npt.NDArray[Any]
    """[task]"""
    ties: Ties = "realistic"
    """the tie policy of the weighted ranks"""

    def __getitem__(self, rows: BoolArray) -> RankedFacts:
        return RankedFacts(
            self.ranks[rows], self.weights[rows], self.scores[rows], self.queries[rows], self.relations[rows], self.ties
        )

    def under(self, ties: Ties) -> RankedFacts:
        """Return the same ranks under another tie policy."""
        return replace(self, ties=ties)

    def lists(self) -> RankedLists:
        """Lay out the answers of each query (h, r, ?) as a ranked list, their confidences being their grades.

        An answer stands behind the candidates and the other answers above it; both were left out of its filtered rank.
        """
        asked = np.flatnonzero(self.queries >= 0)
        owners = np.unique(self.queries[asked], return_inverse=True)[1]
        order = np.lexsort((-self.scores[asked], owners))
        rows, owners = asked[order], owners[order]
        scores = self.scores[rows]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(owners))]).astype(np.int64)
        first = np.flatnonzero(np.r_[True, (owners[1:] != owners[:-1]) | (scores[1:] != scores[:-1])])
        sizes = np.diff(np.r_[first, len(rows)])
        above = np.repeat(first - offsets[owners[first]], sizes)
        level = np.repeat(sizes, sizes)
        ranks = self.ranks
        lengths = ranks.candidates[rows][offsets[:-1]] - 1 + np.diff(offsets)
        return RankedLists(offsets, ranks.greater[rows] + above, ranks.tied[rows] + level, self.weights[rows], lengths)


@dataclass(frozen=True, eq=False)
class Confided:
    """Facts with their stated and predicted confidences, and with their ranks."""

    confidences: Float64Array
    """float64[fact], as stated; a fact may be stated again"""
    predicted: Float64Array | Undefined
    """float64[fact]; or why there is none"""
    relations: npt.NDArray[Any]
    """[fact]"""
    ranked: RankedFacts | None = None
    """none where the facts are joined by negatives, which have no rank"""

    @property
    def relation_names(self) -> list[Any]:
        """The relations of the facts."""
        return list(np.unique(self.relations).tolist())

    def of_relation(self, relation: Any) -> Confided:
        """Keep the facts of one relation."""
        return self.where(self.relations == relation, lambda ranked: ranked.relations == relation)

    def above(self, confidence: float) -> Confided:
        """Keep the facts of at least some confidence."""
        return self.where(self.confidences >= confidence, lambda ranked: ranked.weights >= confidence)

    def where(self, facts: BoolArray, tasks: Callable[[RankedFacts], BoolArray]) -> Confided:
        """Keep some facts (bool[fact]) and some ranks (bool[task])."""
        return replace(
            self,
            confidences=self.confidences[facts],
            predicted=self.predicted if isinstance(self.predicted, Undefined) else self.predicted[facts],
            relations=self.relations[facts],
            ranked=self.ranked and self.ranked[tasks(self.ranked)],
        )

    def predictions(self) -> Float64Array:
        """Return the predicted confidences; float64[fact].

        Raises
        ------
        Undefined
            if there are none
        """
        if len(self.confidences) == 0:
            raise Undefined("there are no facts")
        if isinstance(self.predicted, Undefined):
            raise self.predicted
        return self.predicted

    def ranks(self) -> RankedFacts:
        """Return the ranks.

        Raises
        ------
        Undefined
            if there are none
        """
        if self.ranked is None:
            raise Undefined("nothing was ranked")
        if len(self.ranked.weights) == 0:
            raise Undefined("there are no facts")
        return self.ranked
