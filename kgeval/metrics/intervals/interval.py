"""Interval: the numbers between which a metric would fall, had the units of its table been drawn again."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import Field

from kgeval.errors import MetricError, did_you_mean
from kgeval.settings.settings import Settings

if TYPE_CHECKING:
    from kgeval.metrics.metric import Metric

Unit = Literal["triple", "query", "relation"]
"""triples, each with both sides; queries, each with all of its answers; relations, each with all of its triples"""

UNITS: tuple[Unit, ...] = get_args(Unit)

PLURAL: dict[Unit, str] = {"triple": "triples", "query": "queries", "relation": "relations"}


FEWEST_UNITS = 20
"""below which their scatter tells too little of the next draw's"""

FEWEST_DECIMALS = 3
"""which tables have however large the standard error is, and where there is none to tell"""

ZERO = 1e-12
"""the standard error, beside the value, that only rounding makes larger than zero"""


BOUNDED = "bounded mean"
"""the method of an interval that allows for values which no unit at hand has, as few of them carry the mean"""


class NoInterval(MetricError):
    """A metric has no interval; the message says why."""


class Intervals(Settings):
    """What would be drawn again, and how often the interval then holds the metric.

    >>> print(Intervals(unit="relation"))
    95 % intervals, relations drawn again
    """

    unit: Unit = "triple"
    """the unit that is resampled for confidence intervals: triple, query or relation. A triple has both sides, a query
    all of its answers, a relation all of its triples"""
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """the confidence level of the intervals"""
    draws: Annotated[int, Field(ge=100)] = 2000
    """of the bootstrap, for metrics that are no function of means"""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    """of the draws"""

    def __str__(self) -> str:
        return f"{100 * self.level:g} % intervals, {PLURAL[self.unit]} drawn again"


def read_intervals(requested: Any) -> Intervals | None:
    """Read a unit by name, settings, or ``None``."""
    if requested is None or isinstance(requested, Intervals):
        return requested
    if isinstance(requested, str) and requested in UNITS:
        return Intervals(unit=requested)
    raise MetricError(f"intervals: unknown unit {requested!r}. {did_you_mean(str(requested), UNITS)}")


@dataclass(frozen=True)
class Interval:
    """Where a metric would fall in most draws.

    >>> str(Interval(0.2, 0.4, level=0.95, unit="triple", units=50, method="linearised", standard_error=0.05))
    '0.200–0.400'
    """

    low: float
    high: float
    level: float
    """how often the interval holds the metric"""
    unit: str
    """what is drawn again"""
    units: int
    """how many there are"""
    method: str
    standard_error: float
    """the standard deviation of the metric over the draws"""
    clipped: bool = False
    """whether an end is that of the metric's range, beyond which the interval would reach"""

    @property
    def decimals(self) -> int:
        """The digits after the point that mean something: two of the standard error's, and three at least."""
        width = self.high - self.low
        return justified_decimals(max(self.standard_error or width / 4, width / 8))  # of Wilson's, of a bounded mean's

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``metrics.json``."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.low:.{self.decimals}f}–{self.high:.{self.decimals}f}"


def justified_decimals(standard_error: float) -> int:
    """Count the digits after the point that a standard error justifies: two of its own, from three to twelve.

    >>> justified_decimals(0.0018), justified_decimals(0.00018), justified_decimals(8.2)
    (4, 5, 3)
    """
    return min(max(FEWEST_DECIMALS, 1 - math.floor(math.log10(standard_error))), 12)


def clipped_to(metric: Metric, value: float, ends: tuple[float, float]) -> tuple[float, float, bool]:
    """Cut an interval off at the ends of the metric's range, and say whether that did anything."""
    low, high = max(ends[0], min(metric.lowest, value)), min(ends[1], max(metric.highest, value))
    return float(low), float(high), (low, high) != ends


def too_few(count: int, unit: Unit, what: str) -> str:
    """Say that there are fewer units than an interval or a test needs; empty where there are enough."""
    few = f"{count} {unit if count == 1 else PLURAL[unit]}, and {what} needs {FEWEST_UNITS}"
    return few if count < FEWEST_UNITS else ""


def refuse_few(count: int, unit: Unit) -> None:
    if few := too_few(count, unit, "an interval"):
        raise NoInterval(few)


def refuse_constant(standard_error: float, value: float) -> None:
    """Refuse the draws of a metric that does not vary in them."""
    if is_rounding(standard_error, value):
        raise NoInterval("it is the same in all draws, so they do not show how it varies")


def is_rounding(standard_error: float, value: float) -> bool:
    """Whether a standard error is what rounding alone makes of values that are all the same."""
    return standard_error <= ZERO * max(1, abs(value))
