"""Combined recurrency (Gastinger et al., 2024): how often an answer completed the query lately, and its relation ever.

The score of an answer is α ψ + (1 − α) ξ. Both are computed from the facts (s, r, o, k) of the history whose time k is
before the query's time, counted in snapshots (ids of times):

* ψ, from the facts that complete the query to the answer: Σ 2^(λ (k − K)) / Σ_{j=1…K−k₁} 2^(−λ j), where k₁ and K are
  the first and the last time of any earlier fact of the relation; if the sum in the denominator is empty, it is 1;
* ξ, the share of the facts of the relation that have the answer on this side.

α and λ are chosen for each relation and side by the time-aware MRR of valid, λ first (with α = 1), as in the authors'
code. ``Baseline.fit`` calls ``learn_from``, which takes a dataset and a history and returns a ``CombinedScorer``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.compiling import njit
from kgeval.base.errors import DatasetError
from kgeval.base.threads import parallel_for, slices
from kgeval.data import History
from kgeval.data.dataset import Dataset
from kgeval.data.known import KnownAnswers
from kgeval.data.past import PastAnswers, facts_of
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.models.baselines import Baseline
from kgeval.models.scorer import SparseScores

DECAYS = (0, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.5, 0.9, 1.0001)
ALPHAS = (0, 0.00001, 0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1)
"""the values from which λ and α are chosen; a relation without facts in valid has the last λ and the last α but one"""

ROUNDING = 1e-12
"""the relative difference up to which two sums of reciprocal ranks are equal; of equal sums, the first is chosen"""

LARGEST_ALPHA = 0.99999
"""an α of 1 that was chosen becomes this, so that ξ orders entities that never answered the query"""

AT_ONCE = 2**10
"""how many queries of valid are ranked at a time: each may have thousands of earlier answers"""

CELLS = 2**21
"""how many scores a thread computes at a time"""


class CombinedRecurrencyBaseline(Baseline):
    """An entity ranks higher, the more recently and often it answered the query, or any query of the relation.

    With ``alpha=1`` only facts that completed this very query count: what the code of its authors ranks as strict.

    Examples
    --------
    Rome: (2⁻³ / (2⁻³ + 2⁻²) + 1/3) / 2; Oslo: (2⁻¹ / (2⁻³ + 2⁻²) + 2/3) / 2.

    >>> from kgeval import Baseline, Dataset
    >>> facts = [("Ada", "Rome"), ("Bob", "Oslo"), ("Ada", "Oslo"), ("Ada", "Rome")]
    >>> rows = [(who, "visits", where, f"2014-01-0{day}") for day, (who, where) in enumerate(facts, 1)]
    >>> data = Dataset.from_labels(train=rows[:3], test=rows[3:])
    >>> fitted = Baseline("combined-recurrency", alpha=0.5, decay=1).fit(data)
    >>> scores = fitted.scores(Queries.of(data.test, "tail"), data.entities.ids(["Rome", "Oslo"]))
    >>> scores.round(3)
    array([[0.333, 1.   ]])
    """

    title = "ranks answers by how recently and often the history has them for the query or its relation"
    rule = (
        "α ψ + (1 − α) ξ: ψ sums 2^(−λ age) over the earlier facts of this answer and query, divided by the sum over "
        "all snapshots of the relation; ξ is the answer's share of the relation's earlier facts"
    )
    source = "the combined baseline of Gastinger et al., 2024; with alpha=0 their relaxed one"
    needs_times = True

    baseline: Literal["combined-recurrency"] = "combined-recurrency"
    """recent answers to the same query and, where there are none, frequent ones of its relation"""
    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """the weight α of ψ; by default it is chosen for each relation and side by the MRR of valid"""
    decay: Annotated[float, Field(ge=0, le=100)] | None = None
    """the decay λ by snapshot; by default it is chosen likewise"""

    def check(self, dataset: Dataset) -> None:
        super().check(dataset)
        if None in (self.alpha, self.decay) and "valid" not in dataset.splits:
            lacks = f"{dataset.name} has no valid triples; baseline {self.baseline} chooses alpha and decay by them"
            raise DatasetError(f"{lacks}. Give both.")

    def learn_from(self, dataset: Dataset, history: History) -> CombinedScorer:
        facts = facts_of(dataset, history)
        # As for test, a forecast of valid in several steps sees nothing of valid.
        before_valid = facts_of(dataset, "train+valid" if history == "observed" and len(dataset.valid) else "train")
        sides = {}
        for side in SIDES:
            alpha, decay = chosen(RelationPast.of(before_valid, side, dataset), dataset, side, self.alpha, self.decay)
            past = RelationPast.of(facts, side, dataset)
            sides[side] = past, alpha, decay, past.sums(decay)
        return CombinedScorer(len(dataset.entities), len(dataset.relations), sides)


@dataclass(frozen=True, eq=False)
class CombinedScorer:
    """The scorer of the combined baseline."""

    num_entities: int
    num_relations: int
    sides: Mapping[Side, tuple[RelationPast, Float64Array, Float64Array, Float64Array]]
    """for each side: the past; α and λ of each relation, float64[relation] each; and ``RelationPast.sums``"""

    def scores(self, queries: Queries, candidates: IntArray) -> Float64Array:
        past, alphas, decay, sums = self.sides[queries.side]
        asked, alpha = past.asked(queries), alphas[queries.relations]
        rows, recent = asked.rows, alpha[asked.rows.owners] * asked.recency(sums, decay)
        scores = np.empty((len(queries), candidates.shape[-1]))

        def fill(part: slice) -> None:
            shares = replace(asked.shares, of_query=asked.shares.of_query[part]).in_use()
            of_groups = np.zeros((len(shares.rows), self.num_entities))
            of_groups[shares.rows.owners, shares.rows.ids] = shares.scores
            table, own = of_groups[shares.of_query], rows[part]
            table *= (1 - alpha[part])[:, None]
            table[own.owners, own.ids] += recent[rows.offsets[part.start] : rows.offsets[part.stop]]
            wanted = candidates if candidates.ndim == 1 else candidates[part]
            scores[part] = table[np.arange(len(own))[:, None], wanted]

        parallel_for(fill, len(queries), max(1, CELLS // self.num_entities))
        return scores


@dataclass(frozen=True, eq=False)
class RelationPast:
    """The facts of a history as queries of one side.

    ``pairs`` has them by query and answer, ``shares`` by relation and answer, ``relations`` by relation alone.
    """

    pairs: PastAnswers
    shares: PastAnswers
    relations: PastAnswers
    num_relations: int

    @classmethod
    def of(cls, facts: Triples, side: Side, dataset: Dataset) -> RelationPast:
        anchors, relations, answers = facts.queries_of_side(side)
        size = len(dataset.relations)
        past = partial(PastAnswers.of, times=np.asarray(facts.contexts), span=len(dataset.times or ()))
        pairs, of_relation = past(anchors * size + relations, answers), past(relations, answers)
        return cls(pairs, of_relation, past(relations, np.zeros_like(answers)), size)

    def sums(self, decay: Float64Array) -> Float64Array:
        """Sum 2^(λ (k′ − k)) over the times k′ of the same query and answer up to each fact's time k; float64[fact].

        ``decay`` is λ of each relation, float64[relation].
        """
        rates = np.repeat(decay[self.pairs.keys % self.num_relations], np.diff(self.pairs.starts))
        return np.asarray(decayed_sums(self.pairs.times, self.pairs.counts == 1, rates))

    def asked(self, queries: Queries) -> AskedPast:
        """Find the facts before the time of each query."""
        relations, times, latest = queries.relations, queries.times, np.full(len(queries), -1)
        rows, last = self.pairs.before(queries.anchors * self.num_relations + relations, times)
        there, latest_facts = self.relations.before(relations, times)
        latest[there.owners] = latest_facts
        # Queries of a relation that see the same facts of it are a group.
        facts, first, of_query = np.unique(latest, return_index=True, return_inverse=True)
        answers, last_share = self.shares.before(relations[first], times[first])
        counts = self.relations.counts
        shares = self.shares.counts[last_share] / counts[facts[answers.owners]]
        # A relation without earlier facts has the latest fact -1; what is computed of it belongs to no answer.
        end, start = self.relations.times[latest], self.relations.times[latest - counts[latest] + 1]
        ages = end[rows.owners] - self.pairs.times[last]
        return AskedPast(relations, rows, last, ages, end - start, SparseScores(answers, shares, of_query))


@dataclass(frozen=True, eq=False)
class AskedPast:
    """The earlier answers and facts of some queries, from which their scores are computed."""

    relations: IntArray
    """the relation of each query; int64[query]"""
    rows: Rows
    """the earlier answers of each query"""
    last: IntArray
    """the index in ``RelationPast.pairs`` of each earlier answer's last fact before the query; int64[earlier answer]"""
    ages: IntArray
    """the number of snapshots from this fact to the relation's last fact before the query; int64[earlier answer]"""
    spans: IntArray
    """the number of snapshots from the relation's first fact to its last fact before the query; int64[query]"""
    shares: SparseScores
    """ξ of all earlier answers of the relation; queries that see the same facts share a row"""

    def recency(self, sums: Float64Array, decay: Float64Array) -> Float64Array:
        """Return ψ of each earlier answer; float64[earlier answer].

        ``sums`` come from ``RelationPast.sums``, ``decay`` is λ of each relation.
        """
        owners, rates, spans = self.rows.owners, decay[self.relations], np.maximum(self.spans, 1)
        logs = np.where(rates > 0, rates * np.log(2), 1)
        whole = np.where(rates > 0, np.expm1(-logs * spans) / -np.expm1(logs), spans)
        whole[self.spans == 0] = 1
        return np.asarray(sums[self.last] * np.exp2(-rates[owners] * self.ages) / whole[owners])


