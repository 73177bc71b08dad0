"""A paired difference: how much two models differ by a metric on the same rows, with its test, and notes on it.

``pair_tests.py`` and ``seed_differences.py`` make a :class:`PairedDifference` for each pair of models, by the
:class:`DifferenceOptions`; ``adjustment.py`` adjusts their p-values, ``notes_on_tests`` says how they were tested.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from kgeval.analysis.comparison.adjustment import adjustment
from kgeval.analysis.comparison.sign_flips import check_draws
from kgeval.base.errors import MetricError, counted, refuse_unknown
from kgeval.base.notes import Note
from kgeval.base.tables.shown import Brief
from kgeval.base.tables.table import DIGITS, number, p_text
from kgeval.metrics.intervals.interval import PLURAL, UNITS, Interval, Unit
from kgeval.metrics.names import MetricName
from kgeval.ranking.corruption.generator import size_range

POWER = 0.8
"""the share of test sets on which a difference of the detectable size is significant"""

DOMINANT = 0.1
"""the share of one unit in the weights from which an interval is right only if the differences scatter symmetrically"""

FEW = re.compile(r"^only (\d+) (\w{4})\w*(?: of one label)?;")
"""matches the beginning of a reason of too few units: their number, and the unit without its ending"""


@dataclass(frozen=True, repr=False)
class PairedDifference(Brief):
    """The difference of two models by a metric, on the same rows: the value of ``model`` minus that of ``other``."""

    model: str
    other: str
    metric: MetricName
    rows: int
    """how many rows both models ranked on the metric's side"""
    units: int
    """how many triples, queries, relations or times these rows have"""
    unit: Unit = "triple"
    """what is resampled; for metrics of lists, queries instead of triples"""
    group: Mapping[str, Any] = field(default_factory=dict)
    """the value of the rows in each column of ``by``; empty for all rows"""
    difference: float | None = None
    """the difference; ``None`` if the metric is undefined for one of the models"""
    interval: Interval | None = None
    """its interval; ``None``, like all values below, if there are too few units, or none in which the models differ"""
    p: float | None = None
    """the p-value: how often chance alone gives a difference as large"""
    draws: int = 0
    """the number of sign flips"""
    adjusted_p: float | None = None
    """p, adjusted for the pairs of models that are tested by this metric in this group (Holm, 1979)"""
    family: int = 0
    """the number of these pairs"""
    detectable: float | None = None
    """the smallest difference that a single test sees on 4 of 5 test sets"""
    degrees: float | None = None
    """the degrees of freedom of the standard error; by default one less than the units"""
    seeds_needed: float | None = None
    """how many seeds each model needs, so that a true difference as large is significant in 4 of 5 repetitions;
    infinite if no number of seeds is enough, as the test set is too small"""
    margin: float | None = None
    """the smallest difference that matters, for the test of equivalence; ``None`` without one"""
    reason: str = ""
    """why one of the values above is missing"""
    level: float = 0.95
    over_seeds: bool = False
    """whether training runs are resampled too; p is then from Student's t distribution"""
    largest: float = 0.0
    """the largest share of one unit in the weights of the rows; 0 if not known"""
    dataset: str = ""
    """the dataset of the rows, in a comparison"""

    def _brief(self) -> str:
        values = f"{self.name} {number(self.difference, self.decimals)}"
        return f"{self.model} less {self.other}: {values}, {self.seen or 'not tested'}"

    @property
    def name(self) -> str:
        """The metric's name, without the side if that is both."""
        return self.metric.column

    @property
    def test(self) -> str:
        """The test of single runs, in words: sign flips, or of labels Student's t."""
        over = f"test over {PLURAL[self.unit]}"
        return f"sign-flip {over}, {self.draws:,} draws" if self.draws else f"t {over}"

    @property
    def resampled(self) -> str:
        """What is resampled, in words: ``triple``, or ``seed × triple``."""
        return f"seed × {self.unit}" if self.over_seeds else self.unit

    @property
    def seen(self) -> str:
        """Whether ``model`` is ``"better"`` or ``"worse"``, or ``"none"`` for no difference; empty if not tested.

        It is empty too if there were too few draws for the p-value to be significant.
        """
        if self.difference is None or self.adjusted_p is None or self.draws < self.draws_needed:
            return ""
        if self.adjusted_p > 1 - self.level + 1e-12 or not self.difference:
            return "none"
        return "better" if (self.difference > 0) == self.metric.metric.increasing else "worse"

    @property
    def draws_needed(self) -> int:
        """The fewest sign flips with which the adjusted p-value can be significant; 0 without flips."""
        return math.ceil(self.family / (1 - self.level) - 1e-9) - 1 if self.draws else 0

    @property
    def is_bound(self) -> bool:
        """Whether the adjusted p-value is an upper bound, which more draws can only lower.

        No sign flip gave a difference as large: for this pair, or for an earlier pair in Holm's order, below whose
        adjusted p-value no later one falls.
        """
        return _at_floor(self.adjusted_p, self.draws, self.family)

    @property
    def p_text(self) -> str:
        """The adjusted p-value in print; empty if nothing was tested."""
        return "" if self.adjusted_p is None else p_text(self.adjusted_p, is_bound=self.is_bound)

    @property
    def effect_size(self) -> float | None:
        """The difference in standard deviations of the differences of single units (Cohen's d_z, 1988)."""
        if self.difference is None or self.interval is None or not self.interval.standard_error or self.over_seeds:
            return None
        return float(self.difference / (self.interval.standard_error * math.sqrt(self.units)))

    @property
    def equivalence_p(self) -> float | None:
        """The p-value of the hypothesis that the true difference is at least the margin, in either direction.

        It is the larger p-value of two one-sided t tests (TOST; Schuirmann, 1987).
        """
        from scipy.special import stdtr

        error = None if self.interval is None else self.interval.standard_error
        if self.difference is None or self.margin is None or not error:
            return None
        degrees = self.units - 1 if self.degrees is None else self.degrees
        return float(stdtr(degrees, (abs(self.difference) - self.margin) / error))

    @property
    def decimals(self) -> int:
        """The decimals that its interval justifies."""
        return DIGITS if self.interval is None else self.interval.decimals

    @property
    def verdict(self) -> str:
        """The result of the test, in words."""
        if self.seen == "none" and self.detectable is not None:
            return f"no significant difference (detectable: {number(self.detectable, self.decimals)})"
        if self.seen == "none":
            return f"no significant difference: {self.reason}"
        return self.seen or f"not tested: {self.reason or 'too few draws'}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, in full precision."""
        values = {
            "model": self.model,
            "other": self.other,
            "metric": self.name,
            **({"group": dict(self.group)} if self.group else {}),
            "difference": self.difference,
            **{name: getattr(self.interval, name, None) for name in ("low", "high", "standard_error")},
            "p": self.p,
            "p_is_bound": _at_floor(self.p, self.draws),
            "draws": self.draws,
            "adjusted_p": self.adjusted_p,
            "adjusted_p_is_bound": self.is_bound,
            **{name: getattr(self, name) for name in ("family", "detectable", "effect_size", "rows", "units")},
            **({"seeds_needed": self.seeds_needed} if self.seeds_needed and math.isfinite(self.seeds_needed) else {}),
            **({} if self.margin is None else {"margin": self.margin, "equivalence_p": self.equivalence_p}),
            "unit": self.resampled,
            "verdict": self.verdict,
        }
        return {**values, **({"reason": self.reason} if self.reason else {})}


