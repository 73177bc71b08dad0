"""Where a metric comes from: a dot per relation, and a dot with its interval per category of a slice."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from kgeval.reports.charts.theme import LIGHT, Palette, records, themed
from kgeval.reports.document import library

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


def relations_chart(
    relations: pd.DataFrame, palette: Palette = LIGHT, *, axes: tuple[str, str], title: Any = "", width: Any = 480
) -> alt.Chart:
    """Draw a dot for each relation; a click on one selects it as the parameter ``picked``.

    The frame has the columns relation, x, y, triples and cardinality (empty where unknown); ``axes`` has the titles of
    x and y; the width is in pixels, or ``"container"``.
    """
    altair = library("altair")
    against_model = axes[0] != "test triples"
    kinds = sorted(set(relations["cardinality"]))
    picked = altair.selection_point(name="picked", fields=["relation"], on="click", empty=True)
    scale = altair.Scale() if against_model else altair.Scale(type="log")
    number = altair.Axis(domain=False, ticks=False, tickCount=5)
    across = number if against_model else altair.Axis(grid=False, tickCount=4, format="~s")
    dots = (
        altair.Chart(records(relations.dropna(subset=["x", "y"])), name="relations")
        .mark_circle(stroke=palette.paper or "var(--paper)", strokeWidth=0.7, cursor="pointer")
        .encode(
            x=altair.X("x:Q", title=axes[0], scale=scale, axis=across),
            y=altair.Y("y:Q", title=axes[1], axis=number),
            size=altair.Size("triples:Q", scale=altair.Scale(range=[25, 700]), legend=None),
            color=altair.Color(
                "cardinality:N",
                scale=palette.scale("color", kinds),
                legend=altair.Legend(columns=4) if any(kinds) else None,
            ),
            opacity=altair.condition(picked, altair.value(0.75), altair.value(0.15)),
            tooltip=[
                altair.Tooltip("relation:N"),
                altair.Tooltip("x:Q", title="across", format=".4~f"),
                altair.Tooltip("y:Q", title="up", format=".4~f"),
                altair.Tooltip("triples:Q", format=",", title="test triples"),
                altair.Tooltip("cardinality:N"),
            ],
        )
        .add_params(picked)
    )
    layers = [dots]
    if against_model:
        ends = altair.Chart(altair.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
        diagonal = ends.mark_line(color=palette.muted, strokeDash=[3, 3]).encode(x="x:Q", y="y:Q")
        layers.insert(0, diagonal)  # where two models are equal
    about = f"A dot for each relation: {axes[1]} against {axes[0]}."
    chart = altair.layer(*layers).properties(width=width, height=400, title=title, description=about)
    return themed(chart, palette)


LANE = 13
"""pixels for each model of a category"""


def slice_panel(
    groups: pd.DataFrame,
    palette: Palette = LIGHT,
    *,
    baselines: Collection[str] = (),
    title: str = "",
    width: Any = 260,
    legend: bool = True,
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
    named = {} if legend and len(models) > 1 else {"legend": None}
    base = altair.Chart(records(values)).encode(
        y=altair.Y(
            "category:N",
            sort=categories,
            title=None,
            axis=altair.Axis(ticks=False, domain=False, labelExpr="split(datum.label, '\\n')"),
        ),
        yOffset=altair.YOffset("model:N", sort=models, scale=altair.Scale(domain=models, paddingOuter=0.6)),
        color=altair.Color("model:N", scale=palette.scale("color", models, baselines), **named),
        tooltip=[
            *(altair.Tooltip(f"{key}:N") for key in ("group", "model")),
            *(altair.Tooltip(f"{key}:Q", format=".4f") for key in ("value", "low", "high")),
            altair.Tooltip("count:Q", format=",", title="ranks"),
        ],
    )
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        x=altair.X("value:Q", title=name, scale=scale, axis=altair.Axis(tickCount=4, domain=False, ticks=False)),
        shape=altair.Shape("model:N", scale=palette.scale("shape", models, baselines), **named),
    )
    layers = [points]
    if values["low"].notna().any():
        whiskers = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
        layers.insert(0, whiskers.encode(x=altair.X("low:Q", title=name, scale=scale), x2="high:Q"))
    height = max(len(categories), 1) * max(LANE * len(models) + 8, 36)
    panel: alt.LayerChart = altair.layer(*layers).properties(
        width=width, height=height, title=title, description=f"{name} of each model by {title or 'slice'}."
    )
    return panel


def slices_chart(
    groups: pd.DataFrame, palette: Palette = LIGHT, *, baselines: Collection[str] = (), title: str = ""
) -> alt.Chart:
    """Draw several slices, told apart by the column ``slice``, side by side."""
    altair = library("altair")
    names = groups["slice"].unique()
    panels = [slice_panel(groups[groups["slice"] == name], palette, baselines=baselines, title=name) for name in names]
    shared = altair.concat(*panels, columns=2, spacing=30).resolve_legend(color="shared", shape="shared")
    return themed(shared.properties(title=title), palette)