def chosen(
    past: RelationPast, dataset: Dataset, side: Side, alpha: float | None, decay: float | None
) -> tuple[Float64Array, Float64Array]:
    """Return α and λ of each relation: the given value, or the first value with the best MRR in valid."""
    size, valid = past.num_relations, dataset.valid
    queries, known = Queries.per_triple(valid, side), KnownAnswers.of([valid], side)

    def best(values: Sequence[float], default: float, weights: Sequence[tuple[float, Float64Array]]) -> Float64Array:
        totals, sums = np.zeros((len(values), size)), [past.sums(decay) for _, decay in weights]
        for part in slices(len(queries), AT_ONCE):
            asked = past.asked(queries[part])
            rank = ranks_in(asked, queries[part], known, len(dataset.entities))
            for number, (weight, rates) in enumerate(weights):
                ranks = rank(weight, asked.recency(sums[number], rates))
                totals[number] += np.bincount(asked.relations, 1 / ranks, minlength=size)
        as_good = totals >= (1 - ROUNDING) * totals.max(axis=0)
        return np.where(totals.any(axis=0), np.array(values)[np.argmax(as_good, axis=0)], default)

    rates = np.full(size, decay or 0.0)
    if decay is None:
        rates = best(DECAYS, DECAYS[-1], [(1, np.full(size, rate, np.float64)) for rate in DECAYS])
    if alpha is not None:
        return np.full(size, alpha), rates
    return np.minimum(best(ALPHAS, ALPHAS[-2], [(weight, rates) for weight in ALPHAS]), LARGEST_ALPHA), rates


