"""The page of several datasets: one table, a switch for dataset and metric, and the order that the tests support."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kgeval.analysis.comparison.block import Block
from kgeval.analysis.comparison.compare import compare_grid
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.base.tables.table import Figure, written
from kgeval.metrics.intervals.interval import Unit
from kgeval.metrics.names import MetricName, short_title, title_of
from kgeval.metrics.ranks.ties import Ties, common_ties
from kgeval.reports.document import Section, document, models_in_words
from kgeval.reports.pictures import metric_panel
from kgeval.reports.reading import EvaluatedModel, read_dataset
from kgeval.reports.study import HEADLINES, row_of, study_of
from kgeval.reports.theme import PAGE, themed
from kgeval.reports.trust import making, trust

if TYPE_CHECKING:
    import pandas as pd


def by_dataset(models: Sequence[EvaluatedModel]) -> dict[str, list[EvaluatedModel]]:
    """Sort models by the dataset that they ranked."""
    found: dict[str, list[EvaluatedModel]] = {}
    for model in models:
        found.setdefault(model.table.dataset, []).append(model)
    return found


def render_grid(
    datasets: Mapping[str, Sequence[EvaluatedModel]],
    *,
    intervals: Unit,
    ties: Ties | None,
    allow: str | Collection[str],
) -> tuple[str, str]:
    """Make the page and its title; single triples are on the page of each dataset."""
    policy = ties or common_ties(model.ties for models in datasets.values() for model in models)
    results = {name: {model.name: [run.table for run in model.runs] for model in own} for name, own in datasets.items()}
    baselines = {model.name for own in datasets.values() for model in own if model.baseline}
    options: dict[str, Any] = {"intervals": intervals, "ties": policy, "allow": allow}
    grid = compare_grid(results, HEADLINES, baselines=baselines, **options)
    sections = []
    for place, (name, models) in enumerate(datasets.items()):
        study = study_of(models, read_dataset(models), **options)
        for one in (trust(study), making(study)):
            title = f"{name}: {one.title}"
            sections.append(
                Section(f"{one.anchor}-{place}", f"{one.name}: {name}", title, one.content, file=one.anchor)
            )
    return grid_document(grid, sections), _title(grid)


def _title(grid: Comparison) -> str:
    return f"{models_in_words(grid.models, grid.baselines)} on {', '.join(grid.datasets)}"


def grid_document(grid: Comparison, further: Sequence[Section] = ()) -> str:
    """Write a page of the table, its orders and charts, and further sections."""
    results = _results(grid)
    return document(
        "page.html.j2",
        scripts=("theme.js", "charts.js", "leaderboard.js", "grid.js"),
        data={"charts": {name: chart.to_dict() for name, chart in results.charts.items()}},
        title=_title(grid),
        about=grid.heads[0],
        sections=[results, *further],
    )


def _results(grid: Comparison) -> Section:
    """Lay out the table, the orders and a chart for each dataset and metric."""
    titles = {metric: title_of(metric) for metric in grid.metrics}
    columns = [(block, metric) for block in grid.blocks for metric in grid.metrics]
    figures = [grid.figures(block.dataset, metric, [block.group], paper=True) for block, metric in columns]
    content = {
        "datasets": [block.title for block in grid.blocks],
        "metrics": list(titles.values()),
        "columns": [(block.title, titles[metric]) for block, metric in columns],
        "rows": [
            {"model": model, "baseline": model in grid.baselines, "cells": [_cell(cell) for cell in cells]}
            for model, *cells in zip(grid.models, *figures, strict=True)
        ],
        "orders": [
            (block.title, titles[metric], short_title(metric), order)
            for block, metric in columns
            if (order := block.order(metric))
        ],
        "notes": grid.notes,
    }
    charts = {
        f"{block.title}|{titles[metric]}": themed(
            metric_panel(_panel_frame(grid, block, metric, titles[metric]), PAGE, width="container"), PAGE
        )
        for block, metric in columns
    }
    return Section("grid", "Results", "Results over datasets", content, charts)


def _cell(figure: Figure) -> dict[str, Any]:
    value = "–" if figure.value is None else written(figure)
    return {"value": value, "best": figure.best, "sort": "" if figure.value is None else repr(float(figure.value))}


def _panel_frame(grid: Comparison, block: Block, metric: MetricName, title: str) -> pd.DataFrame:
    """The rows of a chart: a mean with its standard deviation as whiskers, and a dot for each seed."""
    import pandas as pd

    rows = []
    for model in grid.models:
        if (score := block.scores.get((model, metric))) is not None:
            about = {"model": model, "title": f"{block.title}: {title}", "chance": float("nan")}
            rows.append({**about, "baseline": model in grid.baselines, **row_of(score, grid.spread or "interval")})
    return pd.DataFrame(rows)
