"""Explain: why protocols give one model different numbers, by switching one rule after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints import as_model
from kgeval.data.dataset import Dataset
from kgeval.data.layout import as_dataset
from kgeval.data.vocabulary import Labels
from kgeval.errors import MetricError
from kgeval.metrics.tables.names import parse
from kgeval.metrics.tables.summary import summarize
from kgeval.protocols.protocol import FrameworkMetric, Protocol, protocol
from kgeval.protocols.report import notes_on
from kgeval.provenance import Provenance
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.quirks import FrameworkQuirk
from kgeval.ranking.rank_table import RankTable
from kgeval.scorers.alignment import align

RULES = {
    "candidates": ("corruption", "competes", "batch"),
    "filter": ("filter",),
    "listed order": ("listed",),
    "tolerance": ("tie_rule",),
    "ties": ("ties",),
    "self-counting": ("self_counting",),
    "repeated triples": ("repeats",),
    "cut-off": ("cutoff",),
    "averaging": ("side_aggregation", "mean", "order"),
}
"""the causes that a difference may have, in the order in which they are switched: the fields of a protocol behind each.
The quirks of a framework, each a cause by itself, come between tolerance and ties"""

NOTHING = "·"
"""what stands for a change that would be printed as zero, such as that of sums in float32"""


@dataclass(frozen=True)
class Explained:
    """One protocol's number, and what makes it another than the standard one."""

    protocol: str
    value: float
    causes: dict[str, float]
    """by how much each rule moves it; they add up to the whole difference"""
    optimistic: float
    """the number if every answer were first among those that are level with it, all other rules being the protocol's"""
    pessimistic: float
    """if every answer were last"""
    provenance: Provenance
    """what the protocol's number is of"""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """One model under several protocols."""

    metric: str
    standard: float
    """the number under kgeval's own protocol"""
    provenance: Provenance
    """what that number is of"""
    rows: tuple[Explained, ...]
    notes: tuple[str, ...]
    """what ties alone do to the standard number, where that is much"""

    @property
    def causes(self) -> list[str]:
        """The causes that make a difference anywhere."""
        named = dict.fromkeys(cause for row in self.rows for cause in row.causes)
        return [cause for cause in named if any(row.causes.get(cause) for row in self.rows)]

    def __getitem__(self, name: str) -> Explained:
        return next(row for row in self.rows if row.protocol == name)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the names of the columns, and the cells of the rows; what no digit shows is a dot, or no column."""
        changes = {cause: [_change(row.causes.get(cause, 0.0)) for row in self.rows] for cause in self.causes}
        changes = {cause: texts for cause, texts in changes.items() if {*texts} != {NOTHING}}
        columns = ["protocol", self.metric, "− standard", *changes, "if all ties won", "if all ties lost"]
        rows = [
            [
                *(row.protocol, _number(row.value), _change(_difference(self.standard, row.value))),
                *(texts[index] for texts in changes.values()),
                *(_number(row.optimistic), _number(row.pessimistic)),
            ]
            for index, row in enumerate(self.rows)
        ]
        return columns, rows

    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain data; infinite numbers are text."""
        return {
            "metric": self.metric,
            "standard": _plain(self.standard),
            "provenance": self.provenance.to_dict(),
            "protocols": {
                row.protocol: {
                    "value": _plain(row.value),
                    "causes": {cause: _plain(change) for cause, change in row.causes.items()},
                    "optimistic": _plain(row.optimistic),
                    "pessimistic": _plain(row.pessimistic),
                    "provenance": row.provenance.to_dict(),
                    "notes": list(row.notes),
                }
                for row in self.rows
            },
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        columns, rows = self.table()
        widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
        lines = (
            "  ".join(
                f"{cell:<{width}}" if index == 0 else f"{cell:>{width}}" for index, (cell, width) in enumerate(cells)
            )
            for cells in (zip(line, widths, strict=True) for line in (columns, *rows))
        )
        return "\n".join([str(self.provenance), "", *(line.rstrip() for line in lines)])


def explain(
    model: Any,
    dataset: Dataset | str | Path,
    protocols: Sequence[str],
    *,
    entities: Labels | None = None,
    relations: Labels | None = None,
    metric: str = "mrr",
    evaluation: Evaluation | None = None,
) -> Explanation:
    """Evaluate a model by several protocols, and break what sets each apart from the standard one into causes.

    From the standard protocol on, one rule after the other becomes that of the framework: the candidates, the filter,
    the tolerance, the framework's faults, the policy of ties, whether an answer competes with itself, how often
    repeated triples count, and how ranks are averaged. What a rule moves is its part of the difference. The parts add
    up to the whole; a part may depend on the rules that were switched before it.

    Parameters
    ----------
    model, dataset, entities, relations
        as ``kgeval.evaluate`` takes them
    protocols
        their names
    metric
        ``mrr``, ``mr`` or ``hits@k``, with a side or for both
    evaluation
        the split, the sides and whatever else the protocols leave open

    Raises
    ------
    ConfigError
        if there is no such protocol
    MetricError
        if the metric is another one, or a side of it was not evaluated

    Examples
    --------
    A model of five different scores: OpenKE counts no tie, TorchKGE all of them.

    >>> from kgeval import load_dataset
    >>> def score(h, r, t):
    ...     return (h * 31 + t * 7) % 5
    >>> told = explain(score, load_dataset("nations"), ["openke", "torchkge"], metric="mr")
    >>> [(row.protocol, round(row.value, 3), round(row.causes["ties"], 3)) for row in told.rows]
    [('openke', 3.925, -0.501), ('torchkge', 4.928, 0.501)]
    """
    named = [protocol(name) for name in ([protocols] if isinstance(protocols, str) else protocols)]
    printed, settings, dataset = _asked(metric), evaluation or Evaluation(), as_dataset(dataset)
    model = as_model(model, dataset, nan=settings.nan)
    scorer = align(model, dataset, entities=entities, relations=relations)
    said = settings.corruption if "corruption" in settings.model_fields_set else None
    tables: dict[Any, RankTable] = {}

    def ranked(rules: Protocol) -> RankTable:
        known = rules.filter[settings.split]
        key = (rules.corruption, known, rules.rules.tie_rule, rules.competes, rules.batch, rules.quirks, rules.listed)
        if key not in tables:
            switched = {"filter": known, "corruption": rules.corruption(said, dataset, settings.split)}
            tables[key] = settings.model_copy(update=switched)(scorer, dataset, rules=rules.rules)
        return tables[key]

    def value(rules: Protocol) -> float:
        return rules.value(ranked(rules), printed)

    standard = protocol("standard")
    rows = [_explained(rules, standard, value, rules.rules.applicable_to(scorer), ranked) for rules in named]
    ties = summarize(ranked(standard), ["count"]).groups[0].ties
    notes = (*ranked(standard).notes, *([str(ties)] if ties.serious else []))
    return Explanation(
        str(parse(metric)), value(standard), ranked(standard).provenance, rows=tuple(rows), notes=tuple(notes)
    )


def _asked(metric: str) -> FrameworkMetric:
    name = parse(metric)
    if name.name not in {"mrr", "mr", "hits"} or name.ties or name.average:
        raise MetricError(f"cannot explain {metric!r}: differences are explained of mrr, mr and hits@k, of any side.")
    return FrameworkMetric(str(name), replace(name, side=None).base, name.side or "both")


def _explained(
    rules: Protocol,
    standard: Protocol,
    value: Callable[[Protocol], float],
    quirks: Sequence[FrameworkQuirk],
    ranked: Callable[[Protocol], RankTable],
) -> Explained:
    causes: dict[str, float] = {}
    before = value(standard)
    for cause, switched in _switches(standard, replace(rules, quirks=tuple(quirks))):
        after = value(switched)
        causes[cause] = causes.get(cause, 0.0) + _difference(before, after)
        before = after
    alone = replace(switched, self_counting="never")
    best, worst = value(replace(alone, ties="optimistic")), value(replace(alone, ties="pessimistic"))
    told = [note for note in ranked(switched).notes if note not in ranked(standard).notes]
    return Explained(
        rules.name,
        before,
        causes,
        best,
        worst,
        replace(ranked(switched).provenance, protocol=rules.name),
        (*told, *notes_on(rules, ranked(switched))),
    )


def _switches(current: Protocol, target: Protocol) -> Iterator[tuple[str, Protocol]]:
    """Yield each cause with the protocol that has been switched so far."""
    for cause, fields in RULES.items():
        if cause == "ties":
            for quirk in target.quirks:
                current = replace(current, quirks=(*current.quirks, quirk))
                yield quirk.cause, current
        current = replace(current, **{field: getattr(target, field) for field in fields})
        yield cause, current


def _difference(before: float, after: float) -> float:
    return 0.0 if before == after else after - before


def _number(value: float) -> str:
    return f"{value:.6f}"


def _change(change: float) -> str:
    text = f"{change:+.6f}"
    return text if float(text) else NOTHING


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)
