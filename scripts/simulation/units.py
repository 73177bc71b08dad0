"""Made relations of equal and unequal sizes: how often 95 % intervals over them hold the expectation of a metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from kgeval.metrics.intervals.interval import Intervals, NoInterval
from kgeval.metrics.intervals.mean_terms import MeanTerms, Units
from kgeval.metrics.intervals.selection_intervals import UnitScatter, unit_scatter
from kgeval.metrics.names import parse

ENTITIES = 1_000
"""the worst rank"""

CENTRE, OF_UNIT, OF_TRIPLE, OF_SIDE = 1.5, 1.2, 1.0, 0.7
"""the mean of a rank's logarithm, and its standard deviations by relation, by triple, and by triple and side"""

LARGEST = 1_000
"""the most triples of a relation"""

AT_ONCE = 200
"""draws that are computed together"""

METRICS = ("mrr", "hits@1", "hits@10", "mr")

VALUES = {"mrr": lambda ranks: 1 / ranks, "mr": lambda ranks: ranks.astype(float)} | {
    f"hits@{k}": (lambda ranks, k=k: (ranks <= k).astype(float)) for k in (1, 10)
}


@dataclass(frozen=True)
class Relations:
    """How many relations there are, and how many triples they have."""

    sizes: str
    count: int
    exponent: float = 0.0
    related: float = 0.0
    """how much easier relations are with the logarithm of their size"""

    def drawn(self, rng: np.random.Generator, draws: int) -> np.ndarray:
        """The sizes; int64[draw, relation]. Fixed sizes are the same in all draws."""
        shape = draws, self.count
        if self.sizes == "equal":
            return np.full(shape, 10)
        if self.sizes == "lognormal":
            return np.clip(np.exp(rng.normal(2, 1.3, shape)), 1, LARGEST).astype(np.int64)
        if self.sizes == "Zipf, fixed":
            return np.tile(
                np.ceil(LARGEST / np.arange(1, self.count + 1) ** self.exponent).astype(np.int64), (draws, 1)
            )
        return rng.choice(np.arange(1, LARGEST + 1), shape, p=self.shares)

    @property
    def title(self) -> str:
        return self.sizes + (f", {self.exponent:g}" if self.exponent else "")

    @property
    def largest(self) -> float:
        """The share of the largest relation in all triples, on average."""
        sizes = self.drawn(np.random.default_rng(0), 1_000)
        return float((sizes.max(axis=1) / sizes.sum(axis=1)).mean())

    @property
    def shares(self) -> np.ndarray:
        """The probabilities of drawn sizes, from 1."""
        shares = np.arange(1, LARGEST + 1) ** -self.exponent
        return np.asarray(shares / shares.sum())

    def expectation(self, metric: str) -> float:
        """The expectation of the metric, E[sum] / E[size] over relations."""
        if not self.related:
            return float(expectation(metric, CENTRE))
        sizes = np.arange(1, LARGEST + 1)
        of_sizes = np.array([expectation(metric, CENTRE - self.related * np.log(size)) for size in sizes])
        return float(np.average(of_sizes, weights=self.shares * sizes))

    def scatters(self, rng: np.random.Generator, draws: int) -> Iterator[tuple[str, np.ndarray, UnitScatter]]:
        """The metrics (float64[draw]) with the scatter of their relations; one group for each draw."""
        sizes = self.drawn(rng, draws).ravel()
        rows = np.repeat(np.arange(len(sizes)), sizes)
        centres = CENTRE + OF_UNIT * rng.normal(size=len(sizes)) - self.related * np.log(sizes)
        units = Units("relation", rows, len(sizes))
        groups = np.repeat(np.arange(draws), self.count)
        ranks = ranked(rng, centres, rows)
        for metric, of in VALUES.items():
            first, last = (np.full((1, 1), float(of(np.array(rank)))) for rank in (1, ENTITIES))
            terms = made_terms(of(ranks), units)
            terms = replace(terms, limits=lambda first=first, last=last: (first, last))
            yield metric, means(terms, groups), unit_scatter(terms, groups)


def ranked(rng: np.random.Generator, centres: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Ranks of both sides of each triple; int64[triple, side]."""
    of_triples = centres[rows] + OF_TRIPLE * rng.normal(size=len(rows))
    both = of_triples[:, None] + OF_SIDE * rng.normal(size=(len(rows), 2))
    return np.clip(np.exp(both), 1, ENTITIES).astype(np.int64)


def expectation(metric: str, centre: float, effect: float = 0.0) -> float:
    """The expectation of a metric, with a further standard deviation by relation."""
    spread = np.sqrt(OF_UNIT**2 + effect**2 + OF_TRIPLE**2 + OF_SIDE**2)
    ranks = np.arange(1, ENTITIES + 1)
    below = np.r_[0, ndtr((np.log(ranks[1:]) - centre) / spread), 1]
    return float(np.diff(below) @ VALUES[metric](ranks))


def made_terms(values: np.ndarray, units: Units) -> MeanTerms:
    """The mean of a value of triples (float64[triple, side])."""
    return MeanTerms(values.mean(axis=1)[None], np.ones(len(values)), lambda mean: mean, units)


def means(terms: MeanTerms, groups: np.ndarray) -> np.ndarray:
    return np.bincount(groups, terms.unit_sums[0]) / np.bincount(groups, terms.unit_shares)


def ends(scatter: UnitScatter, metric: str, values: np.ndarray) -> np.ndarray:
    """Both ends of the interval of each draw, NaN where there is none; float64[draw, 2]."""
    found = np.full((len(values), 2), np.nan)
    of = parse(metric).metric
    for draw, value in enumerate(values):
        try:
            interval = scatter.interval(of, value, Intervals(unit="relation", seed=draw), group=draw)
        except NoInterval:
            continue
        found[draw] = interval.low, interval.high
    return found


def held(relations: Relations, draws: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """The share of 95 % intervals that hold the expectation, by metric: without random halves, and with them."""
    found: dict[str, list[np.ndarray]] = {}
    for start in range(0, draws, AT_ONCE):
        rng = np.random.default_rng([seed, start, relations.count])
        for metric, values, scatter in relations.scatters(rng, min(AT_ONCE, draws - start)):
            true = relations.expectation(metric)
            both = np.stack([ends(one, metric, values) for one in (replace(scatter, halves=None), scatter)])
            found.setdefault(metric, []).append((both[..., 0] <= true) & (true <= both[..., 1]))
    return {metric: tuple(np.concatenate(own, axis=1).mean(axis=1).tolist()) for metric, own in found.items()}


COUNTS = (20, 50, 100)

GRID = [
    *(Relations(sizes, count) for sizes in ("equal", "lognormal") for count in COUNTS),
    *(Relations("Zipf, fixed", count, exponent) for exponent in (1.0, 1.3, 2.0) for count in COUNTS),
]


def rows(draws: int) -> Iterator[str]:
    """The table, line by line, as it comes."""
    yield f"Percent of {draws:,} draws in which the 95 % interval over relations holds: without → with random halves\n"
    yield "| " + " | ".join(["sizes", "relations", *METRICS]) + " |"
    yield "|---" * (2 + len(METRICS)) + "|"
    for one in GRID:
        shares = held(one, draws)
        cells = [" → ".join(f"{100 * share:.1f}" for share in shares[name]) for name in METRICS]
        yield "| " + " | ".join([one.title, str(one.count), *cells]) + " |"
