"""Blocks of a comparison, each a dataset or a group of its rows: values, differences, the order that tests support.

``Comparison.block`` makes one from summaries and tested differences; tables, notes and reports read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from kgeval.analysis.comparison.paired_difference import PairedDifference
from kgeval.base.tables.shown import Brief
from kgeval.metrics.labels.label_summary import LabelSummary
from kgeval.metrics.names import MetricName, Part
from kgeval.metrics.rank_summary import RankSummary
from kgeval.metrics.summary import Group, Value

TURNED = {"better": "worse", "worse": "better"}

MOST_EXCEPTIONS = 3
"""the most pairs that a line of order names in parentheses, beside what its signs say"""

ModelSummary = RankSummary | LabelSummary

SIGNS = {"better": ">", "worse": "<", "none": "≈", "": ","}


@dataclass(frozen=True, repr=False)
class Block(Brief):
    """The values and differences on a dataset, or on one of its groups of rows."""

    dataset: str
    group: Mapping[str, Any]
    """the values that the rows have in common, by column; empty for all rows"""
    models: Sequence[str]
    """all models of the comparison, in its order"""
    metrics: Sequence[MetricName]
    of_models: Mapping[str, Group]
    """the values of the models that ranked these rows"""
    pairs: Sequence[PairedDifference]
    """the tested difference of each pair of models"""
    pooled: Part | None
    """the side of metrics that name none; ``None`` for classifications"""
    reference: str | None = None
    """the model that all others were compared with; ``None`` if all pairs were"""

    @property
    def title(self) -> str:
        """The dataset and the group."""
        return " ".join([self.dataset, *map(str, self.group.values())])

    def _brief(self) -> str:
        return self.title

    @property
    def scores(self) -> dict[tuple[str, MetricName], Value]:
        """The values by model and metric, without those of models that were not ranked on the dataset."""
        return {(model, metric): self.value(model, metric) for model in self.of_models for metric in self.metrics}

    def pairs_by(self, metric: MetricName) -> list[PairedDifference]:
        """The differences of each two models by a metric."""
        return [pair for pair in self.pairs if pair.metric == metric.of_part(self.pooled)]

    def value(self, model: str, metric: MetricName) -> Value:
        """Look up a model's value of a metric; a value without a number if there is none.

        A metric without a side is the one over all sides that the model ranked.
        """
        records = self.of_models[model].records if model in self.of_models else {}
        if metric not in records and not metric.side:  # the first of its name is of all sides
            metric = next((name for name in records if name.base == metric.base), metric)
        return records.get(metric, Value(metric))

    def ranked(self, metric: MetricName) -> list[str]:
        """The models that have the metric, the best first."""
        sign = -1 if metric.metric.increasing else 1
        values = {model: self.value(model, metric).value for model in self.models}
        known = {model: value for model, value in values.items() if value is not None}
        return sorted(known, key=lambda model: sign * known[model])

    def seen(self, metric: MetricName, model: str, other: str) -> str:
        """The result of a test: ``better``, ``worse`` or ``none``; empty if nothing was tested."""
        for pair in self.pairs_by(metric):
            if {pair.model, pair.other} == {model, other}:
                return pair.seen if pair.model == model else TURNED.get(pair.seen, pair.seen)
        return ""

    def order(self, metric: MetricName) -> str:
        """Write the order of the models that the tests support; empty where nothing was tested."""
        models = self.ranked(metric)
        if not any(self.seen(metric, one, other) for one, other in combinations(models, 2)):
            return ""
        return order_of(models, lambda one, other: self.seen(metric, one, other))

    def marks(self, metric: MetricName) -> list[tuple[bool, bool]]:
        """Whether each model is the best, and whether its tested difference to the best is not significant.

        With a reference, only differences to the reference were tested, so that these are marked.
        """
        order = self.ranked(metric)
        if len(order) < 2:
            return [(False, False)] * len(self.models)
        best = self.value(order[0], metric).value
        against = self.reference or order[0]
        leads = {model: self.value(model, metric).value == best for model in self.models}
        near = {model: self.seen(metric, against, model) == "none" for model in self.models}
        equal = {model for model in self.models if leads[model] and leads.get(against)}
        return [(leads[model], near[model] and model not in equal) for model in self.models]


def order_of(models: Sequence[str], seen: Callable[[str, str], str]) -> str:
    """Write models, the best first, with a sign between neighbours.

    ``seen`` of two models is ``"better"`` (the first is significantly better: ``>``), ``"none"`` (no significant
    difference: ``≈``) or empty (not tested). A ``>`` between two models that are not neighbours means a significant
    difference too; pairs for which this does not hold follow in parentheses.

    >>> better = {("a", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")}
    >>> order_of("abcd", lambda one, other: "better" if (one, other) in better else "none")
    'a > b ≈ c > d'
    >>> better -= {("c", "d"), ("a", "c")}
    >>> order_of("abcd", lambda one, other: "better" if (one, other) in better else "none")
    'a > b ≈ c ≈ d (but a ≈ c, b > d)'
    """
    signs = [SIGNS[seen(one, other)] for one, other in pairwise(models)]
    line = models[0] if models else ""
    for sign, model in zip(signs, models[1:], strict=True):
        line += f"{'' if sign == ',' else ' '}{sign} {model}"
    unlike = []
    for first, second in combinations(range(len(models)), 2):
        between = signs[first:second]
        said = ">" if ">" in between else "," if "," in between else "≈"
        sign = SIGNS[seen(models[first], models[second])]
        if sign not in (said, ","):
            unlike.append(f"{models[first]} {sign} {models[second]}")
    if not unlike:
        return line
    further = f" and {len(unlike) - MOST_EXCEPTIONS} more pairs" if len(unlike) > MOST_EXCEPTIONS else ""
    return f"{line} (but {', '.join(unlike[:MOST_EXCEPTIONS])}{further})"
