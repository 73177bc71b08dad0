"""Over graphs: a comparison on many datasets with these as rows, below them means over groups of graphs, and ranks.

``Comparison`` shows these tables if it has a ``suite``: groups of datasets by name, from a configuration; a dataset,
here called graph, may be in several groups. A mean counts each graph once. It leaves out graphs on which a model has no
value, so that all models are averaged over the same graphs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, TypeVar

from kgeval.analysis.comparison.dataset_ranks import FEWEST_MODELS, DatasetRanks, rank_models
from kgeval.base.collected_notes import MOST_DATASETS, MOST_NAMED
from kgeval.base.errors import counted, first_few
from kgeval.base.notes import Example, Note
from kgeval.base.tables.table import Cell, Figure, Table
from kgeval.metrics.intervals.interval import FEWEST_DECIMALS
from kgeval.metrics.intervals.over_graphs import mean_over_graphs
from kgeval.metrics.names import MetricName, title_of
from kgeval.metrics.rank_summary import shared_columns
from kgeval.metrics.summary import Value

if TYPE_CHECKING:
    from kgeval.analysis.comparison.comparison import Comparison

OfGraph = TypeVar("OfGraph")

ALL = "all"
"""the group that every graph is in"""


def suite_of(groups: Mapping[str, Sequence[str]], datasets: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Complete the groups of graphs, so that one group has every graph; empty if datasets are to be columns.

    Datasets are columns if there is only one or, without groups, if there are few.
    """
    if len(datasets) <= (1 if groups else MOST_DATASETS):
        return {}
    every = tuple(dict.fromkeys([*datasets, *(graph for graphs in groups.values() for graph in graphs)]))
    suite = {name: tuple(dict.fromkeys(graphs)) for name, graphs in groups.items() if name != ALL}
    return suite if any({*graphs} == {*every} for graphs in suite.values()) else {**suite, ALL: every}


def as_in_suite(by_graph: Mapping[str, OfGraph], groups: Mapping[str, Sequence[str]]) -> dict[str, OfGraph]:
    """Put graphs in the order in which a configuration names them; graphs that it does not name follow.

    >>> as_in_suite({"B": 1, "C": 2, "A": 3}, {"all": ["A", "B"]})
    {'A': 3, 'B': 1, 'C': 2}
    """
    names = dict.fromkeys([*groups.get(ALL, ()), *by_graph])
    return {name: by_graph[name] for name in names if name in by_graph}


@dataclass(frozen=True)
class GraphMeans:
    """The means of a metric over a group of graphs, one for each model."""

    name: str
    """the name of the group"""
    planned: Sequence[str]
    """the graphs of the group"""
    graphs: Sequence[str]
    """the graphs of the group on which every model has a value"""
    values: Sequence[Value]
    """the mean of each model, in the order of the comparison"""

    @property
    def label(self) -> str:
        """What the row of the means is called."""
        some = f"{len(self.graphs)} of " if len(self.graphs) < len(self.planned) else ""
        return f"mean of {self.name} ({some}{counted(len(self.planned), 'graph')})"

    @property
    def figures(self) -> list[Figure]:
        """The means; the digits do not depend on the interval, since papers compare means over the same graphs."""
        known = [mean.value for mean in self.values if mean.value is not None]
        best = (max if self.values[0].metric.metric.increasing else min)(known) if len(known) > 1 else math.nan
        return [Figure(mean.value, mean.interval, FEWEST_DECIMALS, best=mean.value == best) for mean in self.values]


