"""Runs in, one picture out: ``kgeval.plot_leaderboard`` and its kind, on screen or as wide as a column of a paper."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from kgeval.analysis.comparison.dataset_ranks import rank_models
from kgeval.analysis.slices.slice import slice_of
from kgeval.analysis.slices.slice import slices as known_slices
from kgeval.base.errors import InputError, did_you_mean
from kgeval.data.loading import Source
from kgeval.metrics.intervals.interval import Unit
from kgeval.metrics.names import parse, title_of
from kgeval.metrics.ranks.ties import Ties, common_ties
from kgeval.reports.critical_difference import critical_difference
from kgeval.reports.figure import HIGHEST, INCH, figure
from kgeval.reports.origins import (
    axes,
    cumulative_points,
    ranks_title,
    relation_scores,
    relations_title,
    scatter,
    slice_scores,
    slices_title,
)
from kgeval.reports.page import study_of_runs
from kgeval.reports.pictures import distribution, leaderboard, relations_chart
from kgeval.reports.reading import Runs, notes_on_ties, read_models
from kgeval.reports.slice_pictures import slices_chart
from kgeval.reports.standings import standings_title
from kgeval.reports.study import HEADLINES, SHOWN, mean_of_runs

if TYPE_CHECKING:
    import altair as alt


def plot_leaderboard(
    runs: Runs,
    *,
    dataset: Source = None,
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
    intervals: Unit = "triple",
    metrics: str | Sequence[str] = HEADLINES,
    width: float | None = None,
) -> alt.Chart:
    """Draw metrics of runs with their intervals.

    Parameters
    ----------
    runs, dataset, ties, allow, intervals
        as :func:`kgeval.report` takes them
    metrics
        a panel for each; the first orders the models
    width
        of a figure for print, in inches; its text has 8 points and it has no title, as a paper has its caption

    Raises
    ------
    InputError, MetricError
        as :func:`kgeval.report`; or if a metric is unknown
    ConfigError
        if the width leaves no room beside the names

    Examples
    --------
    >>> import kgeval
    >>> table = kgeval.evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> len(kgeval.plot_leaderboard({"remainder": table}).concat)
    5
    >>> len(kgeval.plot_leaderboard({"remainder": table}, metrics=["mrr", "hits@5"], width=3.3).concat)
    2
    """
    names = [metrics] if isinstance(metrics, str) else metrics
    study = study_of_runs(runs, dataset, intervals=intervals, ties=ties, allow=allow, metrics=names)
    title = standings_title(study) if study.metrics[0] == HEADLINES[0] else ""
    columns = min(len(study.metrics), max(1, int((width or 0) * INCH / 110)))
    return figure(partial(leaderboard, study.scores), width, columns=columns, title=title, notes=study.notes)


def plot_distribution(
    runs: Runs,
    *,
    dataset: Source = None,
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
    width: float | None = None,
) -> alt.Chart:
    """Draw Hits@k for every k; the arguments are those of :func:`kgeval.plot_leaderboard`.

    >>> import kgeval
    >>> table = kgeval.evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> kgeval.plot_distribution({"remainder": table}).to_dict()["layer"][0]["encoding"]["y"]["field"]
    'share'
    """
    study = study_of_runs(runs, dataset, ties=ties, allow=allow)
    draw = partial(distribution, cumulative_points(study), baselines=study.baselines)
    return figure(draw, width, title=ranks_title(study), notes=study.notes)


def plot_relations(
    runs: Runs,
    *,
    dataset: Source = None,
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
    metric: str = HEADLINES[0],
    width: float | None = None,
) -> alt.Chart:
    """Draw a dot for each relation: the best two models against each other, or one against the number of triples.

    The arguments are those of :func:`kgeval.plot_leaderboard`, with one metric.

    >>> import kgeval
    >>> table = kgeval.evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> kgeval.plot_relations({"remainder": table}, metric="hits@3").to_dict()["title"]
    'Hits@3 and number of test triples of 41 relations'
    """
    study = study_of_runs(runs, dataset, ties=ties, allow=allow, metrics=[metric])
    second = min(len(study.names) - 1, 1)
    relations = relation_scores(study)
    draw = partial(relations_chart, scatter(relations, 0, second), axes=axes(study, 0, second))
    return figure(draw, width, title=relations_title(study, relations), notes=study.notes)


def plot_slices(
    runs: Runs,
    slices: str | Collection[str] = SHOWN,
    *,
    dataset: Source = None,
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
    intervals: Unit = "triple",
    metric: str = HEADLINES[0],
    width: float | None = None,
) -> alt.Chart:
    """Draw a metric by slice, models side by side.

    A figure for print is at most 9 inches high: slices that do not fit are left out, and a note says which
    (``chart.usermeta["notes"]``).

    Parameters
    ----------
    runs, dataset, ties, allow, intervals, width
        as :func:`kgeval.plot_leaderboard` takes them
    slices
        names of slices, or of columns that all tables have
    metric
        its name

    Raises
    ------
    InputError
        as :func:`kgeval.plot_leaderboard`; or if neither the dataset nor the tables give any of the slices

    Examples
    --------
    >>> import kgeval
    >>> table = kgeval.evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, "nations")
    >>> chart = kgeval.plot_slices({"remainder": table}, ["side", "cardinality"], dataset="nations")
    >>> [panel.title for column in chart.hconcat for panel in column.vconcat]
    ['side', 'cardinality']
    """
    names = [slices] if isinstance(slices, str) else list(slices)
    study = study_of_runs(runs, dataset, intervals=intervals, ties=ties, allow=allow, metrics=[metric])
    known = [*known_slices(), *next(iter(study.aligned.values())).columns]
    if unknown := [name for name in names if name not in known and slice_of(name) is None]:
        raise InputError(f"unknown slice or column {unknown[0]!r}. {did_you_mean(unknown[0], known, listed='slices')}")
    groups = slice_scores(study, names)
    if groups.empty:
        raise InputError(
            f"nothing to draw: no two rows differ in {', '.join(names)}. Slices need the dataset "
            "(--dataset NAME, dataset=NAME)."
        )
    draw = partial(slices_chart, groups, baselines=study.baselines)
    if width is None:
        return figure(draw, None, title=slices_title(study, groups), notes=study.notes)
    size = {"total": INCH * width, "highest": INCH * HIGHEST}
    return figure(partial(draw, **size), width, columns=max(1, round(width / 2.3)), notes=study.notes)


def plot_critical_difference(
    runs: Runs | Mapping[str, Mapping[str, float]],
    *,
    ties: Ties | None = None,
    metric: str = HEADLINES[0],
    level: float = 0.95,
    width: float | None = None,
) -> alt.Chart:
    """Draw average ranks of models over datasets, and bars that join models without a significant difference.

    Bars join models whose average ranks differ by less than the critical difference (CD) of Nemenyi's test, which is
    drawn to scale above (Demšar, 2006). The best model is at the right.

    Parameters
    ----------
    runs
        runs of several datasets as :func:`kgeval.report` takes them, each model on each dataset; or values of the
        metric, ``{dataset: {model: value}}``
    ties, width
        as :func:`kgeval.plot_leaderboard` takes them
    metric
        its name, by which models are ranked on each dataset; of several seeds its mean over them
    level
        of the critical difference

    Raises
    ------
    MetricError
        if there are fewer than three models or two datasets, or if a model lacks a dataset

    Examples
    --------
    >>> import kgeval
    >>> values = {name: {"a": 0.3, "b": 0.2, "c": 0.1} for name in ("fb15k-237", "wn18rr", "umls", "yago")}
    >>> kgeval.plot_critical_difference(values).usermeta["notes"][1].partition(". ")[2]
    'Average ranks that differ by less than 1.657 do not differ significantly (Nemenyi, 95 %).'
    """
    name, baselines, notes = parse(metric), set[str](), list[str]()
    increasing = name.highest_is_best
    results: dict[str, dict[str, float]] = {}
    if isinstance(runs, Mapping) and all(isinstance(values, Mapping) for values in runs.values()):
        results.update(cast("Mapping[str, dict[str, float]]", runs))
    else:
        models = read_models(runs)
        policy = ties or common_ties(model.ties for model in models)
        notes = notes_on_ties(models, policy)
        baselines = {model.name for model in models if model.baseline}
        for model in models:
            results.setdefault(model.table.dataset, {})[model.name] = mean_of_runs(model, metric, policy)
    ranks = rank_models(results, increasing=increasing, level=level)
    axis = f"average rank by {title_of(name)} on {len(results)} datasets"
    return figure(partial(critical_difference, ranks, axis=axis, baselines=baselines), width, notes=notes)


PLOTS: dict[str, Callable[..., Any]] = {
    "leaderboard": plot_leaderboard,
    "slices": plot_slices,
    "relations": plot_relations,
    "distribution": plot_distribution,
    "critical-difference": plot_critical_difference,
}
