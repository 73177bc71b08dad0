"""The ranking engine: score the candidates of every query once, and count them against all of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows
from kgeval.data.triples import Side
from kgeval.errors import ScoreError
from kgeval.progress import Progress, unreported
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.evaluation import NaNPolicy
from kgeval.ranking.kernels.collectors import CountAccumulator
from kgeval.ranking.kernels.kernel import Kernel, TensorKernel
from kgeval.ranking.kernels.sparse_counts import count_sparse
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.plan import MOST_SCORED, Plan
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tie_rules import TieRule, exact
from kgeval.scorers.adapters.score_arrays import as_float64
from kgeval.scorers.numerics.similarity import unit
from kgeval.scorers.scorer import (
    Scorer,
    TensorScorer,
    VectorScorer,
    entity_arrays,
    query_arrays,
    refuse_vector_widths,
    views_of,
)
from kgeval.scorers.sparse_scorer import SparseScorer
from kgeval.threads import slices

STORED = (np.float16, np.float32, np.float64)
"""the precisions that entity vectors are ranked in; other numbers become float64"""

QUERY_VECTOR_BATCH = 2048
"""queries whose vectors a scorer computes at a time"""


class UndefinedScore(ScoreError):
    """A scorer gave NaN for a candidate (or an answer) of a query."""

    def __init__(self, queries: Queries, query: int, candidate: int) -> None:
        self.side = queries.side
        self.anchor, self.relation = int(queries.anchors[query]), int(queries.relations[query])
        self.candidate = candidate
        super().__init__("a scorer returned NaN")


def first_undefined(scorer: Scorer | VectorScorer, task: RankingTask, undefined: BoolArray) -> UndefinedScore:
    """Find the first NaN among the candidates of queries of which some have one; ``undefined`` is bool[query]."""
    query = int(np.argmax(undefined))
    part = task[query : query + 1]
    candidates = part.candidates.ids_of(0)
    holes = np.isnan(as_float64(scorer.scores(part.queries, candidates), "the scorer")[0])
    return UndefinedScore(task.queries, query, int(candidates[np.argmax(holes)]))


class Ranked(NamedTuple):
    """The counts of the answers of a ranking task."""

    scores: Float64Array
    """float64[answer], the score of each answer"""
    filtered: RankCounts
    raw: RankCounts


def concatenated(parts: Sequence[Ranked]) -> Ranked:
    """Concatenate the counts of several blocks of queries."""
    scores = np.concatenate([part.scores for part in parts])
    filtered, raw = (RankCounts.concatenated([getattr(part, name) for part in parts]) for name in ("filtered", "raw"))
    return Ranked(scores, filtered, raw)


def rank_last(task: RankingTask) -> Ranked:
    """Rank answers that cannot be scored behind all of their candidates."""
    nothing = np.zeros(task.queries.num_answers, np.int64)
    filtered, raw = (
        RankCounts(candidates - 1, nothing, candidates)
        for candidates in (task.filtered_candidates, task.raw_candidates)
    )
    return Ranked(np.full(len(nothing), -np.inf), filtered, raw)


@dataclass(frozen=True)
class Engine:
    """Ranks the answers of queries among their candidates, with one kernel."""

    kernel: Kernel
    nan: NaNPolicy = "error"
    memory: int = 2**30
    """bytes that the blocks may take"""
    batch_size: int | None = None
    """queries whose finished scores are held at a time; by default as many as fit"""
    progress: Progress = unreported
    tie_rule: TieRule = exact
    """which scores tie with an answer's"""
    device_memory: int | None = None
    """bytes that the blocks may take on the kernel's device; None where it has none"""

    def rank(self, scorer: Scorer | VectorScorer, task: RankingTask) -> Ranked:
        """Rank every answer of some queries."""
        views = views_of(scorer, task.queries)
        return _ranked(task, [counts for part, view in views for counts in self._rank_view(view, task[part])])

    def _rank_view(self, scorer: Scorer | VectorScorer, task: RankingTask) -> Iterator[CountAccumulator]:
        plan, queries = Plan(self.memory, self.batch_size), task.queries
        if isinstance(scorer, VectorScorer):
            dim = int(np.shape(scorer.entity_vectors(queries.side, queries.answers[:1]))[-1])
            step = plan.chunk(dim, self.device_memory)
            blocks, rank_part = plan.by_vectors(dim, task), partial(self._rank_vectors, scorer, step=step)
        elif isinstance(scorer, SparseScorer) and task.candidates.is_shared and not task.candidates.as_listed:
            blocks, rank_part = slices(len(queries), MOST_SCORED), partial(self._rank_sparse, scorer)
        else:
            held = replace(plan, memory=min(self.memory, self.device_memory or self.memory))
            blocks, rank_part = held.by_scores(task), partial(self._rank_scores, scorer)
        for block in blocks:
            accumulator = rank_part(task[block])
            if self.nan == "error":
                self._refuse_nan(scorer, accumulator)
            yield accumulator

    def _rank_vectors(self, scorer: VectorScorer, task: RankingTask, step: int) -> CountAccumulator:
        """Rank on vectors, ``step`` shared candidates at a time."""
        queries, candidates = task.queries, task.candidates
        query_vectors = fetch_query_vectors(scorer, queries)
        answer_vectors = fetch_entity_vectors(scorer, queries.side, queries.answers)
        refuse_vector_widths(query_vectors.vectors, answer_vectors.vectors)
        thresholds = self._without_nan(self.kernel.pairs(query_vectors, answer_vectors, queries.offsets))
        ends = CountAccumulator.at_ends(task, thresholds, self.tie_rule)
        if (shared := candidates.shared_ids) is not None:
            for chunk in slices(len(shared), step):
                entity_vectors = fetch_entity_vectors(scorer, queries.side, shared[chunk])
                self.kernel.count_shared(query_vectors, entity_vectors, chunk.start, ends)
                self._report(queries, chunk.start, chunk.stop, len(shared))
        else:
            rows = candidates.per_query(len(queries))
            entity_vectors, places = _gather_unique_entities(scorer, queries.side, rows.ids)
            self.kernel.count_per_query(query_vectors, entity_vectors, Rows(rows.offsets, places), ends)
            self._report(queries, 0, 1, 1)
        return ends.between_ends(task, thresholds, nan_last=self.nan == "worst")

    def _rank_scores(self, scorer: Scorer | VectorScorer, task: RankingTask) -> CountAccumulator:
        """Rank on finished scores; each answer's is taken from the same block as its candidates'."""
        ids, columns = _columns(task)
        if isinstance(self.kernel, TensorKernel):
            tensor = self.tensor_scores(self.kernel, scorer, task.queries, ids)
            if tensor is not None:
                return self._rank_tensor(self.kernel, task, tensor, columns)
        scores = self.finished_scores(scorer, task.queries, ids)
        thresholds = scores[task.queries.owners, columns]
        starts = np.arange(len(scores)) * scores.shape[1]
        return self._count(task, thresholds, partial(self.kernel.count_scores, scores.ravel(), starts))

    def tensor_scores(self, kernel: TensorKernel, scorer: Scorer, queries: Queries, ids: IntArray) -> Any:
        """Score candidates on the kernel's device, and treat NaN as the policy says; None where the scorer cannot."""
        found = scorer.score_tensor(queries, ids, kernel.device) if isinstance(scorer, TensorScorer) else None
        return found if found is None or self.nan == "error" else found.masked_fill(found.isnan(), -np.inf)

    def _rank_tensor(self, kernel: TensorKernel, task: RankingTask, scores: Any, columns: IntArray) -> CountAccumulator:
        """Rank on finished scores that stay on their device: float[query, column]."""
        thresholds = as_float64(scores[task.queries.owners, columns], "the scorer")
        return self._count(task, thresholds, partial(kernel.count_tensor, scores))

    def finished_scores(self, scorer: Scorer | VectorScorer, queries: Queries, ids: IntArray) -> Float64Array:
        """Score candidates (int64[candidate] or int64[query, candidate]), and treat NaN as the policy says."""
        shape = (len(queries), ids.shape[-1])
        returned = as_float64(scorer.scores(queries, ids), "the scorer")
        if returned.shape != shape:
            raise ScoreError(
                f"the scorer returned scores of shape {returned.shape}, expected {shape} (query, candidate)."
            )
        return self._without_nan(np.ascontiguousarray(returned))

    def _without_nan(self, scores: Float64Array) -> Float64Array:
        """Take NaN as the worst possible score, if that is the policy."""
        return np.where(np.isnan(scores), -np.inf, scores) if self.nan == "worst" else scores

    def _rank_sparse(self, scorer: SparseScorer, task: RankingTask) -> CountAccumulator:
        """Rank on the scores of the few entities that are listed."""
        sparse = scorer.sparse_scores(task.queries)
        thresholds = sparse.at(task.queries.owners, task.queries.answers)
        return self._count(task, thresholds, partial(count_sparse, sparse))

    def _count(
        self, task: RankingTask, thresholds: Float64Array, count: Callable[[CountAccumulator], None]
    ) -> CountAccumulator:
        """Count all candidates at the ends of each answer's tie interval."""
        count(ends := CountAccumulator.at_ends(task, thresholds, self.tie_rule))
        self._report(task.queries, 0, 1, 1)
        return ends.between_ends(task, thresholds)

    def _report(self, queries: Queries, start: int, stop: int, total: int) -> None:
        """Report how many answers are done, of some queries of whose candidates a part was counted."""
        self.progress(queries.num_answers * stop // total - queries.num_answers * start // total)

    def _refuse_nan(self, scorer: Scorer | VectorScorer, accumulator: CountAccumulator) -> None:
        queries = accumulator.task.queries
        undefined = np.isnan(accumulator.thresholds)
        if undefined.any():
            answer = int(np.argmax(undefined))
            raise UndefinedScore(queries, int(queries.owners[answer]), int(queries.answers[answer]))
        if accumulator.undefined.any():
            raise first_undefined(scorer, accumulator.task, accumulator.undefined)


def fetch_query_vectors(scorer: VectorScorer, queries: Queries) -> QueryVectors:
    """Compute the vectors of queries, in float64; unit vectors where they are compared by cosine."""
    # The error bounds hold for float64 queries, whatever precision a scorer returns. A formula makes several arrays of
    # the size of its result, so it computes a part at a time.
    parts = [query_arrays(scorer, queries[part]) for part in slices(len(queries), QUERY_VECTOR_BATCH)]
    for part, _ in parts[1:]:
        if part.shape[1] != parts[0][0].shape[1]:
            widths = f"{parts[0][0].shape[1]} dimensions for some queries, {part.shape[1]} for others"
            raise ScoreError(f"the scorer's query vectors have {widths}: they must be equally wide.")
    vectors, offsets = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if scorer.similarity == "cosine":
        return QueryVectors("dot", unit(vectors), offsets)
    return QueryVectors(scorer.similarity, vectors, offsets)


def fetch_entity_vectors(scorer: VectorScorer, side: Side, ids: IntArray) -> EntityVectors:
    """Fetch the vectors of entities, in the precision they are stored in where the kernels have it."""
    vectors, biases = entity_arrays(scorer, side, ids)
    if vectors.dtype not in STORED:
        vectors = as_float64(vectors, "the scorer's entity vectors")
    if scorer.similarity == "cosine":
        return EntityVectors(unit(vectors), biases)
    # numba has no float16; float32 holds each of its values exactly.
    return EntityVectors(vectors.astype(np.float32) if vectors.dtype == np.float16 else vectors, biases)


def _gather_unique_entities(scorer: VectorScorer, side: Side, ids: IntArray) -> tuple[EntityVectors, IntArray]:
    """Fetch entities, each once where that is less; return them, and the row of each id."""
    if len(ids) <= ids.max(initial=0):
        return fetch_entity_vectors(scorer, side, ids), np.arange(len(ids))
    present = np.zeros(ids.max() + 1, np.bool_)
    present[ids] = True
    unique = np.flatnonzero(present)
    return fetch_entity_vectors(scorer, side, unique), (np.cumsum(present) - 1)[ids]


def _columns(task: RankingTask) -> tuple[IntArray, IntArray]:
    """Lay out a block of scores: the entity of each column, and the column of each answer.

    The candidates come first, then the answers that are not among them.
    """
    queries, candidates = task.queries, task.candidates
    if (shared := candidates.shared_ids) is not None:
        further = np.unique(queries.answers[task.answers < 0])
        places = len(shared) + np.searchsorted(further, queries.answers)
        return np.append(shared, further), np.where(task.answers < 0, places, task.answers)
    rows, width = candidates.per_query(len(queries)), candidates.max_width
    answers = Rows(queries.offsets, queries.answers)
    columns = width + np.arange(queries.num_answers) - answers.offsets[answers.owners]
    # A short row is filled up with its first answer, which is always an entity that the scorer knows.
    ids = np.repeat(queries.answers[queries.offsets[:-1], None], width + int(answers.lengths.max(initial=0)), axis=1)
    ids[rows.owners, np.arange(len(rows.ids)) - rows.offsets[rows.owners]] = rows.ids
    ids[answers.owners, columns] = answers.ids
    return ids, columns


def _ranked(task: RankingTask, accumulators: list[CountAccumulator]) -> Ranked:
    counts = np.concatenate([np.empty((0, 4), np.int64), *(accumulator.counts for accumulator in accumulators)])
    scores = np.concatenate([np.empty(0), *(accumulator.thresholds for accumulator in accumulators)])
    whole = CountAccumulator(task, scores, counts, np.zeros(len(task.queries), np.bool_))
    return Ranked(scores, whole.filtered, whole.raw)
