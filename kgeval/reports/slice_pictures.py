"""The picture of slices: a metric of each model by category, a panel for each slice, no higher than it needs."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.reports.document import library
from kgeval.reports.pictures import with_whiskers
from kgeval.reports.theme import LIGHT, LINES, Palette, records, themed

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


LANES = range(13, 4, -1)
"""pixels for each model of a category: as many as there is room for"""


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
    low, high (NaN without an interval), count and axis (the metric's title). The width is in pixels, or
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
    base = altair.Chart(records(values)).encode(
        y=altair.Y("category:N", sort=categories, title=None, axis=named),
        yOffset=altair.YOffset("model:N", sort=models, scale=altair.Scale(domain=models, paddingOuter=0.6)),
        color=altair.Color("model:N", scale=palette.scale("color", models, baselines), legend=legend),
        tooltip=[*words, *numbers, altair.Tooltip("count:Q", format=",", title="ranks")],
    )
    shape = altair.Shape("model:N", scale=palette.scale("shape", models, baselines), legend=legend)
    size, stroke = 3.5 * lane, min(1.5, lane / 6)
    layers = with_whiskers(base, values, {"title": name, "scale": scale}, size=size, stroke=stroke, shape=shape)
    height = max(len(categories), 1) * category_height(len(models), lane, palette)
    about = {"title": title, "description": f"{name} of each model by {title or 'slice'}."}
    panel: alt.LayerChart = altair.layer(*layers).properties(width=width, height=height, **about)
    return panel


def category_height(models: int, lane: int, palette: Palette) -> float:
    return max(lane * models + 8, 2.5 * palette.line_height)


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
    """Draw a panel for each slice, in columns of about the same height; ``total`` is the width of all of them.

    The last slices are left out of a picture that would be higher than ``highest``, with a note; 0 leaves none out.
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
    """Choose the lanes of a figure so that it is not too high, the column of each slice, and whether that is so."""
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
