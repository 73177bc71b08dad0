"""Summaries of rank tables: metrics by side, and by any of the table's columns.

``summarize``, comparisons and reports call ``rank_summary``: a rank table and metric names go in, a
:class:`RankSummary` comes out. ``group_rows`` divides the rows, ``groups_of`` computes the metrics: a mean over answers
or lists for all groups at once, any other metric group by group. A metric that is undefined in a group is computed for
this group alone, to get the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import IntArray
from kgeval.base.errors import MetricError, TableError, did_you_mean, first_few
from kgeval.base.notes import Note, in_json
from kgeval.base.tables.table import Cell, Table
from kgeval.data.provenance import OF_FILE, Provenance
from kgeval.data.queries import starts_of_runs
from kgeval.metrics.intervals.interval import BOUNDED, PLURAL, UNITS, Intervals
from kgeval.metrics.intervals.sampling import Sampling
from kgeval.metrics.intervals.selection_intervals import SelectionIntervals, attempt
from kgeval.metrics.intervals.stratified_sample import TableEstimates
from kgeval.metrics.metric import Metric, OfGroups, Undefined
from kgeval.metrics.names import PARTS, MetricName, Part, parse, parse_all, pooled_side
from kgeval.metrics.ranks.tie_statistics import SERIOUS, TieStatistics, diagnose
from kgeval.metrics.ranks.ties import EXPECTED, REALISTIC, tie_policy
from kgeval.metrics.selection import DEFAULT_OPTIONS, MetricOptions, RankColumns, RowSelection, TableView
from kgeval.metrics.summary import Group, Summary, Value

MOST_NAMED = 6
"""the most metrics that a note names"""


@dataclass(frozen=True, repr=False)
class RankSummary(Summary):
    """Metrics of a rank table: of all rows, of groups of them, or of both."""

    options: MetricOptions = DEFAULT_OPTIONS
    """the tie policy and the conventions that the numbers depend on, beside the ranks"""
    intervals: Intervals | None = None
    """the resampled unit and the level, if intervals were requested"""
    sampling: Sampling | None = None
    """how the triples were sampled, if the numbers are estimates"""
    pooled: Part = "both"
    """the side of a metric that names none: ``both``, or the only ranked side; groups by side do not use it"""

    @property
    def heads(self) -> tuple[str, ...]:
        about, *further = self.provenance.heads
        heads = (f"{about}, ties: {self.ties}", *further)
        if self.sampling is not None:
            return (*heads, str(self.sampling))
        if self.intervals is None:
            return heads
        triples = self.intervals.unit == "triple" and any(name.metric.needs == "lists" for name in self.requested)
        return (*heads, f"{self.intervals}{', of lists resampling queries' if triples else ''}")

    @property
    def ties(self) -> str:
        """The name of the tie policy of metrics that name none."""
        if isinstance(self.provenance, Provenance) and not self.provenance.has_ties:
            return self.provenance.own_ties
        return tie_policy(self.options.ties).name

    @property
    def parts(self) -> list[tuple[Group, ...]]:
        """The groups in at most two parts: the group of all rows, and the groups by columns."""
        parts = [tuple(group for group in self.groups if bool(group.key) == of_groups) for of_groups in (False, True)]
        return [part for part in parts if part]

    @property
    def notes(self) -> tuple[str, ...]:
        notes = [*self.table_notes, *self.tie_notes, *self._notes_on_negatives]
        for part in self.parts:
            reasons = {
                Note("undefined", f"{name} is undefined: {value.reason}.")
                for group in part
                for name, value in group.records.items()
                if value.value is None and not _of_other_side(name, group) and not _repeats_both(value, group)
            }
            notes += sorted(reasons)
            if self.intervals is not None or self.sampling is not None:
                notes += interval_notes(part)
        return tuple(dict.fromkeys(notes))

    @property
    def tie_notes(self) -> tuple[str, ...]:
        for part in self.parts:
            serious = [group.ties for group in part if group.ties and group.ties.serious]
            if serious and len(part) > 1:
                several = f"{len(serious):,} of {len(part):,} groups"
                return (Note("ties", f"in {several} the tie policy alone moves the MRR by more than {SERIOUS}."),)
            if serious:
                return tuple(Note("ties", str(ties)) for ties in serious)
        return ()

    @property
    def _notes_on_negatives(self) -> Iterator[str]:
        """Say that hits@k_n (n − 1 drawn negatives) is no full ranking, and why it differs from hits@k of the rows."""
        requested = self.columns(self.by)
        for name in requested:
            if name.metric.pair is None:
                continue
            drawn, full = name.metric.pair[1] - 1, parse(str(name).rpartition("_")[0])
            texts = name.column, full.column
            if full not in requested:
                what = f"answers compete with {drawn:,} negatives drawn from their candidates, not with all of these"
                yield Note("negatives", f"{texts[0]} is of no full ranking: {what}. {texts[1]} is of the full one.")
            for part in self.parts:
                pairs = [(group.values.get(name), group.values.get(full)) for group in part]
                yield from _above_and_below(texts, drawn, [pair for pair in pairs if None not in pair])

    def columns(self, by: Collection[str] = ()) -> list[MetricName]:
        """The requested metrics, each once; a metric without a side gets ``pooled`` or, in groups by side, none."""
        return list(dict.fromkeys(name.of_part(None if "side" in by else self.pooled) for name in self.requested))

    def _spellings(self, name: str | Metric, group: Group) -> list[MetricName]:
        wanted = super()._spellings(name, group)[0].of_part(None if "side" in group.key else self.pooled)
        if wanted.metric.needs == "lists":
            return [wanted]
        ties = wanted.ties if wanted.ties != self.ties else None
        return [replace(wanted, ties=policy) for policy in (ties, self.ties)]

    def to_dict(self) -> dict[str, Any]:
        whole = [_content(group) for group in self.groups if not group.key]
        groups = [{"key": group.key, **_content(group)} for group in self.groups if group.key]
        return {
            "schema": 1,
            "provenance": self.provenance.to_dict(),
            "split": self.provenance.split,
            "ties": self.ties,
            "num_triples": self.provenance.triples,
            **({} if self.sampling is None else {"estimated": True, "estimate": self.sampling.describe()}),
            **self.further_options,
            **in_json(self.notes),
            **(whole[0] if whole else {}),
            **({"by": list(self.by), "groups": groups} if self.by else {}),
        }

    @property
    def further_options(self) -> dict[str, Any]:
        """The options that some of the numbers depend on, beside the tie policy."""
        names = [name for group in self.groups for name in group.records]
        further: dict[str, Any] = {}
        policies = [self.options.ties, *(name.ties for name in names if name.ties)]
        if any(tie_policy(ties).random for ties in policies):
            further["seed"] = self.options.seed
        if any(name.average == "strat" for name in names):
            further["popularity"] = list(self.options.popularity)
        if self.options.chance != "exact":
            further["chance"] = self.options.chance
        return further

    def tables(self) -> tuple[Table, ...]:
        whole = [_by_side(group) for group in self.groups if not group.key]
        if not self.by:
            return tuple(whole)
        groups = [group for group in self.groups if group.key]
        names = sorted(groups[0].records if groups else (), key=lambda name: PARTS.index(name.side or "both"))
        rows: list[list[Cell]] = [
            [*map(str, group.key.values()), *(group.records[name].figure for name in names)] for group in groups
        ]
        parts = [str(name.side) for name in names]
        return (*whole, Table([*self.by, *map(str, names)], rows, len(self.by), parts, item="group"))


def _above_and_below(names: tuple[str, str], drawn: int, pairs: Sequence[tuple[Any, Any]]) -> Iterator[str]:
    """Say in how many groups hits@k_n is above hits@k, in how many below, and why; of one group, the value of hits@k.

    ``names`` and each of ``pairs`` (the values in each group) have hits@k_n first.
    """
    why = {
        "above": f"{drawn:,} drawn negatives are an easier task than all candidates",
        "below": f"of few candidates, {drawn:,} negatives drawn with replacement have the same entity several times",
    }
    ways = Counter("above" if one > of else "below" for one, of in pairs if one != of)
    for way, number in sorted(ways.items()):
        where = f", which is {pairs[0][1]:.4f}" if len(pairs) == 1 else f" in {number:,} of {len(pairs):,} groups"
        yield Note("negatives", f"{names[0]} is {way} {names[1]}{where}: {why[way]}.")


def rank_summary(
    table: RankColumns,
    metrics: Any,
    *,
    by: Any = (),
    options: MetricOptions = DEFAULT_OPTIONS,
    intervals: Intervals | None = None,
) -> RankSummary:
    """Compute metrics of a rank table; see :func:`kgeval.summarize`."""
    if table.sampling is not None and intervals is not None:
        what = "intervals: these ranks are of a sample, so every metric already has the interval of its estimate"
        raise MetricError(f"{what}. Leave intervals out.")
    names, columns = parse_all(metrics), column_names(by)
    refuse_unknown_ties(table, names, options)
    view = TableView(table, options if table.provenance.has_ties else replace(options, ties=REALISTIC))
    ranked = [part for part in PARTS if (view.sides == part).any()]
    refuse_absent_sides(names, ranked, by=columns)
    parts = [None] if "side" in columns else [view.pooled, *ranked]
    distinct = [replace(name, side=part) for name in names for part in ([name.side] if name.side else parts)]
    if columns:  # a value says little without how many ranks it is of
        distinct += [replace(parse("count"), side=name.side) for name in distinct]
    grouping = group_rows(table, columns) if columns else None
    groups = groups_of(grouping, list(dict.fromkeys(distinct)), view, intervals)
    return RankSummary(
        table.provenance,
        tuple(groups),
        columns,
        tuple(names),
        tuple(table.notes),
        options=options,
        intervals=intervals,
        sampling=table.sampling,
        pooled=view.pooled,
    )


def refuse_unknown_ties(table: RankColumns, names: Sequence[MetricName], options: MetricOptions) -> None:
    """Refuse optimistic, pessimistic and random ranks where the numbers of ties are not known.

    ``realistic`` and ``expected`` are accepted, as a table with other models needs one of them: the metrics are then
    computed from the ranks as they stand in the file.
    """
    policies = [tie_policy(ties).name for ties in (options.ties, *(name.ties for name in names)) if ties]
    other = next((policy for policy in policies if policy not in (REALISTIC.name, EXPECTED.name)), None)
    own = table.provenance.own_ties
    if other not in {None, own} and not table.provenance.has_ties:
        reason = "the file of ranks has no numbers of ties, and its own policy holds"
        way = "Choose no other, or add the columns greater and tied to the file."
        if own != OF_FILE:
            reason, way = f"these ranks are {own}, and their numbers of ties are not known", "Choose no other."
        raise MetricError(f"ties: {other} ranks cannot be computed, as {reason}. {way}")


def refuse_absent_sides(names: Iterable[MetricName], ranked: Iterable[str], *, by: tuple[str, ...] = ()) -> None:
    """Refuse metrics of a side that was not ranked and, in groups by side, metrics of both sides."""
    there = [str(side) for side in ranked]
    listed = " and ".join(f"{side}s" for side in there)
    for name in names:
        if name.side == "both" and "side" in by:
            raise MetricError(f"{name}: each group has one side. Use {replace(name, side=None)}.")
        if name.side and name.side not in (*there, pooled_side(there)):
            ranked_sides = f"only {listed} are ranked" if there else "there are no ranks"
            raise MetricError(f"{name}: {ranked_sides}. Use {name.base}.")


def column_names(by: Any) -> tuple[str, ...]:
    names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, Iterable) else (by,)
    if not all(isinstance(name, str) for name in names):
        raise MetricError(f"by: expected the name of a column, such as 'relation', or a list of names; found {by!r}.")
    return names


@dataclass(frozen=True, eq=False)
class Grouping:
    """The rows of a table, group by group."""

    keys: list[dict[str, Any]]
    """the value of each group's rows in each column of ``by``"""
    rows: IntArray
    """int64[row], the positions of the rows in the table, group after group"""
    group_ids: IntArray
    """int64[row], ascending: the group of each of these rows"""

    def of_group(self, group: int) -> IntArray:
        """Return the rows of one group; int64[row]."""
        low, high = np.searchsorted(self.group_ids, [group, group + 1])
        return self.rows[low:high]


