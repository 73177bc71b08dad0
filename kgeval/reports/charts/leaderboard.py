"""The leaderboard as a picture: for each metric a dot per model, its interval as a whisker, its seeds below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgeval.reports.charts.theme import LIGHT, Palette, records, themed
from kgeval.reports.document import library

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

ROW = 30

BELOW = 8
"""pixels from a model's mean down to the dots of its seeds"""


def metric_panel(scores: pd.DataFrame, palette: Palette = LIGHT, *, width: Any = 220) -> alt.LayerChart:
    """Draw one metric.

    The frame has the columns model, title (of the metric, with the direction that is better), value, low, high (NaN
    without an interval), chance (NaN where unknown), baseline, bool, and seeds, the values of all seeds, empty of a
    single one; in the order of the rows of the picture. The width is in pixels, or ``"container"``.
    """
    altair = library("altair")
    models = list(dict.fromkeys(scores["model"]))
    values = scores.dropna(subset=["value"])
    title = scores["title"].iloc[0] if len(scores) else ""
    domain = _domain(values)
    color = altair.condition("datum.baseline", altair.value(palette.muted), altair.value(palette.models[0]))
    y = altair.Y("model:N", sort=models, title=None, scale=altair.Scale(domain=models), axis=altair.Axis(ticks=False))
    base = altair.Chart(records(values.drop(columns="seeds"))).encode(
        y=y,
        tooltip=[
            altair.Tooltip("model:N"),
            *(altair.Tooltip(f"{key}:Q", format=".6f") for key in ("value", "low", "high")),
        ],
    )
    x = altair.Scale(domain=domain, nice=False, zero=False)
    axis = altair.Axis(tickCount=4, domain=False, ticks=False)
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=altair.X("value:Q", title=title, scale=x, axis=axis), color=color
    )
    layers = [points]
    if values["low"].notna().any():
        whiskers = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2)
        layers.insert(0, whiskers.encode(x=altair.X("low:Q", scale=x, title=title), x2="high:Q", color=color))
    seeds = values.explode("seeds").dropna(subset=["seeds"])
    if len(seeds):
        own = altair.Chart(records(seeds[["model", "seeds", "baseline"]]))
        dots = own.mark_circle(size=26, opacity=0.6, yOffset=BELOW)
        tooltip = [altair.Tooltip("model:N"), altair.Tooltip("seeds:Q", format=".6f", title="one seed")]
        layers.insert(0, dots.encode(y=y, x=altair.X("seeds:Q", scale=x, title=title), color=color, tooltip=tooltip))
    chance = values["chance"].dropna()
    if len(chance) and domain[0] <= chance.iloc[0] <= domain[1]:
        dashes = altair.Chart().mark_rule(strokeDash=[3, 3], color=palette.muted)
        layers.insert(0, dashes.encode(x=altair.datum(chance.iloc[0])))
    panel: alt.LayerChart = altair.layer(*layers).properties(
        width=width, height=ROW * max(len(models), 1), description=f"{title} of each model, as in the table of results."
    )
    return panel


def _domain(values: pd.DataFrame) -> list[float]:
    """Leave some room around all values, those of seeds, and the ends of their intervals."""
    ends = [number for name in ("value", "low", "high") for number in values[name].dropna()]
    ends += [seed for seeds in values["seeds"] for seed in seeds]
    if not ends:
        return [0.0, 1.0]
    room = (max(ends) - min(ends)) * 0.08 or abs(max(ends)) * 0.05 or 1.0
    return [min(ends) - room, max(ends) + room]


def leaderboard(scores: pd.DataFrame, palette: Palette = LIGHT, *, title: str = "") -> alt.Chart:
    """Draw all metrics side by side; ``scores`` has the columns of a panel for each of them."""
    altair = library("altair")
    panels = [metric_panel(of_metric, palette) for _, of_metric in scores.groupby("metric", sort=False)]
    return themed(altair.concat(*panels, columns=3, spacing=30).properties(title=title), palette)
