"""The pictures, each a function of a data frame: leaderboard, ranks, times, relations, slices, average ranks, curves.

Sections of the page and the plot functions call them. In go a frame with the columns that each function names and a
``Palette`` of ``theme.py``; out comes a chart of Altair.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.analysis.comparison.dataset_ranks import DatasetRanks
from kgeval.reports.document import library
from kgeval.reports.theme import LIGHT, LINES, Palette, in_lines, records, themed

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

TRIPLES = "number of test triples (log scale)"
"""the title of the x axis of relations, if there is one model only"""

CURVES = {
    "roc": ("false_positive_rate", "true_positive_rate", "linear"),
    "precision_recall": ("recall", "precision", "step-after"),
    "precision_recall_at_k": ("recall", "precision", "linear"),
}
"""for each curve, the columns of x and y, and how its points are joined; the last curve is of ranks, the others are of
classifications"""

WHOLE = re.compile("-?[0-9]{1,18}")
"""a time that is a number"""

MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.]+)?Z?")
"""a time that is a date"""

LANES = range(13, 4, -1)
"""the possible heights in pixels of a lane, the line of one model in a category; the largest that fits is taken"""

NAME_LETTERS = 16
"""the most letters in a line of a model's name in a critical difference diagram, which has names at both ends"""


def leaderboard(
    scores: pd.DataFrame, palette: Palette = LIGHT, *, columns: int = 3, width: Any = 220, title: str = ""
) -> alt.Chart:
    """Draw a panel for each metric; the first of a row of panels names the models."""
    altair = library("altair")
    scores = scores.assign(model=scores["model"].map(in_lines))
    panels = [
        metric_panel(of_metric, palette, width=width, labels=place % columns == 0)
        for place, (_, of_metric) in enumerate(scores.groupby("metric", sort=False))
    ]
    spacing = {"row": palette.size, "column": palette.size * 1.5}
    return themed(altair.concat(*panels, columns=columns, spacing=spacing).properties(title=title), palette)


def metric_panel(
    scores: pd.DataFrame, palette: Palette = LIGHT, *, width: Any = 220, labels: bool = True
) -> alt.LayerChart:
    """Draw one metric, a row for each model.

    The frame has a row for each model, from the top, and the columns model, title (of the metric, with the direction
    that is better), value, low and high (the ends of the interval, NaN without one), chance (the value of a random
    ranking, NaN if unknown), baseline (bool) and seeds (the values of all seeds, empty for a single run). For a mean
    over graphs, seeds has the values on all graphs, and a column graphs has their names. The width is in pixels, or
    ``"container"``; without ``labels``, the panel stands beside one that names the models.
    """
    altair = library("altair")
    models = list(dict.fromkeys(scores["model"]))
    values = scores.dropna(subset=["value"])
    title = scores["title"].iloc[0] if len(scores) else ""
    domain = _domain(values)
    color = altair.condition("datum.baseline", altair.value(palette.muted), altair.value(palette.models[0]))
    named = altair.Axis(ticks=False, labels=labels, labelExpr=LINES)
    y = altair.Y("model:N", sort=models, title=None, scale=altair.Scale(domain=models), axis=named)
    numbers = [altair.Tooltip(f"{key}:Q", format=".6f") for key in ("value", "low", "high")]
    about = {"y": y, "color": color, "tooltip": [altair.Tooltip("model:N"), *numbers]}
    several = [name for name in ("seeds", "graphs") if name in values]
    base = altair.Chart(records(values.drop(columns=several))).encode(**about)
    x = altair.Scale(domain=domain, nice=False, zero=False)
    layers = with_whiskers(base, values, {"title": title, "scale": x}, size=palette.row * 7 / 3, stroke=2)
    seeds = values.explode(several).dropna(subset=["seeds"])
    if len(seeds):
        of_seeds = altair.Chart(records(seeds[["model", "baseline", *several]]))
        dots = of_seeds.mark_circle(size=palette.row, opacity=0.6, yOffset=palette.row / 4)
        of_one = altair.Tooltip("seeds:Q", format=".6f", title="one graph" if "graphs" in several else "one seed")
        tooltip = [altair.Tooltip("model:N"), *(altair.Tooltip(f"{name}:N") for name in several[1:]), of_one]
        layers.insert(0, dots.encode(y=y, x=altair.X("seeds:Q", scale=x, title=title), color=color, tooltip=tooltip))
    chance = values["chance"].dropna()
    if len(chance) and domain[0] <= chance.iloc[0] <= domain[1]:
        dashes = altair.Chart().mark_rule(strokeDash=[3, 3], color=palette.muted)
        layers.insert(0, dashes.encode(x=altair.datum(chance.iloc[0])))
    height = row_of(models, palette) * max(len(models), 1)
    description = f"{title} of each model, as in the table of results."
    panel: alt.LayerChart = altair.layer(*layers).properties(width=width, height=height, description=description)
    return panel


