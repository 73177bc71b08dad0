"""The distribution of ranks: which share of answers is among the first k, for every k, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from kgeval.reports.charts.theme import LIGHT, Palette, records, themed
from kgeval.reports.document import library

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


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
    named = altair.Legend(symbolType="stroke", symbolSize=220) if legend and len(models) > 1 else None
    color = altair.Color("model:N", scale=palette.scale("color", models, baselines), legend=named)
    dash = altair.StrokeDash("model:N", scale=palette.scale("dash", models, baselines), legend=named)
    k = altair.X(
        "k:Q",
        title="k (logarithmic)",
        scale=altair.Scale(type="log", domain=[1, max(points["k"].max(), 2)], nice=False),
        axis=altair.Axis(grid=False, tickCount=6, format="~s"),
    )
    share = altair.Y(
        "share:Q",
        title="Hits@k, higher is better ↑",
        scale=altair.Scale(domain=[0, 1]),
        axis=altair.Axis(format=".0%", tickCount=5, domain=False, ticks=False),
    )
    shares = altair.Chart(records(points))
    lines = shares.mark_line(interpolate="step-after", strokeWidth=2).encode(k, share, color, dash)
    nearest = altair.selection_point(
        name="at", fields=["k"], nearest=True, on="pointermove", empty=False, clear="pointerout"
    )
    rule = _rule(points, nearest, palette).encode(k)
    dots = shares.transform_filter(nearest).mark_point(filled=True, size=50).encode(k, share, color)
    about = "The share of ranks up to k, for every k."
    chart = altair.layer(lines, rule, dots).properties(width=width, height=300, title=title, description=about)
    return themed(chart, palette)


def _rule(points: pd.DataFrame, nearest: Any, palette: Palette) -> Any:
    """The line under the pointer, which tells Hits@k of all models."""
    altair = library("altair")
    names = {f"m{index}": model for index, model in enumerate(dict.fromkeys(points["model"]))}
    wide = points.pivot(index="k", columns="model", values="share")[list(names.values())]
    wide = wide.set_axis(list(names), axis=1).reset_index()
    shares = (altair.Tooltip(f"{name}:Q", title=model[:60], format=".4f") for name, model in names.items())
    opacity = altair.condition(nearest, altair.value(0.9), altair.value(0))
    tooltip = [altair.Tooltip("k:Q", format=","), *shares]
    rule = altair.Chart(records(wide)).mark_rule(color=palette.muted).encode(opacity=opacity, tooltip=tooltip)
    return rule.add_params(nearest)
