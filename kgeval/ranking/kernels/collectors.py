"""Kernels and collectors: what computes scores, and what is kept of them: counts at each answer, or the best ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.kernels.sparse_counts import count_sparse
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tie_rules import TieRule
from kgeval.scorers.adapters.score_arrays import as_float64
from kgeval.scorers.sparse_scorer import SparseScores


class Kernel(Protocol):
    """One way of computing canonical scores and counting them."""

    name: str

    def stats(self) -> dict[str, Any]:
        """Say how the counts were made, for the manifest of a run."""
        return {"kernel": self.name}

    def pairs(self, queries: QueryVectors, entities: EntityVectors, offsets: IntArray) -> Float64Array:
        """Score ``entities[offsets[q] : offsets[q + 1]]`` canonically against query ``q``; float64[entity]."""

    def count_shared(
        self, queries: QueryVectors, entities: EntityVectors, first: int, accumulator: CountAccumulator
    ) -> None:
        """Count a chunk of shared candidates, the first of which has position ``first``, into the accumulator."""

    def count_per_query(
        self, queries: QueryVectors, entities: EntityVectors, own: Rows, accumulator: CountAccumulator
    ) -> None:
        """Count each query's own candidates, a row of indices into ``entities``, into the accumulator."""

    def count_scores(self, scores: Float64Array, starts: IntArray, accumulator: CountAccumulator) -> None:
        """Count finished scores into the accumulator; those of query ``q`` begin at ``starts[q]``."""

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        """Merge a chunk of shared candidates, the first of which has position ``first``, into the best answers."""

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        """Merge finished scores of all shared candidates, float64[query, candidate], into the best answers."""


@runtime_checkable
class TensorKernel(Kernel, Protocol):
    """A kernel that counts and selects on a device of torch."""

    device: Any
    """the ``torch.device``"""

    def count_tensor(self, scores: Any, accumulator: CountAccumulator) -> None:
        """Count finished scores, a tensor [query, candidate or more], into the accumulator, where they are."""

    def select_tensor(self, scores: Any, best: BestAnswers) -> None:
        """Merge finished scores, a tensor [query, candidate], into the best answers; few of them are copied."""


class Collector(ABC):
    """Keeps what is wanted of the candidates of some queries; their own lists and sparse scores are only counted."""

    undefined: BoolArray
    """bool[query], whether a candidate's score was NaN"""

    @abstractmethod
    def meet_shared(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, first: int) -> None:
        """Meet a chunk of shared candidates, the first of which has position ``first``."""

    @abstractmethod
    def meet_scores(self, kernel: Kernel, scores: Float64Array) -> None:
        """Meet all candidates by their finished scores, float64[query, candidate or more]."""

    def meet_tensor(self, kernel: TensorKernel, scores: Any) -> None:
        """Meet all candidates by their finished scores, a tensor on the kernel's device, by default copied."""
        self.meet_scores(kernel, np.ascontiguousarray(as_float64(scores, "the scorer")))

    def meet_own(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, own: Rows) -> None:
        """Meet each query's own candidates, a row of indices into ``entities``."""
        raise NotImplementedError

    def meet_sparse(self, sparse: SparseScores) -> None:
        """Meet all candidates by the scores of the few that are listed."""
        raise NotImplementedError


RAW_GREATER, RAW_TIED, GREATER, TIED = range(4)
"""the columns of the counts"""