def with_whiskers(
    base: Any, values: pd.DataFrame, x: dict[str, Any], *, size: float, stroke: float, **look: Any
) -> list[Any]:
    """The dots of values and, below them, the whiskers of their intervals, if there are any."""
    altair = library("altair")
    axis = altair.Axis(tickCount=4, domain=False, ticks=False, labelFlush=False, labelSeparation=5)
    dots = base.mark_point(filled=True, size=size, opacity=1).encode(x=altair.X("value:Q", axis=axis, **x), **look)
    if not values["low"].notna().any():
        return [dots]
    whiskers = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=stroke)
    return [whiskers.encode(x=altair.X("low:Q", **x), x2="high:Q"), dots]


def _domain(values: pd.DataFrame) -> list[float]:
    """The ends of an axis: there is some room around all values, also of seeds, and the ends of their intervals."""
    ends = [number for name in ("value", "low", "high") for number in values[name].dropna()]
    ends += [seed for seeds in values["seeds"] for seed in seeds]
    if not ends:
        return [0.0, 1.0]
    room = (max(ends) - min(ends)) * 0.08 or abs(max(ends)) * 0.05 or 1.0
    return [min(ends) - room, max(ends) + room]


def row_of(labels: Collection[str], palette: Palette) -> float:
    """The height of a row in pixels, if its label may have several lines."""
    lines = max((label.count("\n") + 1 for label in labels), default=1)
    return max(palette.row, (lines + 0.3) * palette.line_height)


def distribution(points: pd.DataFrame, palette: Palette = LIGHT, *, of_seeds: bool = False, **look: Any) -> alt.Chart:
    """Draw cumulative shares as steps; at the pointer, the chart shows Hits@k of all models.

    The frame has the columns model, k and share (of ranks ≤ k), and low and high, the ends of a band around the share
    (NaN without one); every model has every k. ``look`` goes to :func:`_lines`: baselines, legend, title and width.
    """
    altair = library("altair")
    largest = max(points["k"].max(), 2)
    logarithmic = altair.Scale(type="log", domain=[1, largest], nice=False)
    powers = altair.Axis(values=[at for at in (1, 3, *10 ** np.arange(1, 10)) if at <= largest], format="~s")
    k = altair.X("k:Q", title="k (log scale)", scale=logarithmic, axis=powers)
    percent = altair.Axis(format=".0%", tickCount=5, domain=False, ticks=False)
    axis = f"Hits@k ↑{', mean over seeds' if of_seeds else ''}"
    share = altair.Y("share:Q", title=axis, scale=altair.Scale(domain=[0, 1]), axis=percent)
    named = {"k": altair.Tooltip("k:Q", format=",")}
    about = "Hits@k of each model, for every k."
    return _lines(points, (k, share), palette, named, interpolate="step-after", description=about, **look)


