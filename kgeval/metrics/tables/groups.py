"""Groups: the rows of a table divided by its columns, and the metrics of all groups at once.

What is a mean over answers or lists is computed for all groups together; what is not, and what that leaves open because
it is undefined, is computed group by group, which tells why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.arrays import IntArray
from kgeval.data.queries import starts_of_runs
from kgeval.errors import MetricError
from kgeval.metrics.metric import Undefined
from kgeval.metrics.ranks.functions_of_means import OfGroups
from kgeval.metrics.tables.names import MetricName
from kgeval.metrics.tables.selection import RankColumns, RowSelection, TableView
from kgeval.metrics.tables.tie_report import TieStatistics, diagnose, diagnose_groups


@dataclass(frozen=True)
class Group:
    """The metrics of some rows of a table."""

    key: dict[str, Any]
    """the values that these rows have in common, by column; empty for all rows"""
    values: dict[MetricName, float | None]
    """by metric with its side; nothing where a metric is undefined"""
    ties: TieStatistics
    """of these rows, both sides together"""
    undefined: dict[str, str] = field(default_factory=dict)
    """why, by the metric's name"""

    def rows(self) -> Iterator[tuple[str, dict[str, float | None]]]:
        """Yield each metric's name with its values by side."""
        for base in dict.fromkeys(name.base for name in self.values):
            yield base, {str(name.side): value for name, value in self.values.items() if name.base == base}


@dataclass(frozen=True, eq=False)
class Grouping:
    """The rows of a table, group by group."""

    keys: list[dict[str, Any]]
    rows: IntArray
    """int64[row], into the table"""
    owners: IntArray
    """int64[row], ascending: the group that each of them belongs to"""

    def of_side(self, source: TableView, side: str | None) -> Grouping:
        """Keep the rows of one side, or of both."""
        mine = slice(None) if side == "both" else np.flatnonzero(source.sides[self.rows] == side)
        return Grouping(self.keys, self.rows[mine], self.owners[mine])

    def of_group(self, group: int) -> IntArray:
        """The rows of one group; int64[row]."""
        low, high = np.searchsorted(self.owners, [group, group + 1])
        return self.rows[low:high]


def group_rows(table: RankColumns, by: tuple[str, ...]) -> Grouping:
    """Divide a table by the values of columns; entities and relations are keyed by their labels.

    Raises
    ------
    TableError
        if there is no such column
    MetricError
        if its values are no plain ones
    """
    columns = [f"{name}_label" if f"{name}_label" in table.columns else name for name in by]
    values = [table.column(name) for name in columns]
    codes = [_codes(value, name) for value, name in zip(values, by, strict=True)]
    rows = np.lexsort(codes[::-1])
    starts = starts_of_runs(*(code[rows] for code in codes))
    owners = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(rows)]))
    first = [value[rows[starts]] for value in values]
    keys = [dict(zip(by, map(_plain, key), strict=True)) for key in zip(*first, strict=True)]
    return Grouping(keys, rows, owners)


def _codes(values: npt.NDArray[Any], name: str) -> IntArray:
    """Number the values of a column in their order; those that are not there come first."""
    if values.dtype != object:
        return np.unique(values, return_inverse=True)[1]
    there = np.array([value is not None for value in values], bool)
    codes = np.zeros(len(values), np.int64)
    try:
        plain, codes[there] = np.unique(values[there], return_inverse=True)
        codes[there] += 1
        set(plain)  # which what holds other values, such as a list, cannot be in
    except (TypeError, ValueError) as error:
        raise MetricError(f"by: the values of {name!r} are no numbers, text or dates to group by.") from error
    return codes


def summarize_all(names: list[MetricName], source: TableView) -> Group:
    """Compute metrics of a whole table."""
    sample = RowSelection(source, slice(None))
    group = Group({}, dict.fromkeys(names), diagnose(sample.ranks("realistic", None)))
    samples = {"both": sample}
    for name in names:
        part = str(name.side)
        if part not in samples:
            samples[part] = RowSelection(source, np.flatnonzero(source.sides == part))
        _compute_single_group(group, name, samples[part])
    return group


def groups_of(division: Grouping, names: list[MetricName], source: TableView) -> list[Group]:
    """Compute metrics of each group of a table."""
    if not division.keys:
        return []
    ranks = RowSelection(source, division.rows).ranks("realistic", None)
    ties = diagnose_groups(ranks, starts_of_runs(division.owners))
    groups = [Group(key, dict.fromkeys(names), told) for key, told in zip(division.keys, ties, strict=True)]
    for side in dict.fromkeys(name.side for name in names):
        part = division.of_side(source, side)
        sample = RowSelection(source, part.rows, part.owners)
        for name in (name for name in names if name.side == side):
            for number, value in enumerate(_of_groups(name, sample, len(groups))):
                if value is None:
                    _compute_single_group(groups[number], name, RowSelection(source, part.of_group(number)))
                else:
                    groups[number].values[name] = value
    return groups


def _of_groups(name: MetricName, sample: RowSelection, count: int) -> list[float | None]:
    """Compute a metric of all groups at once; nothing where that does not tell."""
    values: list[float | None] = [None] * count
    compute: object = name.metric.compute
    if not isinstance(compute, OfGroups) or sample.groups is None or not len(sample.groups):
        return values
    try:
        given = _given(name, sample)
        owners = sample.of_lists(sample.groups) if name.metric.needs == "lists" else sample.groups
        starts = starts_of_runs(owners)
        found = compute.of_groups(given, starts, name.k)
    except Undefined:
        return values
    finite = np.isfinite(found)
    for number, value in zip(owners[starts][finite].tolist(), found[finite].tolist(), strict=True):
        values[number] = name.metric.bounded(value)
    return values


def _compute_single_group(group: Group, name: MetricName, sample: RowSelection) -> None:
    """Compute a metric of one group."""
    try:
        group.values[name] = name.metric(_given(name, sample), k=name.k)
    except Undefined as error:
        group.undefined[str(name)] = str(error)


def _given(name: MetricName, sample: RowSelection) -> Any:
    """What the metric is a function of."""
    if name.metric.needs == "lists":
        return sample.lists(name.average)
    return sample.ranks(name.ties, name.average)


def _plain(value: Any) -> Any:
    """What JSON has for a value: itself, or its text."""
    plain = value.item() if isinstance(value, np.number | np.bool_) else value
    itself = isinstance(plain, str | int | None) or (isinstance(plain, float) and np.isfinite(plain))
    return plain if itself else str(plain)