@dataclass(frozen=True)
class DifferenceOptions:
    """What is resampled, the confidence level, and which pairs are compared."""

    unit: Unit = "triple"
    """what is resampled, and swapped between models as a whole"""
    level: float = 0.95
    """the level of the intervals; a difference is significant if its adjusted p-value is at most 1 − level"""
    draws: int = 9999
    """the number of random sign flips"""
    seed: int = 0
    """the seed of random sign flips"""
    reference: str | None = None
    """the model that all others are compared with; by default each is compared with each"""
    margin: float | None = None
    """the smallest difference by the first metric that matters, for tests of equivalence; by default there are none"""

    def __post_init__(self) -> None:
        refuse_unknown("intervals: unknown unit", self.unit, UNITS, MetricError)
        if not (isinstance(self.level, float) and 0 < self.level < 1):
            raise MetricError(f"level: expected a number between 0 and 1, such as 0.95, found {self.level!r}.")
        check_draws(self.draws)
        if self.margin is not None and not (isinstance(self.margin, int | float) and 0 < self.margin < math.inf):
            raise MetricError(f"margin: expected a number above 0, such as 0.01, found {self.margin!r}.")

    @property
    def alpha(self) -> float:
        """The largest adjusted p-value at which a difference is significant: 1 − level."""
        return 1 - self.level

    def pairs(self, models: Collection[str]) -> list[tuple[str, str]]:
        """Return each pair of models, or each other model with the reference."""
        if self.reference is None:
            return list(combinations(models, 2))
        return [(model, self.reference) for model in models if model != self.reference]


