"""The kernel interface: score pairs, and count the candidates above and level with each answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, FloatArray, IntArray
from kgeval.ranking.contest import Contest
from kgeval.ranking.counts import RankCounts
from kgeval.scorers.similarity import Similarity

RAW_GREATER, RAW_TIED, GREATER, TIED = range(4)
"""the columns of a tally"""


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries as numbers: their vectors, and what is added to all their scores."""

    similarity: Similarity
    vectors: Float64Array
    """float64[query, dim]"""
    offsets: Float64Array
    """float64[query]"""


@dataclass(frozen=True, eq=False)
class Offered:
    """Entities as numbers: their vectors, and what is added to their scores."""

    vectors: FloatArray
    """float[entity, dim], in the precision they are stored in"""
    biases: Float64Array
    """float64[entity]"""


@dataclass(frozen=True, eq=False)
class Tally:
    """What has been counted so far for the tasks of a contest."""

    contest: Contest
    thresholds: Float64Array
    """float64[task], the score of each answer"""
    counts: IntArray
    """int64[task, 4]: raw greater, raw tied, filtered greater, filtered tied"""
    undefined: BoolArray
    """bool[query], whether a candidate's score was NaN"""

    @classmethod
    def zero(cls, contest: Contest, thresholds: Float64Array) -> Tally:
        """Begin to count."""
        counts = np.zeros((contest.queries.num_tasks, 4), np.int64)
        return cls(contest, thresholds, counts, np.zeros(len(contest.queries), np.bool_))

    @property
    def filtered(self) -> RankCounts:
        """The counts without other known answers."""
        return RankCounts(self.counts[:, GREATER], self.counts[:, TIED], self.contest.filtered_candidates)

    @property
    def raw(self) -> RankCounts:
        """The counts with them."""
        return RankCounts(self.counts[:, RAW_GREATER], self.counts[:, RAW_TIED], self.contest.raw_candidates)


class Kernel(Protocol):
    """One way of computing canonical scores and counting them."""

    name: str

    def work(self) -> dict[str, Any]:
        """Tell how the counts were made: for the manifest of a run."""
        ...

    def pairs(self, asked: Asked, offered: Offered, offsets: IntArray) -> Float64Array:
        """Score ``offered[offsets[q] : offsets[q + 1]]`` canonically against query ``q``; float64[offered]."""
        ...

    def count_vectors(self, asked: Asked, offered: Offered, first: int, tally: Tally) -> None:
        """Count a chunk of shared candidates, the first of which has position ``first``, into the tally."""
        ...

    def count_scores(self, scores: Float64Array, starts: IntArray, tally: Tally) -> None:
        """Count finished scores into the tally; those of query ``q`` begin at ``starts[q]``."""
        ...
