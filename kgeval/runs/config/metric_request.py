"""What to compute of a model's scores: a task or ranks, metrics, and the policies that those rest on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.metric_options import Chance
from kgeval.metrics.summarize import KINDS
from kgeval.runs.config.types import ColumnsAndSlices, Exponents, Metrics, TieName
from kgeval.settings.settings import Settings
from kgeval.tasks.classification import Classification
from kgeval.tasks.confidences import Confidences

USUAL: Mapping[str, tuple[str, ...]] = {kind: usual for kind, (usual, _) in KINDS.items()}
"""the metrics of each kind of run, where none are named"""

POLICIES = ("ties", "seed", "chance", "popularity")
INAPPLICABLE_OPTIONS = {
    "ranks": {
        "calibration": "ranks need none; only scores of labelled triples become probabilities",
        "mapping": "only metrics of confidences have it, and none is asked for",
        "high_confidence": "only metrics of confidences have it, and none is asked for",
    },
    "confidences": {
        "intervals": "metrics of confidences have none; those of its ranks do, by kgeval summarize",
        "chance": "no metric of confidences compares with chance; those of ranks do, such as amri",
        "popularity": "no metric of confidences weighs against it; those of ranks do, such as strat.mrr",
        "calibration": "confidences need none; a mapping makes them of scores",
    },
    "classification": {
        "intervals": "metrics of labels have none; those of ranks do",
        "ties": "a classification has no ranks that could tie",
        "seed": "a classification has no ranks whose ties it could break",
        "chance": "a classification has no ranks, which alone compare with chance",
        "popularity": "a classification has no ranks, which alone are weighed against it",
        "mapping": "only metrics of confidences have it, and a classification has none",
        "high_confidence": "only metrics of confidences have it, and a classification has none",
    },
}
"""what means nothing to what is computed, and why"""


class MetricRequest(Settings):
    """What is asked of a model's scores; a run keeps it, so that ``kgeval summarize`` can answer again."""

    decided_later: ClassVar[Mapping[str, str]] = {"ties": "as the protocol says"}

    task: Annotated[Classification | Confidences, Field(discriminator="kind")] | None = None
    """what is asked of the models instead of a ranking: to classify triples, or to predict confidences"""
    metrics: Metrics = ()
    """a metric, ``[side.][ties.][average.]name[@k]``, such as ``tail.mrr`` or ``hits@10``, and for a task
    ``[relation.]name[@k]``; ``kgeval list metrics`` shows all. By default those of the protocol or task"""
    ties: TieName | None = None
    """the tie policy: optimistic, realistic, rounded, pessimistic, expected, random. By default as the protocol says"""
    seed: int = 0
    """the seed of random ties"""
    chance: Chance = "exact"
    """the random ranking of adjusted metrics, such as amri: exact, among all N candidates; without-answer, among the
    N − 1 others"""
    popularity: Exponents = (1.0, 1.0)
    """the exponents of the weights of stratified metrics (strat.): of the answer's frequency and of the relation's"""
    intervals: Intervals | None = None
    """confidence intervals of every metric: the unit that is resampled, and the level; by default there are none"""
    by: ColumnsAndSlices | None = None
    """a column, such as ``relation``, or a slice, such as ``cardinality``, whose groups of rows have metrics of their
    own; ``kgeval list slices`` shows all. With several, every combination is a group"""

    @field_validator(*POLICIES, "intervals")
    @classmethod
    def _fits_the_task(cls, value: Any, block: ValidationInfo) -> Any:
        task = block.data.get("task")
        if value is not None and task is not None and block.field_name in INAPPLICABLE_OPTIONS[task.kind]:
            raise ValueError(f"{INAPPLICABLE_OPTIONS[task.kind][block.field_name]}. Leave it out")
        return value

    @property
    def policies(self) -> dict[str, Any]:
        """The policies, and the intervals that rest on them, as ``summarize`` takes them."""
        optional = {"ties": self.ties, "intervals": self.intervals}
        own = {name: value for name, value in optional.items() if value is not None}
        return {**own, "seed": self.seed, "chance": self.chance, "popularity": self.popularity}

    def with_overrides(self, options: Mapping[str, Any]) -> MetricRequest:
        """Options replace policies and keys of ``intervals``."""
        changes = {name: options[name] for name in POLICIES if name in options}
        if block := options.get("intervals"):
            own = {} if self.intervals is None else self.intervals.model_dump()
            changes["intervals"] = Intervals(**{**own, **block})
        return self.model_copy(update=changes)