DEFAULT_DIFFERENCES = DifferenceOptions()


def on_dataset(pairs: Sequence[PairedDifference], dataset: str, margin: float | None) -> Iterator[PairedDifference]:
    """Set the dataset of differences and, by the first metric, the margin; refuse a margin that is beyond its range."""
    for pair in pairs:
        is_first = pair.metric == pairs[0].metric
        if is_first and margin is not None and margin >= (reach := pair.metric.metric.of_differences.highest):
            largest = f"{reach:g}, the largest difference by {pair.metric.column}"
            raise MetricError(f"margin: {margin:g} is not below {largest}. Give one in its units, such as 0.01.")
        yield replace(pair, dataset=dataset, margin=margin if is_first else None)


def detectable_difference(standard_error: float, *, level: float) -> float:
    """Compute (z_{(1 + level)/2} + z_{.8}) · SE: a difference of this size is significant in 4 of 5 samples.

    >>> round(detectable_difference(0.01, level=0.95), 6)
    0.028016
    """
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2) + ndtri(POWER)) * standard_error


def _at_floor(p: float | None, draws: int, family: int = 1) -> bool:
    """Whether a p-value is the smallest that so many draws can give, after Holm's factor for a family of tests.

    >>> _at_floor(1 / 1000, 999), _at_floor(2 / 1000, 999), _at_floor(3 / 1000, 999, family=3), _at_floor(None, 999)
    (True, False, True, False)
    >>> _at_floor(4 / 1000, 999, family=3), _at_floor(0.01, 0)  # three draws were as large; nothing was drawn
    (False, False)
    """
    return p is not None and draws > 0 and p < min((family + 0.5) / (1 + draws), 1)


def notes_on_tests(pairs: Sequence[PairedDifference], options: DifferenceOptions) -> Iterator[str]:
    """Say how differences were tested, and which have no test or no interval."""
    yield from notes_on_few_draws(pairs, options)
    if tested := [pair for pair in pairs if pair.adjusted_p is not None]:
        yield from _notes_on_family(tested, options, _not_adjusted_for(pairs))
    yield from notes_on_missing(pairs)


def notes_on_missing(pairs: Sequence[PairedDifference]) -> Iterator[Note]:
    """Say which differences have no test or no interval, and why."""
    for reason, of in by_reason(pairs):
        names = ", ".join(dict.fromkeys(pair.name for pair in of))
        where = f" in {len(of)} of {len(pairs)} differences" if len(of) < len(pairs) and of[0].group else ""
        untested = of[0].p is None
        missing = "not tested" if untested else "no interval"
        yield Note("tests" if untested else "intervals", f"{missing}: {names}{where}: {reason}.")


def by_reason(pairs: Iterable[PairedDifference]) -> Iterator[tuple[str, list[PairedDifference]]]:
    """Yield each reason with its pairs; reasons that differ only in a number of units are one, with their range."""
    alike: dict[str, list[PairedDifference]] = {}
    for pair in pairs:
        if pair.reason:
            alike.setdefault(FEW.sub(r"\2", pair.reason), []).append(pair)
    for of in alike.values():
        counts = {int(few[1]): few[0] for pair in of if (few := FEW.match(pair.reason))}
        most = counts[max(counts)].replace(str(max(counts)), size_range(np.array([*counts]))) if counts else ""
        yield FEW.sub(most, of[0].reason), of