def times_chart(points: pd.DataFrame, palette: Palette = LIGHT, **look: Any) -> alt.Chart:
    """Draw a metric over time, a line for each model, with a band of its interval.

    The frame has the columns model, group (the time, or the period, "first to last"), value, low and high (NaN without
    an interval), count (of ranks) and axis (the metric's title), in the order of time. A period is drawn at its first
    time. ``look`` is as in :func:`distribution`.
    """
    altair = library("altair")
    starts, kind = places_in_time(points["group"].tolist())
    points, name = points.assign(time=starts), points["axis"].iloc[0]
    scale: Any = {"T": {"type": "utc"}, "Q": {"zero": False, "nice": False}, "O": {}}[kind]
    axis = altair.Axis(grid=False, labelOverlap=True, **({"format": "d"} if kind == "Q" else {}))
    time = altair.X(f"time:{kind}", title="time", scale=altair.Scale(**scale), axis=axis, sort=None)
    number = altair.Axis(tickCount=5, domain=False, ticks=False)
    value = altair.Y("value:Q", title=name, scale=altair.Scale(zero=False), axis=number)
    named = {
        "time": None,
        # Where the nearest point is searched for, Vega-Lite finds only what has a format.
        "group": altair.Tooltip("group:N", title="time", format="s", formatType="toString"),
        "count": altair.Tooltip("count:Q", format=",", title="ranks"),
    }
    return _lines(points, (time, value), palette, named, description=f"{name} of each model over time.", **look)


def places_in_time(groups: Sequence[str]) -> tuple[list[Any], str]:
    """Place times, or the first times of periods, on an axis, and say of which type of Vega it is.

    They are numbers (``Q``), dates in milliseconds (``T``), or else stand one after the other (``O``).

    >>> places_in_time(["1970-01-01 to 1970-01-02", "1970-01-03"]), places_in_time(["8", "9"])
    (([0, 172800000], 'T'), ([8.0, 9.0], 'Q'))
    """
    starts = [group.partition(" to ")[0] for group in groups]
    for kind, known, unit in (("Q", WHOLE, np.float64), ("T", MOMENT, "datetime64[ms]")):
        try:
            if all(map(known.fullmatch, starts)):
                times = np.array([start.removesuffix("Z") for start in starts]).astype(unit)
                return (times if kind == "Q" else times.astype(np.int64)).tolist(), kind
        except ValueError:  # no date, such as the 31st of June
            continue
    return list(groups), "O"


def _lines(
    points: pd.DataFrame,
    axes: tuple[Any, Any],
    palette: Palette,
    named: dict[str, Any],
    *,
    baselines: Collection[str] = (),
    width: Any = 640,
    legend: bool = True,
    interpolate: str = "linear",
    **about: Any,
) -> alt.Chart:
    """Draw a line for each model, with a band from low to high; at the pointer, the chart shows the values of all.

    The frame has the columns model, low and high, NaN without a band. ``named`` has the columns that say where a point
    is on its line, the first of which is x, with their tooltips. The width is in pixels, or ``"container"``.
    """
    altair, (x, y) = library("altair"), axes
    models = list(dict.fromkeys(points["model"]))
    key = palette.legend(models, width, symbolType="stroke", symbolSize=220) if legend else None
    color = altair.Color("model:N", scale=palette.scale("color", models, baselines), legend=key)
    dash = altair.StrokeDash("model:N", scale=palette.scale("dash", models, baselines), legend=key)
    rows = altair.Chart(records(points))
    edges = {"y": altair.Y("low:Q", title=y["title"]), "y2": "high:Q", "color": color}
    bands = rows.mark_area(interpolate=interpolate, opacity=0.2).encode(x, **edges)
    around = [bands] if points["low"].notna().any() else []
    lines = rows.mark_line(interpolate=interpolate, strokeWidth=2).encode(x, y, color, dash)
    nearest = altair.selection_point(
        name="at", fields=[next(iter(named))], nearest=True, on="pointermove", empty=False, clear="pointerout"
    )
    rule = _rule(points, y["shorthand"].partition(":")[0], nearest, palette, named).encode(x)
    dots = rows.transform_filter(nearest).mark_point(filled=True, size=50).encode(x, y, color)
    size = {"width": width, "height": 300 if isinstance(width, str) else min(300, 0.62 * width)}
    chart = altair.layer(*around, lines, rule, dots).properties(**size, **about)
    return themed(chart, palette)


