"""``kgeval.framework_metrics``: the metrics of a rank table under the names and in the format of a framework.

The command line and ``metrics.json`` show them beside kgeval's own. What a framework reports is in its ``Protocol``.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.errors import ConfigError, MetricError, counted, refuse_unknown
from kgeval.base.notes import Note, amount, in_json
from kgeval.base.tables.shown import Displayed, Parts
from kgeval.base.tables.table import Cell, Figure, Table
from kgeval.data.triples import SIDES
from kgeval.metrics.names import parse
from kgeval.metrics.ranks.tie_statistics import tied_answers
from kgeval.metrics.summarize import summarize
from kgeval.ranking.protocols.framework_metric import PREFIXES, FrameworkMetric
from kgeval.ranking.protocols.protocol import Protocol, find_protocol, most_candidates, protocol_of, protocols
from kgeval.ranking.rank_table import MULTIPLICITY, RankTable


def framework_metrics(table: RankTable, *, protocol: str | Protocol | None = None) -> FrameworkMetrics:
    """Compute the metrics that a framework would print for a rank table.

    Parameters
    ----------
    table
        the ranks, as ``kgeval.evaluate(…, protocol="libkge")`` returns them
    protocol
        the protocol of the ranks, if it is not in ``kgeval list protocols``; by default the table's

    Raises
    ------
    ConfigError
        if there is no such protocol
    MetricError
        if there are no ranks, or if they are a sample

    Examples
    --------
    Each of these answers ties with others. LibKGE takes the mean of their ranks and rounds it up; OpenKE the best.

    >>> from kgeval import evaluate, load_dataset
    >>> data = load_dataset("nations")
    >>> def score(h, r, t):
    ...     return (h * 31 + t * 7) % 5
    >>> print(framework_metrics(evaluate(score, data, protocol="libkge"))["hits_at_1_filtered"])
    0.11442786069651742
    >>> print(framework_metrics(evaluate(score, data, protocol="openke")).texts["averaged(filter) hit@1"])
    0.271144
    """
    if table.sampling is not None:
        sample = f"these are the ranks of {table.sampling.num_ranked:,} of {table.sampling.num_triples:,} triples"
        raise MetricError(f"{sample}, and no framework estimates metrics. Use kgeval.summarize, or rank all triples.")
    rules = protocol_of(table) if protocol is None else find_protocol(protocol)
    if protocol is None and rules.name not in protocols():
        problem = f"these ranks follow the protocol {rules.name!r}, which no installed package has"
        cure = "Install its package, or give the protocol itself: framework_metrics(table, protocol=…)"
        raise ConfigError(f"{problem}. {cure}.")
    metrics = [*_applicable(rules, table)]
    by_protocol = {metric.name: rules.value(table, metric) for metric in metrics if not _is_general(metric)}
    values = _general_values(rules, table, [metric for metric in metrics if _is_general(metric)]) | by_protocol
    texts = {name: rules.texts.get(name, rules.text)(value) for name, value in values.items()}
    headline = {name: text for name, text in texts.items() if name in rules.headline or not rules.headline}
    notes, tie_notes = tuple(notes_on(rules, table)), tuple(notes_on_ties(rules, table))
    return FrameworkMetrics(rules.name, values, texts, notes, headline, tie_notes)


@dataclass(frozen=True, repr=False)
class FrameworkMetrics(Displayed):
    """Metrics as a framework prints them."""

    protocol: str
    values: dict[str, float]
    """by the framework's names"""
    texts: dict[str, str]
    """the same numbers in the framework's format"""
    notes: tuple[str, ...]
    """how the framework counts ties, repeated triples and answers that are not listed"""
    headline: dict[str, str]
    """the texts that the command line shows: the main metrics of a framework with many"""
    tie_notes: tuple[str, ...] = ()
    """the notes on ties, which are among ``notes`` too"""

    def __getitem__(self, name: str) -> float:
        refuse_unknown(f"{self.protocol} reports no", name, self.values, MetricError)
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def keys(self) -> KeysView[str]:
        """The framework's names of the metrics."""
        return self.values.keys()

    def items(self) -> ItemsView[str, float]:
        """The framework's names of the metrics, each with its number."""
        return self.values.items()

    def to_dict(self) -> dict[str, Any]:
        """Return the block of ``metrics.json``; an infinite number is text, since JSON has none."""
        values = {name: value if np.isfinite(value) else str(value) for name, value in self.values.items()}
        return {"name": self.protocol, "metrics": values, **in_json(self.notes)}

    def _brief(self) -> str:
        return f"{counted(len(self), 'metric')} as {self.protocol} prints them"

    def _parts(self) -> Parts:
        rows: list[list[Cell]] = [[name, Figure(self.values[name], text=text)] for name, text in self.texts.items()]
        return Parts([f"protocol {self.protocol}"], [Table(["metric", "value"], rows)], self.notes)

    def __str__(self) -> str:
        width = max(map(len, self.texts), default=0)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in self.texts.items())