def complete_values(compared: Comparison, metric: MetricName, group: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Look up a metric on a group of rows of each graph on which all models have it: {graph: {model: value}}."""
    values: dict[str, dict[str, Any]] = {}
    for dataset in compared.datasets:
        block = compared.block(dataset, group)
        values[dataset] = {model: block.value(model, metric).value for model in compared.models}
    return {dataset: of_models for dataset, of_models in values.items() if None not in of_models.values()}


def means_of(compared: Comparison, metric: MetricName, group: Mapping[str, Any]) -> list[GraphMeans]:
    """Compute the means of a metric over each group of graphs, on a group of rows; none if it measures no quality."""
    if metric.metric.increasing is None:
        return []
    complete, means, level = complete_values(compared, metric, group), [], compared.options.level
    for name, planned in compared.suite.items():
        graphs, values = [graph for graph in planned if graph in complete], []
        for model in compared.models:
            mean = mean_over_graphs(metric, [complete[graph][model] for graph in graphs], level=level)
            values.append(mean._replace(dataset=name, group=group, model=model))
        means.append(GraphMeans(name, planned, graphs, values))
    return means


def graph_table(
    compared: Comparison, metric: MetricName, groups: Sequence[Mapping[str, Any]], *, paper: bool = False
) -> Table:
    """Lay out a metric: a row for each graph, then the means over groups of graphs; a column for each model."""
    rows: list[list[Cell]] = []
    columns = {dataset: compared.figures(dataset, metric, groups, paper=paper) for dataset in compared.datasets}
    for place, group in enumerate(groups):
        key, count = [*map(str, group.values())], len(compared.models)
        models = slice(place * count, (place + 1) * count)
        rows += [[*key, dataset, *figures[models]] for dataset, figures in columns.items()]
        rows += [[*key, means.label, *means.figures] for means in means_of(compared, metric, group)]
    keys = [name.capitalize() if paper else name for name in (*(groups[0] if groups else compared.by), "graph")]
    title = title_of(metric) if paper else f"{metric.column}:"
    return Table([*keys, *compared.models], rows, len(keys), title=title)


def ranks_over_graphs(compared: Comparison) -> list[tuple[MetricName, DatasetRanks]]:
    """Rank the models on the graphs on which all have a value, by the first metric that measures quality.

    There are no ranks of fewer than three models or two graphs.
    """
    for metric in compared.metrics:
        complete, increasing = complete_values(compared, metric, {}), metric.metric.increasing
        if increasing is not None and len(compared.models) >= FEWEST_MODELS and len(complete) > 1:
            level, reference = compared.options.level, compared.options.reference
            return [(metric, rank_models(complete, increasing=increasing, level=level, reference=reference))]
    return []


def tables_over_graphs(compared: Comparison, *, paper: bool = False) -> list[Table]:
    """Lay out each metric, then the ranks over all graphs."""
    parts = product(compared.parts_of_rows(), shared_columns(compared.every.values(), compared.by))
    tables = [graph_table(compared, metric, groups, paper=paper) for groups, metric in parts]
    return [*tables, *standings_of(compared, paper=paper)]


def standings_of(compared: Comparison, *, paper: bool = False) -> Iterator[Table]:
    """Lay out the ranks over all graphs, if there are any."""
    for metric, ranks in ranks_over_graphs(compared):
        title = f"ranks over {len(ranks.datasets)} graphs by {title_of(metric) if paper else f'{metric.column}:'}"
        yield replace(ranks.standings, title=title, item="")


def notes_over_graphs(compared: Comparison) -> Iterator[str]:
    """Say what the means over graphs are, which graphs they leave out and why, and how ranks were tested."""
    group = next(chain.from_iterable(compared.parts_of_rows()), {})
    means = [mean for metric in compared.metrics for mean in means_of(compared, metric, group)]
    if not means:
        return
    level, has_ends = f"{100 * compared.options.level:g} %", any(one.interval for mean in means for one in mean.values)
    ends = f" ± the {level} interval over graphs (Student's, as if they were a random sample)" if has_ends else ""
    yield Note("terms", f"means count each graph once{ends}; they are not tested.")
    if missing := dict.fromkeys(graph for mean in means for graph in mean.planned if graph not in mean.graphs):
        reasons = [f"{graph} ({_models_without(compared, graph, group)})" for graph in missing]
        graphs = Example(f": {first_few(reasons, MOST_NAMED)}")
        yield Note("left-out", "means leave out the graphs on which a model has no value", graphs, ".")
    yield from (note for _, ranks in ranks_over_graphs(compared) for note in ranks.notes)


def _models_without(compared: Comparison, graph: str, group: Mapping[str, Any]) -> str:
    """Name the models that were not run on a graph, or for which a metric is undefined there."""
    if graph not in compared.summaries:
        return "left out" if graph in compared.remarks_on else "no run"
    records = product(compared.models, compared.metrics)
    block = compared.block(graph, group)
    return ", ".join(dict.fromkeys(model for model, metric in records if block.value(model, metric).value is None))


def long_table(compared: Comparison) -> Table:
    """Lay out all numbers for CSV: the rows of all metrics in one table."""
    parts = product(compared.parts_of_rows(), shared_columns(compared.every.values(), compared.by))
    rows = [[metric.column, *row] for groups, metric in parts for row in graph_table(compared, metric, groups).rows]
    return Table(["metric", *compared.by, "graph", *compared.models], rows, len(compared.by) + 2)


def to_plain_data(compared: Comparison) -> dict[str, Any]:
    """Return the means over graphs, each with the graphs that it is of, and the ranks over graphs."""
    parts = product(chain.from_iterable(compared.parts_of_rows()), compared.metrics)
    means = (mean for group, metric in parts for mean in means_of(compared, metric, group))
    records = [{"graphs": [*mean.graphs], **value.to_dict()} for mean in means for value in mean.values]
    ranks = {metric.column: of_metric.to_dict() for metric, of_metric in ranks_over_graphs(compared)}
    return {"means": records, "ranks": ranks}
