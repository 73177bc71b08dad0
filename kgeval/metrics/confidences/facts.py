"""Facts with stated and predicted confidences and ranks, from which all metrics of confidences are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.metrics.lists.ranked_lists import Places, RankedLists, answer_lists
from kgeval.metrics.metric import Undefined
from kgeval.metrics.ranks.ranks import Ranks


@dataclass(frozen=True, eq=False)
class RankedFacts:
    """The ranks of facts, one row per fact and side, each with the confidence of its fact."""

    ranks: Ranks
    """filtered; weighted by the confidences; with the draws of random ties, if there are any"""
    confidences: Float64Array
    """float64[row]"""
    scores: Float64Array
    """float64[row], the score of the answer"""
    queries: IntArray
    """int64[row], the id of the query (h, r, ?); negative where the answer is the head of a fact"""
    relations: npt.NDArray[Any]
    """[row]"""

    def __getitem__(self, rows: BoolArray) -> RankedFacts:
        counts = (self.ranks.greater[rows], self.ranks.tied[rows], self.ranks.candidates[rows])
        draws = None if self.ranks.draws is None else self.ranks.draws[rows]
        ranks = Ranks(*counts, ties=self.ranks.ties, weights=self.confidences[rows], draws=draws)
        return RankedFacts(ranks, self.confidences[rows], self.scores[rows], self.queries[rows], self.relations[rows])

    def lists(self) -> RankedLists:
        """Return the ranked list of each query (h, r, ?), with the confidences of its answers as grades."""
        tails = self[self.queries >= 0]
        if len(tails.queries) == 0:
            raise Undefined("no tails were ranked")
        lists = answer_lists(tails.queries, tails.scores, tails.ranks)
        return replace(lists, grades=tails.confidences[Places.of(tails.queries, tails.scores).order])


@dataclass(frozen=True, eq=False)
class ConfidencePredictions:
    """Facts with their stated and predicted confidences, and with their ranks."""

    confidences: Float64Array
    """float64[fact], as stated; a fact may be repeated"""
    predicted: Float64Array | Undefined
    """float64[fact]; or why there are none"""
    relations: npt.NDArray[Any]
    """[fact]"""
    ranked: RankedFacts | None = None
    """None where there are negatives among the facts, which have no rank"""

    def of_relation(self, relation: Any) -> ConfidencePredictions:
        return self.where(self.relations == relation, lambda ranked: ranked.relations == relation)

    def with_confidence_at_least(self, confidence: float) -> ConfidencePredictions:
        return self.where(self.confidences >= confidence, lambda ranked: ranked.confidences >= confidence)

    def where(self, facts: BoolArray, rows: Callable[[RankedFacts], BoolArray]) -> ConfidencePredictions:
        """Keep some facts (bool[fact]) and some ranks (bool[row])."""
        return replace(
            self,
            confidences=self.confidences[facts],
            predicted=self.predicted if isinstance(self.predicted, Undefined) else self.predicted[facts],
            relations=self.relations[facts],
            ranked=self.ranked and self.ranked[rows(self.ranked)],
        )

    def predictions(self) -> Float64Array:
        """Return the predicted confidences; float64[fact]."""
        if len(self.confidences) == 0:
            raise Undefined("there are no facts")
        if isinstance(self.predicted, Undefined):
            raise self.predicted
        return self.predicted

    def ranked_facts(self) -> RankedFacts:
        if self.ranked is None:
            raise Undefined("nothing was ranked")
        if len(self.ranked.queries) == 0:
            raise Undefined("there are no facts")
        return self.ranked
