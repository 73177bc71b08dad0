"""A paired difference: how much two models differ by a metric on the same rows, and whether that is more than noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kgeval.analysis.comparison.sign_flips import check_draws
from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.intervals.interval import UNITS, Interval, Unit
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
            raise MetricError(f"unit: unknown unit {self.unit!r}. {did_you_mean(str(self.unit), UNITS)}")
        real = isinstance(self.level, float) and math.isfinite(self.level)
        if not real or not 0 < self.level < 1:
            raise MetricError(f"level: expected a number between 0 and 1, such as 0.95, found {self.level!r}.")
        check_draws(self.draws)

    @property
    def alpha(self) -> float:
        """How likely any difference of a family is seen where there is none."""
        return 1 - self.level


DEFAULT_DIFFERENCES = DifferenceOptions()


@dataclass(frozen=True)
class PairedDifference:
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
    """how often sign flips give a difference as large"""
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

    @property
    def name(self) -> str:
        """The metric's name, without the side where that is both."""
        return self.metric.base if self.metric.side == "both" else str(self.metric)

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
            **{name: getattr(self, name) for name in ("family", "detectable", "rows", "units", "unit", "verdict")},
        }
        return {**values, **({"reason": self.reason} if self.reason else {})}


def _at_floor(p: float | None, draws: int, family: int = 1) -> bool:
    """Whether a p-value is the smallest that so many draws can give, after Holm's factor for a family of tests.

    >>> _at_floor(1 / 1000, 999), _at_floor(2 / 1000, 999), _at_floor(3 / 1000, 999, family=3), _at_floor(None, 999)
    (True, False, True, False)
    """
    return p is not None and p < min(1.5 * family / (1 + draws), 1)


def detectable_difference(standard_error: float, *, level: float) -> float:
    """(z_{(1 + level)/2} + z_{.8}) · SE: as large a difference would be seen in 4 of 5 draws of the units.

    >>> round(detectable_difference(0.01, level=0.95), 6)
    0.028016
    """
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2) + ndtri(POWER)) * standard_error
