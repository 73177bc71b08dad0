"""``kgeval.framework_metrics``: the numbers of a rank table as its framework prints them."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Summary
from kgeval.metrics.tables.names import parse
from kgeval.protocols.framework_metric import COUNTS, FrameworkMetric
from kgeval.protocols.protocol import Protocol, find_protocol, protocol_of
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.table_rows import MULTIPLICITY


@dataclass(frozen=True)
class FrameworkMetrics:
    """What a framework would print."""

    protocol: str
    values: dict[str, float]
    """under the framework's names"""
    texts: dict[str, str]
    """the same numbers, as the framework prints them"""
    notes: tuple[str, ...]
    """what the framework makes of ties, repeated triples and answers that are not listed"""
    headline: dict[str, str]
    """the texts that people are shown: the framework's best known numbers, where all would be too many"""

    def __getitem__(self, name: str) -> float:
        if name not in self.values:
            raise MetricError(f"{self.protocol} reports no {name!r}. {did_you_mean(name, self.values)}".strip())
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def keys(self) -> KeysView[str]:
        """The framework's names, so that ``dict`` takes the whole."""
        return self.values.keys()

    def items(self) -> ItemsView[str, float]:
        """The framework's names, each with its number."""
        return self.values.items()

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in ``metrics.json``; an infinite number is text there, since JSON has none."""
        values = {name: value if np.isfinite(value) else str(value) for name, value in self.values.items()}
        return {"name": self.protocol, "metrics": values, "notes": list(self.notes)}

    def __str__(self) -> str:
        width = max(map(len, self.texts), default=0)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in self.texts.items())


def framework_metrics(table: RankTable, *, protocol: str | Protocol | None = None) -> FrameworkMetrics:
    """Compute what the framework by whose protocol a table was ranked would print.

    Parameters
    ----------
    table
        the ranks, as ``kgeval.evaluate(…, protocol="libkge")`` returns them
    protocol
        the protocol that they were ranked by, if its name is none of ``kgeval list protocols``; by default the table
        says it

    Raises
    ------
    ConfigError
        if there is no such protocol
    MetricError
        if there are no ranks

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
    rules = protocol_of(table) if protocol is None else find_protocol(protocol)
    own = {printed.name: rules.value(table, printed) for printed in _reported(rules, table) if not _is_general(printed)}
    values = _general(rules, table) | own
    formats = {printed.name: printed.text for printed in rules.framework_metrics if printed.text}
    texts = {name: formats.get(name, rules.text)(value) for name, value in values.items()}
    headline = {name: text for name, text in texts.items() if name in rules.headline or not rules.headline}
    return FrameworkMetrics(rules.name, values, texts, tuple(notes_on(rules, table)), headline)


def _is_general(printed: FrameworkMetric) -> bool:
    """Whether its name states the tie policy, so that the protocol has no say in it."""
    return parse(printed.metric).ties is not None


def _reported(rules: Protocol, table: RankTable) -> Iterator[FrameworkMetric]:
    """Leave out sides and settings that were not evaluated, and, where the framework does, k above the candidates."""
    sides, most = {"both", *table.column("side").astype(str)}, table.column("raw_candidates").max(initial=0)
    for printed in rules.framework_metrics:
        there = printed.side in sides and f"{COUNTS[printed.setting]}greater" in table.columns
        if there and not (printed.drop_k_above_candidates and parse(printed.metric).k > most):
            yield printed


def _general(rules: Protocol, table: RankTable) -> dict[str, float]:
    """Compute metrics by kgeval's own definitions; those that are undefined are left out."""
    wanted = {printed.name: printed.metric for printed in _reported(rules, table) if _is_general(printed)}
    if not rules.framework_metrics:
        wanted = {name: name for name in rules.metrics}
    summary = summarize(table, list(wanted.values()), ties=rules.ties)
    found = {name: _look_up(summary, metric) for name, metric in wanted.items()}
    return {name: value for name, value in found.items() if value is not None}


def _look_up(summary: Summary, metric: str) -> float | None:
    try:
        return summary[metric]
    except MetricError:
        return None


def notes_on(rules: Protocol, table: RankTable) -> Iterator[str]:
    """Say what a framework makes of ties, repeated triples, answers that are not listed, and ranks below 1."""
    tied = table.column("tied")
    if rules.tie_note and tied.any():
        most = f"{(tied > 0).sum()} of {len(tied)} answers tie, with up to {tied.max()} candidates"
        yield f"{most}. {rules.tie_note}."
    if rules.repeats == "each" and MULTIPLICITY in table.columns:
        yield f"repeated triples count as often as they stand, as {rules.name} counts them."
    ranks = rules.ranks(table)
    if missed := int(np.isposinf(ranks).sum()):
        where = f"listed, or not among the first {rules.cutoff} of their lists"
        yield f"{missed} of {len(table)} answers were not {where}: {rules.name} counts 0 for their reciprocal ranks."
    if nothing := int((ranks < 1).sum()):
        yield (
            f"{nothing} ranks are below 1: {rules.name} subtracts known answers that tie, the answer itself among "
            "them, without having counted them. A mean reciprocal rank is then infinite."
        )
