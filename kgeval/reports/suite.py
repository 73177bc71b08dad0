"""The section of many graphs: a table of each metric with means over groups of graphs, and pictures of these.

``page.py`` shows it in place of the grid where a comparison has a suite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.analysis.comparison.comparison import Comparison
from kgeval.analysis.comparison.over_graphs import GraphMeans, graph_table, means_of, standings_of
from kgeval.base.tables.table import Cell, Figure, written
from kgeval.metrics.names import MetricName, title_of
from kgeval.reports.document import Section
from kgeval.reports.pictures import metric_panel, slice_panel
from kgeval.reports.study import row_of
from kgeval.reports.theme import PAGE, themed

if TYPE_CHECKING:
    import pandas as pd

LANES = 5, 36
"""pixels for a graph: at least for each model, and about for all of them"""


def suite_section(grid: Comparison) -> Section:
    """Lay out each metric: its table, a picture for each group of graphs, and one of the models on each graph."""
    parts, charts = {}, dict[str, Any]()
    for metric in grid.metrics:
        title, means = title_of(metric), means_of(grid, metric, {})
        pictures = {f"{title}|{mean.name}": (_of_means(grid, metric, mean), mean.label) for mean in means}
        pictures[title] = (_of_graphs(grid, metric), "each graph")
        charts |= {name: themed(chart, PAGE) for name, (chart, _) in pictures.items()}
        table, count = graph_table(grid, metric, [{}], paper=True), len(grid.datasets)
        rows = [(str(label), [_cell(cell) for cell in cells]) for label, *cells in table.rows]
        parts[title] = {
            "columns": table.columns,
            "rows": [rows[:count], rows[count:]],
            "charts": {name: words for name, (_, words) in pictures.items()},
        }
    standings = [
        {"title": table.title, "columns": table.columns, "rows": table.texts()}
        for table in standings_of(grid, paper=True)
    ]
    content = {"parts": parts, "standings": standings, "notes": grid.notes}
    return Section("grid", "Results", "Results over graphs", content, charts, file="suite")


def _cell(cell: Cell) -> dict[str, Any]:
    undefined = isinstance(cell, Figure) and cell.value is None
    return {"value": "–" if undefined else written(cell), "best": isinstance(cell, Figure) and cell.best}


def _of_means(grid: Comparison, metric: MetricName, mean: GraphMeans) -> Any:
    """Draw the mean of each model, with its interval over graphs, and a dot for each graph."""
    import pandas as pd

    rows = []
    for value in mean.values:
        on_graphs = [grid.block(graph, {}).value(value.model, metric).value for graph in mean.graphs]
        about = {"model": value.model, "title": title_of(metric), "chance": np.nan}
        dots = {"seeds": on_graphs, "graphs": list(mean.graphs)}
        rows.append({**about, "baseline": value.model in grid.baselines, **row_of(value, "interval"), **dots})
    return metric_panel(pd.DataFrame(rows), PAGE, width="container")


def _of_graphs(grid: Comparison, metric: MetricName) -> Any:
    """Draw a row for each graph with a mark for each model."""
    import pandas as pd

    rows = [
        {"category": graph, "group": graph, "model": model, "axis": title_of(metric)}
        | row_of(grid.block(graph, {}).value(model, metric), grid.spread or "sd")
        for graph in grid.datasets
        for model in grid.models
    ]
    legend = PAGE.legend(list(grid.models), 800)
    frame: pd.DataFrame = pd.DataFrame(rows)
    return slice_panel(
        frame,
        PAGE,
        baselines=grid.baselines,
        width="container",
        lane=max(LANES[0], LANES[1] // len(grid.models)),
        legend=legend,
    )
