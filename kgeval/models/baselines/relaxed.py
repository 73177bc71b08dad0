"""Relaxed recurrency (Gastinger et al., 2024): how recently and often an answer completed the query, and the relation.

The score of an answer is α ψ + (1 − α) ξ, of two sums over the facts (s, r, o, k) of the history before the query's time:

* ψ, of those that complete the query to the answer: Σ 2^(λ (k − K)) / Σ_{j=1…K−k₁} 2^(−λ j), where k₁ and K are the
  first and the last time of any such fact of the relation; time is counted in snapshots, and an empty sum below is 1;
* ξ, the share of the facts of the relation that have the answer on this side.

α and λ are chosen for each relation and side by the time-aware MRR of valid, λ first (with α = 1), as in their code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.compiling import njit
from kgeval.base.errors import DatasetError
from kgeval.base.threads import slices
from kgeval.data import History
from kgeval.data.dataset import Dataset
from kgeval.data.known import KnownAnswers, facts_of
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.models.baselines import Baseline
from kgeval.models.baselines.recurrence import PastAnswers
from kgeval.models.scorer import SparseScores

DECAYS = (0, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.5, 0.9, 1.0001)
ALPHAS = (0, 0.00001, 0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1)
"""what λ and α are chosen from; a relation without facts in valid has the last λ and the last α but one"""

LARGEST_ALPHA = 0.99999
"""an α of 1 that was chosen becomes this, so that ξ orders what ψ does not know"""

AT_ONCE = 2**13
"""how many queries of valid are ranked at a time"""


class RelaxedRecurrencyBaseline(Baseline):
    """An entity ranks higher, the more recently and often it answered the query, or any query of the relation.

    With ``alpha=1`` only facts that completed this very query count: what the code of its authors ranks as strict.

    Examples
    --------
    >>> from kgeval import Baseline, Dataset
    >>> train = [("Ada", "visits", "Rome", 1), ("Bob", "visits", "Oslo", 2), ("Ada", "visits", "Oslo", 3)]
    >>> data = Dataset.from_labels(train=train, test=[("Ada", "visits", "Rome", 4)])
    >>> fitted = Baseline("relaxed-recurrency", alpha=0.5, decay=1).fit(data)
    >>> fitted.scores(Queries.of(data.test, "tail"), np.arange(4)).round(3)  # Rome: 1/2 · 1/4 : 3/4 + 1/2 · 1/3
    array([[0.   , 0.333, 0.   , 1.   ]])
    """

    title = "ranks answers by how recently and often they completed the query, or the relation, in the history"
    rule = "α ψ + (1 − α) ξ: ψ is the sum of 2^(−λ age) over earlier facts of this answer and query, divided by that of "
    rule += "all snapshots of the relation; ξ is the answer's share of the relation's earlier facts"
    source = "the relaxed (combined) baseline of Gastinger et al., 2024"
    needs_times = True

    baseline: Literal["relaxed-recurrency"] = "relaxed-recurrency"
    """recent answers to the same query and, where there are none, frequent ones of its relation"""
    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """the weight α of ψ; by default it is chosen for each relation and side by the MRR of valid"""
    decay: Annotated[float, Field(ge=0)] | None = None
    """the decay λ by snapshot; by default it is chosen likewise"""

    def check(self, dataset: Dataset) -> None:
        super().check(dataset)
        if None in (self.alpha, self.decay) and "valid" not in dataset.splits:
            lacking = f"{dataset.name} has no valid triples, by which baseline {self.baseline} chooses alpha and decay"
            raise DatasetError(f"{lacking}. Give both.")

    def learn_from(self, dataset: Dataset, history: History) -> RelaxedScorer:
        facts, size = facts_of(dataset, history), len(dataset.relations)
        # As for test, a forecast of valid in several steps sees nothing of valid.
        earlier = facts_of(dataset, "train+valid" if history == "observed" else "train")
        models = {}
        for side in SIDES:
            past, weights = RelationPast.of(facts, side, dataset), (self.alpha, self.decay)
            if None in weights:
                chosen = choose(RelationPast.of(earlier, side, dataset), dataset.valid, side, weights)
            else:
                chosen = np.full(size, self.alpha), np.full(size, self.decay)
            models[side] = RelaxedSide(past, *chosen, past.sums(chosen[1]))
        return RelaxedScorer(len(dataset.entities), size, models)


@dataclass(frozen=True, eq=False)
class RelationPast:
    """The facts of a history as queries of one side: by query and answer, by relation and answer, by relation."""

    pairs: PastAnswers
    shares: PastAnswers
    relations: PastAnswers
    num_entities: int
    num_relations: int

    @classmethod
    def of(cls, facts: Triples, side: Side, dataset: Dataset) -> RelationPast:
        anchors, relations, answers = facts.queries_of_side(side)
        size, columns = len(dataset.relations), (np.asarray(facts.contexts), len(dataset.times or ()))
        return cls(
            PastAnswers.of(anchors * size + relations, answers, *columns),
            PastAnswers.of(relations, answers, *columns),
            PastAnswers.of(relations, np.zeros_like(answers), *columns),
            len(dataset.entities),
            size,
        )

    def sums(self, decay: Float64Array) -> Float64Array:
        """Sum 2^(λ (k′ − k)) over the facts k′ of a pair up to each fact k, by λ of relations; float64[fact]."""
        return decayed_sums(self.pairs.times, self.pairs.starts, decay[self.pairs.keys % self.num_relations])

    def asked(self, queries: Queries) -> AskedPast:
        """Find what of it lies before each query."""
        relations, times = queries.relations, queries.times
        rows, last = self.pairs.before(queries.anchors * self.num_relations + relations, times)
        there, last_of_all = self.relations.before(relations, times)
        latest = np.full(len(queries), -1)
        latest[there.owners] = last_of_all
        moments, first, of_query = np.unique(latest, return_index=True, return_inverse=True)
        answers, last_share = self.shares.before(relations[first], times[first])
        shares = self.shares.counts[last_share] / self.relations.counts[moments[answers.owners]]
        end, start = (np.zeros(len(queries), np.int64) for _ in range(2))
        end[there.owners] = self.relations.times[last_of_all]
        start[there.owners] = self.relations.times[last_of_all - self.relations.counts[last_of_all] + 1]
        ages = end[rows.owners] - self.pairs.times[last]
        return AskedPast(relations, rows, last, ages, end - start, SparseScores(answers, shares, of_query))


@dataclass(frozen=True, eq=False)
class AskedPast:
    """The past of some queries."""

    relations: IntArray
    """int64[query]"""
    rows: Rows
    """the earlier answers of each query"""
    last: IntArray
    """int64[earlier answer], its last fact before the query"""
    ages: IntArray
    """int64[earlier answer], how many snapshots that was before the last fact of the relation"""
    spans: IntArray
    """int64[query], how many snapshots lie between the first and the last fact of the relation"""
    shares: SparseScores
    """ξ of all answers of the relation"""

    def recency(self, sums: Float64Array, decay: Float64Array) -> Float64Array:
        """Return ψ of each earlier answer, by the sums of facts and λ of relations; float64[earlier answer]."""
        rates = decay[self.relations]
        logs, spans = rates * np.log(2), np.maximum(self.spans, 1)
        with np.errstate(invalid="ignore"):
            whole = np.where(rates == 0, spans, np.expm1(-logs * spans) / -np.expm1(logs))
        whole[self.spans == 0] = 1
        owners = self.rows.owners
        return np.asarray(sums[self.last] * np.exp2(-rates[owners] * self.ages) / whole[owners])


@dataclass(frozen=True, eq=False)
class RelaxedSide:
    """What scores the queries of one side."""

    past: RelationPast
    alpha: Float64Array
    """float64[relation]"""
    decay: Float64Array
    """float64[relation]"""
    sums: Float64Array
    """float64[fact], as ``past`` sums them"""

    def scores(self, queries: Queries, candidates: IntArray) -> Float64Array:
        asked = self.past.asked(queries)
        alpha = self.alpha[queries.relations]
        recent = SparseScores(asked.rows, asked.recency(self.sums, self.decay), np.arange(len(queries)))
        if candidates.ndim == 2:
            cells = np.repeat(np.arange(len(queries)), candidates.shape[1]), candidates.ravel()
            both = alpha[cells[0]] * recent.at(*cells) + (1 - alpha[cells[0]]) * asked.shares.at(*cells)
            return both.reshape(candidates.shape)
        shares = asked.shares
        table = np.zeros((len(shares.rows), self.past.num_entities))
        table[shares.rows.owners, shares.rows.ids] = shares.scores
        table = table[shares.of_query] * (1 - alpha)[:, None]
        owners = asked.rows.owners
        table[owners, asked.rows.ids] += alpha[owners] * recent.scores
        return table if np.array_equal(candidates, np.arange(table.shape[1])) else table[:, candidates]


@dataclass(frozen=True, eq=False)
class RelaxedScorer:
    """The scorer of the relaxed baseline."""

    num_entities: int
    num_relations: int
    sides: Mapping[Side, RelaxedSide]

    def scores(self, queries: Queries, candidates: IntArray) -> Float64Array:
        return self.sides[queries.side].scores(queries, candidates)


def choose(
    past: RelationPast, valid: Triples, side: Side, given: tuple[float | None, float | None]
) -> tuple[Float64Array, Float64Array]:
    """Choose α and λ of each relation, those that are not given, by the time-aware MRR of valid; float64[relation]."""
    queries, known = Queries.per_triple(valid, side), KnownAnswers.of([valid], side)
    trials = [Trial.of(past, queries[part], known) for part in slices(len(queries), AT_ONCE)]
    size = past.num_relations
    asked = np.bincount(queries.relations, minlength=size)

    def best(values: tuple[float, ...], default: float, totals: list[Float64Array]) -> Float64Array:
        return np.where(asked > 0, np.array(values)[np.argmax(totals, axis=0)], default)

    def total(alpha: float, decay: Float64Array) -> Float64Array:
        sums = past.sums(decay)
        ranks = np.concatenate([trial.reciprocal_ranks(alpha, trial.asked.recency(sums, decay)) for trial in trials])
        return np.bincount(queries.relations, ranks, minlength=size)

    alpha, decay = given
    rates = np.full(size, decay, np.float64)
    if decay is None:
        rates = best(DECAYS, DECAYS[-1], [total(1, np.full(size, rate, np.float64)) for rate in DECAYS])
    if alpha is not None:
        return np.full(size, alpha), rates
    return np.minimum(best(ALPHAS, ALPHAS[-2], [total(weight, rates) for weight in ALPHAS]), LARGEST_ALPHA), rates


@dataclass(frozen=True, eq=False)
class Trial:
    """Queries with one answer each, ranked by ψ and ξ without a score for every entity.

    Of the entities that neither answered the query earlier nor are known, ξ alone decides: they are counted by it.
    """

    asked: AskedPast
    answers: IntArray
    """int64[query]"""
    others: Rows
    """the other known answers of each query"""
    num_entities: int

    @classmethod
    def of(cls, past: RelationPast, queries: Queries, facts: KnownAnswers) -> Trial:
        known = facts.rows(queries)
        others = known.where(known.ids != queries.answers[known.owners])
        return cls(past.asked(queries), queries.answers, others, past.num_entities)

    def reciprocal_ranks(self, alpha: float, recency: Float64Array) -> Float64Array:
        """Rank the answer of each query, ties half; float64[query]."""
        rows, others, shares = self.asked.rows, self.others, self.asked.shares
        size, owners = len(self.answers), rows.owners
        every = np.arange(size)
        listed = (1 - alpha) * shares.at(owners, rows.ids)
        scores = alpha * recency + listed
        own = alpha * SparseScores(rows, recency, every).at(every, self.answers)
        own += (1 - alpha) * shares.at(every, self.answers)
        of_others = (1 - alpha) * shares.at(others.owners, others.ids)
        competes, again = others.positions(owners, rows.ids) < 0, rows.positions(others.owners, others.ids) >= 0
        # Numbers of the group and its score as the parts of a complex number are sorted one after the other.
        order = np.lexsort((shares.scores, shares.rows.owners))
        keys = shares.rows.owners + 1j * ((1 - alpha) * shares.scores[order])
        ends = shares.rows.offsets[shares.of_query + 1]

        def count(above: np.ufunc, side: Literal["left", "right"]) -> IntArray:
            by_share = ends - np.searchsorted(keys, shares.of_query + 1j * own, side)
            by_share = np.where((side == "left") & (own <= 0), self.num_entities, by_share)
            gained = (above(scores, own[owners]) & competes).astype(int) - above(listed, own[owners])
            lost = above(of_others, own[others.owners]) & ~again
            return (
                by_share + np.bincount(owners, gained, minlength=size) - np.bincount(others.owners[lost], minlength=size)
            )

        return np.asarray(2 / (count(np.greater, "right") + count(np.greater_equal, "left") + 1))


@njit(cache=True)
def decayed_sums(times: IntArray, starts: IntArray, rates: Float64Array) -> Float64Array:
    """Sum 2^(λ (k′ − k)) over the facts k′ of a pair up to each fact k; ``rates`` are λ of pairs; float64[fact]."""
    sums = np.empty(len(times))
    for pair in range(len(starts) - 1):
        total = 0.0
        for fact in range(starts[pair], starts[pair + 1]):
            if fact > starts[pair]:
                total *= 2.0 ** (rates[pair] * (times[fact - 1] - times[fact]))
            total += 1.0
            sums[fact] = total
    return sums
