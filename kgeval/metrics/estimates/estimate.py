"""Estimate: how far from a metric of the whole split its estimate from a sample of triples may be."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator, model_validator

from kgeval.errors import MetricError
from kgeval.metrics.ranks.functions_of_means import FunctionOfMeans
from kgeval.metrics.tables.names import MetricName, parse
from kgeval.settings.settings import Settings


class Estimate(Settings):
    """Rank a sample of the triples, exactly, until a metric is known to within an error: ``Estimate(error=0.005)``.

    >>> Estimate(error=0.005).metric, Estimate(triples=5000).error
    ('mrr', None)
    """

    error: Annotated[float, Field(gt=0)] | None = None
    """half the width of the metric's interval, at which ranking stops"""
    triples: Annotated[int, Field(ge=1)] | None = None
    """instead: how many triples are ranked, whatever the error then is"""
    metric: str = "mrr"
    """the metric that the error is of; others of the same sample have intervals of their own"""
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """how often such intervals hold the metrics of the whole split"""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """of the order of the triples; a tighter error goes on in the same order"""
    first: Annotated[int, Field(ge=100)] = 1000
    """the least sample, of which the error is then judged; a split that is not larger is ranked as a whole"""

    @field_validator("metric")
    @classmethod
    def _has_estimator(cls, value: str) -> str:
        try:
            name = parse(value)
        except MetricError as error:
            raise ValueError(str(error)) from error
        if reason := no_estimator(name):
            raise ValueError(f"{value} {reason}. Take a mean over ranks, such as mrr, hits@10, mr or amri")
        return value

    @model_validator(mode="after")
    def _one_aim(self) -> Estimate:
        if (self.error is None) == (self.triples is None):
            raise ValueError("give either error (how far off the metric may be) or triples (how many are ranked)")
        if self.triples is not None and self.triples < self.first:
            raise ValueError(f"{self.triples} triples are fewer than the least sample, of {self.first}. Set first too")
        return self


def no_estimator(name: MetricName) -> str:
    """Say why a metric has no estimator from a sample of triples; empty where it has one.

    >>> no_estimator(parse("hits@10")), no_estimator(parse("median"))
    ('', 'is no function of means over the triples, and has no estimator from some of them')
    """
    if name.metric.needs == "lists":
        return "is of all answers of a query, of which a sample of triples has only some"
    if name.average not in (None, "micro"):
        return f"weighs triples by all others ({name.average}), of which a sample has only some"
    if not isinstance(name.metric.compute, FunctionOfMeans):
        return "is no function of means over the triples, and has no estimator from some of them"
    return ""
