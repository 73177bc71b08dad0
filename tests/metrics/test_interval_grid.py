"""A grid of simulations, metric × size × rarity: in each cell, 95 % intervals hold the truth in 93 % of draws or more.

Of 1,000 draws, a share that is 95 % has a standard error of .7 %, of 500 one of 1 %, of 300 one of 1.3 %.
"""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import Estimate
from kgeval.metrics.intervals.sampling import STRATUM, Sampling, Strata
from kgeval.metrics.intervals.stratified_sample import TableEstimates
from kgeval.metrics.names import parse
from kgeval.metrics.selection import RowSelection, TableView
from tests.metrics.test_interval_coverage import Made, intervals_of

CANDIDATES = 5_000
METRICS = [parse(name) for name in ("mrr", "hits@1", "hits@10", "mr")]
RARITIES = ("common", "rare", "very rare", "rarely long")


def ranks_of(rarity, rng, count):
    """Ranks of both sides, int64[triple, 2]: good ones are common or rare, on both sides at once, or few are long."""
    good = np.exp(np.clip(rng.normal(1.2, 1.2, (count, 2)), 0, 6))
    if rarity == "rarely long":
        return np.where(rng.random(count)[:, None] < 0.004, 4_000, np.minimum(good, 30)).astype(np.int64)
    share = {"common": 0.7, "rare": 0.03, "very rare": 0.002}[rarity]
    chance = rng.integers(1, CANDIDATES + 1, (count, 2))
    return np.where(rng.random(count)[:, None] < share, good, chance).astype(np.int64)


def made_of(ranks, relations=0):
    return Made(np.arange(len(ranks)), np.zeros(len(ranks), int) + relations, ranks, CANDIDATES)


def truth(name, ranks):
    return name(RowSelection(TableView(made_of(ranks)), slice(None)).ranks(None, None))


@pytest.mark.parametrize("rarity", RARITIES)
@pytest.mark.parametrize(
    ("fewest", "most", "draws"), [(20, 49, 1000), (50, 99, 1000), (100, 199, 1000), (500, 500, 1000)]
)
def test_intervals_hold_the_truth_in_each_cell(fewest, most, draws, rarity):
    """Groups of triples that are drawn from a large population."""
    rng = np.random.default_rng(1)
    ranks = ranks_of(rarity, rng, 50_000)
    groups = np.repeat(np.arange(draws), rng.integers(fewest, most + 1, draws))
    table, of_rows = made_of(ranks[rng.integers(0, len(ranks), len(groups))]), np.repeat(groups, 2)
    selection = RowSelection(TableView(table), np.arange(len(of_rows)), of_rows)
    for name in [*METRICS, parse("amri")]:
        assert intervals_of(name, selection, truth(name, ranks))[2] >= 0.93, name


class Estimated(Made):
    """A stratified sample of triples."""

    def __init__(self, chosen, relations, ranks, strata):
        counts = np.bincount(strata.ids[chosen], minlength=len(strata.sizes))
        sampling = Sampling(Estimate(triples=len(chosen)), tuple(counts.tolist()), tuple(strata.sizes.tolist()))
        further = {STRATUM: np.repeat(strata.ids[chosen], 2)}
        super().__init__(chosen, relations[chosen], ranks[chosen], CANDIDATES, further, sampling=sampling)


def held(relations, ranks, seeds, by_relation):
    """How many intervals of estimates from 1,000 triples hold the whole, by metric and number of sampled triples."""
    strata, found = Strata.of(relations, 1_000), {}
    groups = [relations == relation for relation in np.unique(relations)] if by_relation else [relations >= 0]
    true = {(name, place): truth(name, ranks[group]) for name in METRICS for place, group in enumerate(groups)}
    for seed in range(seeds):
        chosen = np.sort(strata.order(seed)[:1_000])
        view = TableView(Estimated(chosen, relations, ranks, strata))
        estimates = TableEstimates.of(view)
        for place, group in enumerate(groups):
            selection = RowSelection(view, np.flatnonzero(np.repeat(group[chosen], 2)))
            for name in METRICS:
                interval = estimates.interval(name, selection, estimates.value(name, selection))
                cell = found.setdefault((str(name), interval.units // 50), [])
                cell.append(interval.low - 1e-9 <= true[name, place] <= interval.high + 1e-9)
    return found


@pytest.mark.parametrize("rarity", RARITIES)
def test_estimates_by_relation_hold_the_whole_in_each_cell(rarity):
    """Of relations with 35 or 70 sampled triples: the degrees of freedom are theirs."""
    relations = np.repeat(np.arange(20), [140] * 12 + [290] * 8)
    ranks = ranks_of(rarity, np.random.default_rng(2), len(relations))
    for cell, hits in held(relations, ranks, 50, by_relation=True).items():
        assert len(hits) >= 400
        assert np.mean(hits) >= 0.93, cell


def test_estimates_with_a_few_planted_hits_hold_the_whole_and_agree():
    """Twenty of 20,000 triples at rank 1, and 1,000 triples drawn: many samples have none of them."""
    rng = np.random.default_rng(6)
    relations, ranks = rng.integers(0, 60, 20_000), rng.integers(1, CANDIDATES + 1, (20_000, 2))
    ranks[rng.choice(20_000, 20, replace=False)] = 1
    strata = Strata.of(relations, 1_000)
    names = [parse(name) for name in ("mrr", "hits@1", "hits@3")]
    true, found = np.array([truth(name, ranks) for name in names]), []
    for seed in range(100):
        view = TableView(Estimated(np.sort(strata.order(seed)[:1_000]), relations, ranks, strata))
        estimates, rows = TableEstimates.of(view), RowSelection(view, slice(None))
        mine = [estimates.interval(name, rows, estimates.value(name, rows)) for name in names]
        found.append([(interval.low, interval.high) for interval in mine])
        (_, mrr), (_, first), (_, third) = found[-1]
        assert first <= third
        assert first <= mrr
    ends = np.array(found)
    assert ((ends[..., 0] <= true) & (true <= ends[..., 1])).mean(axis=0).min() >= 0.93
