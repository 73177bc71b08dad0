"""Two made models on relations of equal and unequal sizes: how often interval and test of a difference are right.

Both models rank the same triples. A relation is as hard for both, and by chance harder for one of them: the effect of
relations. Without it the models differ by the noise of triples alone. In one case a fifth of the relations is much
easier for the first model, and nothing else: a difference that a few relations make.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kgeval.analysis.comparison.pair_tests import differences_of_units, interval_of_difference
from kgeval.analysis.comparison.paired_difference import DifferenceOptions
from kgeval.analysis.comparison.sign_flips import sign_flip_p_values
from kgeval.metrics.intervals.mean_terms import MeanTerms, Units, standard_error
from kgeval.metrics.intervals.selection_intervals import t_quantile
from kgeval.metrics.names import parse
from scripts.simulation.units import CENTRE, GRID, OF_UNIT, VALUES, Relations, expectation, made_terms, ranked

EASIER, SHARE = 2.0, 0.2
"""how much the logarithm of a rank is lower in a share of the relations, where the first model is better there"""

METRICS = ("mrr", "hits@10")

FLIPS = 999


class Right(NamedTuple):
    """In which share of the draws something is right."""

    held: float
    """the interval contains the true difference"""
    by_student: float
    """that of Student does, of the cluster-robust error and one degree of freedom less than there are relations"""
    by_cr2: float
    """that of the error corrected by leverage does, with Satterthwaite's degrees of freedom"""
    rejected: float
    """the test rejects that the difference is 0"""
    agreed: float
    """the interval leaves out 0 where the test rejects it, and nowhere else"""


@dataclass(frozen=True)
class Pair:
    """Two models."""

    relations: Relations
    effect: float
    """the standard deviation by relation and model of a rank's logarithm; by relation it is 1.2"""
    few: bool = False
    """whether the first model is better in some relations"""

    def true(self, metric: str) -> float:
        """The expectation of the difference."""
        if not self.few:
            return 0.0
        better, alike = (expectation(metric, centre, self.effect) for centre in (CENTRE - EASIER, CENTRE))
        return SHARE * (better - alike)

    def drawn(self, rng: np.random.Generator) -> dict[str, tuple[MeanTerms, MeanTerms]]:
        """Draw both models: the terms of each metric."""
        (sizes,) = self.relations.drawn(rng, 1)
        units = Units("relation", np.repeat(np.arange(len(sizes)), sizes), len(sizes))
        centres = CENTRE + OF_UNIT * rng.normal(size=len(sizes))
        easier = EASIER * (rng.random(len(sizes)) < SHARE) if self.few else 0.0
        one, other = (
            ranked(rng, centres - lower + self.effect * rng.normal(size=len(sizes)), units.ids)
            for lower in (easier, 0.0)
        )
        return {metric: (made_terms(of(one), units), made_terms(of(other), units)) for metric, of in VALUES.items()}

    def right(self, draws: int, metrics: tuple[str, ...] = METRICS, seed: int = 0) -> dict[str, Right]:
        """Draw the models again and again."""
        rng = np.random.default_rng([seed, self.relations.count, int(100 * self.effect), self.few])
        found: dict[str, list[tuple[bool, ...]]] = {metric: [] for metric in metrics}
        for draw in range(draws):
            terms = self.drawn(rng)
            for metric in metrics:
                found[metric].append(_right(*terms[metric], metric, self.true(metric), seed=draw))
        return {metric: Right(*np.mean(rows, axis=0).tolist()) for metric, rows in found.items()}


def _right(one: MeanTerms, other: MeanTerms, metric: str, true: float, seed: int) -> tuple[bool, ...]:
    options = DifferenceOptions(unit="relation", draws=FLIPS, seed=seed)
    interval = interval_of_difference(one, other, parse(metric).metric, options)
    (p,) = sign_flip_p_values(differences_of_units(one, other)[:, None], draws=FLIPS, seed=seed)
    deviations, miss = one.deviations - other.deviations, abs(one.value - other.value - true)
    return (
        interval.low <= true <= interval.high,
        miss <= t_quantile(one.units.count - 1, 0.95) * standard_error(deviations),
        miss <= cr2(deviations, one.unit_shares),
        p <= 0.05,
        (interval.low <= 0 <= interval.high) == (p > 0.05),
    )


def cr2(deviations: np.ndarray, shares: np.ndarray) -> float:
    """Half of the interval of a mean whose clusters have some shares of the rows (CR2; Bell and McCaffrey, 2002).

    V = Σ d²/(1 − p), p being a cluster's share, its leverage. If all rows are independent, with one variance, the
    covariance of d/√(1 − p) of clusters i and j is in proportion to p_i of i itself and −a_i a_j else, with
    a = p/√(1 − p). Its eigenvalues λ give the degrees of freedom, (Σ λ)²/Σ λ².
    """
    products = shares / np.sqrt(1 - shares)
    squares = (shares**2).sum() + (products**2).sum() ** 2 - (products**4).sum()  # Σ λ², and Σ λ = 1
    return float(t_quantile(1 / squares, 0.95) * np.sqrt((deviations**2 / (1 - shares)).sum()))


EFFECTS = (0.0, 0.5, 1.0)


def rows(draws: int) -> Iterator[str]:
    """The table, line by line, as it comes."""
    yield f"\nDifferences: percent of {draws:,} draws in which the 95 % interval holds / the test at 5 % rejects 0\n"
    names = [f"{metric}, {effect:g}" for metric in METRICS for effect in EFFECTS]
    few = [f"few: {metric}" for metric in (*METRICS, "mr")]
    yield "| " + " | ".join(["sizes", "relations", "largest", "Student", "CR2", *names, *few]) + " |"
    yield "|---" * (5 + len(names) + len(few)) + "|"
    for shape in GRID:
        of = [Pair(shape, effect).right(draws) for effect in EFFECTS]
        cells = [f"{100 * one[metric].held:.1f} / {100 * one[metric].rejected:.1f}" for metric in METRICS for one in of]
        of_few = Pair(shape, 0.25, few=True).right(draws, (*METRICS, "mr"))
        cells += [f"{100 * one.held:.1f}" for one in of_few.values()]
        others = [" – ".join(f"{100 * end:.1f}" for end in (min(own), max(own))) for own in _by_others(of)]
        yield "| " + " | ".join([shape.title, str(shape.count), f"{100 * shape.largest:.0f} %", *others, *cells]) + " |"


def _by_others(of: list[dict[str, Right]]) -> tuple[list[float], list[float]]:
    """How often the intervals of Student and of CR2 hold, by metric and effect."""
    every = [one[metric] for metric in METRICS for one in of]
    return [one.by_student for one in every], [one.by_cr2 for one in every]
