"""The plot functions: runs in, one picture out, on screen or as wide as a column of a paper.

Users call them, such as ``kgeval.plot_leaderboard``; ``kgeval plot`` finds them in ``PLOTS``, and writes files with
:func:`save_picture`. They read runs, compute what is drawn (``study.py``, ``origins.py``), call a function of
``pictures.py``, and give the chart its size (:func:`figure`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, cast

from kgeval.analysis.comparison.dataset_ranks import rank_models
from kgeval.analysis.slices.slice import slice_of
from kgeval.analysis.slices.slice import slices as known_slices
from kgeval.base.errors import ConfigError, InputError, did_you_mean, visible
from kgeval.base.notes import Note
from kgeval.base.settings_text import map_texts
from kgeval.base.storage import replacing, write_text
from kgeval.data.loading import Source, as_dataset
from kgeval.metrics.intervals.interval import FEWEST_SEEDS, PLURAL, Unit
from kgeval.metrics.names import parse, short_title, title_of
from kgeval.metrics.ranks.ties import Ties, common_ties
from kgeval.reports.document import document, isolated, library, unvalidated, vega_version
from kgeval.reports.evaluated_models import (
    Classified,
    Runs,
    look,
    mean_of_runs,
    notes_on_ties,
    read_classifications,
    read_models,
)
from kgeval.reports.origins import (
    MOST_TIMES,
    axes,
    cumulative_points,
    ranks_title,
    relation_scores,
    relations_title,
    retrieval_points,
    scatter,
    slice_scores,
    slices_title,
    time_scores,
)
from kgeval.reports.pictures import (
    critical_difference,
    curves_chart,
    distribution,
    leaderboard,
    relations_chart,
    slices_chart,
    times_chart,
)
from kgeval.reports.standings import standings_title
from kgeval.reports.study import HEADLINES, SHOWN, Study, curve_points, study_of
from kgeval.reports.theme import IN_PAGE, LIGHT, PRINT, Palette
from kgeval.stored.folders import notes_on

if TYPE_CHECKING:
    import altair as alt

INCH, POINTS = 96, 72
"""the pixels, and the points, in an inch"""

HIGHEST = 9
"""the height of the highest figure for a page of a paper, in inches"""


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
        the width of a figure for print, in inches; its text has 8 points, and it has no title, as a paper has a caption

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
    study = _study(runs, dataset, intervals=intervals, ties=ties, allow=allow, metrics=names)
    title = standings_title(study) if str(study.metric) == HEADLINES[0] else ""
    columns = min(len(study.grid.metrics), max(1, int((width or 0) * INCH / 110)))
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
    study = _study(runs, dataset, ties=ties, allow=allow)
    draw = partial(distribution, cumulative_points(study), baselines=study.baselines, of_seeds=study.has_seeds)
    return figure(draw, width, title=ranks_title(study), notes=_notes(study, "band: the standard deviation over seeds"))


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
    study = _study(runs, dataset, ties=ties, allow=allow, metrics=[metric])
    relations = relation_scores(study)
    draw = partial(relations_chart, scatter(study, relations), axes=axes(study))
    notes = _notes(study, "lines: the standard deviation over seeds")
    return figure(draw, width, title=relations_title(study, relations), notes=notes)


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
        the name of the metric

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
    study = _study(runs, dataset, intervals=intervals, ties=ties, allow=allow, metrics=[metric])
    known = [*known_slices(), *study.models[0].table.columns]
    if unknown := [name for name in names if name not in known and slice_of(name) is None]:
        raise InputError(f"unknown slice or column {unknown[0]!r}. {did_you_mean(unknown[0], known, listed='slices')}")
    groups = slice_scores(study, names)
    if groups.empty:
        raise InputError(
            f"nothing to draw: no two rows differ in {', '.join(names)}. Slices need the dataset "
            "(--dataset NAME, dataset=NAME)."
        )
    draw = partial(slices_chart, groups, baselines=study.baselines)
    notes = _notes(study, f"whiskers: 95 % interval (resampling {study.resampled})")
    if width is None:
        return figure(draw, None, title=slices_title(study, groups), notes=notes)
    size = {"total": INCH * width, "highest": INCH * HIGHEST}
    return figure(partial(draw, **size), width, columns=max(1, round(width / 2.3)), notes=notes)


def plot_times(
    runs: Runs,
    *,
    dataset: Source = None,
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
    intervals: Unit = "triple",
    metric: str = HEADLINES[0],
    width: float | None = None,
) -> alt.Chart:
    """Draw a metric over the times of a temporal graph, a line for each model, with bands of their intervals.

    A point is a time of the split, with all its ranks. Of more than 60 times, it is one of 60 periods of them, which
    the dataset is needed for. The arguments are those of :func:`kgeval.plot_slices`.

    Raises
    ------
    InputError
        as :func:`kgeval.plot_leaderboard`; or if the ranks have no times, or one only

    Examples
    --------
    >>> import kgeval
    >>> days = [("Ada", "visits", "Rome", f"2014-01-0{day}") for day in range(1, 7)]
    >>> data = kgeval.Dataset.from_labels(train=days[:3], test=days[3:])
    >>> table = kgeval.evaluate(lambda h, r, t: (h + t) % 2, data)
    >>> kgeval.plot_times({"parity": table}).to_dict()["layer"][0]["encoding"]["x"]["type"]
    'temporal'
    """
    study = _study(runs, dataset, intervals=intervals, ties=ties, allow=allow, metrics=[metric])
    points, caption = time_scores(study)
    if points.empty:
        needs = f"the ranks need several times, and more than {MOST_TIMES} need their dataset too"
        raise InputError(f"nothing to draw: {needs} (--dataset NAME, dataset=NAME).")
    around = f"band: 95 % interval (resampling {study.resampled})"
    lacks = "" if points["low"].notna().any() else ", for which a point has too few"
    notes = [*_notes(study, around), f"{caption}; {around}{lacks}."]
    draw = partial(times_chart, points, baselines=study.baselines)
    return figure(draw, width, title=f"{short_title(study.metric)} over time", notes=notes)


def _study(runs: Runs, dataset: Source, **options: Any) -> Study:
    """Make a study of runs on one dataset; the dataset is read once, for text files of ranks and for slices."""
    graph = None if dataset is None else as_dataset(dataset)
    return study_of(read_models(look(runs), graph), graph, **options)


def _notes(study: Study, around: str) -> list[str]:
    """The notes of a picture; for models with several seeds, also that these are means, and what is ``around`` them."""
    few = f", too few for {around.partition(':')[0]}"
    seeded = {model: few * (len(model.seeds) < FEWEST_SEEDS) for model in study.models if model.seeds}
    means = [f"{model.name}{model.mean_in_words}{lacks}" for model, lacks in seeded.items()]
    drawn = "" if all(seeded.values()) else f"; {around}"
    return [*study.notes, *([f"{'; '.join(means)}{drawn}."] if means else [])]


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
        the name of the metric by which models are ranked on each dataset; for several seeds it is their mean
    level
        the confidence level of the critical difference

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
        places = look(runs)
        models = read_models(places)
        policy = ties or common_ties(model.ties for model in models)
        notes = [*notes_on_ties(models, policy), *notes_on(places)]
        baselines = {model.name for model in models if model.baseline}
        for model in models:
            results.setdefault(model.table.dataset, {})[model.name] = mean_of_runs(model, metric, policy)
    ranks = rank_models(results, increasing=increasing, level=level)
    axis = f"average rank by {title_of(name)} on {len(results)} datasets"
    return figure(partial(critical_difference, ranks, axis=axis, baselines=baselines), width, notes=notes)


def plot_roc(runs: Runs, *, width: float | None = None) -> alt.Chart:
    """Draw the ROC curves of runs of classifications."""
    places = look(runs)
    if not (classified := read_classifications(places)) and read_models(places):  # refuses anything but runs
        raise InputError("nothing to draw: these runs are no classifications.")
    return _curves(classified, "roc", "ROC AUC", width, notes_on(places))


def plot_precision_recall(
    runs: Runs,
    *,
    dataset: Source = None,
    allow: str | Collection[str] = (),
    intervals: Unit | None = None,
    width: float | None = None,
) -> alt.Chart:
    """Draw precision against recall: of classifications over all thresholds, of ranks over every k.

    For ranks, each point shows precision and recall at one k, both means over queries. The band is the interval of the
    precision; for several seeds it is one standard deviation. MAP, in the title, is the mean over queries of the area
    under the step curve of each query. It is not the area under the drawn curve.

    The arguments are as in :func:`kgeval.plot_leaderboard`. Runs of classifications take ``width`` only.
    """
    places = look(runs)
    if classified := read_classifications(places):
        if dataset or allow or intervals:
            raise ConfigError("--dataset, --allow and --intervals are for runs of ranks, not of classifications.")
        return _curves(classified, "precision_recall", "Average precision", width, notes_on(places))
    study = _study(places, dataset, intervals=intervals or "triple", allow=allow, metrics=["map"])
    values = {name: study.block.scores[name, study.metric] for name in study.names}
    if reasons := [value.reason for value in values.values() if value.value is None]:
        raise InputError(f"nothing to draw: precision and recall at k are undefined: {reasons[0]}.")
    title = f"MAP: {', '.join(f'{isolated(name)} {of.value:.3f}' for name, of in values.items())}"
    interval = f"95 % interval of the precision (resampling {PLURAL[study.unit].replace('triples', 'queries')})"
    notes = [*_notes(study, "band: the standard deviation over seeds"), f"The band of a single run is the {interval}."]
    draw = partial(curves_chart, retrieval_points(study), curve="precision_recall_at_k")
    return figure(draw, width, title=title, notes=notes)


def _curves(classified: Classified, curve: str, area: str, width: float | None, of_runs: list[Note]) -> alt.Chart:
    summaries = {name: summary for name, (_, summary) in classified.items()}
    points = curve_points(summaries, curve)
    if points.empty:
        raise InputError("nothing to draw: the test triples are all true or all false.")
    metric = area.lower().replace(" ", "_")
    areas = [f"{isolated(name)} {of[metric]:.3f}" for name, of in summaries.items() if metric in of]
    notes = [*of_runs, *(f"{isolated(name)}: {note}" for name, summary in summaries.items() for note in summary.notes)]
    return figure(partial(curves_chart, points, curve=curve), width, title=f"{area}: {', '.join(areas)}", notes=notes)


PLOTS: dict[str, Callable[..., Any]] = {
    "leaderboard": plot_leaderboard,
    "slices": plot_slices,
    "relations": plot_relations,
    "times": plot_times,
    "distribution": plot_distribution,
    "critical-difference": plot_critical_difference,
    "roc": plot_roc,
    "precision-recall": plot_precision_recall,
}

NARROWEST = 50
"""the least width of a panel in pixels: the axis of a narrower one has no room for two numbers"""

SMALLER = "Choose fewer metrics, slices or models, or shorter names (NAME=RUN)."

TITLE_LETTERS = 60
"""the most letters in a line of a title: the narrowest chart has room for them"""


def figure(
    draw: Callable[..., Any], inches: float | None, *, columns: int = 0, title: str = "", notes: Sequence[str] = ()
) -> alt.Chart:
    """Draw a chart in its natural size, or for print: ``inches`` wide, with text of 8 points and no title.

    ``draw`` takes a palette, the width of a panel in pixels and, if there are several, the number of columns of panels.
    Names and numbers next to the panels need a fixed width, so panels become wider until the picture has its width.
    """
    if inches is None:
        lines = wrap(title, TITLE_LETTERS) if len(title) > TITLE_LETTERS else title
        chart = _drawn(draw, LIGHT, title=lines)
        return chart.properties(usermeta={"notes": [*notes, *about(chart).get("notes", [])]}) if notes else chart
    if not 1 <= inches <= 40:
        raise ConfigError(f"width: expected 1 to 40 inches, found {inches:g}.")
    for number in range(columns or 1, 0, -1):
        sizes = {"columns": number} if columns else {}
        width = INCH * inches / number / 2
        for _ in range(4):
            chart = _drawn(draw, PRINT, width=width, **sizes)
            wide, high = size_in(svg_of(chart))
            if abs(INCH * inches - 1 - wide) <= 1:
                break
            width += (INCH * inches - 1 - wide) / number
        if width >= NARROWEST:
            of_chart = [*notes, *about(chart).get("notes", [])]
            if high > HIGHEST * INCH:
                too_high = f"the figure is {high / INCH:.1f} inches high, too high for a page ({HIGHEST} inches)"
                of_chart.append(f"{too_high}. {SMALLER}")
            return chart.properties(usermeta={"notes": of_chart, "inches": inches})
    raise ConfigError(
        f"width: {inches:g} inches leave no room for a chart beside the names. Choose a larger width or shorter names "
        "(NAME=RUN)."
    )


def _drawn(draw: Callable[..., Any], palette: Palette, **look: Any) -> alt.Chart:
    with unvalidated():
        chart = draw(palette, **look)
    object.__setattr__(chart, "__class__", offline(chart.__class__))  # a chart keeps plain assignments as its content
    return cast("alt.Chart", chart)


class OfflineChart:
    """A chart that a notebook shows as a picture, which needs no network, unless the user enabled a renderer of Altair.

    Control characters in its texts are written as on a terminal: XML, and so SVG, has none.
    """

    def to_dict(self, *args: Any, **options: Any) -> Any:
        return map_texts(super().to_dict(*args, **options), visible)  # type: ignore[misc]

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        if library("altair").renderers.active != "default":
            return super()._repr_mimebundle_(*args, **options)  # type: ignore[misc]
        return {"image/svg+xml": svg_of(cast("alt.Chart", self))}

    def __reduce_ex__(self, protocol: Any) -> Any:
        # The class is made at run time, so that pickle does not find it by its name.
        reduced: Any = super().__reduce_ex__(protocol)
        _, (kind, *_), *state = reduced
        return (_empty, (kind.__mro__[2],), *state)


@cache
def offline(kind: Any) -> Any:
    """Make a subclass of a class of Altair's charts that is an :class:`OfflineChart` too."""
    return type(kind.__name__, (OfflineChart, kind), {"__doc__": kind.__doc__, "__module__": kind.__module__})


