"""Kernels and collectors: a kernel computes scores and compares them, a collector keeps the result of a scan.

``engine`` gives each block of queries a collector, and a kernel that scans the candidates into it. ``Counting`` keeps
how many candidates are above each answer, ``BestAnswers`` the best candidates of each query, ``log_sums.LogSums`` sums.
Canonical scores decide: float64, summed in one fixed order. Finished scores are those that a model returns itself. The
kernels are in ``reference``, ``compiled``, ``screening`` and ``device``; ``kernels.kernel`` makes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.queries import Rows
from kgeval.models.scorer import SparseScores, as_float64
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.ranking_task import RankCounts, RankingTask
from kgeval.ranking.rules import TieRule


class Kernel(Protocol):
    """One way of computing canonical scores, comparing them with answers and selecting the best."""

    name: str

    def stats(self) -> dict[str, Any]:
        """Say how the counts were made, for the manifest of a run."""
        return {"kernel": self.name}

    def scores(self, queries: QueryVectors, entities: EntityVectors, lists: Rows) -> Float64Array:
        """Score the entities in each query's row of ``lists``, indices into ``entities``, canonically; float64[id]."""

    def compare(
        self, queries: QueryVectors, entities: EntityVectors, among: Among, intervals: Spans
    ) -> tuple[Counted, Counted]:
        """Compare with the answers of all queries: first all candidates, then the known answers among them."""
        if among.own is None:
            counted = self.count(queries, entities, intervals)
        else:
            counted = self.count_own(queries, entities, among.own, intervals)
        return counted, self.count_known(queries, entities, among.known, intervals)

    def count(self, queries: QueryVectors, entities: EntityVectors, intervals: Spans) -> Counted:
        """Compare all entities with the answers of all queries."""

    def count_own(self, queries: QueryVectors, entities: EntityVectors, lists: Rows, intervals: Spans) -> Counted:
        """Compare each query's own candidates, a row of indices into ``entities``."""

    def count_known(self, queries: QueryVectors, entities: EntityVectors, known: Rows, intervals: Spans) -> Counted:
        """Compare each query's known answers in the same way; :meth:`stats` does not count these comparisons."""
        return self.count_own(queries, entities, known, intervals)

    def count_scores(self, scores: Float64Array, starts: IntArray, lengths: IntArray, intervals: Spans) -> Counted:
        """Compare finished scores; those of query ``q`` are ``scores[starts[q] : starts[q] + lengths[q]]``."""

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        """Merge a chunk of shared candidates, the first of which has position ``first``, into the best answers."""

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        """Merge finished scores of all shared candidates, float64[query, candidate], into the best answers."""


class Collector(Protocol):
    """The result of a scan for some queries, with a method for each way to scan; two ways are for counting only."""

    undefined: Any
    """whether a candidate's score was NaN, bool[query], or how many scores were, int64[query]"""

    def scan_shared(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, first: int) -> None:
        """Scan a chunk of shared candidates, the first of which has position ``first``."""

    def scan_scores(self, kernel: Kernel, scores: Float64Array) -> None:
        """Scan all candidates by their finished scores, float64[query, candidate or more]."""

    def scan_tensor(self, kernel: Any, scores: Any) -> None:
        """Scan all candidates by their finished scores, a tensor on the kernel's device; by default it is copied."""
        self.scan_scores(kernel, np.ascontiguousarray(as_float64(scores, "the scorer")))

    def scan_lists(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, lists: Rows) -> None:
        """Scan each query's own candidates, a row of indices into ``entities``."""

    def scan_sparse(self, sparse: SparseScores) -> None:
        """Scan all candidates by the scores of the few that a sparse scorer lists."""


