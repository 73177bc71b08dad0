"""``kgeval.check_numbers``: which protocol gives a printed number, if the ranks of a table are read by its rules.

It takes a rank table (or one for each protocol) and the printed numbers, and returns a ``NumberCheck`` of readings.
A *reading* is one way to compute numbers from ranks: filtered or raw, of one side or both, under a tie policy.
``kgeval.explain_numbers`` (``explain.py``) ranks the model by every protocol first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np

from kgeval.base.errors import MetricError, TableError, counted, first_few
from kgeval.base.notes import Note
from kgeval.base.tables.shown import Shown
from kgeval.base.tables.table import Table, number
from kgeval.data.provenance import UNKNOWN
from kgeval.data.split_names import filtered_by, parts_of
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import PARTS, MetricName, Part, parse, pooled_side
from kgeval.metrics.ranks.ties import EXPECTED, Ties
from kgeval.metrics.summarize import summarize
from kgeval.ranking.protocols.framework_metric import FrameworkMetric, Setting, float64
from kgeval.ranking.protocols.protocol import Protocol, find_protocol, protocols
from kgeval.ranking.rank_table import RankTable

SHOWN = 5
"""how many protocols a sentence names"""

NEAREST = 3
"""how many readings are shown where none gives the number"""

ROUNDING = 2.0**-22
"""the share of a number by which two ways of summing may differ: four float32 units in the last place, so that of more
than seven digits only seven are compared"""


def check_numbers(ranks: RankTable | Mapping[str, RankTable], numbers: Mapping[str, float | str]) -> NumberCheck:
    """Read ranks by the rules of every protocol, and compare what each gives with numbers that another tool printed.

    Parameters
    ----------
    ranks
        one rank table, of which a protocol decides what is done with its counts: ties, sides, means, raw or filtered,
        but not which scores tie; or the table that each protocol ranks, by its name. Only protocols are named that
        report the metric of such ranks: of these sides and candidates, by this filter
    numbers
        the numbers by their metric, ``mrr``, ``mr`` or ``hits@k``, of any side: ``{"mrr": .3312, "hits@10": "52.0"}``.
        Each stands for all that round to it; hits and MRR above 1 are percent

    Raises
    ------
    MetricError
        if a metric is not one of these, or a number is invalid
    TableError
        if ``ranks`` are no rank table

    Examples
    --------
    OpenKE counts no tie, and PyKEEN reports such ranks too.

    >>> from kgeval import evaluate
    >>> table = evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> print(check_numbers(table, {"mr": "3.925"}).heads[0])
    mr 3.925: filtered, both sides, optimistic ties (openke, pykeen).
    """
    if not isinstance(numbers, Mapping):
        raise MetricError(f"numbers: expected them by their metric, such as {{'mrr': .3312}}, found {numbers!r:.60}.")
    if not isinstance(ranks, RankTable | Mapping):
        raise TableError(f"ranks: expected a rank table, as kgeval.evaluate returns it, found {ranks!r:.60}.")
    printed = tuple(PrintedNumber.of(metric, value) for metric, value in numbers.items())
    if not printed:
        raise MetricError("no number to check: give one, such as mrr=.3312.")
    tables = dict.fromkeys(protocols(), ranks) if isinstance(ranks, RankTable) else ranks
    readings_by_key: dict[tuple[Any, ...], NumberReading] = {}
    for protocol in map(find_protocol, tables):
        for reading in _readings(protocol, tables[protocol.name], printed):
            key = (reading.setting, reading.side, *map(number, reading.values), reading.distance > 0)
            same = readings_by_key.get(key, reading)
            names, ties = {*same.protocols, *reading.protocols}, {*same.ties, *reading.ties}
            readings_by_key[key] = replace(same, protocols=tuple(sorted(names)), ties=tuple(sorted(ties)))
    readings = sorted(
        readings_by_key.values(),
        key=lambda it: (
            *(it.distance, not it.protocols, it.setting != "filtered", PARTS.index(it.side)),
            -len(it.protocols),
        ),
    )
    return NumberCheck(printed, tuple(readings))


@dataclass(frozen=True, repr=False)
class NumberCheck(Shown):
    """The readings of ranks beside printed numbers."""

    numbers: tuple[PrintedNumber, ...]
    readings: tuple[NumberReading, ...]
    """all readings, the nearest first"""

    @property
    def matches(self) -> tuple[NumberReading, ...]:
        """The readings that give every number; without a side in a metric's name, readings of both sides come first."""
        return tuple(reading for reading in self.readings if not reading.distance)

    @property
    def heads(self) -> tuple[str, ...]:
        """A sentence: the readings that give the numbers, or else the nearest reading."""
        printed = ", ".join(f"{it.metric} {it.text}" for it in self.numbers)
        if not self.matches:
            return (f"{printed}: no protocol gives this number from these ranks. The nearest is {self.readings[0]}.",)
        first, *others = self.matches
        more = f"; or {others[0]}" if others else ""
        more += f"; or {len(others) - 1} more" if len(others) > 1 else ""
        return (f"{printed}: {first}{more}.",)

    def _brief(self) -> str:
        printed = ", ".join(f"{it.metric} {it.text}" for it in self.numbers)
        return f"{printed}: {counted(len(self.matches), 'reading matches', 'readings match')}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not tried, if no protocol gives the numbers."""
        if self.matches:
            return ()
        limits = "a check of ranks does not try other candidates, other filters or rounded scores: kgeval explain"
        return (Note("left-out", f"{limits} CHECKPOINT --number … ranks the checkpoint by every protocol."),)

    def tables(self) -> tuple[Table, ...]:
        columns = ["ranks", "side", "ties", *(str(it.metric) for it in self.numbers), "protocols"]
        rows = [
            [row.setting, row.side, ", ".join(row.ties), *map(number, row.values), ", ".join(row.protocols)]
            for row in self.matches or self.readings[:NEAREST]
        ]
        return (Table(columns, rows, keys=3, prose=True),)

    def to_dict(self) -> dict[str, Any]:
        names = [str(it.metric) for it in self.numbers]
        readings = [
            {
                **{name: getattr(reading, name) for name in ("setting", "side", "ties", "protocols")},
                "values": dict(zip(names, reading.values, strict=True)),
            }
            for reading in self.matches or self.readings[:NEAREST]
        ]
        numbers = {str(it.metric): it.text for it in self.numbers}
        return {"numbers": numbers, "matches": bool(self.matches), "readings": readings}


