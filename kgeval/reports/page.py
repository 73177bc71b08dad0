"""Runs in, one page or one picture out: ``kgeval.report``, and ``kgeval.plot_leaderboard`` and its kind."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgeval.data.dataset import Dataset
from kgeval.data.loading import Source, as_dataset
from kgeval.errors import InputError, RunError, did_you_mean
from kgeval.metrics.intervals.interval import Unit
from kgeval.metrics.ranks.ties import Ties, tie_policy
from kgeval.progress import long_loop
from kgeval.provenance import UNKNOWN
from kgeval.reports.document import common_provenance, document, isolated, library, models_in_words
from kgeval.reports.grid_page import by_dataset, render_grid
from kgeval.reports.origins import (
    axes,
    cumulative,
    cumulative_points,
    origins,
    ranks_title,
    relation_scores,
    relations_title,
    scatter,
    slice_scores,
    slices_title,
)
from kgeval.reports.pictures import distribution, leaderboard, relations_chart, slices_chart
from kgeval.reports.reading import Runs, read_dataset, read_models
from kgeval.reports.standings import standings, standings_title
from kgeval.reports.study import SHOWN, Study, study_of
from kgeval.reports.theme import in_page
from kgeval.reports.triple_table import triple_table
from kgeval.reports.trust import making, trust
from kgeval.storage import write_text

if TYPE_CHECKING:
    import altair as alt

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


@dataclass(frozen=True)
class Report:
    """A page of one file, which needs no network."""

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        write_text(Path(path), self.html)


def report(
    runs: Runs,
    *,
    dataset: Dataset | Source | None = None,
    unit: Unit = "triple",
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
) -> Report:
    """Make a page of runs: who is best, whether to trust it, where it comes from, which triples, how it was made.

    Runs of several datasets make a page of one table, with a switch for dataset and metric.

    Nothing is scored; the page is a function of what the runs kept, and of their dataset for what it says of triples.

    Parameters
    ----------
    runs
        a run directory, a folder of several, a ``.parquet`` file of ranks or a rank table; or several of them, in a
        list or by the names that the page calls them
    dataset
        the graph, or its folder or PyKEEN name; by default the one that the runs name, if it is still the same
    unit
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
        return Report(render_grid(datasets, unit=unit, ties=ties, allow=allow))
    return Report(render(study_of_runs(models, dataset, unit=unit, ties=ties, allow=allow)))


def study_of_runs(
    runs: Runs,
    dataset: Dataset | Source | None,
    *,
    unit: Unit = "triple",
    ties: Ties | None,
    allow: str | Collection[str],
) -> Study:
    models = read_models(runs)
    graph = read_dataset(models) if dataset is None else as_dataset(dataset)
    return study_of(models, graph, unit=unit, ties=ties, allow=allow)


PICTURES = (".svg", ".png", ".pdf", ".html")


def plot_leaderboard(
    runs: Runs, *, dataset: Source = None, ties: Ties | None = None, allow: str | Collection[str] = ()
) -> alt.Chart:
    """Draw the headline metrics of runs with their intervals; the arguments are those of :func:`kgeval.report`.

    >>> import kgeval
    >>> table = kgeval.evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> len(kgeval.plot_leaderboard({"remainder": table}).concat)
    5
    """
    study = study_of_runs(runs, dataset, ties=ties, allow=allow)
    return leaderboard(study.scores, title=standings_title(study))


def plot_distribution(
    runs: Runs, *, dataset: Source = None, ties: Ties | None = None, allow: str | Collection[str] = ()
) -> alt.Chart:
    """Draw Hits@k for every k; the arguments are those of :func:`kgeval.report`.

    >>> import kgeval
    >>> table = kgeval.evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> kgeval.plot_distribution({"remainder": table}).to_dict()["layer"][0]["encoding"]["y"]["field"]
    'share'
    """
    study = study_of_runs(runs, dataset, ties=ties, allow=allow)
    return distribution(cumulative_points(study), baselines=study.baselines, title=ranks_title(study))


def plot_relations(
    runs: Runs, *, dataset: Source = None, ties: Ties | None = None, allow: str | Collection[str] = ()
) -> alt.Chart:
    """Draw a dot for each relation: the best two models against each other, or one against the number of triples.

    The arguments are those of :func:`kgeval.report`.

    >>> import kgeval
    >>> table = kgeval.evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> kgeval.plot_relations({"remainder": table}).to_dict()["title"]
    '41 relations: their MRR, and how many test triples they have'
    """
    study = study_of_runs(runs, dataset, ties=ties, allow=allow)
    second = min(len(study.names) - 1, 1)
    relations = relation_scores(study)
    title = relations_title(study, relations)
    return relations_chart(scatter(relations, 0, second), axes=axes(study, 0, second), title=title)


def plot_slices(
    runs: Runs,
    slices: str | Collection[str] = SHOWN,
    *,
    dataset: Source = None,
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
) -> alt.Chart:
    """Draw the mean reciprocal rank by slice, models side by side.

    Parameters
    ----------
    runs, dataset, ties, allow
        as :func:`kgeval.report` takes them
    slices
        names of slices, or of columns that all tables have

    Raises
    ------
    InputError
        as :func:`kgeval.report`; or if neither the dataset nor the tables give any of the slices

    Examples
    --------
    >>> import kgeval
    >>> table = kgeval.evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> chart = kgeval.plot_slices({"remainder": table}, ["side", "cardinality"], dataset="nations")
    >>> [panel.title for panel in chart.concat]
    ['side', 'cardinality']
    """
    names = [slices] if isinstance(slices, str) else list(slices)
    study = study_of_runs(runs, dataset, ties=ties, allow=allow)
    groups = slice_scores(study, names)
    if groups.empty:
        raise InputError(f"nothing to draw: no rows that differ in {', '.join(names)}. Give the dataset.")
    return slices_chart(groups, baselines=study.baselines, title=slices_title(study, groups))


PLOTS: dict[str, Callable[..., Any]] = {
    "leaderboard": plot_leaderboard,
    "slices": plot_slices,
    "relations": plot_relations,
    "distribution": plot_distribution,
}


def check_picture(path: Path) -> None:
    """Refuse a file whose ending is no format of pictures.

    >>> check_picture(Path("figure.pgn"))
    Traceback (most recent call last):
    kgeval.errors.InputError: 'figure.pgn': a picture ends in .svg, .png, .pdf or .html. Did you mean '.png'?
    """
    if path.suffix.lower() not in PICTURES:
        hint = did_you_mean(path.suffix.lower(), PICTURES)
        raise InputError(f"{str(path)!r}: a picture ends in .svg, .png, .pdf or .html. {hint}")


def picture_document(chart: alt.Chart, name: str) -> str:
    spec = in_page(chart.to_dict())
    title = spec.pop("title", "")
    return document(
        "picture.html.j2",
        scripts=("theme.js", "charts.js"),
        data={"charts": {"picture": spec}},
        title=title if isinstance(title, str) and title else name,
        about="",
    )


def save_picture(chart: alt.Chart, path: Path) -> None:
    """Write a chart in the format that the ending of its file says; a page of it needs no network."""
    check_picture(path)
    library("vl_convert")
    kind = path.suffix.lower().removeprefix(".")
    if kind == "html":
        write_text(path, picture_document(chart, path.stem))
        return
    options = {"scale_factor": 2.0} if kind == "png" else {}
    try:
        chart.save(str(path), format=kind, **options)
    except OSError as error:
        raise RunError(f"{str(path)!r} cannot be written ({error.strerror or error}).") from error