@dataclass(frozen=True, eq=False)
class Counting(Collector):
    """The counts of a ranking task: how many candidates are above each answer or tie with it, and known answers apart.

    An answer lies in its own tie interval, so it is counted as tied if it is a candidate, and subtracted at the end.
    """

    task: RankingTask
    intervals: Spans
    of_all: Counted
    """the counts of all candidates, the answers themselves too"""
    known: Counted
    """the counts of the known answers among the candidates"""

    @classmethod
    def of(cls, task: RankingTask, answers: Float64Array, tie_rule: TieRule) -> Counting:
        """Begin with zero, to compare with the answers' scores (float64[answer]) or with the task's thresholds."""
        ends = tie_rule(answers) if task.thresholds is None else (task.thresholds, task.thresholds)
        intervals = Spans(task.queries.offsets, *ends)
        return cls(task, intervals, Counted.zero(intervals), Counted.zero(intervals))

    @property
    def undefined(self) -> IntArray:
        return self.of_all.undefined

    def scan_shared(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, first: int) -> None:
        among = Among(None, self.task.known, self.task.answers)
        self._compare(kernel, queries, entities, among.in_chunk(slice(first, first + len(entities.biases))))

    def scan_lists(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, lists: Rows) -> None:
        known, places = self.task.known, self.task.answers
        of_known = Rows(known.offsets, lists.ids[lists.offsets[known.owners] + known.ids])
        listed = lists.offsets[self.intervals.owners] + places
        answers = np.where(places < 0, places, np.append(lists.ids, -1)[listed])
        self._compare(kernel, queries, entities, Among(lists, of_known, answers))

    def _compare(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, among: Among) -> None:
        of_all, known = kernel.compare(queries, entities, among, self.intervals)
        self.of_all.add(of_all)
        self.known.add(known)

    def scan_scores(self, kernel: Kernel, scores: Float64Array) -> None:
        known, starts = self.task.known, np.arange(len(scores)) * scores.shape[1]
        of_known = scores[known.owners, known.ids]
        self.of_all.add(kernel.count_scores(scores.ravel(), starts, self.task.num_candidates, self.intervals))
        self.known.add(kernel.count_scores(of_known, known.offsets[:-1], known.lengths, self.intervals))

    def scan_tensor(self, kernel: Any, scores: Any) -> None:
        self.of_all.add(kernel.count_tensor(scores, self.task.num_candidates, self.intervals))
        self.known.add(kernel.count_listed(scores, self.task.known, self.intervals))

    def scan_sparse(self, sparse: SparseScores) -> None:
        of_all, known = count_sparse(sparse, self.task, self.intervals)
        self.of_all.counts[:] += of_all
        self.known.counts[:] += known

    def nan(self, answers: Float64Array) -> IntArray:
        """Count NaN in the scores of each answer's other candidates, and in its own (``answers``); int64[answer, 2]."""
        is_nan = np.isnan(answers)
        others = self.undefined[self.task.queries.owners] - (is_nan & (self.task.answers >= 0))
        return np.stack([others, is_nan.astype(np.int64)], axis=1)

    def ranks(self, *, nan_last: bool = False) -> tuple[RankCounts, RankCounts]:
        """Subtract the answers themselves; return the filtered counts (without known answers) and the raw counts.

        With ``nan_last``, NaN is the worst possible score, minus infinity. No kernel finds NaN above an answer, nor
        level with one. It ties with the answers whose tie interval begins at minus infinity: every candidate that is
        not above such an answer ties with it.
        """
        task, itself = self.task, self.task.answers >= 0
        filtered = self.of_all.counts - self.known.counts
        counts = []
        for (above, tied), others, is_self in (
            (filtered.T, task.filtered_candidates, itself & ~task.is_known),
            (self.of_all.counts.T, task.raw_candidates, itself),
        ):
            level = tied - is_self
            if nan_last:
                level = np.where(self.intervals.lowest == -np.inf, others - 1 - above, level)
            counts.append(RankCounts(above, level, others))
        return counts[0], counts[1]


ALL, KNOWN = range(2)
"""the columns of ``BestAnswers.tied``: ties among all candidates, and among known answers"""