def ranks_in(
    asked: AskedPast, queries: Queries, facts: KnownAnswers, num_entities: int
) -> Callable[[float, Float64Array], Float64Array]:
    """Make a function of α and ψ that returns the rank of the only answer of each query; float64[query].

    Ties count half. Entities are not all scored: all are first counted by their ξ; then entities that answered the
    query earlier are counted by their whole scores instead, and other known answers are subtracted.
    """
    rows, of_relation, groups = asked.rows, asked.shares.rows, asked.shares.of_query
    known, size = facts.rows(queries), len(queries)
    others = known.where(known.ids != queries.answers[known.owners])
    owners = np.concatenate([rows.owners, others.owners, np.arange(size)])
    ids, parts = np.concatenate([rows.ids, others.ids, queries.answers]), np.cumsum([len(rows.ids), len(others.ids)])
    shares, places = asked.shares.at(owners, ids), rows.positions(owners, ids)
    places = np.where(places < 0, -1, rows.offsets[owners] + places)
    keys = np.sort(of_relation.owners + 1j * asked.shares.scores)  # by group, then by ξ
    ends = of_relation.offsets[groups + 1]

    def rank(alpha: float, recency: Float64Array) -> Float64Array:
        plain, scaled = (1 - alpha) * shares, keys.real + 1j * ((1 - alpha) * keys.imag)
        scores, of_others, own = np.split(plain + alpha * np.append(recency, 0)[places], parts)

        def count(above: np.ufunc, side: Literal["left", "right"]) -> IntArray:
            counts = ends - np.searchsorted(scaled, groups + 1j * own, side)
            counts[(own <= 0) & (side == "left")] = num_entities
            for sign, part, values in ((1, rows, scores), (-1, rows, plain[: len(scores)]), (-1, others, of_others)):
                counts += sign * np.bincount(part.owners[above(values, own[part.owners])], minlength=size)
            return np.asarray(counts)

        return np.asarray((count(np.greater, "right") + count(np.greater_equal, "left") + 1) / 2)

    return rank


@njit(cache=True)
def decayed_sums(times: IntArray, is_first: BoolArray, rates: Float64Array) -> Float64Array:
    """Sum 2^(λ (k′ − k)) over the times k′ of a pair's facts up to each fact's time k; float64[fact].

    A pair is a query and an answer; ``rates`` is λ of each fact, and ``is_first`` marks the first fact of each pair.
    """
    sums = np.ones(len(times))
    for fact in range(len(times)):
        if not is_first[fact]:
            sums[fact] += sums[fact - 1] * 2.0 ** (rates[fact] * (times[fact - 1] - times[fact]))
    return sums
