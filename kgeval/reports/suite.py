"""The section of many graphs: a table of each metric with means over groups of graphs, and pictures of these.

``page.py`` calls :func:`suite_section` if a comparison has a suite, which is many datasets in groups; otherwise its own
table of datasets, for which it also takes :func:`cell_of` and :func:`panel_frame`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.analysis.comparison.block import Block
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.analysis.comparison.over_graphs import GraphMeans, graph_table, means_of, standings_of
from kgeval.base.tables.table import written
from kgeval.metrics.names import MetricName, title_of
from kgeval.reports.document import Section
from kgeval.reports.pictures import metric_panel, slice_panel
from kgeval.reports.study import row_of
from kgeval.reports.theme import PAGE, themed

if TYPE_CHECKING:
    import pandas as pd

LANES = 5, 36
"""pixels in the row of a graph: the least for one model, and about how many for all models"""


def suite_section(grid: Comparison) -> Section:
    """Lay out each metric: its table, a picture for each group of graphs, and one of the models on each graph."""
    import pandas as pd

    parts, charts = {}, dict[str, Any]()
    for metric in grid.metrics:
        title, means, table = title_of(metric), means_of(grid, metric, {}), graph_table(grid, metric, [{}], paper=True)
        frames = [panel_frame(grid, block, metric, title).assign(group=block.title) for block in grid.blocks]
        on_graphs = pd.concat(frames).assign(category=lambda frame: frame["group"], axis=title)
        pictures = {f"{title}|{mean.name}": _of_means(grid, mean, on_graphs) for mean in means}
        look: Any = {"lane": max(LANES[0], LANES[1] // len(grid.models)), "legend": PAGE.legend(list(grid.models), 800)}
        pictures[title] = slice_panel(on_graphs, PAGE, baselines=grid.baselines, width="container", **look)
        charts |= {name: themed(chart, PAGE) for name, chart in pictures.items()}
        rows, count = [[str(label), *map(cell_of, cells)] for label, *cells in table.rows], len(grid.datasets)
        words = dict(zip(pictures, [*(mean.label for mean in means), "each graph"], strict=True))
        parts[title] = {"columns": table.columns, "rows": [rows[:count], rows[count:]], "charts": words}
    content = {"parts": parts, "standings": [*standings_of(grid, paper=True)], "notes": grid.notes}
    return Section("grid", "Results", "Results over graphs", content, charts, file="suite")


def cell_of(figure: Any) -> dict[str, Any]:
    """Lay out a number for a template: how it is written, whether it is the best, and by what it is sorted."""
    value = "–" if figure.value is None else written(figure)
    return {"value": value, "best": figure.best, "sort": "" if figure.value is None else repr(float(figure.value))}


def panel_frame(grid: Comparison, block: Block, metric: MetricName, title: str) -> pd.DataFrame:
    """The frame of ``metric_panel``: for each model the mean, its spread as whiskers, and a dot for each seed."""
    import pandas as pd

    rows = []
    for model in grid.models:
        if (score := block.scores.get((model, metric))) is not None:
            about = {"model": model, "title": f"{block.title}: {title}", "chance": float("nan")}
            rows.append({**about, "baseline": model in grid.baselines, **row_of(score, grid.spread or "interval")})
    return pd.DataFrame(rows)


def _of_means(grid: Comparison, means: GraphMeans, on_graphs: pd.DataFrame) -> Any:
    """Draw the mean of each model, with its interval over graphs, and a dot for each graph."""
    import pandas as pd

    rows = []
    for mean in means.values:
        of_model = on_graphs[(on_graphs["model"] == mean.model) & on_graphs["group"].isin(means.graphs)]
        about = {"model": mean.model, "title": title_of(mean.metric), "chance": np.nan}
        dots = {"seeds": of_model["value"].tolist(), "graphs": of_model["group"].tolist()}
        rows.append({**about, "baseline": mean.model in grid.baselines, **row_of(mean, "interval"), **dots})
    return metric_panel(pd.DataFrame(rows), PAGE, width="container")