@dataclass(frozen=True, eq=False)
class BestAnswers(Collector):
    """The best candidates so far: by score, descending, and if scores are equal by position, ascending.

    Each query has the same number of places, one for each candidate that is kept. A score of minus infinity rules a
    candidate out: it is never among the best.
    """

    scores: Float64Array
    """float64[query, place], −∞ where there are no more"""
    positions: IntArray
    """int64[query, place], positions among the shared candidates, −1 where there are no more"""
    tied: IntArray
    """int64[query, 2], how many candidates have the score of the last place: of all that were scanned, and of the known
    answers among them"""
    undefined: BoolArray
    """bool[query], whether a candidate's score was NaN"""
    known: Rows
    """the positions of each query's known answers, ascending"""
    drops_known: bool
    """whether known answers are left out"""
    nan_last: bool = False
    """whether a candidate whose score is NaN is ruled out, and not undefined"""

    @classmethod
    def none(cls, known: Rows, places: int, *, drops_known: bool, nan_last: bool = False) -> BestAnswers:
        """Begin with no candidates, and ``places`` empty places for each query."""
        scores, positions = (np.full((len(known), places), fill) for fill in (-np.inf, -1))
        tied, undefined = np.zeros((len(known), 2), np.int64), np.zeros(len(known), np.bool_)
        return cls(scores, positions, tied, undefined, known, drops_known, nan_last)

    def scan_shared(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, first: int) -> None:
        kernel.select_shared(queries, entities, first, self)

    def scan_scores(self, kernel: Kernel, scores: Float64Array) -> None:
        kernel.select_scores(scores, self)

    def scan_tensor(self, kernel: Any, scores: Any) -> None:
        kernel.select_tensor(scores, self)

    @property
    def spans_of_ties(self) -> tuple[IntArray, IntArray]:
        """For each place, where the places with the same score begin and end; int64[query, place] each."""
        width = self.scores.shape[1]
        changes = self.scores[:, 1:] != self.scores[:, :-1]
        columns, edge = np.arange(width), np.ones((len(self.scores), 1), np.bool_)
        starts = np.maximum.accumulate(np.where(np.hstack([edge, changes]), columns, 0), axis=1)
        ends = np.where(np.hstack([changes, edge]), columns + 1, width)[:, ::-1]
        return starts, np.minimum.accumulate(ends, axis=1)[:, ::-1]

    def __getitem__(self, part: slice) -> BestAnswers:
        """View some queries: candidates that are merged into the view are merged here too."""
        return replace(self, **{name: array[part] for name, array in self._found.items()}, known=self.known[part])

    def copied(self) -> BestAnswers:
        """Copy what was found, so that more can be merged into it on trial."""
        return replace(self, **{name: array.copy() for name, array in self._found.items()})

    def take_over(self, trial: BestAnswers) -> None:
        """Take what was found on trial."""
        for name, array in self._found.items():
            array[:] = trial._found[name]

    @property
    def _found(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("scores", "positions", "tied", "undefined")}

    @classmethod
    def concatenated(cls, parts: Sequence[BestAnswers]) -> BestAnswers:
        """Concatenate the best answers of several blocks of queries, of which there is at least one."""
        arrays: dict[str, Any] = {key: np.concatenate([part._found[key] for part in parts]) for key in parts[0]._found}
        lengths, ids = (np.concatenate([getattr(part.known, name) for part in parts]) for name in ("lengths", "ids"))
        return replace(parts[0], **arrays, known=Rows.sized(lengths, ids))


class Spans(NamedTuple):
    """The tie interval of each answer of some queries, as plain arrays for the compiled loops."""

    offsets: IntArray
    """int64[query + 1], where each query's answers begin"""
    lowest: Float64Array
    """float64[answer], the lowest score that ties with the answer"""
    highest: Float64Array
    """float64[answer], the highest one"""

    @property
    def owners(self) -> IntArray:
        """The query of each answer; int64[answer]."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


class Counted(NamedTuple):
    """How candidates compare with the answers of some queries."""

    counts: IntArray
    """int64[answer, 2]: how many candidates are above the answer's interval, and how many inside it"""
    undefined: IntArray
    """int64[query], how many candidates' scores were NaN"""

    @classmethod
    def zero(cls, intervals: Spans) -> Counted:
        """Begin with no candidates."""
        return cls(np.zeros((len(intervals.lowest), 2), np.int64), np.zeros(len(intervals.offsets) - 1, np.int64))

    def add(self, other: Counted) -> None:
        self.counts[:] += other.counts
        self.undefined[:] += other.undefined


