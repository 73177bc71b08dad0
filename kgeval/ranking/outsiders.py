"""Outsiders: answers in a model's own lists that are no candidates of their query, each a wrong answer at its place.

A model of prediction lists gives a list of answers for each query; all other entities follow. An outsider is text in a
list that names no entity, or an entity that does not compete. ``ModelRanking``, ``ModelPredictions`` and
``kgeval.rerank`` add the counts of outsiders to the counts of candidates. Outsiders that are other known answers of the
query are filtered too, and an answer is no outsider to itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.queries import Queries, Rows
from kgeval.models.aligned import Aligned
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.ranking_task import RankCounts, Ranked


class Outsiders(NamedTuple):
    """The outsiders of some queries."""

    entities: Rows
    """the outsiders of each query, in the ids of the dataset; -1 for text that names no entity"""
    scores: Float64Array
    """float64[outsider], the score of each in its list"""
    is_known: BoolArray
    """bool[outsider], whether it is a known answer of its query"""

    @classmethod
    def of(cls, scorer: Aligned, queries: Queries, candidates: Candidates, known: Rows | None = None) -> Outsiders:
        """Find the outsiders of each query; a scorer without lists has none. ``known`` are known answers, ascending."""
        rows, scores = Rows(np.zeros(len(queries) + 1, np.int64), np.empty(0, np.int64)), np.empty(0)
        if scorer.lists and scorer.lists.keeps_outside:
            listed, values = scorer.listed(queries)
            outside = ~compete(listed, candidates)
            rows, scores = listed.where(outside), values[outside]
        is_known = np.zeros(len(rows.ids), np.bool_) if known is None else known.positions(rows.owners, rows.ids) >= 0
        return cls(rows, scores, is_known)

    def beside(self, owners: IntArray, answers: IntArray, scores: Float64Array) -> tuple[RankCounts, RankCounts, int]:
        """Count the outsiders of each answer, without known answers and with them; and the entities among the former.

        Each answer has its query (``owners``, int64[answer]), its entity (``answers``, int64[answer]) and its score
        (``scores``, float64[answer]).
        """
        offsets = self.entities.offsets
        listed = Rows.spans(offsets[owners], offsets[owners + 1], np.arange(len(self.scores)))
        others = self.entities.ids[listed.ids] != answers[listed.owners]
        unknown = others & ~self.is_known[listed.ids]
        above = self.scores[listed.ids] - scores[listed.owners]

        def counts(rivals: BoolArray) -> RankCounts:
            every = (listed.owners[rivals & which] for which in (above > 0, above == 0, rivals))
            greater, tied, candidates = (np.bincount(owners, minlength=len(scores)) for owners in every)
            return RankCounts(greater, tied, candidates + 1)

        return counts(unknown), counts(others), int((unknown & (self.entities.ids[listed.ids] >= 0)).sum())

    def added_to(self, ranked: Ranked, queries: Queries) -> tuple[Ranked, int]:
        """Add the counts of outsiders to the counts of candidates; and count the entities among the outsiders."""
        filtered, raw, entities = self.beside(queries.owners, queries.answers, ranked.scores)
        return ranked._replace(filtered=ranked.filtered + filtered, raw=ranked.raw + raw), entities


def compete(listed: Rows, candidates: Candidates) -> BoolArray:
    """Whether each listed entity is a candidate of its query; text that names no entity (−1) is none."""
    named = listed.ids >= 0
    named[named] = candidates.positions(listed.owners[named], listed.ids[named]) >= 0
    return named
