"""Intervals: the record of one, the settings by which intervals are requested, and when a metric has none.

An interval is the range of a metric over resampled units: triples, queries, relations or times.
``selection_intervals.py``, ``over_seeds.py`` and ``stratified_sample.py`` make them.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, model_validator

from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.base.settings import Settings, or_short

if TYPE_CHECKING:
    from kgeval.metrics.metric import Metric

Unit = Literal["triple", "query", "relation", "time"]
"""a triple has both sides, a query all its answers, a relation or time all its triples"""

UNITS: tuple[Unit, ...] = get_args(Unit)
PLURAL: dict[Unit, str] = {"triple": "triples", "query": "queries", "relation": "relations", "time": "times"}

FEWEST_UNITS = 20
"""with fewer units there is no interval: they show too little of how the metric varies"""

FEWEST_SEEDS = 3
"""the fewest runs of which an interval or a test over seeds is computed"""

FEWEST_DECIMALS = 3
"""the least number of decimals in tables"""

ZERO = 1e-12
"""a standard error up to this share of the value is an effect of rounding"""

BOUNDED = "bounded mean"
"""the method of an interval that allows for rare large values that the units at hand do not have"""


@dataclass(frozen=True)
class Interval:
    """The confidence interval of a metric.

    >>> str(Interval(0.2, 0.4, level=0.95, unit="triple", units=50, method="linearised", standard_error=0.05))
    '0.200–0.400'
    """

    low: float
    high: float
    level: float
    """the confidence level"""
    unit: str
    """the resampled unit, such as ``triple``"""
    units: int
    """the number of units"""
    method: str
    standard_error: float
    """the standard deviation of the metric over resampled test sets"""
    clipped: bool = False
    """whether an end was cut off at the end of the metric's range"""

    @property
    def decimals(self) -> int:
        """The justified decimals: two digits of the standard error, and at least three."""
        width = self.high - self.low
        return justified_decimals(max(self.standard_error or width / 4, width / 8))  # Wilson's has none: 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``metrics.json``."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.low:.{self.decimals}f}–{self.high:.{self.decimals}f}"


def justified_decimals(standard_error: float) -> int:
    """Count the decimals that a standard error justifies: two digits of it, from three to twelve decimals.

    >>> justified_decimals(0.0018), justified_decimals(0.00018), justified_decimals(8.2)
    (4, 5, 3)
    """
    return min(max(FEWEST_DECIMALS, 1 - math.floor(math.log10(standard_error))), 12)


class Intervals(Settings):
    """Confidence intervals: the unit that is resampled, and the level. A unit alone is short for it.

    >>> print(Intervals(unit="relation"))
    95 % intervals (resampling relations)
    """

    model_config = ConfigDict(json_schema_extra=or_short({"enum": list(UNITS)}))

    unit: Unit = "triple"
    """the unit that is resampled for confidence intervals: triple, query, relation or time. A triple has both sides, a
    query all its answers, a relation or time all its triples"""
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """the confidence level of the intervals"""
    draws: Annotated[int, Field(ge=100)] = 2000
    """the number of bootstrap samples, for metrics that are no function of means, or of random halves"""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 0
    """the seed of the bootstrap samples or random halves"""

    @model_validator(mode="before")
    @classmethod
    def _of_unit(cls, value: Any) -> Any:
        return {"unit": value} if isinstance(value, str) else value

    def __str__(self) -> str:
        return f"{100 * self.level:g} % intervals (resampling {PLURAL[self.unit]})"


def read_intervals(requested: Any) -> Intervals | None:
    """Read the argument ``intervals``: the name of a unit, settings, or ``None``."""
    if requested is None or isinstance(requested, Intervals):
        return requested
    refuse_unknown("intervals: unknown unit", requested, UNITS, MetricError)
    return Intervals(unit=requested)


class NoInterval(MetricError):
    """A metric has no interval; the message says why."""


def too_few(count: int, unit: Unit, what: str) -> str:
    """Say that there are fewer units than an interval or a test needs; empty if there are enough."""
    few = f"only {count} {unit if count == 1 else PLURAL[unit]}; {what} needs at least {FEWEST_UNITS}"
    return few if count < FEWEST_UNITS else ""


def too_few_seeds(count: int) -> str:
    """Say that a model has fewer runs than an interval or a test needs; empty if there are enough."""
    few = f"{count} seed{'s' * (count != 1)}: an interval or a test over seeds needs at least {FEWEST_SEEDS}"
    return few if count < FEWEST_SEEDS else ""


def refuse_other_units(unit: str) -> None:
    refuse_unknown("labelled triples have no unit", unit, ("triple", "relation"), MetricError)


def refuse_few(count: int, unit: Unit) -> None:
    if few := too_few(count, unit, "an interval"):
        raise NoInterval(few)


def refuse_constant(standard_error: float, value: float) -> None:
    """Refuse an interval of a metric that has the same value in all bootstrap samples."""
    if is_rounding(standard_error, value):
        raise NoInterval("the metric has the same value in every bootstrap sample")


def is_rounding(standard_error: float, value: float) -> bool:
    """Whether rounding alone makes the standard error of equal values this large."""
    return standard_error <= ZERO * max(1, abs(value))


def clipped_to(metric: Metric, value: float, ends: tuple[float, float]) -> tuple[float, float, bool]:
    """Cut an interval off at the ends of the metric's range, and return whether it was longer."""
    low, high = max(ends[0], min(metric.lowest, value)), min(ends[1], max(metric.highest, value))
    return float(low), float(high), (low, high) != ends
