"""Notes on intervals: why metrics have none, and which of them few triples carry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kgeval.metrics.intervals.interval import BOUNDED
from kgeval.metrics.intervals.units import PLURAL, UNITS

if TYPE_CHECKING:
    from kgeval.metrics.summary import Group


def interval_notes(groups: Sequence[Group]) -> Iterator[str]:
    """Yield what a reader of the intervals should know; that a count has none is no news."""
    names = list(dict.fromkeys(name for group in groups for name in group.values if name.metric.averaged))
    without: dict[str, list[str]] = {}
    for name in names:
        if reasons := [group.no_interval[str(name)] for group in groups if str(name) in group.no_interval]:
            where = f" in {len(reasons)} of {len(groups)} groups, the first" if len(groups) > 1 else ""
            without.setdefault(f"{where}: {reasons[0]}", []).append(str(name))
    for reason, metrics in without.items():
        yield f"no interval of {', '.join(metrics)}{reason}."
    made = [(name, interval) for group in groups for name, interval in group.intervals.items()]
    for unit in UNITS:
        carried = {name for name, interval in made if (interval.method, interval.unit) == (BOUNDED, unit)}
        if carried:
            which = ", ".join(str(name) for name in names if name in carried)
            where = "in some groups " if len(groups) > 1 else ""
            yield f"{where}few {PLURAL[unit]} carry {which}: the interval allows for rare values that were not drawn."