def _is_general(metric: FrameworkMetric) -> bool:
    """Whether the metric's name has a tie policy, so that it does not depend on the protocol."""
    return parse(metric.metric).ties is not None


def _applicable(rules: Protocol, table: RankTable) -> Iterator[FrameworkMetric]:
    """Leave out sides and settings that were not evaluated, and k above the number of candidates if the rules do."""
    sides, most = {*table.column("side").astype(str)}, most_candidates(table)
    sides |= {"both"} if sides & {*SIDES} else set()
    for metric in rules.framework_metrics:
        evaluated = metric.side in sides and f"{PREFIXES[metric.setting]}greater" in table.columns
        evaluated &= metric.setting != "raw" or not table.knows_no_raw
        evaluated &= metric.setting != "filtered" or rules.second != "static" or table.times != "static"
        if evaluated and not (rules.hits_need_candidates and parse(metric.metric).k > most):
            yield metric


def _general_values(rules: Protocol, table: RankTable, metrics: Sequence[FrameworkMetric]) -> dict[str, float]:
    """Compute metrics by kgeval's own definitions; undefined ones are left out."""
    # A framework's metrics of both sides are those of all ranks, even if these have one side only.
    names = {metric.name: metric.metric.removeprefix("both.") for metric in metrics}
    if not rules.framework_metrics:
        names = {name: name for name in rules.metrics}
    summary = summarize(table, list(names.values()), ties=rules.ties)
    return {name: summary[metric] for name, metric in names.items() if metric in summary}


def notes_on(rules: Protocol, table: RankTable) -> Iterator[str]:
    """Say how a framework counts ranks below 1, ties, answers that are not listed, and repeated triples."""
    ranks = rules.ranks(table)
    if below_1 := int((ranks < 1).sum()):
        why = f"{rules.name} subtracts all known answers, also those that tie and were not counted"
        below = f" below 1: {why}. The mean reciprocal rank can be infinite."
        yield Note("ties", amount(below_1, "rank is", "ranks are"), below)
    yield from notes_on_ties(rules, table)
    if unlisted := int(np.isposinf(ranks).sum()):
        where = f"in the first {rules.cutoff} places of their list: {rules.name} counts their reciprocal rank as 0"
        yield Note("lists", f"{unlisted:,} of {len(table):,} answers are not {where}.")
    if names := [metric.name for metric in rules.framework_metrics if metric.from_zero]:
        yield Note("ties", f"{rules.name} counts {' and '.join(names)} from 0.")
    if layouts := [layout for layout, changes in rules.of_layout.items() if changes.get("split") == table.split]:
        where = f"in the layout {' and '.join(layouts)}"
        yield Note("files", f"{rules.name} ranks {table.split} as one split {where}. Test alone: --split test.")
    if rules.repeats == "each" and MULTIPLICITY in table.columns:
        yield Note("repeated", f"{rules.name} counts repeated triples each time.")


def notes_on_ties(rules: Protocol, table: RankTable) -> Iterator[str]:
    """Count the answers that tie, and say how the framework ranks them, if it has a rule of its own."""
    tied = table.column("tied")
    if rules.tie_note and tied.any():
        answers = tied_answers(int((tied > 0).sum()), len(tied), int(tied.max()))
        yield Note("ties", f"{answers}. {rules.tie_note}.")
