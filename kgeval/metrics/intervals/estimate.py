"""Estimate: how far an estimate from a sample of triples may be from the metric of the whole split."""

from __future__ import annotations

from dataclasses import dataclass, replace
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


STRATUM = "stratum"
"""the column of a rank table with the stratum of each row's triple"""

TYPED = ("typed_greater", "typed_tied")
"""the columns with the counts of each row among the candidates of the right type"""


@dataclass(frozen=True)
class Sampling:
    """How the triples of a table were sampled, and what is known about the other triples.

    >>> print(Sampling(Estimate(error=0.01), counts=(600, 400), sizes=(12_000, 8_000)))
    estimated from 1,000 of 20,000 triples (95 %), stratified by relation
    """

    settings: Estimate
    counts: tuple[int, ...]
    """the number of sampled triples in each stratum"""
    sizes: tuple[int, ...]
    """the number of all triples in each stratum"""
    typed_counts: tuple[int, ...] = ()
    """the number of triples in each stratum whose rank among typed candidates is known; empty without a regression"""
    typed_means: tuple[tuple[float, ...], ...] = ()
    """the means of the auxiliary values of those triples; [stratum][value]"""

    @property
    def method(self) -> str:
        if not self.typed_counts:
            return "stratified by relation"
        known = sum(self.typed_counts)
        return f"stratified by relation, regression on the rank among typed candidates ({known:,} triples)"

    @property
    def num_triples(self) -> int:
        return sum(self.sizes)

    @property
    def num_ranked(self) -> int:
        return sum(self.counts)

    def without_regression(self) -> Sampling:
        """The sampling of a part of the rows: a regression needs all rows."""
        return replace(self, typed_counts=(), typed_means=())

    def describe(self) -> dict[str, Any]:
        settings = self.settings.model_dump(mode="json", include={"level", "error", "metric", "seed"})
        return {"n": self.num_ranked, "of": self.num_triples, "method": self.method, **settings}

    def __str__(self) -> str:
        triples = f"{self.num_ranked:,} of {self.num_triples:,} triples"
        return f"estimated from {triples} ({100 * self.settings.level:g} %), {self.method}"