def _rule(points: pd.DataFrame, value: str, nearest: Any, palette: Palette, named: dict[str, Any]) -> Any:
    """The line under the pointer, whose tooltip shows the values of all models."""
    altair = library("altair")
    names = {f"m{index}": model for index, model in enumerate(dict.fromkeys(points["model"]))}
    wide = points.pivot(index=[*named], columns="model", values=value)[list(names.values())]
    wide = wide.set_axis(list(names), axis=1).reset_index()
    values = (altair.Tooltip(f"{name}:Q", title=model[:60], format=".4f") for name, model in names.items())
    opacity = altair.condition(nearest, altair.value(0.9), altair.value(0))
    tooltip = [*filter(None, named.values()), *values]
    rule = altair.Chart(records(wide)).mark_rule(color=palette.muted).encode(opacity=opacity, tooltip=tooltip)
    return rule.add_params(nearest)


def relations_chart(
    relations: pd.DataFrame, palette: Palette = LIGHT, *, axes: tuple[str, str], title: Any = "", width: Any = 480
) -> alt.Chart:
    """Draw a dot for each relation; a click on one selects it as the parameter ``picked``.

    The frame has the columns relation, x, y, triples and cardinality (empty where unknown), and the ends of whiskers,
    x_low, x_high, y_low and y_high (NaN without whiskers); ``axes`` has the titles of x and y; the width is in pixels,
    or ``"container"``.
    """
    altair = library("altair")
    against_model = axes[0] != TRIPLES
    kinds = sorted(set(relations["cardinality"]))
    picked = altair.selection_point(name="picked", fields=["relation"], on="click", empty=True)
    scale = altair.Scale() if against_model else altair.Scale(type="log")
    number = altair.Axis(domain=False, ticks=False, tickCount=5)
    across = number if against_model else altair.Axis(grid=False, tickCount=4, format="~s")
    legend = palette.legend(kinds, width) if any(kinds) else None
    places = [altair.Tooltip(f"{at}:Q", title=axis, format=".4~f") for at, axis in zip("xy", axes, strict=True)]
    triples = altair.Tooltip("triples:Q", format=",", title="test triples")
    x, y = {"title": axes[0], "scale": scale, "axis": across}, {"title": axes[1], "axis": number}
    base = altair.Chart(records(relations.dropna(subset=["x", "y"]))).encode(altair.X("x:Q", **x), altair.Y("y:Q", **y))
    rules = base.mark_rule(color=palette.muted, opacity=0.5)
    whiskers = {
        "x_low": rules.encode(x=altair.X("x_low:Q", **x), x2="x_high:Q"),
        "y_low": rules.encode(y=altair.Y("y_low:Q", **y), y2="y_high:Q"),
    }
    dots = base.mark_circle(stroke=palette.paper or "var(--paper)", strokeWidth=0.7, cursor="pointer")
    circles = dots.properties(name="relations").encode(
        size=altair.Size("triples:Q", scale=altair.Scale(range=[palette.row, 23 * palette.row]), legend=None),
        color=altair.Color("cardinality:N", scale=palette.scale("color", kinds), legend=legend),
        opacity=altair.condition(picked, altair.value(0.75), altair.value(0.15)),
        tooltip=[altair.Tooltip("relation:N"), *places, triples, altair.Tooltip("cardinality:N")],
    )
    drawn = [
        rule.transform_filter(f"isValid(datum.{end})") for end, rule in whiskers.items() if relations[end].notna().any()
    ]
    layers = [*drawn, circles.add_params(picked)]
    if against_model:
        values = relations[["x", "y"]].to_numpy()
        corners = [min(0.0, np.nanmin(values)), max(1.0, np.nanmax(values))]
        ends = altair.Chart(altair.Data(values=[{"x": at, "y": at} for at in corners]))
        diagonal = ends.mark_line(color=palette.muted, strokeDash=[3, 3]).encode(x="x:Q", y="y:Q")
        layers.insert(0, diagonal)  # where two models are equal
    about = f"A dot for each relation: {axes[1]} against {axes[0]}."
    size = {"width": width, "height": 400 if isinstance(width, str) else min(400, 0.84 * width)}
    chart = altair.layer(*layers).properties(**size, title=title, description=about)
    return themed(chart, palette)


