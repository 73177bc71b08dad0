"""``kgeval.explain``: why protocols give one model different numbers, by switching one rule after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints import as_model
from kgeval.corruption.registry import Corruption
from kgeval.data.dataset import Dataset, Split
from kgeval.data.loading import as_dataset
from kgeval.data.triples import Side
from kgeval.data.vocabulary import Labels
from kgeval.errors import MetricError
from kgeval.metrics.summarize import summarize
from kgeval.metrics.tables.names import parse
from kgeval.progress import Progress
from kgeval.protocols.framework_metric import FrameworkMetric
from kgeval.protocols.protocol import Protocol, find_protocol
from kgeval.protocols.report import notes_on
from kgeval.provenance import Provenance
from kgeval.ranking.engine import NaNPolicy
from kgeval.ranking.evaluation import Evaluation, UnseenPolicy
from kgeval.ranking.kernels import KernelName
from kgeval.ranking.rank_table import RankTable
from kgeval.scorers.alignment import Aligned, align

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
class ProtocolExplanation:
    """One protocol's number, and what makes it another than the standard one."""

    protocol: str
    value: float
    causes: dict[str, float]
    """by how much each rule changes it; they add up to the whole difference"""
    optimistic: float
    """the number if every answer were the first of those that tie with it, all other rules being the protocol's"""
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
    rows: tuple[ProtocolExplanation, ...]
    notes: tuple[str, ...]
    """what ties alone do to the standard number, where that is much"""

    @property
    def causes(self) -> list[str]:
        """The causes that make a difference anywhere."""
        causes = dict.fromkeys(cause for row in self.rows for cause in row.causes)
        return [cause for cause in causes if any(row.causes.get(cause) for row in self.rows)]

    def __getitem__(self, name: str) -> ProtocolExplanation:
        return next(row for row in self.rows if row.protocol == name)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the names of the columns, and the cells of the rows; what no digit shows is a dot, or no column."""
        exact = [_differs_only_in_last_digit(self.standard, row.value) for row in self.rows]
        changes = {
            cause: [_change(row.causes.get(cause, 0.0), exact=exact[index]) for index, row in enumerate(self.rows)]
            for cause in self.causes
        }
        changes = {cause: texts for cause, texts in changes.items() if {*texts} != {NOTHING}}
        columns = ["protocol", self.metric, "− standard", *changes, "if all ties won", "if all ties lost"]
        rows = [
            [
                *(row.protocol, f"{row.value:.6f}", _change(_difference(self.standard, row.value), exact=exact[index])),
                *(texts[index] for texts in changes.values()),
                *(f"{row.optimistic:.6f}", f"{row.pessimistic:.6f}"),
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


def explain(  # noqa: PLR0913
    model: Any,
    dataset: Dataset | str | Path,
    protocols: str | Protocol | Sequence[str | Protocol],
    *,
    metric: str = "mrr",
    entities: Labels | None = None,
    relations: Labels | None = None,
    split: Split = "test",
    sides: Side | Sequence[Side] = ("head", "tail"),
    filter: Split | Sequence[Split] | None = None,
    corruption: Corruption | None = None,
    unseen: UnseenPolicy = "error",
    nan: NaNPolicy = "error",
    batch_size: int | None = None,
    memory_limit: int | str | None = None,
    threads: int | None = None,
    kernel: KernelName = "auto",
    progress: Progress | bool | None = None,
) -> Explanation:
    """Evaluate a model by several protocols, and break what sets each apart from the standard one into causes.

    From the standard protocol on, one rule after the other becomes that of the framework: the candidates, the filter,
    the tolerance, the framework's quirks, the tie policy, whether an answer competes with itself, how often repeated
    triples count, and how ranks are averaged. What a rule changes is its part of the difference. The parts add up to
    the whole; a part may depend on the rules that were switched before it.

    Parameters
    ----------
    protocols
        their names, or ``Protocol`` objects
    metric
        ``mrr``, ``mr`` or ``hits@k``, with a side or for both
    model, dataset, entities, relations, split, sides, filter, corruption, unseen, nan
        as :func:`kgeval.evaluate` takes them; a filter or corruption that is given is that of every protocol
    batch_size, memory_limit, threads, kernel, progress
        likewise; progress is that of one protocol after the other

    Raises
    ------
    ConfigError
        if there is no such protocol
    MetricError
        if the metric is another one, or a side of it was not evaluated
    InputError
        if an argument is wrong, as in :func:`kgeval.evaluate`

    Examples
    --------
    A model of five different scores: OpenKE counts no tie, TorchKGE all of them.

    >>> from kgeval import load_dataset
    >>> def score(h, r, t):
    ...     return (h * 31 + t * 7) % 5
    >>> explanation = explain(score, load_dataset("nations"), ["openke", "torchkge"], metric="mr")
    >>> [(row.protocol, round(row.value, 3), round(row.causes["ties"], 3)) for row in explanation.rows]
    [('openke', 3.925, -0.501), ('torchkge', 4.928, 0.501)]
    """
    chosen = [find_protocol(it) for it in ([protocols] if isinstance(protocols, str | Protocol) else protocols)]
    compared, dataset = _metric_to_explain(metric), as_dataset(dataset)
    settings = Evaluation.of(
        split=split,
        sides=sides,
        filter=filter,
        corruption=corruption,
        unseen=unseen,
        nan=nan,
        batch_size=batch_size,
        memory_limit=memory_limit,
        threads=threads,
        kernel=kernel,
    )
    model = as_model(model, dataset, nan=nan)
    scorer = align(model, dataset, entities=entities, relations=relations)
    ranking = _RankingByProtocol(scorer, dataset, settings, compared, progress)
    standard = find_protocol("standard")
    rows = tuple(_explained(ranking, standard, replace(it, quirks=it.rules.applicable_to(scorer))) for it in chosen)
    table = ranking.table(standard)
    ties = summarize(table, ["count"]).groups[0].ties
    notes = (*table.notes, *([str(ties)] if ties and ties.serious else []))
    return Explanation(str(parse(metric)), ranking.value(standard), table.provenance, rows, notes)


@dataclass(frozen=True, eq=False)
class _RankingByProtocol:
    """The ranks of one model by any protocol, each computed once: most rules do not change them."""

    scorer: Aligned
    dataset: Dataset
    settings: Evaluation
    metric: FrameworkMetric
    progress: Progress | bool | None
    tables: dict[Any, RankTable] = field(default_factory=dict)

    def table(self, protocol: Protocol) -> RankTable:
        resolved = protocol.resolve(self.settings, self.dataset)
        key = (resolved.evaluation, resolved.rules)
        if key not in self.tables:
            self.tables[key] = resolved.rank(self.scorer, self.dataset, progress=self.progress)
        return self.tables[key]

    def value(self, protocol: Protocol) -> float:
        return protocol.value(self.table(protocol), self.metric)


def _metric_to_explain(metric: str) -> FrameworkMetric:
    name = parse(metric)
    if name.name not in {"mrr", "mr", "hits"} or name.ties or name.average:
        raise MetricError(f"cannot explain {metric!r}: differences are explained of mrr, mr and hits@k, of any side.")
    return FrameworkMetric(str(name), replace(name, side=None).base, name.side or "both")


def _explained(ranking: _RankingByProtocol, standard: Protocol, target: Protocol) -> ProtocolExplanation:
    causes: dict[str, float] = {}
    before = ranking.value(standard)
    for cause, switched in _switches(standard, target):
        after = ranking.value(switched)
        causes[cause] = causes.get(cause, 0.0) + _difference(before, after)
        before = after
    without_itself = replace(switched, self_counting="never")
    table, notes = ranking.table(switched), ranking.table(standard).notes
    return ProtocolExplanation(
        target.name,
        before,
        causes,
        optimistic=ranking.value(replace(without_itself, ties="optimistic")),
        pessimistic=ranking.value(replace(without_itself, ties="pessimistic")),
        provenance=replace(table.provenance, protocol=target.name),
        notes=(*(note for note in table.notes if note not in notes), *notes_on(target, table)),
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


def _differs_only_in_last_digit(standard: float, value: float) -> bool:
    """Whether two numbers are printed differently, though what sets them apart would be printed as zero."""
    return f"{standard:.6f}" != f"{value:.6f}" and _change(_difference(standard, value)) == NOTHING


def _change(change: float, *, exact: bool = False) -> str:
    """Print a change; one that no digit shows as a dot, unless it has to account for a digit that differs."""
    text = f"{change:+.6f}"
    if float(text):
        return text
    return f"{change:+.0e}" if exact and change else NOTHING


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)
