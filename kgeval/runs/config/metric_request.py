"""What to compute of a model's scores: metrics, and the policies that they rest on; commands make options of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import ValidationInfo, field_validator
from typing_extensions import Self

from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.kinds import KINDS, Chance, ConfidenceOptions, LabelOptions
from kgeval.runs.config.types import ColumnsAndSlices, Exponents, Metrics, TieName
from kgeval.settings.settings import Settings

POLICIES = ("ties", "seed", "chance", "popularity")


class MetricRequest(Settings):
    """What is asked of a model's scores; a run keeps it, so that ``kgeval summarize`` can answer again."""

    decided_later: ClassVar[Mapping[str, str]] = {"ties": "as the protocol says"}

    task: LabelOptions | ConfidenceOptions | None = None
    """what is asked of the models instead of a ranking"""
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
        if value is not None and task is not None and (why := KINDS[task.kind].without.get(str(block.field_name))):
            raise ValueError(f"{why}. Leave it out")
        return value

    @property
    def policies(self) -> dict[str, Any]:
        """The policies, and the intervals that rest on them, as ``summarize`` takes them."""
        optional = {"ties": self.ties, "intervals": self.intervals}
        own = {name: value for name, value in optional.items() if value is not None}
        return {**own, "seed": self.seed, "chance": self.chance, "popularity": self.popularity}

    def with_overrides(self, options: Mapping[str, Any]) -> Self:
        """Options replace policies and keys of ``intervals``."""
        changes = {name: options[name] for name in POLICIES if name in options}
        if block := options.get("intervals"):
            own = {} if self.intervals is None else self.intervals.model_dump()
            changes["intervals"] = Intervals(**{**own, **block})
        return self.model_copy(update=changes)
