"""Relations as dots: one model against another, as large as they have triples; of one model, against that size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgeval.reports.charts.records import records
from kgeval.reports.charts.theme import LIGHT, Palette, themed
from kgeval.reports.libraries import library

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


def relations_chart(
    relations: pd.DataFrame, palette: Palette = LIGHT, *, axes: tuple[str, str], title: Any = "", width: Any = 480
) -> alt.Chart:
    """Draw a dot for each relation; a click on one selects it as the parameter ``picked``.

    Parameters
    ----------
    relations
        columns relation, x, y, triples and cardinality (empty where unknown)
    palette
        the colours
    axes
        the titles of x and y
    title
        what the picture shows
    width
        in pixels, or ``"container"``
    """
    alt = library("altair")
    against_model = axes[0] != "test triples"
    kinds = sorted(set(relations["cardinality"]))
    picked = alt.selection_point(name="picked", fields=["relation"], on="click", empty=True)
    scale = alt.Scale() if against_model else alt.Scale(type="log")
    number = alt.Axis(domain=False, ticks=False, tickCount=5)
    dots = (
        alt.Chart(records(relations.dropna(subset=["x", "y"])), name="relations")
        .mark_circle(stroke=palette.paper or "var(--paper)", strokeWidth=0.7, cursor="pointer")
        .encode(
            x=alt.X("x:Q", title=axes[0], scale=scale, axis=number),
            y=alt.Y("y:Q", title=axes[1], axis=number),
            size=alt.Size("triples:Q", scale=alt.Scale(range=[25, 700]), legend=None),
            color=alt.Color(
                "cardinality:N",
                scale=alt.Scale(domain=kinds, range=palette.of_models(len(kinds))),
                legend=alt.Legend() if any(kinds) else None,
            ),
            opacity=alt.condition(picked, alt.value(0.75), alt.value(0.15)),
            tooltip=[
                alt.Tooltip("relation:N"),
                alt.Tooltip("x:Q", title="across", format=".4~f"),
                alt.Tooltip("y:Q", title="up", format=".4~f"),
                alt.Tooltip("triples:Q", format=",", title="test triples"),
                alt.Tooltip("cardinality:N"),
            ],
        )
        .add_params(picked)
    )
    layers = [dots]
    if against_model:
        ends = alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}])
        layers.insert(0, alt.Chart(ends).mark_line(color=palette.muted, strokeDash=[3, 3]).encode(x="x:Q", y="y:Q"))
    return themed(alt.layer(*layers).properties(width=width, height=400, title=title), palette)
