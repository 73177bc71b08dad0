"""Groups: the rows of a rank table grouped by its columns, and the metrics of each group.

A mean over answers or lists is computed for all groups at once. Any other metric, and one that is undefined in a group,
is computed group by group, which gives the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import IntArray
from kgeval.base.errors import MetricError, TableError, did_you_mean
from kgeval.data.queries import starts_of_runs
from kgeval.metrics.averages import OfGroups
from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.intervals.mean_terms import attempt
from kgeval.metrics.intervals.selection_intervals import SelectionIntervals
from kgeval.metrics.intervals.table_estimates import TableEstimates
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName, Part
from kgeval.metrics.selection import RankColumns, RowSelection, TableView
from kgeval.metrics.summary import Group, TieStatistics, diagnose


@dataclass(frozen=True, eq=False)
class Grouping:
    """The rows of a table, group by group."""

    keys: list[dict[str, Any]]
    rows: IntArray
    """int64[row], into the table"""
    group_ids: IntArray
    """int64[row], ascending: the group that each of them belongs to"""

    def of_group(self, group: int) -> IntArray:
        """Return the rows of one group; int64[row]."""
        low, high = np.searchsorted(self.group_ids, [group, group + 1])
        return self.rows[low:high]


def group_rows(table: RankColumns, by: tuple[str, ...]) -> Grouping:
    """Group a table by the values of columns; entities and relations are keyed by their labels.

    Groups are in the order that a column declares for its values, such as 1-1, 1-N, N-1, N-N, or else sorted.
    """
    columns = [f"{name}_label" if f"{name}_label" in table.columns else name for name in by]
    for name in columns:
        if name not in table.columns:
            hint = f"{did_you_mean(name, table.columns)} kgeval.annotate adds slices of the dataset as columns."
            raise TableError(f"by: the table has no column {name!r}. {hint}")
    values = [table.column(name) for name in columns]
    ordered = [table.ordered_codes(name) for name in columns]
    codes = [
        _codes(value, name) if order is None else order for value, order, name in zip(values, ordered, by, strict=True)
    ]
    rows = np.lexsort(codes[::-1])
    starts = starts_of_runs(*(code[rows] for code in codes))
    group_ids = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(rows)]))
    first = [value[rows[starts]] for value in values]
    keys = [dict(zip(by, map(_plain, key), strict=True)) for key in zip(*first, strict=True)]
    return Grouping(keys, rows, group_ids)


def _codes(values: npt.NDArray[Any], name: str) -> IntArray:
    """Number the values of a column in their order, missing ones first."""
    if values.dtype != object:
        return np.unique(values, return_inverse=True)[1]
    present = np.array([value is not None for value in values], bool)
    codes = np.zeros(len(values), np.int64)
    try:
        distinct, codes[present] = np.unique(values[present], return_inverse=True)
        codes[present] += 1
        set(distinct)  # raises for lists and the like, which are not hashable
    except (TypeError, ValueError) as error:
        raise MetricError(f"by: the values of {name!r} are not numbers, text or dates.") from error
    return codes


def groups_of(
    grouping: Grouping | None, names: list[MetricName], view: TableView, intervals: Intervals | None = None
) -> list[Group]:
    """Compute metrics of each group of a table; without a grouping, of one group that has all rows."""
    keys = [{}] if grouping is None else grouping.keys
    if not keys:
        return []
    usual = None if "side" in keys[0] else view.pooled
    pooled = _of_side(usual, grouping, view)
    groups = [
        Group(key, dict.fromkeys(names), ties=ties) for key, ties in zip(keys, _ties(pooled, len(keys)), strict=True)
    ]
    estimates = TableEstimates.of(view)
    for side in dict.fromkeys(name.side for name in names):
        selection = pooled if side == usual else _of_side(side, grouping, view)
        of_side = [name for name in names if name.side == side]
        if estimates is not None:
            for number, group in enumerate(groups):
                _estimate(group, of_side, selection.of_group(number), estimates)
            continue
        for name in of_side:
            for number, value in enumerate(_of_all_groups(name, selection, len(groups))):
                if value is None:
                    groups[number].add(name, partial(_value, name, selection.of_group(number)))
                else:
                    groups[number].values[name] = value
        if intervals is not None:
            _add_intervals(groups, of_side, selection, intervals)
    return groups


def _of_side(side: Part | None, grouping: Grouping | None, view: TableView) -> RowSelection:
    """Select the rows of one side, or of both; of groups by side, which name none, all."""
    if grouping is None:
        return RowSelection(view, view.rows_of(side))
    if side is None:
        return RowSelection(view, grouping.rows, grouping.group_ids)
    kept = view.of_entities[grouping.rows] if side == "both" else view.sides[grouping.rows] == side
    return RowSelection(view, grouping.rows[kept], grouping.group_ids[kept])


def _ties(selection: RowSelection, count: int) -> Iterable[TieStatistics | None]:
    """Compute the tie statistics of each group; ``None`` for a group that has no such rows."""
    ranks, groups = selection.ranks("realistic", None), selection.groups_of("ranks")
    if not len(ranks):
        return [TieStatistics(0, 0, 0, None, None) if selection.groups is None else None] * count
    starts = starts_of_runs(groups)
    found = dict(zip(groups[starts].tolist(), diagnose(ranks, starts), strict=True))
    return map(found.get, range(count))


def _add_intervals(groups: list[Group], names: list[MetricName], selection: RowSelection, intervals: Intervals) -> None:
    """Add the intervals of the metrics of one side, for all groups at once if possible."""
    together = SelectionIntervals(selection, intervals)
    for name in names:
        values = {number: value for number, group in enumerate(groups) if (value := group.values[name]) is not None}
        made = together.of_groups(name, values)
        for number, value in values.items():
            if made is None:
                alone = SelectionIntervals(selection.of_group(number), intervals).of_groups(name, {0: value}) or {}
                groups[number].add_interval(name, alone[0])
            else:
                groups[number].add_interval(name, made[number])


def _of_all_groups(name: MetricName, selection: RowSelection, count: int) -> list[float | None]:
    """Compute a metric of all groups at once; ``None`` if it must be computed group by group."""
    values: list[float | None] = [None] * count
    compute: object = name.metric.compute
    if not isinstance(compute, OfGroups) or selection.groups is None or not len(selection.groups):
        return values
    try:
        data, group_ids = selection.data(name), selection.groups_of(name.metric.needs)
        starts = starts_of_runs(group_ids)
        computed = compute.of_groups(data, starts, name.k)
    except Undefined:
        return values
    finite = np.isfinite(computed)
    for number, value in zip(group_ids[starts][finite].tolist(), computed[finite].tolist(), strict=True):
        values[number] = name.metric.bounded(value)
    return values


def _estimate(group: Group, names: Iterable[MetricName], selection: RowSelection, estimates: TableEstimates) -> None:
    for name in names:
        value = group.add(name, partial(estimates.value, name, selection))
        if value is not None:
            group.add_interval(name, attempt(partial(estimates.interval, name, selection, value)))


def _value(name: MetricName, selection: RowSelection) -> float:
    return name(selection.data(name))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: a number, text or ``None``."""
    plain = value.item() if isinstance(value, np.number | np.bool_) else value
    in_json = isinstance(plain, str | int | None) or (isinstance(plain, float) and np.isfinite(plain))
    return plain if in_json else str(plain)
