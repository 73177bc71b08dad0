"""What a metric is: one declaration, and one function that computes it from ranks, ranked lists or labels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from kgeval.discovery import brought, by_name, instances
from kgeval.errors import MetricError

Needs = Literal["ranks", "lists", "labels", "confidences"]
"""what a metric is a function of: the rank of each answer; where all answers of a query stand in one list; triples with
labels; triples with confidences"""

Cutoff = Literal["none", "optional", "required"]

DIGITS = 18
LARGEST_CUTOFF = 10**DIGITS - 1
"""which int64 holds, also when it is added to a count"""

ROUNDING = 1e-9
"""how far the rounding of a mean, of up to billions of values, may take it out of its range"""


class Undefined(MetricError):
    """A metric has no value on this input; the message says why."""


@dataclass(frozen=True)
class Metric:
    """A metric: the facts that ``kgeval list metrics`` prints, and the function."""

    name: str
    title: str
    formula: str
    source: str
    lowest: float
    """the end of its range that it approaches or reaches from above"""
    highest: float
    increasing: bool | None
    """whether larger is better; nothing where it says nothing about quality"""
    compute: Callable[[Any, int], float]
    """(what it needs, the cut-off or 0) -> its value"""
    needs: Needs = "ranks"
    cutoff: Cutoff = "none"
    """whether its name takes ``@k``"""
    averaged: bool = True
    """whether it is a mean, so that relations, queries or popularity may weigh it"""
    synonyms: tuple[str, ...] = ()
    """other names, PyKEEN's among them; ``{k}`` stands for the cut-off"""
    undefined: str = "no ranks"
    """when it has no value"""

    def __call__(self, given: Any, *, k: int = 0) -> float:
        """Compute the metric.

        Raises
        ------
        Undefined
            where it has no value; never a silent 0 or NaN
        """
        return self.bounded(self.compute(given, k))

    def bounded(self, value: float) -> float:
        """Return a value of the metric; one that only rounding took out of its range is the range's end.

        >>> metrics()["ndcg"].bounded(1.0000000000000002)
        1.0

        Raises
        ------
        Undefined
            if it is infinite or NaN
        """
        if not math.isfinite(value):
            raise Undefined("its value is no finite number in float64")
        if self.lowest <= value <= self.highest:
            return value
        end = float(min(max(value, self.lowest), self.highest))
        return end if abs(value - end) <= ROUNDING else value

    def cutoff_in(self, text: str) -> int | None:
        """Read the cut-off in one of its names, 0 in a name without; nothing where the text is none of its names.

        >>> [metrics()["ndcg"].cutoff_in(text) for text in ("ndcg@10", "ndcg", "map")]
        [10, 0, None]
        """
        for spelling in self.spellings():
            shape = re.escape(spelling).replace(r"\{k\}", "([1-9][0-9]*)")
            if match := re.fullmatch(shape, text, re.ASCII):
                k = match[1] if match.groups() else "0"
                return int(k) if len(k) <= DIGITS else None
        return None

    def spellings(self) -> list[str]:
        """List its names, the first the one that results carry; ``{k}`` stands for the cut-off."""
        spelled = []
        for name in (self.name, *self.synonyms):
            if "{k}" in name or self.cutoff == "none":
                spelled.append(name)
            else:
                spelled += [f"{name}@{{k}}"] if self.cutoff == "required" else [name, f"{name}@{{k}}"]
        return spelled


@cache
def metrics(*needs: Needs) -> dict[str, Metric]:
    """All metrics that need one of some things, by name; by default those of rank tables, ranks and lists.

    A name is one metric of rank tables, of labels, and of confidences: ``f1`` at a cut-off of a list is not that of
    triple classification.
    """
    wanted = needs or ("ranks", "lists")
    every = [*instances("kgeval.metrics", Metric), *brought("kgeval.metrics", Metric)]
    return by_name("metrics", [metric for metric in every if metric.needs in wanted])
