"""The reference kernel: numpy, float64, nothing clever. What the others must equal, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.kernel import (
    GREATER,
    RAW_GREATER,
    RAW_TIED,
    TIED,
    CountAccumulator,
    EntityVectors,
    QueryVectors,
    count_pairs,
)
from kgeval.scorers.numerics.similarity import canonical


class ReferenceKernel:
    """Scores whole blocks with the canonical formulas, and counts one query after the other."""

    name = "reference"

    def stats(self) -> dict[str, Any]:
        """Tell how the counts were made."""
        return {"kernel": self.name}

    def pairs(self, asked: QueryVectors, offered: EntityVectors, offsets: IntArray) -> Float64Array:
        """Score pairs canonically; float64[offered]."""
        owners = np.repeat(np.arange(len(asked.vectors)), np.diff(offsets))
        vectors = np.asarray(offered.vectors, np.float64)
        similarities = canonical(asked.similarity, asked.vectors[owners], vectors)
        return similarities + offered.biases + asked.offsets[owners]

    def count_shared(self, asked: QueryVectors, offered: EntityVectors, first: int, tally: CountAccumulator) -> None:
        """Count a chunk of shared candidates into the tally."""
        vectors = np.asarray(offered.vectors, np.float64)
        for query, vector in enumerate(asked.vectors):
            row = canonical(asked.similarity, vector[None, :], vectors) + offered.biases + asked.offsets[query]
            _count_row(query, row, first, tally)

    def count_per_query(self, asked: QueryVectors, offered: EntityVectors, own: Rows, tally: CountAccumulator) -> None:
        """Count each query's own candidates into the tally."""
        count_pairs(self, asked, offered, own, tally)

    def count_scores(self, scores: Float64Array, starts: IntArray, tally: CountAccumulator) -> None:
        """Count finished scores into the tally."""
        for query, width in enumerate(tally.contest.num_candidates):
            _count_row(query, scores[starts[query] : starts[query] + width], 0, tally)


def _count_row(query: int, row: Float64Array, first: int, tally: CountAccumulator) -> None:
    contest = tally.contest
    known = contest.known.row(query) - first
    known = known[(known >= 0) & (known < len(row))]
    tally.undefined[query] |= np.isnan(row).any()
    for task in range(contest.queries.offsets[query], contest.queries.offsets[query + 1]):
        threshold, answer = tally.thresholds[task], contest.answers[task] - first
        competes = np.arange(len(row)) != answer
        unknown = competes.copy()
        unknown[known] = False
        tally.counts[task, RAW_GREATER] += np.sum((row > threshold) & competes)
        tally.counts[task, RAW_TIED] += np.sum((row == threshold) & competes)
        tally.counts[task, GREATER] += np.sum((row > threshold) & unknown)
        tally.counts[task, TIED] += np.sum((row == threshold) & unknown)
