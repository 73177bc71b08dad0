"""The page: ``kgeval.report`` makes one HTML file of runs of one dataset, of several, or of classifications.

The sections of a page of one dataset are the functions in ``SECTIONS``. Several datasets, here called a grid, make one
table with charts (:func:`render_grid`); a suite is a grid of many datasets in groups. Called by ``kgeval report``,
``kgeval run`` and the user.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgeval.analysis.comparison.compare import compare
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.analysis.comparison.over_graphs import as_in_suite
from kgeval.base.errors import InputError, MetricError, counted
from kgeval.base.progress import long_loop
from kgeval.base.storage import write_text
from kgeval.base.tables.shown import Brief
from kgeval.data.dataset import Dataset
from kgeval.data.loading import Source, as_dataset
from kgeval.data.provenance import UNKNOWN
from kgeval.metrics.intervals.interval import Unit
from kgeval.metrics.names import short_title, title_of
from kgeval.metrics.ranks.ties import Ties, common_ties, tie_policy
from kgeval.reports.document import Section, common_provenance, document, isolated, models_in_words, unvalidated
from kgeval.reports.evaluated_models import (
    Classified,
    EvaluatedModel,
    Runs,
    look,
    notes_on_ties,
    read_classifications,
    read_dataset,
    read_models,
    seed_of,
)
from kgeval.reports.origins import cumulative, origins, triple_table
from kgeval.reports.pictures import CURVES, curves_chart, metric_panel
from kgeval.reports.standings import standings
from kgeval.reports.study import HEADLINES, Study, curve_points, in_order, study_of
from kgeval.reports.suite import cell_of, panel_frame, suite_section
from kgeval.reports.theme import PAGE, themed
from kgeval.reports.trust import making, trust
from kgeval.stored.folders import notes_on, suite_around

if TYPE_CHECKING:
    from kgeval.metrics.labels.label_summary import LabelSummary


def report(
    runs: Runs,
    *,
    dataset: Dataset | Source | None = None,
    intervals: Unit = "triple",
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
) -> Report:
    """Make a page of runs: leaderboard, checks, slices, ranks, every test triple, and how the runs were made.

    Runs of several datasets make a page of one table, with a switch for dataset and metric. Runs of classifications
    make a page of their metrics and curves.

    No model is loaded: the page needs the files of the runs and, for checks and slices, their dataset.

    Parameters
    ----------
    runs
        a run directory, a folder of several, a ``.parquet`` file of ranks or a rank table; or several of them, in a
        list or by the names that the page calls them
    dataset
        the graph, or its folder or PyKEEN name; by default the one that the runs name, if it is still the same
    intervals
        the unit that intervals and tests resample, as :func:`kgeval.compare` takes it: ``"triple"``, ``"query"``,
        ``"relation"`` or ``"time"``
    ties
        the tie policy; by default that of the first run
    allow
        how the runs may differ, as :func:`kgeval.compare` takes it

    Raises
    ------
    InputError
        if there are no runs, if one cannot be read, or if a library of the extra ``kgeval[report]`` is not installed
    MetricError
        if the runs did not rank the same triples in the same way, with what differs

    Examples
    --------
    >>> import kgeval
    >>> table = kgeval.evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> page = kgeval.report({"remainder": table})
    >>> page.html.count("<!doctype html>")
    1
    """
    places = look(runs)
    if classified := read_classifications(places, intervals):
        if dataset is not None or ties is not None or allow:
            raise InputError("dataset, ties and allow are for ranks, and classifications have none. Leave them out.")
        return _of_classifications(classified, intervals, notes_on(places))
    dataset = None if dataset is None else as_dataset(dataset)
    models = read_models(places, dataset)
    datasets: dict[str, list[EvaluatedModel]] = {}
    for model in models:
        datasets.setdefault(model.table.dataset, []).append(model)
    if len(datasets) > 1 and dataset is None and "dataset" not in allow:
        return Report(*render_grid(datasets, notes_on(places), intervals=intervals, ties=ties, allow=allow))
    study = study_of(models, dataset, intervals=intervals, ties=ties, allow=allow)
    return Report(render(study), _title(study))


@dataclass(repr=False)
class Report(Brief):
    """A page of one file, which needs no network."""

    html: str
    title: str = ""
    path: Path | None = None
    """the file to which it was saved last"""

    def save(self, path: str | Path) -> None:
        """Write the page; a failed write leaves nothing under that name."""
        write_text(Path(path), self.html)
        self.path = Path(path)

    def _brief(self) -> str:
        saved = "" if self.path is None else f", saved as {self.path}"
        return f"{self.title}: a page of {len(self.html) / 1e6:.1f} MB{saved}"

    def _repr_html_(self) -> str:
        """Show the page in a frame, whose scripts see nothing of the notebook."""
        place = escape(str(self.path))
        saved = 'To write a file: <code>.save("report.html")</code>'
        saved = saved if self.path is None else f'Saved as <a href="{place}" target="_blank">{place}</a>'
        look = "box-sizing:border-box;width:100%;height:40rem;border:1px solid #8888;border-radius:6px"
        frame = f'<iframe sandbox="allow-scripts" title="{escape(self.title)}" style="{look}" srcdoc="'
        return f'<p>{escape(self.title)}. {saved}.</p>{frame}{escape(self.html)}"></iframe>'


SECTIONS = (standings, trust, origins, cumulative, triple_table, making)
"""the sections of a page of one dataset, in order: functions from ``Study`` to ``Section``"""


def render(study: Study) -> str:
    """Make the page of one dataset."""
    sections = []
    with long_loop("building the page", len(SECTIONS), unit="sections") as report, unvalidated():
        for make in SECTIONS:
            sections.append(make(study))
            report(1)
    policy = tie_policy(study.ties)
    seed = f" (seed {study.seed})" if policy.random else ""
    about = f"{common_provenance([model.table.provenance for model in study.models])}, ties: {policy.name}{seed}"
    about = "; ".join([about, *study.left_out])
    return _document(_title(study), about, sections, ("leaderboard.js", "hits.js", "triples.js", "relations.js"))


def _title(study: Study) -> str:
    dataset = study.models[0].table.dataset
    dataset = "an unknown dataset" if dataset == UNKNOWN else dataset
    if len(study.names) == 1:
        return f"{isolated(study.names[0])} on {dataset}"
    return f"{models_in_words(study.names, study.baselines)} on {dataset}"


def render_grid(
    datasets: Mapping[str, Sequence[EvaluatedModel]],
    notes_on_runs: Sequence[str] = (),
    *,
    intervals: Unit,
    ties: Ties | None,
    allow: str | Collection[str],
) -> tuple[str, str]:
    """Make the page of several datasets, and its title; single triples are only on a page of one dataset."""
    policy = ties or common_ties(model.ties for models in datasets.values() for model in models)
    suite = suite_around(run.folder for models in datasets.values() for one in models for run in one.runs if run.folder)
    datasets = as_in_suite(datasets, suite["groups"])
    results = {name: {one.name: [run.table for run in one.runs] for one in of} for name, of in datasets.items()}
    baselines = {model.name for models in datasets.values() for model in models if model.baseline}
    seed = seed_of((model for models in datasets.values() for model in models), policy)
    options: dict[str, Any] = {"intervals": intervals, "ties": policy, "seed": seed, "allow": allow}
    metrics = suite["metrics"] or HEADLINES
    grid = compare(results, metrics, baselines=baselines, suite=suite["groups"], **options)
    every = [model for models in datasets.values() for model in models]
    grid = replace(grid, of_runs=(*notes_on_ties(every, policy), *notes_on_runs))
    sections: list[Section] = []
    metric = grid.metrics[0]
    # A suite may have dozens of graphs: their checks are only on pages of one dataset.
    parts = [] if grid.suite else zip(grid.blocks, datasets.items(), strict=True)
    for place, (block, (name, models)) in enumerate(parts):
        means = {model: score.value for (model, of), score in block.scores.items() if of == metric}
        own = (policy, intervals, grid.on_dataset(name))
        study = Study(in_order(models, metric, means), read_dataset(models), *own)
        for part in (trust(study), making(study)):
            called = replace(part, title=f"{name}: {part.title}", name=f"{part.name}: {name}")
            sections.append(replace(called, file=part.anchor, anchor=f"{part.anchor}-{place}"))
    return grid_document(grid, sections), _grid_title(grid)


def _grid_title(grid: Comparison) -> str:
    graphs = f"{len(grid.datasets)} graphs" if grid.suite else ", ".join(grid.datasets)
    return f"{models_in_words(grid.models, grid.baselines)} on {graphs}"


def grid_document(grid: Comparison, further: Sequence[Section] = ()) -> str:
    """Write the page of a comparison over datasets: its table, orders of models and charts, then further sections."""
    with unvalidated():
        results = suite_section(grid) if grid.suite else _results(grid)
    scripts = ("grid.js",) if grid.suite else ("leaderboard.js", "grid.js")
    return _document(_grid_title(grid), "; ".join(grid.heads), [results, *further], scripts)


def _results(grid: Comparison) -> Section:
    """Make the section of results: the table and, for each dataset and metric, the order of the models and a chart."""
    titles = {metric: title_of(metric) for metric in grid.metrics}
    columns = [(block, metric) for block in grid.blocks for metric in grid.metrics]
    figures = [grid.figures(block.dataset, metric, [block.group], paper=True) for block, metric in columns]
    content = {
        "datasets": [block.title for block in grid.blocks],
        "metrics": list(titles.values()),
        "columns": [(block.title, titles[metric]) for block, metric in columns],
        "rows": [
            {"model": model, "baseline": model in grid.baselines, "cells": [*map(cell_of, cells)]}
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
            metric_panel(panel_frame(grid, block, metric, titles[metric]), PAGE, width="container"), PAGE
        )
        for block, metric in columns
    }
    return Section("grid", "Results", "Results over datasets", content, charts)


def _of_classifications(classified: Classified, intervals: Unit, notes_on_runs: Sequence[str]) -> Report:
    """Make a page of classifications: their metrics beside those of the baselines, their differences and curves."""
    from kgeval.analysis.comparison.label_comparison import compare_labels
    from kgeval.analysis.comparison.paired_difference import DifferenceOptions
    from kgeval.analysis.comparison.words import notes_on_differences
    from kgeval.metrics.labels.label_summary import label_table

    summaries = {name: summary for name, (_, summary) in classified.items()}
    alike: dict[str, dict[str, LabelSummary]] = {}
    for name, summary in summaries.items():  # models with the same triples and calibration share baselines
        about = f"{common_provenance([summary.provenance])}; calibration: {summary.details['calibration']}"
        alike.setdefault(about, {})[name] = summary
    tables, notes = [], [*notes_on_runs]
    for about, part in alike.items():
        shown = {"; ".join([about, *next(iter(part.values())).heads[1:]]): label_table(part)}
        try:
            of_part = {name: classified[name][0] for name in part}
            comparison = compare_labels(of_part, ("roc_auc", "average_precision"), DifferenceOptions(intervals))
            shown |= {f"Difference of {name}": table for name, table in comparison.differences().items()}
            notes += notes_on_differences(comparison)
        except MetricError as error:  # one model alone, or different triples
            notes += [] if len(part) < 2 else [str(error)]
        for title, table in shown.items():
            tables.append({"about": title, "columns": table.titles, "rows": table.texts(4), "keys": table.keys})
    drawn = {curve: points for curve in CURVES if not (points := curve_points(summaries, curve)).empty}
    with unvalidated():
        charts = {curve: curves_chart(it, PAGE, curve=curve, width="container") for curve, it in drawn.items()}
    notes += [f"{isolated(name)}: {note}" for name, summary in summaries.items() for note in summary.notes]
    title = f"{counted(len(summaries), 'classification')} on {next(iter(summaries.values())).provenance.dataset}"
    results = Section("labels", "Results", "Classification of triples", {"tables": tables, "notes": notes}, charts)
    return Report(_document(title, "", [results], ()), title)


def _document(title: str, about: str, sections: Sequence[Section], scripts: Sequence[str]) -> str:
    charts = {name: chart.to_dict(validate=False) for section in sections for name, chart in section.charts.items()}
    data = {name: content for section in sections for name, content in section.data.items()}
    files, data = ("theme.js", "charts.js", *scripts), {"charts": charts, **data}
    return document("page.html.j2", scripts=files, data=data, title=title, about=about, sections=sections)
