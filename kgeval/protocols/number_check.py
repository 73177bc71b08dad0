"""Which protocol gives a number: the ranks of a table by the rules of every protocol, beside printed numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import Any

from kgeval.errors import MetricError
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import PARTS, MetricName, Part, parse
from kgeval.protocols.framework_metric import FrameworkMetric, Setting
from kgeval.protocols.protocol import Protocol, protocols
from kgeval.ranking.rank_table import RankTable
from kgeval.table import Shown, Table, number

NEAREST = 3
"""how many readings are shown where none gives the number"""

ROUNDING = 1e-9
"""the share of a number by which two ways of summing may differ"""


@dataclass(frozen=True)
class PrintedNumber:
    """A number as it was printed, which stands for all that round to it."""

    metric: MetricName
    text: str
    value: float
    half_a_digit: float

    @classmethod
    def of(cls, metric: str, printed: float | str) -> PrintedNumber:
        name, text = parse(metric), str(printed).strip()
        if name.name not in {"mrr", "mr", "hits"} or name.ties or name.average:
            raise MetricError(f"cannot check {metric!r}: protocols are told apart by mrr, mr and hits@k, of any side.")
        if not re.fullmatch(r"\d*\.?\d+(e-?\d+)?%?", text):
            raise MetricError(f"{metric}: {text[:40]!r} is no number such as 0.3312. Copy it as it was printed.")
        exact = Decimal(text.removesuffix("%"))
        half = Decimal(5).scaleb(int(exact.as_tuple().exponent) - 1)
        percent = name.name != "mr" and (text.endswith("%") or exact > 1)
        return cls(name, text, *(float(part / 100 if percent else part) for part in (exact, half)))

    def distance(self, value: float) -> float:
        """Return how far a value is from what rounds to the number, as a share of it; 0 where it does round to it."""
        beyond = abs(value - self.value) - self.half_a_digit
        return max(0.0, beyond / max(abs(self.value), self.half_a_digit) - ROUNDING)


@dataclass(frozen=True)
class Reading:
    """One way to read the ranks of a table: which of them, and how ties count; with what they give."""

    setting: Setting
    side: Part
    ties: str
    protocols: tuple[str, ...]
    """those that read them so, with the same values"""
    values: tuple[float, ...]
    """of each number"""
    distance: float
    """how far the farthest value is from its number"""

    def __str__(self) -> str:
        sides = "both sides" if self.side == "both" else f"{self.side}s alone"
        return f"{self.setting}, {sides}, {self.ties} ties ({', '.join(self.protocols)})"


@dataclass(frozen=True)
class NumberCheck(Shown):
    """The readings of ranks beside printed numbers."""

    numbers: tuple[PrintedNumber, ...]
    readings: tuple[Reading, ...]
    """all that there are, the nearest first"""

    @property
    def matches(self) -> tuple[Reading, ...]:
        """The readings that give every number; without a side in a metric's name, those of both sides first."""
        return tuple(reading for reading in self.readings if not reading.distance)

    @property
    def heads(self) -> tuple[str, ...]:
        printed = ", ".join(f"{one.metric} {one.text}" for one in self.numbers)
        if not self.matches:
            return (f"{printed}: no protocol gives it from these ranks. The nearest is {self.readings[0]}.",)
        first, *others = self.matches
        more = f"; and {len(others)} other readings" if len(others) > 1 else f"; and {others[0]}" if others else ""
        return (f"{printed}: {first}{more}.",)

    @property
    def notes(self) -> tuple[str, ...]:
        if self.matches:
            return ()
        what = "other candidates, another filter, and scores that tie only after they are rounded are not in ranks"
        return (f"{what}: kgeval explain CHECKPOINT --number … ranks the checkpoint by every protocol.",)

    def tables(self) -> tuple[Table, ...]:
        columns = ["ranks", "side", "ties", *(str(one.metric) for one in self.numbers), "protocols"]
        rows = [
            [row.setting, row.side, row.ties, *(number(value) for value in row.values), ", ".join(row.protocols)]
            for row in self.matches or self.readings[:NEAREST]
        ]
        return (Table(columns, rows, keys=3, prose=True),)

    def to_dict(self) -> dict[str, Any]:
        names = [str(one.metric) for one in self.numbers]
        readings = [
            {
                **{name: getattr(reading, name) for name in ("setting", "side", "ties")},
                "protocols": list(reading.protocols),
                "values": dict(zip(names, reading.values, strict=True)),
            }
            for reading in self.matches or self.readings[:NEAREST]
        ]
        numbers = {str(one.metric): one.text for one in self.numbers}
        return {"numbers": numbers, "matches": bool(self.matches), "readings": readings}


def check_numbers(
    ranks: RankTable | Callable[[Protocol], RankTable],
    numbers: Mapping[str, float | str],
    among: Sequence[Protocol] | None = None,
) -> NumberCheck:
    """Read ranks by the rules of every protocol, and compare what each gives with printed numbers.

    ``ranks`` are those of one table, or a function gives those of each protocol. Of one table, a protocol decides what
    is done with counts: filter, ties, sides, means; not which scores tie, nor which candidates compete.
    """
    printed = tuple(PrintedNumber.of(metric, value) for metric, value in numbers.items())
    if not printed:
        raise MetricError("no number to check: give one, such as mrr=.3312.")
    found: dict[tuple[Setting, Part, str, tuple[float, ...]], list[str]] = {}
    for protocol in among or protocols().values():
        table = ranks if isinstance(ranks, RankTable) else ranks(protocol)
        for setting, side, values in _values(protocol, table, printed):
            found.setdefault((setting, side, str(protocol.ties), values), []).append(protocol.name)
    readings = [
        Reading(setting, side, ties, tuple(names), values, max(map(PrintedNumber.distance, printed, values)))
        for (setting, side, ties, values), names in found.items()
    ]
    readings.sort(key=lambda it: (it.distance, it.setting != "filtered", PARTS.index(it.side), -len(it.protocols)))
    return NumberCheck(printed, tuple(readings))


def _values(
    protocol: Protocol, table: RankTable, printed: Sequence[PrintedNumber]
) -> Iterator[tuple[Setting, Part, tuple[float, ...]]]:
    """Yield what a protocol gives for the numbers, of filtered and raw ranks, of both sides and of each."""
    there: dict[Setting, bool] = {"filtered": table.filter != (), "raw": not table.knows_no_raw}
    sides = [part for part in PARTS if part in table.provenance.sides]
    parts: list[Part] = ["both", *sides] if {"head", "tail"} <= {*sides} else sides
    for setting, side in product((name for name in there if there[name]), parts):
        metrics = [FrameworkMetric("", one.metric.base, one.metric.side or side, setting) for one in printed]
        with suppress(Undefined):
            yield setting, side, tuple(protocol.value(table, metric) for metric in metrics)
