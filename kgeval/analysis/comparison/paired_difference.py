"""A paired difference: how much two models differ by a metric on the same rows, and what to know of its test."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from kgeval.analysis.comparison.sign_flips import check_draws, holm
from kgeval.corruption.generator import size_range
from kgeval.displayed import Brief
from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.intervals.interval import PLURAL, UNITS, Interval, Unit
from kgeval.metrics.names import MetricName
from kgeval.table import DIGITS, number, p_text

POWER = 0.8
"""the share of test sets on which a difference as large as the detectable one would be seen"""


@dataclass(frozen=True)
class DifferenceOptions:
    """What is drawn again, how sure a difference has to be, and which pairs are looked at."""

    unit: Unit = "triple"
    """what is drawn again, and swapped between models as a whole"""
    level: float = 0.95
    """of the intervals; a difference is seen if its adjusted p-value is at most 1 − level"""
    draws: int = 9999
    """of random signs"""
    seed: int = 0
    """of random signs"""
    reference: str | None = None
    """the model that all others are compared with; by default each is compared with each"""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise MetricError(f"intervals: unknown unit {self.unit!r}. {did_you_mean(str(self.unit), UNITS)}")
        real = isinstance(self.level, float) and math.isfinite(self.level)
        if not real or not 0 < self.level < 1:
            raise MetricError(f"level: expected a number between 0 and 1, such as 0.95, found {self.level!r}.")
        check_draws(self.draws)

    @property
    def alpha(self) -> float:
        """How likely any difference of a family is seen where there is none."""
        return 1 - self.level

    def pairs(self, models: Collection[str]) -> list[tuple[str, str]]:
        """Return each pair of models, or each other model with the reference."""
        if self.reference is None:
            return list(combinations(models, 2))
        return [(model, self.reference) for model in models if model != self.reference]


DEFAULT_DIFFERENCES = DifferenceOptions()


@dataclass(frozen=True, repr=False)
class PairedDifference(Brief):
    """The difference of two models by a metric: that of ``model`` less that of ``other``, on the same rows."""

    model: str
    other: str
    metric: MetricName
    rows: int
    """how many rows both ranked, of the metric's side"""
    units: int
    """how many units these are of"""
    unit: Unit = "triple"
    """what was drawn again: of metrics of lists queries, in place of triples"""
    group: Mapping[str, Any] = field(default_factory=dict)
    """the values that the rows have in common, by column; empty for all rows"""
    difference: float | None = None
    """``None`` where the metric is undefined for one of them"""
    interval: Interval | None = None
    """``None``, like all below, where there are too few units, or none in which they differ"""
    p: float | None = None
    """how often chance alone gives a difference as large"""
    draws: int = 0
    """how many sign flips there were"""
    adjusted_p: float | None = None
    """the same, adjusted for the pairs of models that are tested by this metric in this group (Holm, 1979)"""
    family: int = 0
    """how many pairs these are"""
    detectable: float | None = None
    """the least difference that would be seen on 4 of 5 test sets, by a single test"""
    reason: str = ""
    """why something of this is missing"""
    level: float = 0.95
    over_seeds: bool = False
    """whether training runs were drawn again too; p is then of Student's t, and of no draws"""

    def _brief(self) -> str:
        values = f"{self.name} {number(self.difference, self.decimals)}"
        return f"{self.model} less {self.other}: {values}, {self.seen or 'not tested'}"

    @property
    def name(self) -> str:
        """The metric's name, without the side where that is both."""
        return self.metric.base if self.metric.side == "both" else str(self.metric)

    @property
    def drawn_again(self) -> str:
        """What was drawn again, in words: ``triple``, or ``seed × triple``."""
        return f"seed × {self.unit}" if self.over_seeds else self.unit

    @property
    def seen(self) -> str:
        """``"better"`` or ``"worse"``, as ``model`` is; ``"none"``; empty where nothing was tested."""
        if self.difference is None or self.adjusted_p is None:
            return ""
        if self.adjusted_p > 1 - self.level + 1e-12 or not self.difference:
            return "none"
        return "better" if (self.difference > 0) == self.metric.metric.increasing else "worse"

    @property
    def is_bound(self) -> bool:
        """Whether more draws could only lower the adjusted p-value.

        No draw gave a difference as large: of this pair, or of one before it in Holm's order, whose adjusted p-value no
        later one is below.
        """
        return _at_floor(self.adjusted_p, self.draws, self.family)

    @property
    def p_text(self) -> str:
        """The adjusted p-value for people; empty where nothing was tested."""
        return "" if self.adjusted_p is None else p_text(self.adjusted_p, is_bound=self.is_bound)

    @property
    def decimals(self) -> int:
        return DIGITS if self.interval is None else self.interval.decimals

    @property
    def verdict(self) -> str:
        """What the difference says, in words."""
        if self.seen == "none" and self.detectable is not None:
            return f"no difference seen (less than ± {number(self.detectable, self.decimals)})"
        if self.seen == "none":
            return f"no difference seen: {self.reason}"
        return self.seen or f"not tested: {self.reason}"

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
            **{name: getattr(self, name) for name in ("family", "detectable", "rows", "units")},
            "unit": self.drawn_again,
            "verdict": self.verdict,
        }
        return {**values, **({"reason": self.reason} if self.reason else {})}


def with_adjusted_p(pairs: Iterable[PairedDifference]) -> tuple[PairedDifference, ...]:
    """Adjust p-values for the pairs of models that are tested by the same metric in the same group (Holm, 1979)."""
    found, families = list(pairs), dict[object, list[int]]()
    for place, pair in enumerate(found):
        if pair.p is not None:
            families.setdefault((pair.metric, *pair.group.items()), []).append(place)
    for family in families.values():
        adjusted = holm(np.array([found[place].p for place in family], np.float64))
        for place, p in zip(family, adjusted.tolist(), strict=True):
            found[place] = replace(found[place], adjusted_p=p, family=len(family))
    return tuple(found)