def group_rows(table: RankColumns, by: tuple[str, ...]) -> Grouping:
    """Group a table by the values of columns; entities and relations are keyed by their labels.

    Groups are in the order that a column declares for its values, such as 1-1, 1-N, N-1, N-N, or else sorted. Without
    columns, all rows are one group.
    """
    if not by:
        return Grouping([{}], np.arange(len(table)), np.zeros(len(table), np.int64))
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
    """Number the values of a column in ascending order, missing values first; int64[row]."""
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


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: a number, text or ``None``."""
    plain = value.item() if isinstance(value, np.number | np.bool_) else value
    in_json = isinstance(plain, str | int | None) or (isinstance(plain, float) and np.isfinite(plain))
    return plain if in_json else str(plain)


def groups_of(
    grouping: Grouping | None, names: list[MetricName], view: TableView, intervals: Intervals | None = None
) -> list[Group]:
    """Compute metrics of each group of a table; without a grouping, of one group that has all rows."""
    keys = [{}] if grouping is None else grouping.keys
    if not keys:
        return []
    usual = None if "side" in keys[0] else view.pooled
    pooled = select_side(usual, grouping, view)
    unknown = {name: Value(name) for name in names}  # in the order of the names
    groups = [Group(key, {**unknown}, ties=ties) for key, ties in zip(keys, _ties(pooled, len(keys)), strict=True)]
    estimates = TableEstimates.of(view)
    for side in dict.fromkeys(name.side for name in names):
        selection = pooled if side == usual else select_side(side, grouping, view)
        of_side = [name for name in names if name.side == side]
        if estimates is not None:
            for number, group in enumerate(groups):
                _estimate(group, of_side, selection.of_group(number), estimates)
            continue
        for name in of_side:
            for number, value in enumerate(_of_all_groups(name, selection, len(groups))):
                record = Value(name, value)
                if value is None:
                    record = Value.computed(name, partial(selection.of_group(number).value, name))
                groups[number].records[name] = record
        if intervals is not None:
            _add_intervals(groups, of_side, selection, intervals)
    return groups


def select_side(side: Part | None, grouping: Grouping | None, view: TableView) -> RowSelection:
    """Select the rows of one side or of both; without a side, as in groups by side, all rows."""
    if grouping is None:
        return RowSelection(view, view.rows_of(side))
    if side is None:
        return RowSelection(view, grouping.rows, grouping.group_ids)
    kept = view.of_entities[grouping.rows] if side == "both" else view.sides[grouping.rows] == side
    return RowSelection(view, grouping.rows[kept], grouping.group_ids[kept])


def _ties(selection: RowSelection, count: int) -> Iterable[TieStatistics | None]:
    """Compute the tie statistics of each group; ``None`` for a group without a row in the selection."""
    ranks, groups = selection.ranks("realistic", None), selection.groups_of("ranks")
    if not len(ranks):
        return [TieStatistics(0, 0, 0, None, None) if selection.groups is None else None] * count
    starts = starts_of_runs(groups)
    statistics = dict(zip(groups[starts].tolist(), diagnose(ranks, starts), strict=True))
    return map(statistics.get, range(count))


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


def _add_intervals(groups: list[Group], names: list[MetricName], selection: RowSelection, intervals: Intervals) -> None:
    """Add the intervals of the metrics of one side, for all groups at once if possible."""
    together = SelectionIntervals(selection, intervals)
    for name in names:
        records = {number: group.records[name] for number, group in enumerate(groups)}
        values = {number: record.value for number, record in records.items() if record.value is not None}
        made = together.of_groups(name, values)
        for number, value in values.items():
            if made is None:
                alone = SelectionIntervals(selection.of_group(number), intervals).of_groups(name, {0: value}) or {}
            interval = alone[0] if made is None else made[number]
            groups[number].records[name] = records[number].with_interval(interval)


def _estimate(group: Group, names: Iterable[MetricName], selection: RowSelection, estimates: TableEstimates) -> None:
    for name in names:
        record = Value.computed(name, partial(estimates.value, name, selection))
        if record.value is not None:
            record = record.with_interval(attempt(partial(estimates.interval, name, selection, record.value)))
        group.records[name] = record


def _content(group: Group) -> dict[str, Any]:
    metrics: dict[str, dict[str, float | None]] = {}
    intervals: dict[str, dict[str, Any]] = {}
    for name, value in group.records.items():
        side = name.side or group.key["side"]
        metrics.setdefault(side, {})[name.base] = value.value
        if value.interval is not None:
            intervals.setdefault(side, {})[name.base] = value.interval.to_dict()
    further = {"intervals": intervals, "no_interval": group.no_interval, "undefined": group.undefined}
    ties = {"tie_diagnosis": group.ties.to_dict()} if group.ties else {}
    return {"metrics": metrics, **ties, **{key: value for key, value in further.items() if value}}


def interval_notes(groups: Sequence[Group]) -> Iterator[str]:
    """Say which metrics have no interval or a wider one, and why; counts never have an interval and are left out."""
    names = list(dict.fromkeys(name for group in groups for name in group.records if name.metric.averaged))
    without: dict[str, list[MetricName]] = {}
    for name in names:
        values = (group.records[name] for group in groups if name in group.records)
        if reasons := [value.reason for value in values if value.value is not None and value.reason]:
            where = f" in {len(reasons):,} of {len(groups):,} groups (the first of them: {reasons[0]})"
            without.setdefault(where if len(groups) > 1 else f": {reasons[0]}", []).append(name)
    for why, lacking in without.items():
        bases = list(dict.fromkeys(name.base for name in lacking))
        on_all_sides = sum(name.base in bases for name in names) == len(lacking)
        which = bases if on_all_sides else [str(name) for name in lacking]
        of_which = "" if len(lacking) == len(names) else f" of {first_few(which, MOST_NAMED)}"
        yield Note("intervals", f"no intervals{of_which}{why}.")
    made = [(name, interval) for group in groups for name, interval in group.intervals.items()]
    for unit in UNITS:
        carried = {name for name, interval in made if (interval.method, interval.unit) == (BOUNDED, unit)}
        if carried:
            listed = first_few([str(name) for name in names if name in carried], MOST_NAMED)
            where = " in some groups" if len(groups) > 1 else ""
            cause = f"the value depends on few {PLURAL[unit]}{where}"
            wider = f"The interval is made wider, as other {PLURAL[unit]} may have other rare values."
            yield Note("intervals", f"{listed}: {cause}. {wider}")


def _repeats_both(value: Value, group: Group) -> bool:
    """Whether a value of heads or of tails is the same as the value of both sides."""
    both = group.records.get(replace(value.metric, side="both"))
    return value.metric.side in ("head", "tail") and both is not None and both[1:] == value[1:]


def _of_other_side(name: MetricName, group: Group) -> bool:
    """Whether a metric is undefined only because all rows of a group have another side."""
    return "side" in group.key and name.side not in (None, group.key["side"])


def _by_side(group: Group) -> Table:
    """Lay out a group: a row for each metric, and a column for each side."""
    sides = list(dict.fromkeys(str(name.side) for name in group.records))
    cells = {(name.base, str(name.side)): value.figure for name, value in group.records.items()}
    bases = dict.fromkeys(name.base for name in group.records)
    return Table(["", *sides], [[base, *(cells.get((base, side), "") for side in sides)] for base in bases])


def shared_columns(summaries: Collection[Any], by: Collection[str] = ()) -> list[MetricName]:
    """The requested metrics of several models; a metric without a side gets one only if all ranked the same sides."""
    first, *others = summaries
    alike = all(other.pooled == first.pooled for other in others)
    return first.columns(by) if alike else list(dict.fromkeys(first.requested))


def common_ties_of(summaries: Iterable[Any]) -> str:
    """Name the tie policy of a table of several models; its notes name the models that have their file's own policy."""
    policies = {summary.ties for summary in summaries}
    named = sorted(policies - {OF_FILE})
    return f"{named[0]}, for some models {OF_FILE}" if named and OF_FILE in policies else (*named, OF_FILE)[0]
