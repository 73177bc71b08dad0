"""``kgeval.explain``: why the metrics of one model differ between protocols, by changing one rule after the other.

The result is a metric under several protocols, and the causes of its differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import Unpack

from kgeval.base.errors import InputError, MetricError, counted
from kgeval.base.notes import Note, in_json
from kgeval.base.progress import Progress
from kgeval.base.settings import takes
from kgeval.base.tables.shown import Brief, Shown
from kgeval.base.tables.table import Cell, Figure, Table
from kgeval.data.dataset import Dataset
from kgeval.data.loading import as_dataset
from kgeval.data.provenance import Provenance, subject_of
from kgeval.data.triples import Side
from kgeval.data.vocabulary import Labels
from kgeval.metrics.names import parse
from kgeval.metrics.summarize import summarize
from kgeval.models.adapters.calling import ScoreFunction
from kgeval.models.aligned import Aligned
from kgeval.models.alignment import align
from kgeval.models.checkpoints import as_model
from kgeval.ranking.evaluation import Evaluation, RankingKeywords
from kgeval.ranking.protocols.framework_metric import FrameworkMetric
from kgeval.ranking.protocols.number_check import NumberCheck, check_numbers
from kgeval.ranking.protocols.protocol import Protocol, find_protocol, protocols
from kgeval.ranking.protocols.report import notes_on
from kgeval.ranking.rank_table import RankTable

FIELDS_BY_CAUSE = {
    "rules of the layout": ("of_layout",),
    "sides": ("sides",),
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
"""the cause of a difference -> the fields of a protocol that are changed for it, in this order; the quirks of a
framework, each a separate cause, come between tolerance and ties"""


@takes(Evaluation, RankingKeywords)
def explain(
    model: ScoreFunction | Any,
    dataset: Dataset | str | Path,
    protocols: str | Protocol | Sequence[str | Protocol],
    *,
    metric: str = "mrr",
    entities: Labels | None = None,
    relations: Labels | None = None,
    time_labels: Labels | None = None,
    progress: Progress | bool | None = None,
    **settings: Unpack[RankingKeywords],
) -> Explanation:
    """Evaluate a model by several protocols, and split the difference of each from the standard one into causes.

    Starting from the standard protocol, the rules of the framework are applied one after the other: the sides, the
    candidates, the filter, the tolerance, the framework's quirks, the tie policy, whether an answer competes with
    itself, how often repeated triples count, and how ranks are averaged. The change by a rule is its part of the
    difference. The parts add up to the whole; a part may depend on the rules that were changed before it.

    Parameters
    ----------
    protocols
        their names, or ``Protocol`` objects
    metric
        ``mrr``, ``mr`` or ``hits@k``, with a side or for both
    model, dataset, entities, relations, time_labels
        as :func:`kgeval.evaluate` takes them
    progress
        likewise, for one protocol after the other
    {settings}

    A filter or corruption in the arguments is used with every protocol.

    Raises
    ------
    ConfigError
        if there is no such protocol
    MetricError
        if the metric is not one of these, or its side was not evaluated
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
    several: Any = protocols if isinstance(protocols, Iterable) and not isinstance(protocols, str) else [protocols]
    chosen = [find_protocol(it) for it in several]
    dataset = as_dataset(dataset)
    evaluation = Evaluation.of_keywords(settings)
    framework_metric = _as_framework_metric(metric, evaluation.sides)
    for it in chosen:
        evaluation.require_relations(it)
    model = as_model(model, dataset, nan=evaluation.nan, history=evaluation.history)
    scorer = align(model, dataset, entities=entities, relations=relations, times=time_labels)
    ranking = _RankingByProtocol(scorer, dataset, evaluation, framework_metric, progress)
    standard = find_protocol("standard")
    rows = tuple(_explain_protocol(ranking, standard, replace(it, quirks=it.applicable_to(scorer))) for it in chosen)
    table = ranking.table(standard)
    ties = summarize(table, ["count"]).groups[0].ties
    notes = (*table.notes, *([Note("ties", str(ties))] if ties and ties.serious else []))
    return Explanation(str(parse(metric)), ranking.value(standard), table.provenance, rows, notes)


@takes(Evaluation, RankingKeywords)
def explain_numbers(
    model: Any,
    dataset: Dataset | str | Path,
    numbers: Mapping[str, float | str],
    *,
    progress: Progress | bool | None = None,
    **settings: Unpack[RankingKeywords],
) -> NumberCheck:
    """Rank a model by every protocol, and find those that give the numbers printed by another tool.

    Parameters
    ----------
    numbers
        as :func:`kgeval.check_numbers` takes them
    model, dataset, progress
        as :func:`kgeval.evaluate` takes them
    {settings}

    Raises
    ------
    MetricError
        if a metric is not one of these, or a number is invalid
    InputError
        if an argument is wrong, as in :func:`kgeval.evaluate`
    """
    dataset = as_dataset(dataset)
    evaluation = Evaluation.of_keywords(settings)
    check = check_numbers({}, numbers)
    scorer = align(as_model(model, dataset, nan=evaluation.nan, history=evaluation.history), dataset)
    metric = FrameworkMetric("", check.numbers[0].metric.base)
    ranking = _RankingByProtocol(scorer, dataset, evaluation, metric, progress)
    tables = {"standard": ranking.table(find_protocol("standard"))}
    for name, protocol in protocols().items():
        with suppress(InputError):  # some rank no part of a small split, or need candidates that few datasets have
            tables[name] = ranking.table(replace(protocol, quirks=protocol.applicable_to(scorer)))
    return check_numbers(tables, numbers)


