"""Metric × number of triples × rarity of good ranks: how often 95 % intervals hold the truth, also of estimates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from kgeval import Estimate
from kgeval.metrics.intervals.sampling import STRATUM, Sampling, Strata
from kgeval.metrics.intervals.stratified_sample import TableEstimates
from kgeval.metrics.names import parse
from kgeval.metrics.selection import RowSelection, TableView
from scripts.simulation.made import Made, intervals_of, value_of

CANDIDATES = 5_000
METRICS = [parse(name) for name in ("mrr", "hits@1", "hits@10", "mr", "amri")]
RARITIES = ("common", "rare", "very rare", "rarely long")
SIZES = ((20, 49), (50, 99), (100, 199), (500, 500))
"""the fewest and the most triples of a draw"""


def rows(draws: int) -> Iterator[str]:
    """The tables, line by line."""
    names = [str(name) for name in METRICS]
    yield f"Percent of {draws:,} draws of triples in which the 95 % interval holds the metric of the population\n"
    yield "| " + " | ".join(["triples", "good ranks", *names]) + " |"
    yield "|---" * (len(names) + 2) + "|"
    for fewest, most in SIZES:
        for rarity in RARITIES:
            shares = held(rarity, fewest, most, draws)
            yield "| " + " | ".join([f"{fewest}–{most}", rarity, *(f"{100 * share:.1f}" for share in shares)]) + " |"
    yield f"\nPercent of relations, in {draws // 20:,} samples, whose estimate's interval holds the whole's metric\n"
    yield "| " + " | ".join(["good ranks", *names[:-1]]) + " |"
    yield "|---" * len(names) + "|"
    for rarity in RARITIES:
        shares = held_by_estimates(rarity, draws // 20)
        yield "| " + " | ".join([rarity, *(f"{100 * share:.1f}" for share in shares)]) + " |"


def ranks_of(rarity: str, rng: np.random.Generator, count: int) -> np.ndarray:
    """Ranks of both sides, int64[triple, 2]: good ones are common or rare, on both sides at once, or few are long."""
    good = np.exp(np.clip(rng.normal(1.2, 1.2, (count, 2)), 0, 6))
    if rarity == "rarely long":
        return np.where(rng.random(count)[:, None] < 0.004, 4_000, np.minimum(good, 30)).astype(np.int64)
    share = {"common": 0.7, "rare": 0.03, "very rare": 0.002}[rarity]
    chance = rng.integers(1, CANDIDATES + 1, (count, 2))
    return np.where(rng.random(count)[:, None] < share, good, chance).astype(np.int64)


def made_of(ranks: np.ndarray) -> Made:
    return Made(np.arange(len(ranks)), np.zeros(len(ranks), int), ranks, CANDIDATES)


def held(rarity: str, fewest: int, most: int, draws: int) -> list[float]:
    """The share of groups of triples, drawn from a large population, whose interval holds its metric; by metric."""
    rng = np.random.default_rng(1)
    ranks = ranks_of(rarity, rng, 50_000)
    groups = np.repeat(np.arange(draws), rng.integers(fewest, most + 1, draws))
    table, of_rows = made_of(ranks[rng.integers(0, len(ranks), len(groups))]), np.repeat(groups, 2)
    selection = RowSelection(TableView(table), np.arange(len(of_rows)), of_rows)
    return [float(intervals_of(name, selection, value_of(name, made_of(ranks)))[2]) for name in METRICS]


def held_by_estimates(rarity: str, samples: int) -> list[float]:
    """Of relations with 35 or 70 sampled triples: the degrees of freedom are theirs."""
    relations = np.repeat(np.arange(20), [140] * 12 + [290] * 8)
    ranks = ranks_of(rarity, np.random.default_rng(2), len(relations))
    strata, inside = Strata.of(relations, 1_000), defaultdict[str, list[bool]](list)
    true = {
        (name, relation): value_of(name, made_of(ranks[relations == relation]))
        for name in METRICS[:-1]
        for relation in range(20)
    }
    for seed in range(samples):
        chosen = np.sort(strata.order(seed)[:1_000])
        counts = np.bincount(strata.ids[chosen], minlength=len(strata.sizes))
        sampling = Sampling(Estimate(triples=1_000), tuple(counts.tolist()), tuple(strata.sizes.tolist()))
        further = {STRATUM: np.repeat(strata.ids[chosen], 2)}
        view = TableView(Made(chosen, relations[chosen], ranks[chosen], CANDIDATES, further, sampling=sampling))
        estimates = TableEstimates.of(view)
        for (name, relation), value in true.items():
            selection = RowSelection(view, np.flatnonzero(np.repeat(relations[chosen] == relation, 2)))
            interval = estimates.interval(name, selection, estimates.value(name, selection))
            inside[str(name)].append(interval.low - 1e-9 <= value <= interval.high + 1e-9)
    return [float(np.mean(hits)) for hits in inside.values()]
