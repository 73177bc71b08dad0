"""Pictures of runs: the charts of the page by themselves, for notebooks, papers and READMEs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgeval.data.loading import Source
from kgeval.errors import InputError, RunError, did_you_mean
from kgeval.metrics.ranks.ties import Ties
from kgeval.reports.charts.pictures import distribution, leaderboard, relations_chart, slices_chart
from kgeval.reports.charts.theme import in_page
from kgeval.reports.document import document, library
from kgeval.reports.page import study_of_runs
from kgeval.reports.reading import Runs
from kgeval.reports.sections.origins import (
    axes,
    cumulative_points,
    ranks_title,
    relation_scores,
    relations_title,
    scatter,
    slice_scores,
    slices_title,
)
from kgeval.reports.sections.standings import standings_title
from kgeval.reports.study import SHOWN
from kgeval.storage import write_text

if TYPE_CHECKING:
    import altair as alt

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
