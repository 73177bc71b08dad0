"""Where a metric comes from: a dot with its interval per category of a slice, models side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgeval.reports.charts.records import records
from kgeval.reports.charts.theme import LIGHT, SHAPES, Palette, themed
from kgeval.reports.libraries import library

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

LANE = 13
"""pixels for each model of a category"""


def slice_panel(groups: pd.DataFrame, palette: Palette = LIGHT, *, title: str = "", width: Any = 260) -> alt.LayerChart:
    """Draw one slice.

    Parameters
    ----------
    groups
        columns category (of several lines, in the order of the rows), model, value, low, high (NaN without an
        interval), count and axis (the metric's title)
    palette
        the colours
    title
        the slice
    width
        in pixels, or ``"container"``
    """
    alt = library("altair")
    models, categories = (list(dict.fromkeys(groups[name])) for name in ("model", "category"))
    values = groups.dropna(subset=["value"])
    look = [palette.of_models(len(models)), [SHAPES[index % len(SHAPES)] for index in range(len(models))]]
    color, shape = (alt.Scale(domain=models, range=range_) for range_ in look)
    scale = alt.Scale(zero=False, nice=True)
    name = groups["axis"].iloc[0] if len(groups) else ""
    base = alt.Chart(records(values)).encode(
        y=alt.Y("category:N", sort=categories, title=None, axis=alt.Axis(ticks=False, domain=False, labelExpr="split(datum.label, '\\n')")),
        yOffset=alt.YOffset("model:N", sort=models, scale=alt.Scale(domain=models, paddingOuter=0.6)),
        color=alt.Color("model:N", scale=color, legend=None),
        tooltip=[
            alt.Tooltip("category:N"),
            alt.Tooltip("model:N"),
            alt.Tooltip("value:Q", format=".4f"),
            alt.Tooltip("low:Q", format=".4f"),
            alt.Tooltip("high:Q", format=".4f"),
            alt.Tooltip("count:Q", format=",", title="ranks"),
        ],
    )
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        x=alt.X("value:Q", title=name, scale=scale, axis=alt.Axis(tickCount=4, domain=False, ticks=False)),
        shape=alt.Shape("model:N", scale=shape, legend=None),
    )
    whiskers = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5).encode(
        x=alt.X("low:Q", title=name, scale=scale), x2="high:Q"
    )
    height = max(len(categories), 1) * max(LANE * len(models) + 8, 36)
    panel: alt.LayerChart = alt.layer(whiskers, points).properties(width=width, height=height, title=title)
    return panel


def slices_chart(groups: pd.DataFrame, palette: Palette = LIGHT, *, title: str = "") -> alt.Chart:
    """Draw several slices, told apart by the column ``slice``, side by side."""
    alt = library("altair")
    panels = [slice_panel(own, palette, title=name) for name, own in groups.groupby("slice", sort=False)]
    return themed(alt.concat(*panels, columns=2, spacing=30).properties(title=title), palette)