@dataclass(frozen=True)
class NumberReading:
    """One way to compute numbers from ranks, and its values; protocols with the same numbers are one reading."""

    setting: Setting
    side: Part
    values: tuple[float, ...]
    """the value for each number"""
    distance: float
    """the largest difference between a value and its number; 0 if all values round to their numbers"""
    protocols: tuple[str, ...]
    """the protocols that report these metrics of this side, of their own candidates and by their own filter; none if
    only their rules give such values"""
    ties: tuple[str, ...]
    """the tie policies by which ranks have these values"""

    def __str__(self) -> str:
        sides = "both sides" if self.side == "both" else f"{self.side}s only"
        ends = {"optimistic", "pessimistic"} <= {*self.ties}
        ties = "any tie policy" if ends else f"{' or '.join(self.ties)} ties"
        return f"{self.setting}, {sides}, {ties} ({first_few(self.protocols, SHOWN) or 'no protocol reports it'})"


@dataclass(frozen=True)
class PrintedNumber:
    """A number as it was printed, which stands for all values that round to it."""

    metric: MetricName
    text: str
    value: float
    """the number; hits and MRR in percent are divided by 100"""
    half_a_digit: float
    """half a unit of the last printed digit, divided likewise"""

    @classmethod
    def of(cls, metric: str, printed: float | str) -> PrintedNumber:
        name, text = parse(metric), str(printed).strip()
        if name.name not in {"mrr", "mr", "hits"} or name.ties or name.average:
            raise MetricError(f"cannot check {metric!r}: a check compares mrr, mr and hits@k, of any side.")
        if not re.fullmatch(r"\d*\.?\d+(e-?\d\d?)?%?", text):
            raise MetricError(f"{metric}: {text[:40]!r} is not a number such as 0.3312. Copy it as it was printed.")
        exact = Decimal(text.removesuffix("%"))
        half = Decimal(5).scaleb(int(exact.as_tuple().exponent) - 1)
        percent = name.name != "mr" and (text.endswith("%") or exact > 1)
        return cls(name, text, *(float(part / 100 if percent else part) for part in (exact, half)))

    def distance(self, value: float) -> float:
        """Return the distance of a value from the values that round to the number, as a share of it; 0 inside them."""
        beyond = abs(value - self.value) - self.half_a_digit
        return max(0.0, beyond / max(abs(self.value), self.half_a_digit) - ROUNDING)