def slices_chart(
    groups: pd.DataFrame,
    palette: Palette = LIGHT,
    *,
    baselines: Collection[str] = (),
    columns: int = 3,
    width: float = 160,
    total: float = 800,
    highest: float = 0,
    title: str = "",
) -> alt.Chart:
    """Draw a panel for each slice, in columns of about the same height.

    The frame is as in :func:`slice_panel`, with a column slice. ``width`` is for one column, ``total`` for all of them,
    in pixels. If the picture would be higher than ``highest`` pixels, the last slices are left out, and a note says so;
    0 leaves none out.
    """
    altair = library("altair")
    names, models = list(groups["slice"].unique()), list(dict.fromkeys(groups["model"]))
    legend = palette.legend(models, total)
    above = (len(models) // legend.columns + 2) * 1.25 * palette.line_height if legend else 0.0
    while True:
        shown = groups[groups["slice"].isin(names)]
        room = (highest or 1.35 * total) - above
        lane, places, fits = columns_of_slices(shown, palette, columns=min(columns, len(names)), highest=room)
        if fits or not highest or len(names) == 1:
            break
        names.pop()
    panels: list[list[Any]] = [[] for _ in range(max(places) + 1)]
    for name, place in zip(names, places, strict=True):
        own = groups[groups["slice"] == name]
        look = {"baselines": baselines, "title": name, "width": width, "lane": lane, "legend": legend}
        panels[place].append(slice_panel(own, palette, **look))
    shared = {"color": "shared", "shape": "shared"}
    filled = sorted((own for own in panels if own), key=lambda own: names.index(own[0].title))
    parts = [altair.vconcat(*own, spacing=palette.size).resolve_legend(**shared) for own in filled]
    chart = altair.hconcat(*parts, spacing=palette.size).resolve_legend(**shared)
    left_out = [name for name in groups["slice"].unique() if name not in names]
    note = f"left out, because the figure would be too high for a page: {', '.join(left_out)}. Choose slices with --by."
    return themed(chart.properties(title=title, usermeta={"notes": [note] if left_out else []}), palette)


def columns_of_slices(
    groups: pd.DataFrame, palette: Palette, *, columns: int, highest: float
) -> tuple[int, list[int], bool]:
    """Choose the height of a lane and the column of each slice, and say if the figure is now at most ``highest``.

    All heights are in pixels; a lane is the line of one model in a category.
    """
    models, around = groups["model"].nunique(), 5.5 * palette.line_height
    categories = groups.groupby("slice", sort=False)["category"].nunique().to_numpy()
    for lane in LANES:
        heights = categories * category_height(models, lane, palette) + around
        filled, places = np.zeros(columns), np.zeros(len(heights), np.int64)
        for index in np.argsort(-heights, kind="stable"):  # the highest first, each into the lowest column
            places[index] = filled.argmin()
            filled[places[index]] += heights[index]
        if fits := bool(filled.max() <= highest):
            break
    return lane, places.tolist(), fits


def slice_panel(
    groups: pd.DataFrame,
    palette: Palette = LIGHT,
    *,
    baselines: Collection[str] = (),
    title: str = "",
    width: Any = 260,
    lane: int = LANES[0],
    legend: alt.Legend | None = None,
) -> alt.LayerChart:
    """Draw one slice, whose name is the title.

    The frame has the columns category (of several lines, in the order of the rows), group (its name), model, value,
    low, high (NaN without an interval), axis (the metric's title) and perhaps count. The width is in pixels, or
    ``"container"``.
    """
    altair = library("altair")
    models, categories = (list(dict.fromkeys(groups[name])) for name in ("model", "category"))
    values = groups.dropna(subset=["value"])
    scale = altair.Scale(zero=False, nice=True)
    name = groups["axis"].iloc[0] if len(groups) else ""
    named = altair.Axis(ticks=False, domain=False, labelExpr=LINES)
    words = [altair.Tooltip(f"{key}:N") for key in ("group", "model")]
    numbers = [altair.Tooltip(f"{key}:Q", format=".4f") for key in ("value", "low", "high")]
    numbers += [altair.Tooltip("count:Q", format=",", title="ranks")] if "count" in groups else []
    base = altair.Chart(records(values)).encode(
        y=altair.Y("category:N", sort=categories, title=None, axis=named),
        yOffset=altair.YOffset("model:N", sort=models, scale=altair.Scale(domain=models, paddingOuter=0.6)),
        color=altair.Color("model:N", scale=palette.scale("color", models, baselines), legend=legend),
        tooltip=[*words, *numbers],
    )
    shape = altair.Shape("model:N", scale=palette.scale("shape", models, baselines), legend=legend)
    size, stroke = 3.5 * lane, min(1.5, lane / 6)
    layers = with_whiskers(base, values, {"title": name, "scale": scale}, size=size, stroke=stroke, shape=shape)
    height = max(len(categories), 1) * category_height(len(models), lane, palette)
    about = {"title": title, "description": f"{name} of each model by {title or 'slice'}."}
    panel: alt.LayerChart = altair.layer(*layers).properties(width=width, height=height, **about)
    return panel


def category_height(models: int, lane: int, palette: Palette) -> float:
    """The height in pixels of a category that has a lane for each model."""
    return max(lane * models + 8, 2.5 * palette.line_height)


def critical_difference(
    ranks: DatasetRanks,
    palette: Palette = LIGHT,
    *,
    axis: str = "average rank",
    baselines: Collection[str] = (),
    width: float = 420,
    title: str = "",
) -> alt.Chart:
    """Draw average ranks on an axis, the best at the right; bars join models that do not differ significantly.

    ``axis`` is the title of the axis, ``width`` its width in pixels.
    """
    altair = library("altair")
    average, line = ranks.average_ranks, palette.line_height
    order = np.argsort(average, kind="stable").tolist()
    bars = joined(average[order].tolist(), ranks.critical_difference)
    levels = lanes(bars)
    left = max(float(len(order)), 1 + ranks.critical_difference)
    texts = [f"{in_lines(ranks.models[place], NAME_LETTERS)} ({average[place]:.2f})" for place in order]
    step, top = row_of(texts, replace(palette, row=0)), 7.0 * (max(levels, default=-1) + 1) + line
    half, above = (len(order) + 1) // 2, -3.2 * line
    segments, names = [], []
    for index, place in enumerate(order):
        best = index < half
        rank, edge = float(average[place]), 1.0 if best else left
        y = top + step * (index if best else len(order) - 1 - index)
        color = palette.muted if ranks.models[place] in baselines else palette.ink
        segments += [_segment(rank, rank, 0, y, color), _segment(rank, edge, y, y, color)]
        names.append({"x": edge, "y": y, "text": texts[index], "color": color, "best": best})
    for (first, last), level in zip(bars, levels, strict=True):
        ends = float(average[order[first]]), float(average[order[last]])
        segments.append(_segment(*ends, 7.0 * (level + 1), 7.0 * (level + 1), palette.ink, 4))
    right = left - ranks.critical_difference
    ruler = {"x": left, "y": above - 6, "text": f"CD = {ranks.critical_difference:.3f}", "color": palette.ink}
    segments.append(_segment(left, right, above, above, palette.ink, 1.5))
    segments += [_segment(end, end, above - 4, above + 4, palette.ink, 1.5) for end in (left, right)]
    height = top + step * (half - 0.5)
    lines: dict[str, Any] = {"grid": False, "domainColor": palette.ink, "tickColor": palette.ink}
    places = list(range(1, len(order) + 1))
    numbers = altair.Axis(orient="top", values=places, format="d", title=axis, labelFlush=False, **lines)
    x = altair.X("x:Q", scale=altair.Scale(domain=[left, 1], nice=False, zero=False), axis=numbers)
    y = altair.Y("y:Q", scale=altair.Scale(domain=[0, height], range=[0, height]), axis=None)
    color = altair.Color("color:N", scale=None)
    rules = altair.Chart(altair.Data(values=segments)).mark_rule(strokeCap="butt")
    thick = altair.StrokeWidth("thick:Q", scale=None)
    layers = [rules.encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=color, strokeWidth=thick)]
    for rows, look in (
        ([name for name in names if name["best"]], {"align": "left", "dx": 5, "baseline": "middle"}),
        ([name for name in names if not name["best"]], {"align": "right", "dx": -5, "baseline": "middle"}),
        ([ruler], {"align": "left", "baseline": "bottom"}),
    ):
        text = altair.Chart(altair.Data(values=rows)).mark_text(**look, fontSize=palette.size, lineBreak="\n")
        layers.append(text.encode(x=x, y=y, text="text:N", color=color))
    description = f"{axis}; bars join models that differ by less than {ranks.critical_difference:.3f}."
    chart = altair.layer(*layers).properties(width=width, height=height, title=title, description=description)
    return themed(chart, palette).properties(usermeta={"notes": list(ranks.notes)})


