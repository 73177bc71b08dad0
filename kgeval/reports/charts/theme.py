"""The look of all charts: two palettes of the Okabe-Ito colours, thin lines, one typeface, nothing that is not data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

LABEL_WIDTH = 150
"""pixels after which a label ends in …; a tooltip has all of it"""

ROOM = {"left": 2, "top": 2, "right": 12, "bottom": 2}
"""pixels around a chart in a page, so that the last number of an axis is whole"""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
"""so that models are told apart without colour too"""


@dataclass(frozen=True)
class Palette:
    """The colours of a chart; those that people tell apart who see no red or no green (Okabe and Ito, 2008)."""

    ink: str
    muted: str
    """axes, floors and chance"""
    line: str
    """rules behind the data"""
    paper: str | None
    """None lets what is behind the chart through"""
    models: tuple[str, ...]

    def of_models(self, count: int) -> list[str]:
        """Return a colour for each model; beyond six they repeat, and shapes tell."""
        return [self.models[index % len(self.models)] for index in range(count)]


LIGHT = Palette(
    "#1b1f24", "#5f6770", "#e3e6ea", "#ffffff", ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#1b1f24")
)

PAGE = Palette(
    "var(--ink)", "var(--muted)", "var(--line)", None, tuple(f"var(--model-{number})" for number in range(1, 7))
)
"""the colours that the page's style sheet has, which change with light and dark and on paper"""


IN_PAGE = (
    {getattr(LIGHT, name): getattr(PAGE, name) for name in ("ink", "muted", "line")}
    | dict(zip(LIGHT.models[:5], PAGE.models, strict=False))
    | {"#ffffff": "var(--paper)"}
)
"""the colours of the page, by those of pictures; the sixth of the models is ink"""


def in_page(spec: Any) -> Any:
    """Give the specification of a finished picture the colours of the page.

    >>> in_page({"mark": {"color": "#0072B2", "size": 3}})
    {'mark': {'color': 'var(--model-1)', 'size': 3}}
    """
    if isinstance(spec, dict):
        return {name: in_page(part) for name, part in spec.items()}
    if isinstance(spec, list):
        return [in_page(part) for part in spec]
    return IN_PAGE.get(spec, spec) if isinstance(spec, str) else spec


def themed(chart: Any, palette: Palette) -> alt.Chart:
    """Give a finished chart the look of all charts."""
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
