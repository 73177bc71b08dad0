"""Summaries of rank tables: metrics by side, and by any of the table's columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgeval.base.errors import MetricError, first_few
from kgeval.base.provenance import Provenance
from kgeval.base.tables.table import Cell, Table
from kgeval.metrics.groups import group_rows, groups_of
from kgeval.metrics.intervals.estimate import Sampling
from kgeval.metrics.intervals.interval import BOUNDED, PLURAL, UNITS, Intervals
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import PARTS, PREFIXES, MetricName, Part, parse, parse_all, pooled_side
from kgeval.metrics.ranks.ties import EXPECTED, REALISTIC, tie_policy
from kgeval.metrics.selection import DEFAULT_OPTIONS, MetricOptions, RankColumns, TableView
from kgeval.metrics.summary import SERIOUS, Group, Summary

OF_FILE = "as in the file"
"""the tie policy of ranks whose numbers of ties are not known"""

MOST_NAMED = 6
"""the most metrics that a note names"""


@dataclass(frozen=True, repr=False)
class RankSummary(Summary):
    """Metrics of a rank table."""

    options: MetricOptions = DEFAULT_OPTIONS
    """what the numbers depend on beside the ranks"""
    intervals: Intervals | None = None
    """what is resampled, if intervals were requested"""
    sampling: Sampling | None = None
    """how the triples were sampled, if the numbers are estimates"""
    pooled: Part | None = "both"
    """the side of metrics that name none: ``both``, or the one that was ranked; ``None`` in groups by side"""

    @property
    def heads(self) -> tuple[str, ...]:
        about, *leaks = self.provenance.heads
        lines = [f"{about}, ties: {self.ties}", *leaks]
        if self.sampling is not None:
            return *lines, str(self.sampling)
        if self.intervals is None:
            return tuple(lines)
        triples = self.intervals.unit == "triple" and any(name.metric.needs == "lists" for name in self.requested)
        return *lines, f"{self.intervals}{', of lists resampling queries' if triples else ''}"

    @property
    def ties(self) -> str:
        """The name of the tie policy of metrics that name none."""
        known = not isinstance(self.provenance, Provenance) or self.provenance.has_ties
        return tie_policy(self.options.ties).name if known else OF_FILE

    @property
    def notes(self) -> tuple[str, ...]:
        reasons = {
            f"{name} is undefined: {why}."
            for group in self.groups
            for name, why in group.undefined.items()
            if not _of_other_side(name, group) and not _repeats_both(name, why, group)
        }
        return (*self.table_notes, *self.tie_notes, *sorted(reasons), *_interval_notes(self.groups))

    @property
    def tie_notes(self) -> tuple[str, ...]:
        serious = [group.ties for group in self.groups if group.ties and group.ties.serious]
        if not self.by or len(self.groups) == 1:
            return tuple(map(str, serious))
        several = f"{len(serious):,} of {len(self.groups):,} groups"
        return (f"in {several} the tie policy alone moves the MRR by more than {SERIOUS}.",) if serious else ()

    @property
    def requested_columns(self) -> list[MetricName]:
        """The metrics that were requested, each once; one without a side is ``pooled``."""
        return list(dict.fromkeys(name.of_part(self.pooled) for name in self.requested))

    def _spellings(self, name: str | Metric) -> list[MetricName]:
        wanted = super()._spellings(name)[0].of_part(self.pooled)
        if wanted.metric.needs == "lists":
            return [wanted]
        ties = wanted.ties if wanted.ties != self.ties else None
        return [replace(wanted, ties=policy) for policy in (ties, self.ties)]

    def to_dict(self) -> dict[str, Any]:
        head = {
            "schema": 1,
            "provenance": self.provenance.to_dict(),
            "split": self.provenance.split,
            "ties": self.ties,
            "num_triples": self.provenance.triples,
            **({} if self.sampling is None else {"estimated": True, "estimate": self.sampling.describe()}),
            **self._further_options(),
            "notes": list(self.notes),
        }
        if self.by:
            groups = [{"key": group.key, **_content(group)} for group in self.groups]
            return {**head, "by": list(self.by), "groups": groups}
        return {**head, **_content(self.groups[0])}

    def _further_options(self) -> dict[str, Any]:
        names = [name for group in self.groups for name in group.values]
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
        names = list(self.groups[0].values) if self.groups else []
        if self.by:
            names.sort(key=lambda name: PARTS.index(name.side or "both"))
            rows: list[list[Cell]] = [
                [*map(str, group.key.values()), *map(group.figure, names)] for group in self.groups
            ]
            parts = [str(name.side) for name in names]
            return (Table([*self.by, *map(str, names)], rows, len(self.by), parts, item="group"),)
        (group,), sides = self.groups, list(dict.fromkeys(str(name.side) for name in names))
        there = {(name.base, str(name.side)): group.figure(name) for name in names}
        bases = dict.fromkeys(name.base for name in names)
        return (Table(["", *sides], [[base, *(there.get((base, side), "") for side in sides)] for base in bases]),)


def common_ties_of(summaries: Iterable[RankSummary]) -> str:
    """Name the tie policy of a table of several models; the notes tell which have that of their file instead."""
    policies = {summary.ties for summary in summaries}
    own = sorted(policies - {OF_FILE})
    return f"{own[0]}, for some models {OF_FILE}" if own and OF_FILE in policies else (*own, OF_FILE)[0]


def refuse_unknown_ties(table: RankColumns, names: Sequence[MetricName], options: MetricOptions) -> None:
    """Refuse optimistic, pessimistic and random ranks where the numbers of ties are not known.

    ``realistic`` and ``expected`` are accepted, as a table with other models needs one of them: the metrics are then of
    the ranks as they stand in the file.
    """
    policies = [tie_policy(ties).name for ties in (options.ties, *(name.ties for name in names)) if ties]
    other = next((policy for policy in policies if policy not in (REALISTIC.name, EXPECTED.name)), None)
    if other is not None and not table.provenance.has_ties:
        raise MetricError(
            f"ties: {other} ranks cannot be computed, as the file of ranks has no numbers of ties, and its own policy "
            "holds. Choose no other, or add the columns greater and tied to the file."
        )


def rank_summary(
    table: RankColumns, metrics: Any, *, by: Any, options: MetricOptions, intervals: Intervals | None = None
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
    pooled = None if "side" in columns else view.pooled
    parts = [None] if pooled is None else list(dict.fromkeys([pooled, *ranked]))
    of_sides = [replace(name, side=part) for name in names for part in ([name.side] if name.side else parts)]
    distinct = list(dict.fromkeys(of_sides))
    if columns:  # a value says little without how many ranks it is of
        distinct = list(dict.fromkeys([*distinct, *(replace(parse("count"), side=name.side) for name in distinct)]))
    groups = groups_of(group_rows(table, columns) if columns else None, distinct, view, intervals)
    return RankSummary(
        table.provenance,
        tuple(groups),
        columns,
        tuple(names),
        tuple(table.notes),
        options=options,
        intervals=intervals,
        sampling=table.sampling,
        pooled=pooled,
    )


def refuse_absent_sides(names: Iterable[MetricName], ranked: Iterable[str], *, by: tuple[str, ...] = ()) -> None:
    there = [str(side) for side in ranked]
    for name in names:
        if name.side == "both" and "side" in by:
            raise MetricError(f"{name}: each group has one side. Use {replace(name, side=None)}.")
        if name.side and name.side not in (*there, pooled_side(there)):
            found = f"only {' and '.join(f'{side}s' for side in there)} are ranked" if there else "there are no ranks"
            raise MetricError(f"{name}: {found}. Use {name.base}.")


def shared_columns(summaries: Mapping[str, RankSummary]) -> list[MetricName]:
    """The requested metrics of several models; one without a side has none where the models ranked other sides."""
    first, *others = summaries.values()
    alike = all(other.pooled == first.pooled for other in others)
    return first.requested_columns if alike else list(dict.fromkeys(first.requested))


def column_names(by: Any) -> tuple[str, ...]:
    names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, Iterable) else (by,)
    if not all(isinstance(name, str) for name in names):
        raise MetricError(f"by: expected the name of a column, such as 'relation', or a list of names; found {by!r}.")
    return names


def _repeats_both(name: str, why: str, group: Group) -> bool:
    side, _, metric = name.partition(".")
    return side in ("head", "tail") and group.undefined.get(f"both.{metric}") == why


def _of_other_side(name: str, group: Group) -> bool:
    """Whether a metric is undefined only because all rows of a group have another side."""
    side = PREFIXES.get(name.partition(".")[0])
    return "side" in group.key and side not in (None, group.key["side"])


def _content(group: Group) -> dict[str, Any]:
    metrics: dict[str, dict[str, float | None]] = {}
    for name, value in group.values.items():
        metrics.setdefault(name.side or group.key["side"], {})[name.base] = value
    intervals: dict[str, dict[str, Any]] = {}
    for name, interval in group.intervals.items():
        intervals.setdefault(name.side or group.key["side"], {})[name.base] = interval.to_dict()
    further = {"intervals": intervals, "no_interval": group.no_interval, "undefined": group.undefined}
    ties = {"tie_diagnosis": group.ties.to_dict()} if group.ties else {}
    return {"metrics": metrics, **ties, **{key: value for key, value in further.items() if value}}


def _interval_notes(groups: Sequence[Group]) -> Iterator[str]:
    """Yield why metrics have no intervals, or wide ones; counts, which never have any, are left out."""
    names = list(dict.fromkeys(name for group in groups for name in group.values if name.metric.averaged))
    without: dict[str, list[MetricName]] = {}
    for name in names:
        if reasons := [group.no_interval[str(name)] for group in groups if str(name) in group.no_interval]:
            where = f" in {len(reasons):,} of {len(groups):,} groups (the first of them: {reasons[0]})"
            without.setdefault(where if len(groups) > 1 else f": {reasons[0]}", []).append(name)
    for why, lacking in without.items():
        bases = list(dict.fromkeys(name.base for name in lacking))
        on_all_sides = sum(name.base in bases for name in names) == len(lacking)
        which = bases if on_all_sides else [str(name) for name in lacking]
        yield f"no intervals{'' if len(lacking) == len(names) else f' of {first_few(which, MOST_NAMED)}'}{why}."
    made = [(name, interval) for group in groups for name, interval in group.intervals.items()]
    for unit in UNITS:
        carried = {name for name, interval in made if (interval.method, interval.unit) == (BOUNDED, unit)}
        if carried:
            listed = first_few([str(name) for name in names if name in carried], MOST_NAMED)
            where = " in some groups" if len(groups) > 1 else ""
            what = f"the value depends on few {PLURAL[unit]}{where}"
            yield f"{listed}: {what}. The interval is made wider, as other {PLURAL[unit]} may have other rare values."
