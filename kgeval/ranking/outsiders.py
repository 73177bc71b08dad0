"""Outsiders: answers in a model's own lists that are no candidates of their query, each a wrong answer at its place.

An outsider is text that names no entity, or an entity that does not compete. ``ModelRanking`` and ``ModelPredictions``
add the counts of outsiders to those of candidates. Other known answers of the query are filtered there too, and an
answer is no outsider to itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.queries import Queries, Rows
from kgeval.models.aligned import Aligned
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.ranking_task import RankCounts


class Outsiders(NamedTuple):
    """The outsiders of some queries."""

    entities: Rows
    """in the ids of the dataset, -1 for text that names no entity"""
    scores: Float64Array
    """float64[outsider]"""
    is_known: BoolArray
    """bool[outsider]"""

    @classmethod
    def of(cls, scorer: Aligned, queries: Queries, candidates: Candidates, known: Rows | None = None) -> Outsiders:
        """Find the outsiders of each query; a scorer without lists has none. ``known`` are known answers, ascending."""
        lengths, ids, values = np.zeros(len(queries), np.int64), [np.empty(0, np.int64)], [np.empty(0)]
        kept = scorer.lists if scorer.lists and scorer.lists.keeps_outside else None
        for part, listed, scores in kept.listed(scorer.map_queries(queries)) if kept else ():
            entities = scorer.entities_of_rows[listed.ids]
            owners = listed.owners + part.start
            outside = entities < 0
            outside[~outside] = candidates.positions(owners[~outside], entities[~outside]) < 0
            lengths[part] = np.bincount(owners[outside] - part.start, minlength=len(listed))
            ids.append(entities[outside])
            values.append(scores[outside])
        rows = Rows.sized(lengths, np.concatenate(ids))
        is_known = np.zeros(len(rows.ids), np.bool_) if known is None else known.positions(rows.owners, rows.ids) >= 0
        return cls(rows, np.concatenate(values), is_known)

    def beside(self, owners: IntArray, answers: IntArray, scores: Float64Array) -> tuple[RankCounts, RankCounts, int]:
        """Count the outsiders of each answer, without known ones and with them; and the entities among the first.

        Of each answer there is its query (``owners``, int64[answer]), its entity (``answers``, likewise) and its score.
        """
        offsets = self.entities.offsets
        listed = Rows.spans(offsets[owners], offsets[owners + 1], np.arange(len(self.scores)))
        others = self.entities.ids[listed.ids] != answers[listed.owners]
        unknown = others & ~self.is_known[listed.ids]
        above = self.scores[listed.ids] - scores[listed.owners]
        counts = [
            [
                np.bincount(listed.owners[which & rivals], minlength=len(scores))
                for which in (above > 0, above == 0, rivals)
            ]
            for rivals in (unknown, others)
        ]
        filtered, raw = (RankCounts(beat, tied, all_of_them + 1) for beat, tied, all_of_them in counts)
        return filtered, raw, int((unknown & (self.entities.ids[listed.ids] >= 0)).sum())