@dataclass(frozen=True, eq=False)
class _RankingByProtocol:
    """The ranks of one model by any protocol; protocols with the same settings and rules share a table."""

    scorer: Aligned
    dataset: Dataset
    settings: Evaluation
    metric: FrameworkMetric
    progress: Progress | bool | None
    tables: dict[Any, RankTable] = field(default_factory=dict)

    def table(self, protocol: Protocol) -> RankTable:
        resolved = protocol.resolve(self.settings, self.dataset)
        key = (resolved.evaluation, protocol.rules)
        if key not in self.tables:
            self.tables[key] = resolved.rank(self.scorer, self.dataset, progress=self.progress)
        return self.tables[key]

    def value(self, protocol: Protocol) -> float:
        return protocol.value(self.table(protocol), self.metric)


def _as_framework_metric(metric: str, sides: Sequence[Side]) -> FrameworkMetric:
    """Read a metric; if only relations are predicted, a metric of both sides is that of relations."""
    name = parse(metric)
    if name.name not in {"mrr", "mr", "hits"} or name.ties or name.average:
        raise MetricError(f"cannot explain {metric!r}: only mrr, mr and hits@k can be explained, of any side.")
    side = name.side or "both"
    of = "relation" if side == "both" and tuple(sides) == ("relation",) else side
    return FrameworkMetric(str(name), name.base, of)


def _explain_protocol(ranking: _RankingByProtocol, standard: Protocol, target: Protocol) -> ProtocolExplanation:
    causes: dict[str, float] = {}
    before = ranking.value(standard)
    for cause, protocol in _switches(standard, target):
        after = ranking.value(protocol)
        causes[cause] = causes.get(cause, 0.0) + difference(before, after)
        before = after
    without_itself = replace(protocol, self_counting="never")
    table, notes = ranking.table(protocol), ranking.table(standard).notes
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
    """Yield each cause with the protocol after its change, from the current protocol to the target."""
    for cause, fields in FIELDS_BY_CAUSE.items():
        if cause == "ties":
            for quirk in target.quirks:
                current = replace(current, quirks=(*current.quirks, quirk))
                yield quirk.cause, current
        current = replace(current, **{field: getattr(target, field) for field in fields})
        yield cause, current


NO_CHANGE = "·"
"""the text of a change that would be printed as zero, such as a change by sums in float32"""


@dataclass(frozen=True, repr=False)
class ProtocolExplanation(Brief):
    """The value of a metric under one protocol, and the causes of its difference from the standard one."""

    protocol: str
    value: float
    causes: dict[str, float]
    """the change by each rule; the changes add up to the whole difference"""
    optimistic: float
    """the value with optimistic ranks, and all other rules of the protocol"""
    pessimistic: float
    """the value with pessimistic ranks"""
    provenance: Provenance
    """the provenance of the protocol's value"""
    notes: tuple[str, ...] = ()

    def _brief(self) -> str:
        return f"{self.protocol}: {self.value:.6g}"


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """One model under several protocols."""

    metric: str
    standard: float
    """the value under kgeval's own protocol"""
    provenance: Provenance
    """the provenance of the standard value"""
    rows: tuple[ProtocolExplanation, ...]
    notes: tuple[str, ...]
    """the notes on the standard ranks, and on their ties if these change the metric"""

    @property
    def causes(self) -> list[str]:
        """The causes that change the value of some protocol."""
        causes = dict.fromkeys(cause for row in self.rows for cause in row.causes)
        return [cause for cause in causes if any(row.causes.get(cause) for row in self.rows)]

    def __getitem__(self, name: str) -> ProtocolExplanation:
        return next(row for row in self.rows if row.protocol == name)

    @property
    def heads(self) -> tuple[str, ...]:
        """What was evaluated, with the metric by the standard protocol, and leaks of the dataset."""
        about, *leaks = self.provenance.heads
        return (f"{about}: {self.metric} {self.standard:.6f}", *leaks)

    def _brief(self) -> str:
        subject = subject_of(self.provenance.model, self.provenance.dataset)
        return f"{self.metric} {self.standard:.6g} of {subject}, under {counted(len(self.rows), 'protocol')}"

    def tables(self) -> tuple[Table, ...]:
        """Return a row for each protocol; a change below the last digit is a dot."""
        exact = [
            # The values are printed differently, but their difference would be printed as zero.
            f"{self.standard:.6f}" != f"{row.value:.6f}"
            and _figure(difference(self.standard, row.value)).text == NO_CHANGE
            for row in self.rows
        ]
        changes = {
            cause: [_figure(row.causes.get(cause, 0.0), exact=exact[index]) for index, row in enumerate(self.rows)]
            for cause in self.causes
        }
        changes = {cause: cells for cause, cells in changes.items() if {cell.text for cell in cells} != {NO_CHANGE}}
        columns = ["protocol", self.metric, "− standard", *changes, "if all ties won", "if all ties lost"]
        rows: list[list[Cell]] = [
            [
                *(row.protocol, row.value, _figure(difference(self.standard, row.value), exact=exact[index])),
                *(cells[index] for cells in changes.values()),
                *(row.optimistic, row.pessimistic),
            ]
            for index, row in enumerate(self.rows)
        ]
        return (Table(columns, rows),)

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
                    **in_json(row.notes),
                }
                for row in self.rows
            },
            **in_json(self.notes),
        }


def difference(before: float, after: float) -> float:
    """Subtract values of a metric; the difference of equal ones is 0, also of infinite ones."""
    return 0.0 if before == after else after - before


def _figure(change: float, *, exact: bool = False) -> Figure:
    """Format a change; one that rounds to zero is a dot, or if ``exact`` its first digit."""
    text = f"{change:+.6f}"
    if not float(text):
        text = f"{change:+.0e}" if exact and change else NO_CHANGE
    return Figure(change, text=text)


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)
