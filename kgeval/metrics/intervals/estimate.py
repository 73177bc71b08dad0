"""The settings of an estimate: rank only a random sample of triples, until a metric's error is small enough.

``kgeval.evaluate`` and the configuration take an :class:`Estimate`, where ``estimate: 0.005`` is short for
``estimate: {error: 0.005}``. ``sampling.py`` draws the sample; ``stratified_sample.py`` estimates the metrics of the
whole split, with their intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field, field_validator, model_validator

from kgeval.base.settings import Settings, as_validation_error, or_short

if TYPE_CHECKING:
    from kgeval.metrics.names import MetricName


class Estimate(Settings):
    """Rank a random sample of the triples until a metric is known to within an error. A number alone is that error.

    >>> Estimate(error=0.005).metric, Estimate(triples=5000).error
    ('mrr', None)
    """

    model_config = ConfigDict(json_schema_extra=or_short({"type": "number", "exclusiveMinimum": 0}))

    error: Annotated[float, Field(gt=0)] | None = None
    """the error: half the width of the metric's interval. Ranking stops when it is reached"""
    triples: Annotated[int, Field(ge=1)] | None = None
    """the number of triples to rank, instead of an error"""
    metric: str = "mrr"
    """the metric that the error is for. The other metrics get intervals from the same sample"""
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """the confidence level of the intervals"""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """the seed of the order in which triples are drawn. A smaller error continues in the same order"""
    first: Annotated[int, Field(ge=100)] = 1000
    """the size of the smallest sample. A split with no more triples is ranked as a whole"""

    @model_validator(mode="before")
    @classmethod
    def _of_error(cls, value: Any) -> Any:
        return {"error": value} if isinstance(value, int | float | str) else value

    @field_validator("metric")
    @classmethod
    def _has_estimator(cls, value: str) -> str:
        from kgeval.metrics.names import parse

        with as_validation_error():
            name = parse(value)
        if reason := no_estimator(name):
            raise ValueError(f"{value} {reason}. Choose a mean over ranks, such as mrr, hits@10, mr or amri")
        return value

    @model_validator(mode="after")
    def _one_aim(self) -> Estimate:
        if (self.error is None) == (self.triples is None):
            raise ValueError("give error (the largest error of the metric) or triples (how many are ranked), not both")
        if self.triples is not None and self.triples < self.first:
            raise ValueError(
                f"{self.triples} triples are fewer than the smallest sample, {self.first} triples. Set first too"
            )
        return self


def no_estimator(name: MetricName) -> str:
    """Say why a metric cannot be estimated from a sample of triples; empty if it can."""
    from kgeval.metrics.ranks.rank_metrics import FunctionOfMeans

    if name.metric.needs == "lists":
        return "needs all answers of a query, and a sample of triples has only some of them"
    if name.average not in (None, "micro"):
        return f"weights each triple by all others ({name.average}), and a sample has only some of them"
    if not isinstance(name.metric.compute, FunctionOfMeans):
        return "cannot be estimated from a sample of triples"
    return ""
