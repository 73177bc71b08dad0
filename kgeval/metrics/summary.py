"""Summaries: metrics of a table, of all its rows or group by group, with what they are of and what to know of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.metric import Metric
from kgeval.metrics.tables.names import Kind, MetricName, parse
from kgeval.metrics.tables.rendering import as_html, as_text
from kgeval.metrics.tables.tie_report import TieStatistics
from kgeval.provenance import LabelProvenance, Provenance

if TYPE_CHECKING:
    import pandas as pd

MODEL = "model"
"""what the model is called beside the baselines"""


@dataclass(frozen=True)
class Group:
    """The metrics of some rows of a table, of the model or of a baseline."""

    key: dict[str, Any]
    """the values that these rows have in common, by column; empty for all rows"""
    values: dict[MetricName, float | None] = field(default_factory=dict)
    """``None`` where a metric is undefined"""
    undefined: dict[str, str] = field(default_factory=dict)
    """why, by the metric's name"""
    predictor: str = MODEL
    """the model, or a baseline"""
    ties: TieStatistics | None = None
    """of ranks, both sides together"""
    left_out: dict[str, int] = field(default_factory=dict)
    """how many relations the mean over relations leaves out, because the metric is undefined there"""

    def rows(self) -> Iterator[tuple[str, dict[str, float | None]]]:
        """Yield each metric's name with its values by side."""
        for base in dict.fromkeys(name.base for name in self.values):
            yield base, {str(name.side): value for name, value in self.values.items() if name.base == base}


@dataclass(frozen=True)
class Summary(ABC):
    """Metrics of a rank table, of labelled triples or of predicted confidences."""

    provenance: Provenance | LabelProvenance
    """what the numbers are of"""
    groups: tuple[Group, ...]
    by: tuple[str, ...] = ()
    """the columns whose values make the groups"""
    requested: tuple[MetricName, ...] = ()
    """the metrics; of ranks, one without a side is in the groups with each side of the table"""
    table_notes: tuple[str, ...] = ()
    """what a reader of the table should know"""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """The kind of the table."""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know: of the table, and why metrics are undefined."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``."""

    @abstractmethod
    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the titles of the columns, and the rows of cells, for people to read."""

    def __getitem__(self, name: str | Metric) -> float:
        """Look a metric of the model up, on all rows, by any of its names.

        Raises
        ------
        MetricError
            if the summary does not hold it, if it is undefined, or if there are only groups
        """
        return self.of(MODEL, name)

    def of(self, predictor: str, name: str | Metric, /, **key: Any) -> float:
        """Look a metric of the model or of a baseline up, on all rows or, as in ``relation="likes"``, on a group.

        Raises
        ------
        MetricError
            if the summary has no such predictor, group or metric, or if it is undefined
        """
        predictors = {group.predictor: group for group in self.groups}
        if predictors and predictor not in predictors:
            raise MetricError(f"the summary has no predictor {predictor!r}. {did_you_mean(str(predictor), predictors)}")
        wanted = parse(name, self.kind, also=[one.metric for one in self.requested])
        for group in self.groups:
            if (group.predictor, group.key) == (predictor, key):
                return _value(group, str(getattr(name, "name", name)), self._spellings(wanted))
        if not key:
            raise MetricError(f"this summary is grouped by {', '.join(self.by)}: look at its .groups or .to_frame().")
        raise MetricError(f"the summary has no group {key}.")

    def _spellings(self, wanted: MetricName) -> Sequence[MetricName]:
        """List the names under which a group may have a metric."""
        return (wanted,)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per group (and baseline), one column per metric (and side)."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    **({} if self.kind == "ranks" else {"predictor": group.predictor}),
                    **group.key,
                    **{str(name): value for name, value in group.values.items()},
                }
                for group in self.groups
            ]
        )

    def __str__(self) -> str:
        return as_text([str(self.provenance)], *self.table(), self.notes)

    def _repr_html_(self) -> str:
        return as_html([str(self.provenance)], *self.table(), self.notes)


def _value(group: Group, name: str, spellings: Sequence[MetricName]) -> float:
    for spelling in spellings:
        if spelling in group.values:
            value = group.values[spelling]
            if value is None:
                raise MetricError(f"{name} is undefined: {group.undefined[str(spelling)]}.")
            return value
    raise MetricError(f"the summary does not hold {name!r}. {did_you_mean(name, map(str, group.values))}")
