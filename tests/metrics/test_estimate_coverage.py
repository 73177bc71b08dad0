"""Simulations: how often the intervals of estimates hold the metric of the whole split, early stopping included.

Nothing is scored: the ranks of all triples are known, and a sample is a look at some of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

import kgeval
from kgeval import Estimate, RankTable
from kgeval.base.errors import MetricError
from kgeval.metrics.intervals.mean_terms import MeanTerms, Units
from kgeval.metrics.intervals.sampling import STRATUM, Sampling, Strata, next_size
from kgeval.metrics.intervals.selection_intervals import t_quantile
from kgeval.metrics.intervals.stratified_sample import Auxiliary, StratifiedSample, auxiliary_values
from kgeval.metrics.ranks.rank_metrics import AMRI, HITS, MRR
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.ranking.corruption import TypeConstrained
from tests.simulated import draws, error

METRICS = {"mrr": (MRR, 0), "hits@1": (HITS, 1), "hits@10": (HITS, 10), "amri": (AMRI, 0)}
SEEDS, FIRST = draws(200), Estimate(error=1).first


class Population:
    """All triples of a split: their relations, the terms of each metric, and the auxiliary values."""

    def __init__(self, relations, full, typed):
        """Ranks by triple and side, int64[triple, 2], among a number of candidates."""
        ranks, candidates = full
        count = len(relations)
        self.relations, self.typed, units = relations, typed, Units("triple", np.repeat(np.arange(count), 2), count)
        self.counts = counts = Ranks(ranks.ravel() - 1, 0 * ranks.ravel(), np.full(2 * count, candidates))
        self.terms = {
            name: MeanTerms(
                np.stack([term(counts, k) for term in metric.compute.terms]),
                np.ones(2 * count),
                metric.compute.combine,
                units,
            )
            for name, (metric, k) in METRICS.items()
        }
        self.truth = {name: terms.value for name, terms in self.terms.items()}
        self.values = {name: np.stack([units.sums(row) / 2 for row in t.values]) for name, t in self.terms.items()}
        self.auxiliary = auxiliary_values(units.ids, typed.ravel() - 1, 0 * typed.ravel())
        self.strata = Strata.of(relations, FIRST)

    @cached_property
    def orders(self):
        """The order of each seed, in which every test of this population draws."""
        return [self.strata.order(seed).astype(np.int32) for seed in range(SEEDS)]

    def shares_held(self, estimate, ratio):
        """How often each interval holds its metric; the first phase has ``ratio`` times the triples of the sample."""
        held, sizes = dict.fromkeys(METRICS, 0), []
        for order in self.orders:
            chosen, sample = self.stopped(self.strata, order, estimate, ratio)
            sizes.append(len(chosen))
            for name in METRICS:
                value, half = self.estimated(name, chosen, sample)
                held[name] += abs(value - self.truth[name]) <= half
        return {name: count / SEEDS for name, count in held.items()}, np.array(sizes)

    def stopped(self, strata, order, estimate, ratio):
        """Draw samples until the error is as small as is wanted."""
        size = estimate.first
        while True:
            sample = self.sample(strata, order, size, ratio)
            half = self.estimated(estimate.metric, order[:size], sample)[1]
            if half <= estimate.error or size == len(order):
                return order[:size], sample
            size = next_size(size, half, estimate.error, len(order))

    def sample(self, strata, order, size, ratio):
        ids, count = strata.ids, len(strata.sizes)
        counts = np.bincount(ids[order[:size]], minlength=count)
        if not ratio:
            return StratifiedSample(ids[order[:size]], counts, strata.sizes)
        first = order[: int(np.ceil(ratio * size))]
        known = np.bincount(ids[first], minlength=count)
        sums = [np.bincount(ids[first], column, minlength=count) for column in self.auxiliary[first].T]
        auxiliary = Auxiliary(self.auxiliary[order[:size]], known, np.stack(sums, axis=1) / known[:, None])
        return StratifiedSample(ids[order[:size]], counts, strata.sizes, auxiliary)

    def table(self, triples, strata):
        """Some triples as a rank table with the columns of a sample."""
        rows = (2 * triples[:, None] + [0, 1]).ravel()
        triple = rows // 2
        counts = {name: getattr(self.counts, name)[rows] for name in ("greater", "tied", "candidates")}
        sides = np.array(["head", "tail"])[rows % 2]
        typed = {"typed_greater": self.typed.ravel()[rows] - 1, "typed_tied": 0 * rows}
        content = {"triple": triple, "head": triple, "relation": self.relations[triple], "tail": triple, "side": sides}
        content |= counts | {f"raw_{name}": column for name, column in counts.items()} | {"score": 0.0 * rows}
        content |= {f"{name}_label": sides for name in ("head", "relation", "tail")}
        return RankTable(pa.table(content | typed | {STRATUM: strata.ids[triple]}))

    def estimated(self, name, chosen, sample):
        values = self.values[name][:, chosen]
        means = values @ sample.weights
        variance = sample.variance(self.terms[name].gradient_at(means) @ values)
        return self.terms[name].combine(*means), t_quantile(sample.degrees, 0.95) * np.sqrt(variance)


@pytest.fixture(scope="module")
def made():
    """8,000 triples of 120 relations of very different sizes and hardness; ranks up to 5,000 with a heavy tail."""
    rng = np.random.default_rng(5)
    relations = np.minimum(rng.geometric(0.04, 8000), 120)
    hardness = rng.normal(size=121)[relations] + 1.3 * rng.normal(size=8000)
    typed = np.clip(np.exp(0.8 + hardness[:, None] + 0.5 * rng.normal(size=(8000, 2))), 1, 250).astype(int)
    beyond = np.exp(1.5 * rng.normal(size=(8000, 2)) + 0.4 * hardness[:, None]).astype(int)
    return Population(relations, (np.minimum(typed + beyond, 5000), 5000), typed)


@pytest.fixture(scope="module")
def real(shared):
    """The test triples of FB15k-237, ranked by a ComplEx."""
    data = kgeval.load_dataset(shared / "data/fb15k-237")
    model = kgeval.load_checkpoint(shared / "checkpoints/fb15k-237-complex", dataset=data, model="ComplEx")
    full, typed = kgeval.evaluate(model, data), kgeval.evaluate(model, data, corruption=TypeConstrained())
    both = [by_triple(table) for table in (full, typed)]
    return Population(data.test.relations, (both[0], len(data.entities)), both[1])


def by_triple(table):
    ranks = np.empty((table.num_triples, 2), int)
    assert not table.column("tied").any()
    ranks[table.column("triple"), (table.column("side") == "tail").astype(int)] = 1 + table.column("greater")
    return ranks


def check(found, sizes, population):
    for name, share in found.items():
        assert share == pytest.approx(0.95, abs=error(0.95, SEEDS)), (name, found)
    assert 1000 < sizes.max() < len(population.relations) / 2
    assert len(np.unique(sizes)) > SEEDS / 6  # each stops where its own variance says


@pytest.mark.parametrize(("metric", "error", "ratio"), [("mrr", 0.012, 0), ("mrr", 0.006, 4), ("hits@10", 0.015, 0)])
def test_intervals_of_made_ranks_hold_the_whole(made, metric, error, ratio):
    check(*made.shares_held(Estimate(error=error, metric=metric), ratio), made)


@pytest.mark.parametrize(("metric", "error", "ratio"), [("mrr", 0.005, 4.2), ("amri", 0.005, 0)])
def test_intervals_of_real_ranks_hold_the_whole(real, metric, error, ratio):
    check(*real.shares_held(Estimate(error=error, metric=metric), ratio), real)


def test_strata_make_intervals_narrower(made):
    """The same sample, taken for a simple one, has wider intervals."""
    strata, order = made.strata, made.orders[0]
    one = Strata(0 * strata.ids, np.array([len(strata.ids)]))
    right, simple = (made.estimated("mrr", order[:1000], made.sample(s, order, 1000, 0)) for s in (strata, one))
    assert simple[1] > 1.1 * right[1]


def test_the_summary_of_a_table_is_this_estimate(made):
    """The path through tables, names and metadata gives the numbers of the simulation."""
    strata, order = made.strata, made.orders[3]
    sample = made.sample(strata, order, 1000, 2)
    sampling = Sampling(
        Estimate(triples=1000),
        tuple(sample.counts.tolist()),
        tuple(strata.sizes.tolist()),
        tuple(sample.auxiliary.counts.tolist()),
        tuple(map(tuple, sample.auxiliary.means.tolist())),
    )
    table = replace(
        made.table(np.sort(order[:1000]), strata),
        sampling=TypeAdapter(Sampling).validate_python(TypeAdapter(Sampling).dump_python(sampling, mode="json")),
    )
    summary = kgeval.summarize(table, [*METRICS, "mr", "median"])
    for name in METRICS:
        value, half = made.estimated(name, order[:1000], sample)
        assert summary[name] == pytest.approx(value, rel=1e-12)
        interval = summary.interval(name)
        if name == "amri":  # which few long ranks carry
            assert interval.method == "bounded mean"
            assert half < interval.high - summary[name] < summary[name] - interval.low
        else:
            assert interval.high - summary[name] == pytest.approx(half, rel=1e-9)
    with pytest.raises(MetricError, match="median is undefined: it cannot be estimated from a sample"):
        summary["median"]
