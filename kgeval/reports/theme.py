"""The look of all charts: colours, shapes and dashes of models, thin lines, one typeface, nothing that is not data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgeval.reports.document import library

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

LABEL_WIDTH = 150
"""pixels after which a label ends in …; a tooltip has all of it"""

ROOM = {"left": 2, "top": 2, "right": 12, "bottom": 2}
"""pixels around a chart in a page, so that the last number of an axis is whole"""

SHAPES = (
    "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",  # circle
    "M-.9,-.9H.9V.9H-.9Z",  # square
    "M0,-1L1,.9H-1Z",  # triangle
    "M0,-1.1L.85,0L0,1.1L-.85,0Z",  # diamond
    "M-.35,-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z",  # cross
    "M0,1L1,-.9H-1Z",  # triangle that points down
    "M-.9,-1H.9L-.9,1H.9Z",  # hourglass
)
"""of the models' dots, as SVG paths around 0; 7, which 12 does not divide: 84 models differ in shape or colour"""

DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [14, 4], [10, 2, 2, 2, 2, 2], [4, 6])
"""of the models' lines, likewise"""


@dataclass(frozen=True)
class Look:
    color: str
    shape: str
    dash: list[int]


@dataclass(frozen=True)
class Palette:
    """The colours of a chart.

    Twelve of models: any two differ for people who see no red, no green or no blue, and two of one shape differ most.
    """

    ink: str
    muted: str
    """axes, floors and chance"""
    line: str
    """rules behind the data"""
    paper: str | None
    """None lets what is behind the chart through"""
    models: tuple[str, ...]

    def looks(self, models: Iterable[str], baselines: Collection[str] = ()) -> dict[str, Look]:
        """Give each model a colour, a shape and a dash; baselines are grey.

        >>> [look.color for look in LIGHT.looks(["a", "floor", "b"], baselines=["floor"]).values()]
        ['#0072b2', '#5f6770', '#d55e00']
        """
        found, numbers = {}, {False: 0, True: 0}
        for model in models:
            grey = model in baselines
            number = numbers[grey]
            numbers[grey] += 1
            color = self.muted if grey else self.models[number % len(self.models)]
            found[model] = Look(color, SHAPES[number % len(SHAPES)], DASHES[number % len(DASHES)])
        return found

    def scale(self, part: str, models: Sequence[str], baselines: Collection[str] = ()) -> alt.Scale:
        """The scale that gives each model one part of its look: ``"color"``, ``"shape"`` or ``"dash"``."""
        looks = self.looks(models, baselines).values()
        scale: alt.Scale = library("altair").Scale(domain=models, range=[getattr(look, part) for look in looks])
        return scale


LIGHT = Palette(
    "#1b1f24",
    "#5f6770",
    "#e3e6ea",
    "#ffffff",
    (
        *("#0072b2", "#d55e00", "#009e73", "#0c24fc", "#9c0000", "#c078a8"),
        *("#8430d8", "#6c0c24", "#9c78fc", "#48246c", "#a85448", "#30249c"),
    ),
)

MODELS = tuple(f"var(--model-{number})" for number in range(1, 1 + len(LIGHT.models)))

PAGE = Palette("var(--ink)", "var(--muted)", "var(--line)", None, MODELS)
"""the colours that the page's style sheet has, which change with light and dark and on paper"""


IN_PAGE = (
    {getattr(LIGHT, name): getattr(PAGE, name) for name in ("ink", "muted", "line")}
    | dict(zip(LIGHT.models, PAGE.models, strict=True))
    | {"#ffffff": "var(--paper)"}
)


def in_page(spec: Any) -> Any:
    """Give the specification of a finished picture the colours of the page.

    >>> in_page({"mark": {"color": "#0072b2", "size": 3}})
    {'mark': {'color': 'var(--model-1)', 'size': 3}}
    """
    if isinstance(spec, dict):
        return {name: in_page(part) for name, part in spec.items()}
    if isinstance(spec, list):
        return list(map(in_page, spec))
    return IN_PAGE.get(spec, spec) if isinstance(spec, str) else spec


def themed(chart: Any, palette: Palette) -> alt.Chart:
    text = {"labelColor": palette.muted, "titleColor": palette.muted, "labelFontSize": 12, "titleFontSize": 12}
    styled: alt.Chart = (
        chart.configure(font=FONT, background=palette.paper or "transparent", padding=16 if palette.paper else ROOM)
        .configure_view(stroke=None)
        .configure_axis(
            **text,
            titleFontWeight="normal",
            labelLimit=LABEL_WIDTH,
            gridColor=palette.line,
            domainColor=palette.line,
            tickColor=palette.line,
            labelPadding=6,
        )
        .configure_title(color=palette.ink, subtitleColor=palette.muted, fontSize=14, anchor="start", offset=10)
        .configure_legend(**text, labelLimit=260, symbolStrokeWidth=2, orient="top", title=None, columns=3)
        .configure_header(labelColor=palette.ink, title=None, labelFontSize=12)
    )
    return styled


def records(frame: pd.DataFrame) -> alt.Data:
    """Give a chart its rows; NaN becomes null."""
    plain = frame.astype(object).where(frame.notna(), None)
    data: alt.Data = library("altair").Data(values=plain.to_dict("records"))
    return data