def _at_floor(p: float | None, draws: int, family: int = 1) -> bool:
    """Whether a p-value is the smallest that so many draws can give, after Holm's factor for a family of tests.

    >>> _at_floor(1 / 1000, 999), _at_floor(2 / 1000, 999), _at_floor(3 / 1000, 999, family=3), _at_floor(None, 999)
    (True, False, True, False)
    >>> _at_floor(0.01, 0)
    False
    """
    return p is not None and draws > 0 and p < min(1.5 * family / (1 + draws), 1)


def detectable_difference(standard_error: float, *, level: float) -> float:
    """(z_{(1 + level)/2} + z_{.8}) · SE: as large a difference would be seen in 4 of 5 draws of the units.

    >>> round(detectable_difference(0.01, level=0.95), 6)
    0.028016
    """
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2) + ndtri(POWER)) * standard_error


def notes_on_tests(pairs: Sequence[PairedDifference], options: DifferenceOptions) -> Iterator[str]:
    tested = [pair for pair in pairs if pair.adjusted_p is not None]
    if tested:
        yield from _notes_on_family(tested, options)
        yield from _notes_on_secondary(pairs)
    for reason in dict.fromkeys(pair.reason for pair in pairs if pair.reason):
        of = [pair for pair in pairs if pair.reason == reason]
        names = ", ".join(dict.fromkeys(pair.name for pair in of))
        where = f" in {len(of)} of {len(pairs)} differences, the first" if len(of) < len(pairs) and of[0].group else ""
        yield f"{'not tested' if of[0].p is None else 'no interval'}: {names}{where}: {reason}."


def _notes_on_family(tested: Sequence[PairedDifference], options: DifferenceOptions) -> Iterator[str]:
    kinds = list(dict.fromkeys(pair.unit for pair in tested))
    units = " or ".join(
        f"{size_range(np.array([pair.units for pair in tested if pair.unit == unit]))} {PLURAL[unit]}" for unit in kinds
    )
    over_seeds = tested[0].over_seeds
    what, more = ("mean over the seeds", "other seeds, and ") if over_seeds else ("metric", "")
    yield (
        f"difference: the {what} of model minus that of other. {100 * options.level:g} % intervals, one difference at "
        f"a time: {more}resampling the {units}."
    )
    holm = ", of the pair or of one before it in Holm's order" if any(pair.family > 1 for pair in tested) else ""
    bound = f' "≤": no draw gave a difference as large{holm}.' if any(pair.is_bound for pair in tested) else ""
    flips = f"{options.draws:,} sign flips per {' or '.join(kinds)} (seed {options.seed})"
    test = f"Student's t, over seeds × {' or '.join(kinds)}" if over_seeds else flips
    yield f"p: {test}, two-sided, {adjustment(tested)}.{bound}"
    none = "none: no difference is seen. " if any(pair.seen == "none" for pair in tested) else ""
    sets = "draws of seeds and test sets" if over_seeds else "test sets"
    yield f"{none}detectable: a difference as large is seen, by a single test, on 4 of 5 {sets}."
    if fewer := [pair for pair in tested if pair.draws < options.draws and not over_seeds]:
        names = ", ".join(dict.fromkeys(pair.name for pair in fewer))
        yield (
            f"no function of means: {names}. Intervals are those of a paired bootstrap; sign flips compute the metric "
            f"anew, {fewer[0].draws:,} times."
        )
    if cut := list(dict.fromkeys(pair.name for pair in tested if pair.interval and pair.interval.clipped)):
        yield f"an interval of {', '.join(cut)} ends where the range of its differences does."
    if not over_seeds:
        yield from _notes_on_few_draws(tested, options)


def _notes_on_few_draws(tested: Sequence[PairedDifference], options: DifferenceOptions) -> Iterator[str]:
    """Say that no difference could be seen, however large, because the smallest p-value is too large for the family."""
    worst = max(tested, key=lambda pair: pair.family / (1 + pair.draws))
    least = worst.family / (1 + worst.draws)
    if least > options.alpha:
        needed = math.ceil(worst.family / options.alpha - 1e-9) - 1
        fewer_pairs = "" if options.reference or worst.family == 1 else ", or compare with one --reference"
        yield (
            f"{worst.draws:,} draws are too few for {worst.family:,} pairs: no adjusted p-value can be below "
            f"{least:.2g}. Take at least {needed:,} draws{fewer_pairs}."
        )


def adjustment(tested: Sequence[PairedDifference]) -> str:
    """Say for how many pairs of models p-values are adjusted."""
    if all(pair.family == 1 for pair in tested):
        return "not adjusted, as one pair of models is compared"
    pairs = size_range(np.array([pair.family for pair in tested]))
    of_metric = " tested by each metric" if len({pair.metric for pair in tested}) > 1 else ""
    of_group = f" {'and ' if of_metric else 'tested '}in each group" if tested[0].group else ""
    return f"adjusted by Holm's method (1979) for the {pairs} pairs of models{of_metric}{of_group}"


def _notes_on_secondary(pairs: Sequence[PairedDifference]) -> Iterator[str]:
    first, *others = dict.fromkeys(pair.name for pair in pairs)
    groups = len({str(pair.group) for pair in pairs if pair.p is not None})
    if others:
        yield (
            f"{first}, named first, decides. {', '.join(others)}: secondary; no p-value is adjusted for the number of "
            "metrics."
        )
    if groups > 1:
        yield f"no p-value is adjusted for the {groups:,} groups: of many groups, a few show a difference by chance."
