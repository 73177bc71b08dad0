"""The rows of a leaderboard: a model's metrics on all rows or, with groups, a row for each group and model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kgeval.metrics.intervals.interval import Interval
from kgeval.metrics.names import MetricName
from kgeval.metrics.rank_summary import RankSummary, shared_columns
from kgeval.metrics.rendering import cell
from kgeval.metrics.summary import Group


class ModelRow(NamedTuple):
    model: str
    group: Group


@dataclass(frozen=True)
class Leaderboard:
    """What each format writes: rows of models by metrics."""

    summaries: Mapping[str, RankSummary]
    by: tuple[str, ...]
    """the columns whose values make the groups"""
    names: Sequence[MetricName]
    rows: Sequence[ModelRow]
    """group after group"""

    def key_of(self, row: ModelRow) -> list[str]:
        """What names a row: the values of its group, and the model."""
        return [*(str(row.group.key[name]) for name in self.by), row.model]


def leaderboard_of(summaries: Mapping[str, RankSummary], grouped: Mapping[str, RankSummary]) -> Leaderboard:
    if not grouped:
        rows = [ModelRow(model, summary.groups[0]) for model, summary in summaries.items()]
        return Leaderboard(summaries, (), shared_columns(summaries), rows)
    keys: list[dict[str, Any]] = []
    for summary in grouped.values():
        keys += [group.key for group in summary.groups if group.key not in keys]
    found = [
        ModelRow(model, next((group for group in summary.groups if group.key == key), Group(key)))
        for key in keys
        for model, summary in grouped.items()
    ]
    return Leaderboard(summaries, next(iter(grouped.values())).by, shared_columns(grouped), found)


def value_of(group: Group, name: MetricName) -> float | None:
    """The value of a metric; None if it is undefined."""
    return group.values.get(_name_in(group, name))


def interval_of(group: Group, name: MetricName) -> Interval | None:
    return group.intervals.get(_name_in(group, name))


def number_of(group: Group, name: MetricName) -> str:
    own = _name_in(group, name)
    return group.cell(own) if own in group.values else cell(None, None)


def _name_in(group: Group, name: MetricName) -> MetricName:
    """A metric without a side is that of all sides which the model ranked: the first of its metrics with that name."""
    if name.side or name in group.values:
        return name
    return next((own for own in group.values if own.base == name.base), name)
