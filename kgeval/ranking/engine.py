"""The engine: score the candidates of every query once, view by view, and count them against all of its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.corruption.generator import SharedCandidates
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows
from kgeval.data.triples import Side
from kgeval.errors import ScoreError
from kgeval.progress import Progress
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.kernels.kernel import CountAccumulator, EntityVectors, Kernel, QueryVectors
from kgeval.ranking.plan import Plan
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tie_rules import TieRule, exact
from kgeval.scorers.adapters.score_arrays import as_float64
from kgeval.scorers.numerics.similarity import LANES, unit
from kgeval.scorers.scorer import Scorer, VectorScorer, entity_arrays, query_arrays, refuse_vector_widths, views_of
from kgeval.threads import slices

NaNPolicy = Literal["error", "worst"]

STORED = (np.float16, np.float32, np.float64)
"""the precisions that entity vectors are ranked in; other numbers become float64"""

QUERY_VECTOR_BATCH = 2048
"""queries whose vectors a scorer is asked for at a time"""


class UndefinedScore(ScoreError):
    """A scorer gave NaN for a candidate (or an answer) of a query."""

    def __init__(self, queries: Queries, query: int, candidate: int) -> None:
        self.side = queries.side
        self.anchor, self.relation = int(queries.anchors[query]), int(queries.relations[query])
        self.candidate = candidate
        super().__init__("a scorer returned NaN")


class Ranked(NamedTuple):
    """What a contest ended with."""

    scores: Float64Array
    """float64[task], the score of each answer"""
    filtered: RankCounts
    raw: RankCounts


def joined(parts: Sequence[Ranked]) -> Ranked:
    """Lay what the contests of several blocks of queries ended with end to end."""
    scores = np.concatenate([part.scores for part in parts])
    filtered, raw = (RankCounts.joined([getattr(part, name) for part in parts]) for name in ("filtered", "raw"))
    return Ranked(scores, filtered, raw)


@dataclass(frozen=True)
class Engine:
    """Ranks contests with one kernel."""

    kernel: Kernel
    nan: NaNPolicy = "error"
    memory: int = 2**30
    """bytes that the blocks may take"""
    batch_size: int | None = None
    """queries whose finished scores are in hand at a time; none: as many as fit"""
    progress: Progress = lambda _: None
    level: TieRule = exact
    """which scores are level with an answer's"""

    def rank(self, scorer: Scorer | VectorScorer, contest: RankingTask) -> Ranked:
        """Rank every answer of a contest.

        Raises
        ------
        UndefinedScore
            if a score is NaN and the policy is ``"error"``
        ScoreError
            if the scorer returns an array of another shape, or what is no number
        """
        views = views_of(scorer, contest.queries)
        return _joined(contest, [tally for part, view in views for tally in self._rank_view(view, contest[part])])

    def _rank_view(self, scorer: Scorer | VectorScorer, contest: RankingTask) -> Iterator[CountAccumulator]:
        """Rank queries that see the entities alike, block by block."""
        # NaN can only be replaced in finished scores, so that policy takes vectors to their scores first.
        if isinstance(scorer, VectorScorer) and self.nan == "error":
            plan = self._plan_vectors(scorer, contest)
            rank_part = partial(self._rank_vectors, scorer, step=plan.candidates)
        else:
            # Canonical scores of whole blocks are summed in lanes, each as large as the block.
            lanes = 3 * LANES if isinstance(scorer, VectorScorer) else 1
            plan = Plan.for_scores(lanes * int(contest.num_candidates.max(initial=1)), self.memory, self.batch_size)
            rank_part = partial(self._rank_scores, scorer)
        for block in slices(len(contest.queries), plan.queries):
            tally = rank_part(contest[block])
            self._refuse_nan(scorer, tally)
            yield tally

    def _plan_vectors(self, scorer: VectorScorer, contest: RankingTask) -> Plan:
        dim = int(np.shape(scorer.entity_vectors(contest.queries.side, contest.queries.answers[:1]))[-1])
        if isinstance(contest.candidates, SharedCandidates):
            return Plan.for_shared(dim, self.memory)
        return Plan.for_own(dim, int(contest.num_candidates.max(initial=1)), scorer.num_entities, self.memory)

    def _rank_vectors(self, scorer: VectorScorer, contest: RankingTask, step: int) -> CountAccumulator:
        queries, candidates = contest.queries, contest.candidates
        asked = _asked(scorer, queries)
        answers = _offered(scorer, queries.side, queries.answers)
        refuse_vector_widths(asked.vectors, answers.vectors)
        thresholds = self.kernel.pairs(asked, answers, queries.offsets)
        ends = CountAccumulator.zeros_for_interval(contest, thresholds, self.level)
        if isinstance(candidates, SharedCandidates):
            for chunk in slices(len(candidates.ids), step):
                offered = _offered(scorer, queries.side, candidates.ids[chunk])
                for tally in ends:
                    self.kernel.count_shared(asked, offered, chunk.start, tally)
                self._report(queries, chunk.start, chunk.stop, len(candidates.ids))
        else:
            offered, places = _gather_unique_entities(scorer, queries.side, candidates.rows.ids)
            for tally in ends:
                self.kernel.count_per_query(asked, offered, Rows(candidates.rows.offsets, places), tally)
            self._report(queries, 0, 1, 1)
        return CountAccumulator.from_interval(thresholds, ends)

    def _rank_scores(self, scorer: Scorer | VectorScorer, contest: RankingTask) -> CountAccumulator:
        """Rank on finished scores; each answer's is taken from the same block as its candidates'."""
        ids, columns = _columns(contest)
        shape = (len(contest.queries), ids.shape[-1])
        returned = as_float64(scorer.scores(contest.queries, ids), "the scorer")
        if returned.shape != shape:
            raise ScoreError(
                f"the scorer returned scores of shape {returned.shape}, expected {shape} (query, candidate)."
            )
        scores: Float64Array = np.ascontiguousarray(returned)
        if self.nan == "worst":
            scores = np.where(np.isnan(scores), -np.inf, scores)
        thresholds = scores[contest.queries.owners, columns]
        ends = CountAccumulator.zeros_for_interval(contest, thresholds, self.level)
        for tally in ends:
            self.kernel.count_scores(scores.ravel(), np.arange(shape[0]) * shape[1], tally)
        self._report(contest.queries, 0, 1, 1)
        return CountAccumulator.from_interval(thresholds, ends)

    def _report(self, queries: Queries, start: int, stop: int, total: int) -> None:
        """Report the progress of the tasks of some queries, of whose candidates a part was counted."""
        self.progress(queries.num_tasks * stop // total - queries.num_tasks * start // total)

    def _refuse_nan(self, scorer: Scorer | VectorScorer, tally: CountAccumulator) -> None:
        queries = tally.contest.queries
        undefined = np.isnan(tally.thresholds)
        if undefined.any():
            task = int(np.argmax(undefined))
            raise UndefinedScore(queries, int(queries.owners[task]), int(queries.answers[task]))
        if tally.undefined.any():
            query = int(np.argmax(tally.undefined))
            part = tally.contest[query : query + 1]
            candidates = (
                part.candidates.ids if isinstance(part.candidates, SharedCandidates) else part.candidates.rows.ids
            )
            holes = np.isnan(as_float64(scorer.scores(part.queries, candidates), "the scorer")[0])
            raise UndefinedScore(queries, query, int(candidates[np.argmax(holes)]))


def _asked(scorer: VectorScorer, queries: Queries) -> QueryVectors:
    # The error bounds hold for float64 queries, whatever precision a scorer returns. A formula makes several arrays of
    # the size of what it is asked for, so it is asked for a part at a time.
    parts = [query_arrays(scorer, queries[part]) for part in slices(len(queries), QUERY_VECTOR_BATCH)]
    vectors, offsets = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if scorer.similarity == "cosine":
        return QueryVectors("dot", unit(vectors), offsets)
    return QueryVectors(scorer.similarity, vectors, offsets)


def _offered(scorer: VectorScorer, side: Side, ids: IntArray) -> EntityVectors:
    vectors, biases = entity_arrays(scorer, side, ids)
    if vectors.dtype not in STORED:
        vectors = as_float64(vectors, "the scorer's entity vectors")
    if scorer.similarity == "cosine":
        return EntityVectors(unit(vectors), biases)
    # numba has no float16; float32 holds each of its values exactly.
    return EntityVectors(vectors.astype(np.float32) if vectors.dtype == np.float16 else vectors, biases)


def _gather_unique_entities(scorer: VectorScorer, side: Side, ids: IntArray) -> tuple[EntityVectors, IntArray]:
    """Fetch entities, each once where that is fewer; return the row of each."""
    if len(ids) <= scorer.num_entities:
        return _offered(scorer, side, ids), np.arange(len(ids))
    met = np.zeros(ids.max() + 1, np.bool_)
    met[ids] = True
    once = np.flatnonzero(met)
    return _offered(scorer, side, once), (np.cumsum(met) - 1)[ids]


def _columns(contest: RankingTask) -> tuple[IntArray, IntArray]:
    """Lay out a block of scores: the entity of each column, and the column of each task's answer.

    The candidates come first, then the answers that are not among them.
    """
    queries, candidates = contest.queries, contest.candidates
    if isinstance(candidates, SharedCandidates):
        further = np.unique(queries.answers[contest.answers < 0])
        places = len(candidates.ids) + np.searchsorted(further, queries.answers)
        return np.append(candidates.ids, further), np.where(contest.answers < 0, places, contest.answers)
    rows, width = candidates.rows, int(candidates.rows.lengths.max(initial=0))
    tasks = Rows(queries.offsets, queries.answers)
    columns = width + np.arange(queries.num_tasks) - tasks.offsets[tasks.owners]
    # A short row is filled up with its first answer, which is always an entity that the scorer knows.
    ids = np.repeat(queries.answers[queries.offsets[:-1], None], width + int(tasks.lengths.max(initial=0)), axis=1)
    ids[rows.owners, np.arange(len(rows.ids)) - rows.offsets[rows.owners]] = rows.ids
    ids[tasks.owners, columns] = tasks.ids
    return ids, columns


def _joined(contest: RankingTask, tallies: list[CountAccumulator]) -> Ranked:
    """Concatenate what was counted for blocks of queries."""
    counts = np.concatenate([np.empty((0, 4), np.int64), *(tally.counts for tally in tallies)])
    scores = np.concatenate([np.empty(0), *(tally.thresholds for tally in tallies)])
    whole = CountAccumulator(contest, scores, counts, np.zeros(len(contest.queries), np.bool_))
    return Ranked(scores, whole.filtered, whole.raw)