def _notes_on_family(
    tested: Sequence[PairedDifference], options: DifferenceOptions, not_adjusted_for: str
) -> Iterator[str]:
    """Say what the columns of a table of differences mean: difference, p, detectable, equivalent, effect."""
    kinds = list(dict.fromkeys(pair.unit for pair in tested))
    units = " or ".join(
        f"{size_range(np.array([pair.units for pair in tested if pair.unit == unit]))} {PLURAL[unit]}" for unit in kinds
    )
    over_seeds, of_labels = tested[0].over_seeds, tested[0].metric.metric.needs == "labels"
    what, more = ("mean over seeds", "seeds and ") if over_seeds else ("metric", "")
    several = any(pair.family > 1 for pair in tested)
    alone = f" It is for one pair alone, p for all pairs: it may leave out 0 where p is above {options.alpha:.2g}."
    minus = f"the {what} of model minus the {what} of other, ± its {100 * options.level:g} % interval"
    yield Note("terms", f"difference: {minus} (resampling {more}{units}).{alone * several}")
    largest = max(tested, key=lambda pair: pair.largest)
    if largest.largest > DOMINANT:
        heavy = f"one {largest.unit} has {100 * largest.largest:.0f} % of the weight: intervals and p are right"
        alike = f"if a {largest.unit}'s difference is as likely above the true difference as below it"
        contain = "95 % intervals contain the true difference in 88 to 94 % of samples"
        few = f"If the models differ in a few {PLURAL[largest.unit]} only, {contain}."
        yield Note("tests", f"{heavy} {alike}. {few}")
    bound = ' "≤": no draw gave a difference as large.' if any(pair.is_bound for pair in tested) else ""
    flips = f"sign-flip test, {options.draws:,} draws (seed {options.seed}) of a sign for each {' or '.join(kinds)}"
    test = f"Student's t test over seeds × {' or '.join(kinds)}" if over_seeds else flips
    if of_labels:
        source = " (of roc_auc: DeLong et al., 1988)" if kinds == ["triple"] else ""
        test = f"Student's t test of what each {kinds[0]} adds to the metric{source}"
    yield Note("terms", f"p: two-sided {test}; {adjustment(tested)}{not_adjusted_for}.{bound}")
    words = ["none: no significant difference."] if any(pair.seen == "none" for pair in tested) else []
    if any(pair.detectable is not None for pair in tested):
        sets = "4 of 5 repetitions with other seeds and test sets" if over_seeds else "4 of 5 test sets"
        words.append(f"detectable: a true difference of this size is significant on {sets}, if it is tested alone.")
    if words:
        yield Note("terms", " ".join(words))
    if options.margin is not None:
        yield Note("terms", f"equivalent: {equivalence_in_words(options.margin)}.")
        yield Note("terms", f"effect: the difference in standard deviations over {kinds[0]}s.")
    if fewer := [pair for pair in tested if 0 < pair.draws < options.draws and not over_seeds]:
        names = ", ".join(dict.fromkeys(pair.name for pair in fewer))
        tests = f"interval by a paired bootstrap, p by {fewer[0].draws:,} sign flips (no function of means)"
        yield Note("terms", f"{names}: {tests}.")


def equivalence_in_words(margin: float) -> str:
    test = f"p of the hypothesis that the true difference is at least {margin:g}, in either direction"
    return f"{test} (two one-sided t tests; Schuirmann, 1987), not adjusted. If p is small, the models are equivalent"


def notes_on_few_draws(pairs: Iterable[PairedDifference], options: DifferenceOptions) -> Iterator[Note]:
    """Warn that no difference can be seen, because the smallest possible p-value is too large for so many tests."""
    if few := [pair for pair in pairs if pair.adjusted_p is not None and pair.draws < pair.draws_needed]:
        worst = max(few, key=lambda pair: pair.family / (1 + pair.draws))
        needed = worst.draws_needed
        cures = [f"use at least {needed:,} draws (--draws {needed})"] * (worst.draws == options.draws)
        cures += [] if options.reference or worst.family == 1 else ["compare with one model (--reference)"]
        family, least = counted(worst.family, "pair"), worst.family / (1 + worst.draws)
        cure = " or ".join(cures) or f"{worst.name} has no more draws"
        fact = f"{worst.draws:,} draws are too few for {family}: no adjusted p-value can be below {least:.2g}"
        yield Note("tests", f"not tested: {fact}. {cure[:1].upper()}{cure[1:]}.")


def _not_adjusted_for(pairs: Sequence[PairedDifference]) -> str:
    first, *others = dict.fromkeys(pair.name for pair in pairs)
    groups = len({str(pair.group) for pair in pairs if pair.p is not None})
    numbers = [f"metrics ({first}, the first, decides)"] if others else []
    by_chance = f"by chance, on average up to {100 * (1 - pairs[0].level):.2g} % of them show a difference"
    numbers += [f"groups ({by_chance})"] if groups > 1 else []
    return f"; not adjusted for the number of {' or of '.join(numbers)}" if numbers else ""
