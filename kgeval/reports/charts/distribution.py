"""The distribution of ranks: which share of answers is among the first k, for every k, on a logarithmic axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgeval.reports.charts.records import records
from kgeval.reports.charts.theme import LIGHT, Palette, themed
from kgeval.reports.libraries import library

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [10, 4])
"""so that lines are told apart without colour too"""


def distribution(points: pd.DataFrame, palette: Palette = LIGHT, *, title: Any = "", width: Any = 640) -> alt.Chart:
    """Draw cumulative shares as steps; hovering reads Hits@k of all models off.

    Parameters
    ----------
    points
        columns model, k and share (of ranks ≤ k); every k for every model
    palette
        the colours
    title
        what the picture shows
    width
        in pixels, or ``"container"``
    """
    alt = library("altair")
    models = list(dict.fromkeys(points["model"]))
    names = {f"m{index}": model for index, model in enumerate(models)}
    color = alt.Color("model:N", scale=alt.Scale(domain=models, range=palette.of_models(len(models))), legend=alt.Legend(symbolType="stroke", symbolSize=220))
    dash = alt.StrokeDash("model:N", scale=alt.Scale(domain=models, range=[DASHES[i % 6] for i in range(len(models))]))
    k = alt.X(
        "k:Q",
        title="k (logarithmic)",
        scale=alt.Scale(type="log", domain=[1, max(points["k"].max(), 2)], nice=False),
        axis=alt.Axis(grid=False, tickCount=6, format="~s"),
    )
    share = alt.Y(
        "share:Q",
        title="Hits@k, higher is better ↑",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", tickCount=5, domain=False, ticks=False),
    )
    lines = alt.Chart(records(points)).mark_line(interpolate="step-after", strokeWidth=2).encode(k, share, color, dash)
    nearest = alt.selection_point(
        name="at", fields=["k"], nearest=True, on="pointermove", empty=False, clear="pointerout"
    )
    wide = points.pivot(index="k", columns="model", values="share")[models]
    wide = wide.set_axis(list(names), axis=1).reset_index()
    rule = (
        alt.Chart(records(wide))
        .mark_rule(color=palette.muted)
        .encode(
            k,
            opacity=alt.condition(nearest, alt.value(0.9), alt.value(0)),
            tooltip=[
                alt.Tooltip("k:Q", format=","),
                *(alt.Tooltip(f"{name}:Q", title=model[:60], format=".4f") for name, model in names.items()),
            ],
        )
        .add_params(nearest)
    )
    dots = alt.Chart(records(points)).transform_filter(nearest).mark_point(filled=True, size=50).encode(k, share, color)
    return themed(alt.layer(lines, rule, dots).properties(width=width, height=300, title=title), palette)