@dataclass(frozen=True, eq=False)
class CountAccumulator(Collector):
    """What has been counted so far for the answers of a ranking task."""

    task: RankingTask
    thresholds: Float64Array
    """float64[answer], the score of each answer"""
    counts: IntArray
    """int64[answer, 4]: raw greater, raw tied, filtered greater, filtered tied"""
    undefined: BoolArray
    """bool[query], whether a candidate's score was NaN"""

    @classmethod
    def zero(cls, task: RankingTask, thresholds: Float64Array) -> CountAccumulator:
        counts = np.zeros((task.queries.num_answers, 4), np.int64)
        return cls(task, thresholds, counts, np.zeros(len(task.queries), np.bool_))

    def __getitem__(self, part: slice) -> CountAccumulator:
        """View some queries: what is counted in the view is counted here."""
        start, stop, _ = part.indices(len(self.task.queries))
        own = slice(*self.task.queries.offsets[[start, stop]])
        return CountAccumulator(self.task[part], self.thresholds[own], self.counts[own], self.undefined[part])

    @classmethod
    def at_ends(cls, task: RankingTask, answers: Float64Array, tie_rule: TieRule) -> CountAccumulator:
        """Begin to count at both ends of each answer's tie interval, as if each end were an answer.

        Where all intervals are one score, and where a task has thresholds of its own, these are counted once.
        """
        if task.thresholds is not None:
            return cls.zero(task, task.thresholds)
        lowest, highest = tie_rule(answers)
        if np.array_equal(lowest, highest, equal_nan=True):
            return cls.zero(task, highest)
        return cls.zero(task.with_answers_twice(), np.stack([highest, lowest], axis=1).ravel())

    def between_ends(self, task: RankingTask, answers: Float64Array, *, nan_last: bool = False) -> CountAccumulator:
        """Combine what was counted at both ends: what reaches the lowest and is not above the highest is tied.

        An answer reaches the lowest end itself. A kernel that meets it as a candidate counts it there as above, and
        takes it from those that tie with the end: of both together, it is in neither.
        """
        each = max(1, len(self.thresholds) // max(1, len(answers)))
        above, lowest = self.counts[::each, ::2], self.counts[each - 1 :: each]
        tied = lowest[:, ::2] + lowest[:, 1::2] - above
        found = CountAccumulator(task, answers, np.stack([above, tied], axis=2).reshape(-1, 4), self.undefined)
        if nan_last:
            found.rank_undefined_last(self.thresholds[each - 1 :: each])
        return found

    def meet_shared(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, first: int) -> None:
        kernel.count_shared(queries, entities, first, self)

    def meet_own(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, own: Rows) -> None:
        kernel.count_per_query(queries, entities, own, self)

    def meet_scores(self, kernel: Kernel, scores: Float64Array) -> None:
        kernel.count_scores(scores.ravel(), np.arange(len(scores)) * scores.shape[1], self)

    def meet_tensor(self, kernel: TensorKernel, scores: Any) -> None:
        kernel.count_tensor(scores, self)

    def meet_sparse(self, sparse: SparseScores) -> None:
        self.counts[:] += count_sparse(sparse, self.task, self.thresholds)

    def rank_undefined_last(self, lowest: Float64Array) -> None:
        """Count NaN as the worst possible score, minus infinity.

        No kernel finds NaN above an answer, nor level with one. It ties with those whose tie interval begins at minus
        infinity (``lowest``, float64[answer]): whatever is not above them ties.
        """
        counts, others = self.counts, (self.filtered.candidates - 1, self.raw.candidates - 1)
        for (above, tied), candidates in zip(((GREATER, TIED), (RAW_GREATER, RAW_TIED)), others, strict=True):
            counts[:, tied] = np.where(lowest == -np.inf, candidates - counts[:, above], counts[:, tied])

    @property
    def filtered(self) -> RankCounts:
        """The counts without other known answers."""
        return RankCounts(self.counts[:, GREATER], self.counts[:, TIED], self.task.filtered_candidates)

    @property
    def raw(self) -> RankCounts:
        return RankCounts(self.counts[:, RAW_GREATER], self.counts[:, RAW_TIED], self.task.raw_candidates)


def within(known: Rows, first: int, width: int) -> Rows:
    """Take the known answers of a chunk of candidates, the first of which has position ``first``, by their places."""
    places = known.ids - first
    inside = known.where((places >= 0) & (places < width))
    return Rows(inside.offsets, inside.ids - first)


ALL, KNOWN = range(2)
"""the columns of the ties: of all candidates, and of known answers"""


@dataclass(frozen=True, eq=False)
class BestAnswers(Collector):
    """The best so far: by score, descending, and where scores are equal by position, ascending.

    A score of minus infinity rules a candidate out: it is never among the best.
    """

    scores: Float64Array
    """float64[query, place], −∞ where there are no more"""
    positions: IntArray
    """int64[query, place], positions among the shared candidates, −1 where there are no more"""
    tied: IntArray
    """int64[query, 2]: of all candidates that were met, and of the known answers among them, how many have the score of
    the last place"""
    undefined: BoolArray
    """bool[query], whether a candidate's score was NaN"""
    known: Rows
    """the positions of each query's known answers, ascending"""
    drops_known: bool
    """whether known answers are left out"""
    nan_last: bool = False
    """whether a candidate whose score is NaN is ruled out, and nothing is undefined"""

    @classmethod
    def none(cls, known: Rows, places: int, *, drops_known: bool, nan_last: bool = False) -> BestAnswers:
        scores, positions = (np.full((len(known), places), fill) for fill in (-np.inf, -1))
        tied, undefined = np.zeros((len(known), 2), np.int64), np.zeros(len(known), np.bool_)
        return cls(scores, positions, tied, undefined, known, drops_known, nan_last)

    def meet_shared(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, first: int) -> None:
        kernel.select_shared(queries, entities, first, self)

    def meet_scores(self, kernel: Kernel, scores: Float64Array) -> None:
        kernel.select_scores(scores, self)

    def meet_tensor(self, kernel: TensorKernel, scores: Any) -> None:
        kernel.select_tensor(scores, self)

    @property
    def spans_of_ties(self) -> tuple[IntArray, IntArray]:
        """Where those that tie with each place begin and end in its list; int64[query, place] each."""
        width = self.scores.shape[1]
        changes = self.scores[:, 1:] != self.scores[:, :-1]
        columns, edge = np.arange(width), np.ones((len(self.scores), 1), np.bool_)
        starts = np.maximum.accumulate(np.where(np.hstack([edge, changes]), columns, 0), axis=1)
        ends = np.where(np.hstack([changes, edge]), columns + 1, width)[:, ::-1]
        return starts, np.minimum.accumulate(ends, axis=1)[:, ::-1]

    def __getitem__(self, part: slice) -> BestAnswers:
        """View some queries: what is merged into the view is merged here."""
        return replace(self, **{name: array[part] for name, array in self._found.items()}, known=self.known[part])

    def copied(self) -> BestAnswers:
        """Copy what was found, so that more can be merged into it on trial."""
        return replace(self, **{name: array.copy() for name, array in self._found.items()})

    def take_over(self, trial: BestAnswers) -> None:
        for name, array in self._found.items():
            array[:] = trial._found[name]

    @property
    def _found(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("scores", "positions", "tied", "undefined")}

    @classmethod
    def concatenated(cls, parts: Sequence[BestAnswers]) -> BestAnswers:
        """Concatenate the best answers of several blocks of queries, of which there is at least one."""
        found: dict[str, Any] = {
            name: np.concatenate([part._found[name] for part in parts]) for name in parts[0]._found
        }
        lengths, ids = (np.concatenate([getattr(part.known, name) for part in parts]) for name in ("lengths", "ids"))
        return replace(parts[0], **found, known=Rows.sized(lengths, ids))
