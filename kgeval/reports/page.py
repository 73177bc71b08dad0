"""Runs in, one page out: ``kgeval.report``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from kgeval.base.errors import InputError
from kgeval.base.progress import long_loop
from kgeval.base.provenance import UNKNOWN
from kgeval.base.storage import write_text
from kgeval.base.tables.shown import Brief
from kgeval.data.dataset import Dataset
from kgeval.data.loading import Source, as_dataset
from kgeval.metrics.intervals.interval import Unit
from kgeval.metrics.ranks.ties import Ties, tie_policy
from kgeval.reports.document import common_provenance, document, isolated, models_in_words
from kgeval.reports.grid_page import by_dataset, render_grid
from kgeval.reports.origins import cumulative, origins
from kgeval.reports.reading import Runs, read_dataset, read_models
from kgeval.reports.standings import standings
from kgeval.reports.study import HEADLINES, Study, study_of
from kgeval.reports.triple_table import triple_table
from kgeval.reports.trust import making, trust

SECTIONS = (standings, trust, origins, cumulative, triple_table, making)


def render(study: Study) -> str:
    sections = []
    with long_loop("building the page", len(SECTIONS), unit="sections") as report:
        for make in SECTIONS:
            sections.append(make(study))
            report(1)
    policy = tie_policy(study.ties).name
    charts = {name: chart.to_dict() for section in sections for name, chart in section.charts.items()}
    data = {name: content for section in sections for name, content in section.data.items()}
    return document(
        "page.html.j2",
        scripts=("theme.js", "charts.js", "leaderboard.js", "hits.js", "triples.js", "relations.js"),
        data={"charts": charts, **data},
        title=_title(study),
        about=f"{common_provenance([model.table.provenance for model in study.models])}, ties: {policy}",
        sections=sections,
    )


def _title(study: Study) -> str:
    dataset = study.models[0].table.dataset
    dataset = "an unknown dataset" if dataset == UNKNOWN else dataset
    if len(study.names) == 1:
        return f"{isolated(study.names[0])} on {dataset}"
    return f"{models_in_words(study.names, study.baselines)} on {dataset}"


@dataclass(repr=False)
class Report(Brief):
    """A page of one file, which needs no network."""

    html: str
    title: str = ""
    path: Path | None = None
    """where it was saved last"""

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


def report(
    runs: Runs,
    *,
    dataset: Dataset | Source | None = None,
    intervals: Unit = "triple",
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
) -> Report:
    """Make a page of runs: leaderboard, checks, slices, ranks, every test triple, and how the runs were made.

    Runs of several datasets make a page of one table, with a switch for dataset and metric.

    No model is loaded: the page needs the files of the runs and, for checks and slices, their dataset.

    Parameters
    ----------
    runs
        a run directory, a folder of several, a ``.parquet`` file of ranks or a rank table; or several of them, in a
        list or by the names that the page calls them
    dataset
        the graph, or its folder or PyKEEN name; by default the one that the runs name, if it is still the same
    intervals
        what intervals and tests draw again, as :func:`kgeval.compare` takes it: ``"triple"``, ``"query"`` or
        ``"relation"``
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
    models = read_models(runs)
    datasets = by_dataset(models)
    if len(datasets) > 1 and dataset is None and "dataset" not in allow:
        return Report(*render_grid(datasets, intervals=intervals, ties=ties, allow=allow))
    study = study_of_runs(models, dataset, intervals=intervals, ties=ties, allow=allow)
    return Report(render(study), _title(study))


def study_of_runs(
    runs: Runs,
    dataset: Dataset | Source | None,
    *,
    intervals: Unit = "triple",
    ties: Ties | None,
    allow: str | Collection[str],
    metrics: Sequence[str] = HEADLINES,
) -> Study:
    models = read_models(runs)
    names = [model.name for model in models]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(
            f"{twice!r} has runs of several datasets: choose the runs of one dataset, or name them a=RUN b=RUN."
        )
    graph = read_dataset(models) if dataset is None else as_dataset(dataset)
    return study_of(models, graph, intervals=intervals, ties=ties, allow=allow, metrics=metrics)
