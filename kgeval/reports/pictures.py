"""The pictures: leaderboard, distribution of ranks and relations, each a function of a data frame."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.reports.document import library
from kgeval.reports.theme import LIGHT, LINES, Palette, in_lines, records, themed

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


TRIPLES = "number of test triples (log scale)"
"""the axis of a single model's relations"""


def metric_panel(
    scores: pd.DataFrame, palette: Palette = LIGHT, *, width: Any = 220, labels: bool = True
) -> alt.LayerChart:
    """Draw one metric.

    The frame has the columns model, title (of the metric, with the direction that is better), value, low, high (NaN
    without an interval), chance (NaN where unknown), baseline, bool, and seeds, the values of all seeds, empty of a
    single one; in the order of the rows of the picture. The width is in pixels, or ``"container"``; without ``labels``,
    the panel is next to one that names the models.
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
    base = altair.Chart(records(values.drop(columns="seeds"))).encode(**about)
    x = altair.Scale(domain=domain, nice=False, zero=False)
    layers = with_whiskers(base, values, {"title": title, "scale": x}, size=palette.row * 7 / 3, stroke=2)
    seeds = values.explode("seeds").dropna(subset=["seeds"])
    if len(seeds):
        own = altair.Chart(records(seeds[["model", "seeds", "baseline"]]))
        dots = own.mark_circle(size=palette.row, opacity=0.6, yOffset=palette.row / 4)
        tooltip = [altair.Tooltip("model:N"), altair.Tooltip("seeds:Q", format=".6f", title="one seed")]
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
    """Leave some room around all values, those of seeds, and the ends of their intervals."""
    ends = [number for name in ("value", "low", "high") for number in values[name].dropna()]
    ends += [seed for seeds in values["seeds"] for seed in seeds]
    if not ends:
        return [0.0, 1.0]
    room = (max(ends) - min(ends)) * 0.08 or abs(max(ends)) * 0.05 or 1.0
    return [min(ends) - room, max(ends) + room]


def row_of(labels: Collection[str], palette: Palette) -> float:
    """Pixels for each row of labels that may have several lines."""
    lines = max((label.count("\n") + 1 for label in labels), default=1)
    return max(palette.row, (lines + 0.3) * palette.line_height)


def leaderboard(
    scores: pd.DataFrame, palette: Palette = LIGHT, *, columns: int = 3, width: Any = 220, title: str = ""
) -> alt.Chart:
    """Draw a panel for each metric; the first of a row of panels names the models."""
    altair = library("altair")
    scores = scores.assign(model=scores["model"].map(in_lines))
    panels = [
        metric_panel(own, palette, width=width, labels=place % columns == 0)
        for place, (_, own) in enumerate(scores.groupby("metric", sort=False))
    ]
    spacing = {"row": palette.size, "column": palette.size * 1.5}
    return themed(altair.concat(*panels, columns=columns, spacing=spacing).properties(title=title), palette)


def distribution(
    points: pd.DataFrame,
    palette: Palette = LIGHT,
    *,
    baselines: Collection[str] = (),
    title: Any = "",
    width: Any = 640,
    legend: bool = True,
) -> alt.Chart:
    """Draw cumulative shares as steps; hovering reads Hits@k of all models off.

    The frame has the columns model, k and share (of ranks ≤ k); every k for every model.
    """
    altair = library("altair")
    models = list(dict.fromkeys(points["model"]))
    named = palette.legend(models, width, symbolType="stroke", symbolSize=220) if legend else None
    color = altair.Color("model:N", scale=palette.scale("color", models, baselines), legend=named)
    dash = altair.StrokeDash("model:N", scale=palette.scale("dash", models, baselines), legend=named)
    largest = max(points["k"].max(), 2)
    logarithmic = altair.Scale(type="log", domain=[1, largest], nice=False)
    powers = altair.Axis(values=[at for at in (1, 3, *10 ** np.arange(1, 10)) if at <= largest], format="~s")
    k = altair.X("k:Q", title="k (log scale)", scale=logarithmic, axis=powers)
    percent = altair.Axis(format=".0%", tickCount=5, domain=False, ticks=False)
    share = altair.Y("share:Q", title="Hits@k ↑", scale=altair.Scale(domain=[0, 1]), axis=percent)
    shares = altair.Chart(records(points))
    lines = shares.mark_line(interpolate="step-after", strokeWidth=2).encode(k, share, color, dash)
    nearest = altair.selection_point(
        name="at", fields=["k"], nearest=True, on="pointermove", empty=False, clear="pointerout"
    )
    rule = _rule(points, nearest, palette).encode(k)
    dots = shares.transform_filter(nearest).mark_point(filled=True, size=50).encode(k, share, color)
    about = "Hits@k of each model, for every k."
    size = {"width": width, "height": 300 if isinstance(width, str) else min(300, 0.62 * width)}
    chart = altair.layer(lines, rule, dots).properties(**size, title=title, description=about)
    return themed(chart, palette)


def _rule(points: pd.DataFrame, nearest: Any, palette: Palette) -> Any:
    """The line under the pointer, whose tooltip shows Hits@k of all models."""
    altair = library("altair")
    names = {f"m{index}": model for index, model in enumerate(dict.fromkeys(points["model"]))}
    wide = points.pivot(index="k", columns="model", values="share")[list(names.values())]
    wide = wide.set_axis(list(names), axis=1).reset_index()
    shares = (altair.Tooltip(f"{name}:Q", title=model[:60], format=".4f") for name, model in names.items())
    opacity = altair.condition(nearest, altair.value(0.9), altair.value(0))
    tooltip = [altair.Tooltip("k:Q", format=","), *shares]
    rule = altair.Chart(records(wide)).mark_rule(color=palette.muted).encode(opacity=opacity, tooltip=tooltip)
    return rule.add_params(nearest)


def relations_chart(
    relations: pd.DataFrame, palette: Palette = LIGHT, *, axes: tuple[str, str], title: Any = "", width: Any = 480
) -> alt.Chart:
    """Draw a dot for each relation; a click on one selects it as the parameter ``picked``.

    The frame has the columns relation, x, y, triples and cardinality (empty where unknown); ``axes`` has the titles of
    x and y; the width is in pixels, or ``"container"``.
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
    circles = (
        altair.Chart(records(relations.dropna(subset=["x", "y"])), name="relations")
        .mark_circle(stroke=palette.paper or "var(--paper)", strokeWidth=0.7, cursor="pointer")
        .encode(
            x=altair.X("x:Q", title=axes[0], scale=scale, axis=across),
            y=altair.Y("y:Q", title=axes[1], axis=number),
            size=altair.Size("triples:Q", scale=altair.Scale(range=[palette.row, 23 * palette.row]), legend=None),
            color=altair.Color("cardinality:N", scale=palette.scale("color", kinds), legend=legend),
            opacity=altair.condition(picked, altair.value(0.75), altair.value(0.15)),
            tooltip=[altair.Tooltip("relation:N"), *places, triples, altair.Tooltip("cardinality:N")],
        )
    )
    layers = [circles.add_params(picked)]
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