def joined(average_ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Find the longest stretches of models whose average ranks, in rising order, differ by less than the difference.

    A stretch is given by the places of its first and last model.

    >>> joined([1.0, 1.5, 2.4, 4.0], 1.2)
    [(0, 1), (1, 2)]
    """
    ends = np.searchsorted(average_ranks, np.asarray(average_ranks) + difference) - 1
    return [
        (first, last)
        for first, last in enumerate(ends.tolist())
        if last > first and (first == 0 or last > ends[first - 1])
    ]


def lanes(bars: Sequence[tuple[int, int]]) -> list[int]:
    """Give each bar a line, from 0 at the top, so that no two bars on a line overlap.

    >>> lanes([(0, 2), (1, 3), (3, 4)])
    [0, 1, 0]
    """
    free: list[int] = []
    places = []
    for first, last in bars:
        lane = next((lane for lane, end in enumerate(free) if end < first), len(free))
        free[lane : lane + 1] = [last]
        places.append(lane)
    return places


def _segment(x: float, x2: float, y: float, y2: float, color: str, thick: float = 1) -> dict[str, Any]:
    return {"x": x, "x2": x2, "y": y, "y2": y2, "color": color, "thick": thick}


def curves_chart(
    points: pd.DataFrame, palette: Palette = LIGHT, *, curve: str, title: Any = "", width: Any = 400
) -> alt.Chart:
    """Draw a curve of each model.

    The first column of the frame is model, the second one orders the points. The others are the two columns that
    ``CURVES`` names for the curve, baseline (bool) and, if there is a band, low and high, its ends.
    """
    altair = library("altair")
    across, up, joined = CURVES[curve]
    models, order = list(dict.fromkeys(points["model"])), f"{points.columns[1]}:Q"
    baselines = [*points["model"][points["baseline"]]]
    named = palette.legend(models, width, symbolType="stroke", symbolSize=220)
    share = {"scale": altair.Scale(domain=[0, 1]), "axis": altair.Axis(tickCount=5, domain=False, ticks=False)}
    x = altair.X(f"{across}:Q", title=across.replace("_", " "), **share)
    y = altair.Y(f"{up}:Q", title=up.replace("_", " "), **share)
    rows = altair.Chart(records(points))
    tooltip = [altair.Tooltip("model:N"), *(altair.Tooltip(f"{axis}:Q", format=".4f") for axis in (across, up))]
    color = altair.Color("model:N", scale=palette.scale("color", models, baselines), legend=named)
    dash = altair.StrokeDash("model:N", scale=palette.scale("dash", models, baselines), legend=named)
    layers = [rows.mark_line(interpolate=joined, strokeWidth=2).encode(x, y, color, dash, order=order, tooltip=tooltip)]
    if "low" in points:
        layers.insert(0, rows.mark_area(opacity=0.2).encode(x, altair.Y("low:Q"), altair.Y2("high:Q"), color))
    about = f"{up} against {across} of each model.".replace("_", " ")
    height = 400 if isinstance(width, str) else min(400, 0.84 * width)
    drawn = altair.layer(*layers).properties(width=width, height=height, title=title, description=about)
    return themed(drawn, palette)