def _empty(kind: Any) -> Any:
    return object.__new__(offline(kind))


def about(chart: alt.Chart) -> dict[str, Any]:
    """Return what a chart holds beside its picture: ``inches``, its width in print, and ``notes``."""
    return dict(chart.usermeta) if isinstance(chart.usermeta, dict) else {}


def points_of(chart: alt.Chart) -> str:
    """Write the points of curves as CSV."""
    import pandas as pd

    return pd.DataFrame(chart.to_dict(validate=False)["data"]["values"]).to_csv(index=False)


def svg_of(chart: alt.Chart) -> str:
    """Draw a chart as SVG."""
    # Vega computes the descriptions for screen readers: in them, escapes in labels become control characters again.
    return visible(library("vl_convert").vegalite_to_svg(chart.to_dict(validate=False), vl_version=vega_version()))


def size_in(svg: str) -> tuple[float, float]:
    """Measure a chart in SVG, in pixels."""
    width, height = re.findall(r'(?:width|height)="([\d.]+)"', svg)[:2]
    return float(width), float(height)


def save_picture(chart: alt.Chart, path: Path) -> None:
    """Write a chart in the format that the ending of its file names; an HTML page needs no network.

    The PNG of a chart for print has 300 dots per inch; that of a chart without a width in inches has 2 dots per pixel.
    """
    check_picture(path)
    convert = library("vl_convert")
    kind = path.suffix.lower().removeprefix(".")
    if kind == "html":
        write_text(path, picture_document(chart, path.stem))
        return
    inches, svg = about(chart).get("inches"), svg_of(chart)
    dots = {"scale": 2.0} if inches is None else {"scale": 1.000001, "ppi": 300}
    if inches is not None:
        svg = printed(svg, inches) if kind == "svg" else printed(svg, inches, POINTS, "")
    with replacing(path) as file:
        if kind == "svg":
            file.write_text(svg, encoding="utf-8")
        else:
            file.write_bytes(convert.svg_to_pdf(svg) if kind == "pdf" else convert.svg_to_png(svg, **dots))


