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
                scale=altair.Scale(domain=kinds, range=[look.color for look in palette.looks(kinds).values()]),
                legend=altair.Legend(columns=4) if any(kinds) else None,
            ),
            opacity=altair.condition(picked, altair.value(0.75), altair.value(0.15)),
            tooltip=_tooltip(),
        )
        .add_params(picked)
    )
    layers = [_diagonal(palette), dots] if against_model else [dots]
    return themed(
        altair.layer(*layers).properties(
            width=width, height=400, title=title, description=f"A dot for each relation: {axes[1]} against {axes[0]}."
        ),
        palette,
    )


def _tooltip() -> list[Any]:
    """What hovering over a relation tells."""
    altair = library("altair")
    return [
        altair.Tooltip("relation:N"),
        altair.Tooltip("x:Q", title="across", format=".4~f"),
        altair.Tooltip("y:Q", title="up", format=".4~f"),
        altair.Tooltip("triples:Q", format=",", title="test triples"),
        altair.Tooltip("cardinality:N"),
    ]


def _diagonal(palette: Palette) -> Any:
    """Where two models are equal."""
    altair = library("altair")
    ends = altair.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}])
    return altair.Chart(ends).mark_line(color=palette.muted, strokeDash=[3, 3]).encode(x="x:Q", y="y:Q")