class Among(NamedTuple):
    """Which entities concern each query and each answer, by their indices among the entities that a kernel is given."""

    own: Rows | None
    """each query's own candidates; None where all of the entities compete"""
    known: Rows
    """each query's known answers"""
    answers: IntArray
    """int64[answer], the answer itself, which lies in its own tie interval; out of range if it is not among the
    entities"""

    def in_chunk(self, part: slice) -> Among:
        """Take a chunk of the entities, all of which compete."""
        return Among(None, known_in_chunk(self.known, part.start, part.stop - part.start), self.answers - part.start)


def known_in_chunk(known: Rows, first: int, width: int) -> Rows:
    """Take the known answers among ``width`` candidates from position ``first`` on, as indices into this chunk."""
    places = known.ids - first
    inside = known.where((places >= 0) & (places < width))
    return Rows(inside.offsets, inside.ids - first)


def count_sparse(sparse: SparseScores, task: RankingTask, intervals: Spans) -> tuple[IntArray, IntArray]:
    """Count the candidates, which all queries share, above and inside each tie interval.

    Returns int64[answer, 2] of all candidates, and of the known answers among them.
    """
    owners, lowest, highest = intervals.owners, intervals.lowest, intervals.highest
    shared = task.candidates.rows.ids  # the entities that compete; int64[candidate]
    is_candidate = np.zeros(1 + max(shared.max(initial=0), sparse.rows.ids.max(initial=0)), np.bool_)
    is_candidate[shared] = True
    competes: BoolArray = is_candidate[sparse.rows.ids]
    listed = _SortedScores.of(sparse.rows.where(competes), sparse.scores[competes])
    above, tied = listed.compared(sparse.of_query[owners], lowest, highest)
    unlisted = len(shared) - np.diff(listed.offsets)[sparse.of_query[owners]]
    above += unlisted * (sparse.others > highest)
    tied += unlisted * ((sparse.others >= lowest) & (sparse.others <= highest))
    # task.known.ids are positions in `shared`.
    known = _SortedScores.of(task.known, sparse.at(task.known.owners, shared[task.known.ids]))
    return np.stack([above, tied], axis=1), np.stack(known.compared(owners, lowest, highest), axis=1)


class _SortedScores(NamedTuple):
    """Rows of scores, each in ascending order."""

    values: Float64Array
    """the different scores, ascending"""
    keys: IntArray
    """int64[score], ascending: row × (len(values) + 1) + index of the score in ``values``"""
    offsets: IntArray
    """int64[row + 1]"""

    @classmethod
    def of(cls, rows: Rows, scores: Float64Array) -> _SortedScores:
        values, indices = np.unique(scores, return_inverse=True)
        # One more than the values: in `compared`, a threshold above all of them has the index len(values).
        return cls(values, np.sort(rows.owners * (len(values) + 1) + indices), rows.offsets)

    def compared(self, rows: IntArray, lowest: Float64Array, highest: Float64Array) -> tuple[IntArray, IntArray]:
        """Count the scores of some rows above intervals, and those inside them; int64[row] each."""
        above = self.offsets[rows + 1] - self._places(rows, np.searchsorted(self.values, highest, "right"))
        reaching = self.offsets[rows + 1] - self._places(rows, np.searchsorted(self.values, lowest, "left"))
        return above, reaching - above

    def _places(self, rows: IntArray, indices: IntArray) -> IntArray:
        """Find the first key in each row whose index is not below the given one; int64[row]."""
        return np.searchsorted(self.keys, rows * (len(self.values) + 1) + indices)