PICTURES = (".svg", ".png", ".pdf", ".html")


def check_picture(path: Path) -> None:
    """Refuse a file whose ending is no format of pictures.

    >>> check_picture(Path("figure.pgn"))
    Traceback (most recent call last):
    kgeval.base.errors.InputError: 'figure.pgn': a picture ends in .svg, .png, .pdf or .html. Did you mean '.png'?
    """
    if path.suffix.lower() not in PICTURES:
        hint = did_you_mean(path.suffix.lower(), PICTURES)
        raise InputError(f"{str(path)!r}: a picture ends in .svg, .png, .pdf or .html. {hint}")


def printed(svg: str, inches: float, unit: float = 1, name: str = "in") -> str:
    """Set the width of a chart in SVG to exactly so many inches.

    It is written in units of which an inch has ``unit``, with their ``name``; PDF takes units without a name as points.
    """
    width, height = size_in(svg)
    wide = max(width, INCH * inches)
    size = f'width="{inches * unit:.6g}{name}" height="{height * inches * unit / wide:.6g}{name}"'
    root = f'{size} viewBox="0 0 {wide:g} {height:g}"><rect width="{wide:g}"'
    return re.sub(r'width="[^"]*" height="[^"]*" viewBox="[^"]*"><rect width="[^"]*"', root, svg, count=1)


def picture_document(chart: alt.Chart, name: str) -> str:
    """Write an HTML page of one chart; ``name`` is its title if the chart has none."""
    spec = map_texts(chart.to_dict(), lambda text: IN_PAGE.get(text, text))
    title = spec.pop("title", "")
    return document(
        "picture.html.j2",
        scripts=("theme.js", "charts.js"),
        data={"charts": {"picture": spec}},
        title=" ".join(title) if isinstance(title, list) else title or name,
        about="",
    )