def _readings(protocol: Protocol, table: RankTable, printed: Sequence[PrintedNumber]) -> Iterator[NumberReading]:
    """Yield a protocol's readings: its values for the numbers, of filtered and raw ranks, of both sides and each.

    Means are taken by the framework's sums, and by exact ones, as a reader of its ranks computes them; the nearer one
    counts.
    """
    reported = _reported(protocol, table)
    unfiltered: list[Setting] = [] if table.knows_no_raw else ["raw"]
    filtered: list[Setting] = ["filtered"] if table.filter != () and any(protocol.filter.values()) else []
    static: list[Setting] = ["static"] if table.static_filter else []
    sides = [part for part in PARTS if part in table.provenance.sides]
    parts: list[Part] = ["both", *sides] if {*protocol.sides} <= {*sides} else [*sides]
    policies = dict.fromkeys([*_policies(protocol), *(ties for _, ties, _, _ in reported)])
    for setting, side, ties in product([*filtered, *unfiltered, *static], parts, policies):
        metrics = [_as_printed(protocol, entry.metric, entry.metric.side or side, setting) for entry in printed]
        sums = [replace(protocol, ties=ties, mean=mean) for mean in dict.fromkeys([protocol.mean, float64])]
        with suppress(Undefined, TableError):  # some need raw counts, which a file of ranks may lack
            if ties == EXPECTED.name:  # a policy of metrics, not of ranks, which no rules apply
                candidates = [tuple(_expected_value(table, metric) for metric in metrics)]
            else:
                candidates = [tuple(rules.value(table, metric) for metric in metrics) for rules in sums]
            distances = [max(map(PrintedNumber.distance, printed, values)) for values in candidates]
            nearest = int(np.argmin(distances))
            is_own = all(
                (entry.metric.name, ties, metric.side, setting) in reported
                for entry, metric in zip(printed, metrics, strict=True)
            )
            one_side = protocol.sides[0] if side == "both" and len(protocol.sides) == 1 else side
            names = (protocol.name,) if is_own else ()
            yield NumberReading(setting, one_side, candidates[nearest], distances[nearest], names, (str(ties),))


def _reported(protocol: Protocol, table: RankTable) -> set[tuple[str, Ties, Part, Setting]]:
    """List what a protocol reports of such ranks: each metric (hits at any k) with its tie policy, side and setting.

    It reports nothing of other candidates or triples than its own, and no filtered metric of another filter.
    """
    is_ranked_by_it = table.protocol == protocol.name
    if not _has_candidates_of(protocol, table):
        return set()
    # Quirks may rank one side alone: the framework then calls the metric of this side that of both.
    ranked = [side for side in protocol.sides if all(quirk.predicts_side(side) for quirk in protocol.quirks)]
    one_side = ranked if len(ranked) == 1 else ()
    whole = {pooled_side(table.provenance.sides)} if is_ranked_by_it else {pooled_side(protocol.sides), *one_side}
    metrics = protocol.framework_metrics or [FrameworkMetric(it, it, side) for it in protocol.metrics for side in PARTS]
    by_layout = [it["filter"] for it in protocol.of_layout.values() if is_ranked_by_it and "filter" in it]
    filters = [filtered_by(table.split, of_split, None) for of_split in (protocol.filter, *by_layout)]
    if is_ranked_by_it and protocol.corruption is not None and not table.filter:
        filters = [()]  # the negatives decide the filter, as TGB's do
    reported: set[tuple[str, Ties, Part, Setting]] = set()
    for metric in metrics:
        setting: Setting = metric.setting if filters[0] else "raw"
        if setting == "raw" or any(_is_filter_of(names, table) for names in filters):
            name = parse(metric.metric)
            sides = whole if metric.side == "both" else (metric.side,)
            policies = [name.ties] if name.ties else _policies(protocol)
            reported |= {(name.name, ties, side, setting) for side in sides for ties in policies}
    return reported


def _policies(protocol: Protocol) -> list[Ties]:
    """List the tie policies of a protocol; the standard one has ``expected`` too, which kgeval takes for baselines."""
    return [protocol.ties, *([EXPECTED.name] if protocol.name == "standard" else [])]


def _expected_value(table: RankTable, metric: FrameworkMetric) -> float:
    ranks = {"raw": table.raw, "static": table.static}.get(metric.setting, lambda: table)()
    name = f"{metric.side}.{EXPECTED.name}.{metric.metric}"
    return summarize(ranks, name)[name]


def _has_candidates_of(protocol: Protocol, table: RankTable) -> bool:
    """Whether a table has the triples and candidates that a protocol ranks, as far as that is known."""
    is_ranked_by_it = table.protocol == protocol.name
    fills_batches = protocol.num_ranked(table.num_triples) == table.num_triples
    if protocol.second == "static" and table.times is None:
        return False
    if protocol.corruption is not None or (protocol.competes is not None and is_ranked_by_it):
        return is_ranked_by_it
    among_all = table.candidates.startswith("all ") and "those among" not in table.candidates
    return (among_all or table.candidates == UNKNOWN) and (fills_batches or is_ranked_by_it)


def _is_filter_of(splits: Sequence[str], table: RankTable) -> bool:
    """Whether a table's known answers are those of some splits, of which a dataset may lack train and valid."""
    if table.filter is None:
        return True
    present = {*splits} & {"test", *(parts_of(table.split) or (table.split,))}
    return present <= {*table.filter} <= {*splits}


def _as_printed(protocol: Protocol, name: MetricName, side: Part, setting: Setting) -> FrameworkMetric:
    """Make a metric as a framework prints it: with ranks from 0 in every setting, if it counts so in one."""
    printed = (metric for metric in protocol.framework_metrics if (metric.metric, metric.side) == (name.base, side))
    return FrameworkMetric(str(name), name.base, side, setting, any(metric.from_zero for metric in printed))
