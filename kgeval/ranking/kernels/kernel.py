"""The kernel interface: score pairs, and count the candidates above and level with each answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, FloatArray, IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tie_rules import TieRule
from kgeval.scorers.numerics.similarity import Similarity

if TYPE_CHECKING:  # numba is loaded when something is ranked, not before
    from kgeval.ranking.kernels.rounding import Rounded

Precision = Literal["bfloat16", "float32"]

RAW_GREATER, RAW_TIED, GREATER, TIED = range(4)
"""the columns of a tally"""


@dataclass(frozen=True, eq=False)
class QueryVectors:
    """Queries as numbers: their vectors, and what is added to all their scores."""

    similarity: Similarity
    vectors: Float64Array
    """float64[query, dim]"""
    offsets: Float64Array
    """float64[query]"""

    @cached_property
    def norms(self) -> Float64Array:
        """How large the vectors are, in the norm that their rounding is measured in; float64[query]."""
        from kgeval.ranking.kernels.rounding import norms_of

        return norms_of(self.vectors, manhattan=self._manhattan)

    @cached_property
    def float32(self) -> Rounded:
        """The vectors in float32."""
        return self._rounded("float32")

    @cached_property
    def bfloat16(self) -> Rounded:
        """The vectors in bfloat16."""
        return self._rounded("bfloat16")

    def _rounded(self, precision: Precision) -> Rounded:
        from kgeval.ranking.kernels.rounding import round_rows

        order = np.arange(len(self.vectors))
        return round_rows(self.vectors, order, precision=precision, manhattan=self._manhattan)

    @property
    def _manhattan(self) -> bool:
        """Whether errors add up as sums of absolute values, and not as Euclid's norm."""
        return self.similarity in {"l1", "modulus"}


@dataclass(frozen=True, eq=False)
class EntityVectors:
    """Entities as numbers: their vectors, and what is added to their scores."""

    vectors: FloatArray
    """float[entity, dim], in the precision they are stored in"""
    biases: Float64Array
    """float64[entity]"""

    @cached_property
    def norms(self) -> Float64Array:
        """Euclid's norms of the vectors; float64[entity]."""
        from kgeval.ranking.kernels.rounding import norms_of

        return norms_of(self.vectors, manhattan=False)


@dataclass(frozen=True, eq=False)
class CountAccumulator:
    """What has been counted so far for the tasks of a contest."""

    contest: RankingTask
    thresholds: Float64Array
    """float64[task], the score of each answer"""
    counts: IntArray
    """int64[task, 4]: raw greater, raw tied, filtered greater, filtered tied"""
    undefined: BoolArray
    """bool[query], whether a candidate's score was NaN"""

    @classmethod
    def zero(cls, contest: RankingTask, thresholds: Float64Array) -> CountAccumulator:
        """Begin to count."""
        counts = np.zeros((contest.queries.num_tasks, 4), np.int64)
        return cls(contest, thresholds, counts, np.zeros(len(contest.queries), np.bool_))

    @classmethod
    def zeros_for_interval(cls, contest: RankingTask, answers: Float64Array, level: TieRule) -> list[CountAccumulator]:
        """Begin to count at the highest and at the lowest score that is level with each answer; once, if it is one."""
        lowest, highest = level(answers)
        ends = [highest] if np.array_equal(lowest, highest, equal_nan=True) else [highest, lowest]
        return [cls.zero(contest, end) for end in ends]

    @classmethod
    def from_interval(cls, answers: Float64Array, ends: Sequence[CountAccumulator]) -> CountAccumulator:
        """Take what was counted at both ends together: what reaches the lowest and is not above the highest is level.

        An answer reaches the lowest end itself. A kernel that meets it as a candidate counts it there as above, and
        takes it from those level with the end: of both together, it is in neither.
        """
        highest, lowest = ends[0], ends[-1]
        above, reaching = highest.counts[:, ::2], lowest.counts[:, ::2] + lowest.counts[:, 1::2]
        counts = np.stack([above, reaching - above], axis=2).reshape(-1, 4)
        return cls(highest.contest, answers, counts, highest.undefined | lowest.undefined)

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

    def stats(self) -> dict[str, Any]:
        """Tell how the counts were made: for the manifest of a run."""
        ...

    def pairs(self, asked: QueryVectors, offered: EntityVectors, offsets: IntArray) -> Float64Array:
        """Score ``offered[offsets[q] : offsets[q + 1]]`` canonically against query ``q``; float64[offered]."""
        ...

    def count_shared(self, asked: QueryVectors, offered: EntityVectors, first: int, tally: CountAccumulator) -> None:
        """Count a chunk of shared candidates, the first of which has position ``first``, into the tally."""
        ...

    def count_per_query(self, asked: QueryVectors, offered: EntityVectors, own: Rows, tally: CountAccumulator) -> None:
        """Count each query's own candidates, a row of indices into ``offered``, into the tally."""
        ...

    def count_scores(self, scores: Float64Array, starts: IntArray, tally: CountAccumulator) -> None:
        """Count finished scores into the tally; those of query ``q`` begin at ``starts[q]``."""
        ...


def count_pairs(
    kernel: Kernel, asked: QueryVectors, offered: EntityVectors, own: Rows, tally: CountAccumulator
) -> None:
    """Count each query's own candidates by their canonical scores."""
    laid_out = EntityVectors(offered.vectors[own.ids], offered.biases[own.ids])
    kernel.count_scores(kernel.pairs(asked, laid_out, own.offsets), own.offsets[:-1], tally)
