"""The engine: scans every candidate of every query once, to rank answers, to find the best or to sum exp(score).

In go a scorer and a ``RankingTask`` (queries with their candidates); out come ``Ranked`` counts, ``BestAnswers`` or
sums. ``Engine._plan`` chooses one of three ways to scan: by the vectors of queries and entities, by finished scores (a
matrix that the model returns), or by the few scores that a sparse model lists. The kernel computes scores and compares
them. The collector (``kernels/collectors.py``) keeps counts, the best candidates or sums. ``engine_choice`` makes
engines; ``model_ranking``, ``predictions/predict`` and answer sets call them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.errors import ScoreError
from kgeval.base.progress import Progress, unreported
from kgeval.base.threads import slices
from kgeval.data.queries import Queries, Rows
from kgeval.models.scorer import (
    Scorer,
    SparseScorer,
    TensorScorer,
    VectorScorer,
    as_float64,
    refuse_vector_widths,
    views_of,
)
from kgeval.models.similarity import LANES
from kgeval.ranking.evaluation import NaNPolicy
from kgeval.ranking.kernels.collectors import BestAnswers, Collector, Counting, Kernel
from kgeval.ranking.kernels.vectors import fetch_entity_vectors, fetch_query_vectors, gather_unique_entities
from kgeval.ranking.memory_plan import MOST_SCORED, Plan
from kgeval.ranking.ranking_task import Ranked, RankingTask, concatenated, rank_last
from kgeval.ranking.rules import TieRule, exact


@dataclass(frozen=True)
class Engine:
    """A kernel, the memory that it may take, and what to do with NaN and ties; its methods scan candidates."""

    kernel: Kernel
    nan: NaNPolicy = "error"
    memory: int = 2**30
    """the memory that blocks of queries may take, in bytes"""
    batch_size: int | None = None
    """the number of queries whose finished scores are held at a time; by default as many as fit"""
    progress: Progress = unreported
    tie_rule: TieRule = exact
    """returns the interval of scores that tie with an answer's score"""
    device_memory: int | None = None
    """the memory that blocks may take on the kernel's device, in bytes; None if the kernel has no device"""

    def rank(self, scorer: Scorer | VectorScorer, task: RankingTask) -> Ranked:
        """Rank every answer of some queries."""
        counting = SweepMode(lambda part, scores: Counting.of(part, scores, self.tie_rule), compares=True)
        nan_last = self.nan == "worst"
        ranked = [
            Ranked(self._without_nan(scores), *kept.ranks(nan_last=nan_last), kept.nan(scores) if nan_last else None)
            for scores, kept in self._sweep(scorer, task, counting)
        ]
        return concatenated([rank_last(task[:0]), *ranked])

    def best(self, scorer: Scorer | VectorScorer, task: RankingTask, places: int, *, drops_known: bool) -> BestAnswers:
        """Find the best ``places`` candidates of each query; all queries share their candidates."""

        def begin(part: RankingTask, _: Float64Array) -> BestAnswers:
            return BestAnswers.none(part.known, places, drops_known=drops_known, nan_last=self.nan == "worst")

        if not task.candidates.max_width:
            return begin(task, np.empty(0))
        blocks = self._sweep(scorer, task, SweepMode(begin, places=places))
        return BestAnswers.concatenated([begin(task[:0], np.empty(0)), *(best for _, best in blocks)])

    def log_sums(self, scorer: Scorer | VectorScorer, task: RankingTask) -> Float64Array:
        """Compute log Σ exp(score) over the candidates of each query without its known answers; float64[query].

        All queries share their candidates.
        """
        from kgeval.ranking.kernels.log_sums import LogSums

        adding = SweepMode(lambda part, _: LogSums.empty(part.known), takes_nan=False)
        return np.concatenate([np.empty(0), *(sums.values for _, sums in self._sweep(scorer, task, adding))])

    def _sweep(
        self, scorer: Scorer | VectorScorer, task: RankingTask, mode: SweepMode[C]
    ) -> Iterator[tuple[Float64Array, C]]:
        """Scan the candidates of queries block by block; yield the scores of each block's answers and its collector."""
        for queries, view in views_of(scorer, task.queries):
            alike = task[queries]
            blocks, scan = self._plan(view, alike, mode)
            for block in blocks:
                part = alike[block]
                scores, collector = scan(part)
                if self.nan == "error":
                    _refuse_nan(view, part, scores, collector.undefined)
                yield scores, collector

    def _plan(
        self, scorer: Scorer | VectorScorer, task: RankingTask, mode: SweepMode[C]
    ) -> tuple[Iterator[slice], Callable[[RankingTask], tuple[Float64Array, C]]]:
        """Choose how to scan candidates, and cut queries into blocks for it; the queries share their entity vectors."""
        plan, queries, is_shared = Plan(self.memory, self.batch_size), task.queries, task.candidates.is_shared
        if isinstance(scorer, VectorScorer) and (self.nan == "error" or mode.takes_nan):
            examples = queries.answers if mode.compares else task.candidates.ids_of(0)
            dim = int(np.shape(scorer.entity_vectors(queries.side, examples[:1]))[-1])
            scan = partial(self._scan_vectors, scorer, mode, plan.chunk(dim, self.device_memory))
            return plan.by_vectors(dim, task, places=mode.places), scan
        if isinstance(scorer, SparseScorer) and mode.compares and is_shared:
            return slices(len(queries), MOST_SCORED), partial(self._scan_sparse, scorer, mode)
        # Canonical scores of a whole block are summed in LANES partial sums, each as large as the block.
        lanes = 3 * LANES if isinstance(scorer, VectorScorer) else 1
        held = replace(plan, memory=min(self.memory, self.device_memory or self.memory) // lanes)
        return held.by_scores(task), partial(self._scan_scores, scorer, mode)

    def _scan_vectors(
        self, scorer: VectorScorer, mode: SweepMode[C], step: int, task: RankingTask
    ) -> tuple[Float64Array, C]:
        """Scan candidates by their vectors; shared candidates are taken ``step`` at a time."""
        queries, candidates, scores = task.queries, task.candidates, np.empty(0)
        query_vectors = fetch_query_vectors(scorer, queries)
        if mode.compares:
            answer_vectors = fetch_entity_vectors(scorer, queries.side, queries.answers)
            refuse_vector_widths(query_vectors.vectors, answer_vectors.vectors)
            answers = Rows(queries.offsets, np.arange(queries.num_answers))
            scores = self.kernel.scores(query_vectors, answer_vectors, answers)
        collector = mode.begin(task, self._without_nan(scores))
        if (shared := candidates.shared_ids) is not None:
            total = mode.size(queries)
            for chunk in slices(len(shared), step):
                entity_vectors = fetch_entity_vectors(scorer, queries.side, shared[chunk])
                refuse_vector_widths(query_vectors.vectors, entity_vectors.vectors)
                collector.scan_shared(self.kernel, query_vectors, entity_vectors, chunk.start)
                self.progress(total * chunk.stop // len(shared) - total * chunk.start // len(shared))
        else:
            rows = candidates.per_query(len(queries))
            entity_vectors, places = gather_unique_entities(scorer, queries.side, rows.ids)
            collector.scan_lists(self.kernel, query_vectors, entity_vectors, Rows(rows.offsets, places))
            self.progress(mode.size(queries))
        return scores, collector

    def _scan_scores(
        self, scorer: Scorer | VectorScorer, mode: SweepMode[C], task: RankingTask
    ) -> tuple[Float64Array, C]:
        """Scan candidates by finished scores; the answers' scores are taken from the same block."""
        queries, kernel = task.queries, self.kernel
        ids, (rows, columns) = _cells(task) if mode.compares else (task.candidates.ids_of(0), NO_CELLS)
        tensor: Any = None
        if isinstance(scorer, TensorScorer) and (device := getattr(kernel, "device", None)) is not None:
            tensor = scorer.score_tensor(queries, ids, device)
        table = self.finished_scores(scorer, queries, ids) if tensor is None else tensor
        if not mode.compares and self.nan == "worst":  # a collector that compares treats NaN itself
            table = self._without_nan(table) if tensor is None else tensor.masked_fill(tensor.isnan(), -np.inf)
        scores = as_float64(table[rows, columns], "the scorer")
        collector = mode.begin(task, self._without_nan(scores))
        if tensor is not None:
            collector.scan_tensor(kernel, tensor)
        else:
            collector.scan_scores(kernel, table)
        self.progress(mode.size(queries))
        return scores, collector

    def finished_scores(self, scorer: Scorer | VectorScorer, queries: Queries, ids: IntArray) -> Float64Array:
        """Return the scorer's scores of candidates ``ids``, int64[candidate] or int64[query, candidate]."""
        shape = (len(queries), ids.shape[-1])
        returned = as_float64(scorer.scores(queries, ids), "the scorer")
        if returned.shape != shape:
            raise ScoreError(f"the scorer gave scores of shape {returned.shape}, expected {shape} (query, candidate).")
        return np.ascontiguousarray(returned)

    def _without_nan(self, scores: Float64Array) -> Float64Array:
        """Replace NaN by minus infinity, the worst score, if that is the policy."""
        return np.where(np.isnan(scores), -np.inf, scores) if self.nan == "worst" else scores

    def _scan_sparse(self, scorer: SparseScorer, mode: SweepMode[C], task: RankingTask) -> tuple[Float64Array, C]:
        """Scan candidates by the scores of the few entities that a sparse scorer lists; all others have one score."""
        sparse = scorer.sparse_scores(task.queries)
        scores = sparse.at(task.queries.owners, task.queries.answers)
        collector = mode.begin(task, scores)
        collector.scan_sparse(sparse)
        self.progress(mode.size(task.queries))
        return scores, collector


C = TypeVar("C", bound=Collector)


@dataclass(frozen=True)
class SweepMode(Generic[C]):
    """The purpose of a scan (rank, best or log-sum): which collector it fills, and what that collector needs."""

    begin: Callable[[RankingTask, Float64Array], C]
    """makes the collector of some queries; it also takes the scores of their answers, float64[answer], empty unless
    ``compares``"""
    compares: bool = False
    """whether the collector compares candidates with answers"""
    takes_nan: bool = True
    """whether the collector can treat NaN in scores of vectors as the worst score, if that is the policy"""
    places: int = 0
    """the number of best candidates that are kept for each query"""

    def size(self, queries: Queries) -> int:
        """The progress that queries count for: the number of their answers if these are compared, else of queries."""
        return queries.num_answers if self.compares else len(queries)


def _refuse_nan(scorer: Scorer | VectorScorer, task: RankingTask, scores: Float64Array, undefined: IntArray) -> None:
    """Raise if a score is NaN: of an answer (``scores``, float64[answer]) or a candidate (``undefined``, [query])."""
    queries = task.queries
    if (holes := np.isnan(scores)).any():
        answer = int(np.argmax(holes))
        raise UndefinedScore(queries, int(queries.owners[answer]), int(queries.answers[answer]))
    if undefined.any():
        query = int(np.argmax(undefined > 0))
        candidates = task[query : query + 1].candidates.ids_of(0)
        table = as_float64(scorer.scores(queries[query : query + 1], candidates), "the scorer")
        raise UndefinedScore(queries, query, int(candidates[np.argmax(np.isnan(table[0]))]))


class UndefinedScore(ScoreError):
    """A scorer gave NaN for a candidate (or an answer) of a query."""

    def __init__(self, queries: Queries, query: int, candidate: int) -> None:
        self.side = queries.side
        self.anchor, self.relation = int(queries.anchors[query]), int(queries.relations[query])
        self.candidate = candidate
        super().__init__("a scorer returned NaN")


NO_CELLS = (np.empty(0, np.int64), np.empty(0, np.int64))


def _cells(task: RankingTask) -> tuple[IntArray, tuple[IntArray, IntArray]]:
    """Lay out a block of scores: the entity of each column, and the row and the column of each answer.

    The candidates come first, then the answers that are not among them.
    """
    queries, candidates = task.queries, task.candidates
    if (shared := candidates.shared_ids) is not None:
        further = np.unique(queries.answers[task.answers < 0])
        places = len(shared) + np.searchsorted(further, queries.answers)
        return np.append(shared, further), (queries.owners, np.where(task.answers < 0, places, task.answers))
    rows, width = candidates.per_query(len(queries)), candidates.max_width
    answers = Rows(queries.offsets, queries.answers)
    columns = width + np.arange(queries.num_answers) - answers.offsets[answers.owners]
    # A short row is filled up with its first answer, which is always an entity that the scorer knows.
    ids = np.repeat(queries.answers[queries.offsets[:-1], None], width + int(answers.lengths.max(initial=0)), axis=1)
    ids[rows.owners, np.arange(len(rows.ids)) - rows.offsets[rows.owners]] = rows.ids
    ids[answers.owners, columns] = answers.ids
    return ids, (answers.owners, columns)
