"""The values and differences of compared models, block by block, and the order of the models that tests support.

A block is a dataset, or a group of its rows. A ``Comparison`` is :class:`ComparedModels` with words, tables and plain
data, which are read from its blocks, as those of a report are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

from kgeval.analysis.comparison.paired_difference import DEFAULT_DIFFERENCES, DifferenceOptions, PairedDifference
from kgeval.base.tables.shown import Brief
from kgeval.base.tables.table import Figure
from kgeval.metrics.labels.label_summary import LabelSummary
from kgeval.metrics.names import MetricName, Part
from kgeval.metrics.rank_summary import RankSummary, common_ties_of
from kgeval.metrics.summary import Group, Spread, Value

TURNED = {"better": "worse", "worse": "better"}

MOST_EXCEPTIONS = 3
"""pairs that a line names, beside what its signs say"""

ModelSummary = RankSummary | LabelSummary

SIGNS = {"better": ">", "worse": "<", "none": "≈", "": ","}


@dataclass(frozen=True, repr=False)
class ComparedModels:
    """Summaries of several models on one dataset or more, and their differences, by dataset, model and group."""

    summaries: Mapping[str, Mapping[str, ModelSummary]]
    """{dataset: {model: summary}}; of several seeds, the means over them"""
    remarks_on: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """by dataset: how the models' ranks differ, if their metrics do not compare, or may not"""
    pairs: tuple[PairedDifference, ...] = ()
    """a difference for each pair, metric, group of rows and dataset; empty if the models rank different rows"""
    options: DifferenceOptions = DEFAULT_DIFFERENCES
    """the options of the tests"""
    spread: Spread | None = None
    """what follows ± a mean over seeds; ``None`` if each model has one run on one dataset"""
    baselines: frozenset[str] = frozenset()
    """the models without random training, which need no seeds"""
    suite: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """groups of datasets by name, over which means are shown; datasets are then rows. Empty for few datasets"""

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The names of the datasets."""
        return tuple(self.summaries)

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        fullest_first = sorted(self.summaries.values(), key=len, reverse=True)
        return tuple(dict.fromkeys(model for models in fullest_first for model in models))

    @property
    def by(self) -> tuple[str, ...]:
        """The columns whose values make the groups."""
        return self.first.by

    @property
    def ties(self) -> str:
        """The name of the tie policy of all metrics that name none."""
        return common_ties_of(self.every.values())

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metrics as they were requested."""
        return tuple(dict.fromkeys(self.first.requested))

    @property
    def records(self) -> tuple[Value, ...]:
        """All values, each with its dataset, group and model."""
        every = self.every.items()
        return tuple(
            value._replace(dataset=dataset, model=model) for (dataset, model), one in every for value in one.records
        )

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Each dataset, and each group of its rows."""
        places = dict.fromkeys((dataset, group) for dataset, _, group in self.groups)
        return tuple(self.block(dataset, dict(group)) for dataset, group in places)

    def block(self, dataset: str, group: Mapping[str, Any]) -> Block:
        """Return the values and differences of the rows of a group of a dataset."""
        models, key = self.summaries[dataset], tuple(group.items())
        groups = {model: self.groups.get((dataset, model, key)) for model in models}
        of_models = {model: values for model, values in groups.items() if values is not None}
        pairs = self._pairs.get((dataset, key), [])
        pooled = next(iter(models.values())).pooled
        return Block(dataset, group, self.models, self.metrics, of_models, pairs, pooled, self.options.reference)

    def parts_of_rows(self) -> list[list[Mapping[str, Any]]]:
        """Return the groups of each table of numbers: all rows as a whole, then the groups of rows."""
        keys: list[Mapping[str, Any]] = [dict(group) for group in dict.fromkeys(place[2] for place in self.groups)]
        parts = [[key for key in keys if bool(key) == of_groups] for of_groups in (False, True)]
        return [part for part in parts if part] or [[]]

    def figures(
        self, dataset: str, metric: MetricName, groups: Sequence[Mapping[str, Any]], *, paper: bool
    ) -> list[Figure]:
        """The numbers of a column: in papers and of seeds with the digits that its spreads and differences justify."""
        blocks = [self.block(dataset, group) for group in groups]
        values = [block.value(model, metric) for block in blocks for model in self.models]
        if not paper and self.spread is None:
            return [value.figure for value in values]
        ends = [value.ends(self.spread or "interval") for value in values]
        decimals = [one.decimals for one in ends if one is not None]
        decimals += [pair.decimals for block in blocks for pair in block.pairs_by(metric) if pair.interval]
        digits = min(decimals, default=None)
        figures = [Figure(value.value, end, digits) for value, end in zip(values, ends, strict=True)]
        if not paper or metric.metric.increasing is None:
            return figures
        marks = [mark for block in blocks for mark in block.marks(metric)]
        return [figure._replace(best=best, near=near) for figure, (best, near) in zip(figures, marks, strict=True)]

    @cached_property
    def every(self) -> dict[tuple[str, str], ModelSummary]:
        """The summaries, by dataset and model."""
        summaries = self.summaries.items()
        return {(dataset, model): summary for dataset, models in summaries for model, summary in models.items()}

    @property
    def first(self) -> ModelSummary:
        """The summary of the first model on the first dataset."""
        return next(iter(self.every.values()))

    @cached_property
    def groups(self) -> dict[tuple[str, str, tuple[Any, ...]], Group]:
        """The values of each group of rows, by dataset, model and the items of its key."""
        every = self.every.items()
        return {(*place, tuple(group.key.items())): group for place, summary in every for group in summary.groups}

    @cached_property
    def _pairs(self) -> dict[tuple[str, tuple[Any, ...]], list[PairedDifference]]:
        pairs: dict[tuple[str, tuple[Any, ...]], list[PairedDifference]] = {}
        for pair in self.pairs:
            pairs.setdefault((pair.dataset, tuple(pair.group.items())), []).append(pair)
        return pairs


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
    """the differences of each two models"""
    pooled: Part | None
    """the side of metrics that name none; ``None`` of labels"""
    reference: str | None = None
    """the model that all others were compared with"""

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
        """Look a value up; one without a number where there is none.

        A metric without a side is of all sides that the model ranked.
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

        With a reference, only differences to that were tested, so that these are marked.
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
