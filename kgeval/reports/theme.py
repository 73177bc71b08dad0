"""The look of all charts: colours, shapes and dashes of models, thin lines, one typeface, nothing that is not data.

``pictures.py`` draws with a ``Palette``: ``LIGHT`` on screen, ``PRINT`` in a paper, ``PAGE`` in a page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kgeval.reports.document import library

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

PRINT_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
"""typefaces of the same width, so that a viewer's own one leaves everything in its place"""

LABEL_WIDTH = 150
"""pixels after which a label of a page ends in …; a tooltip has all of it"""

LABEL_LETTERS = 22
"""the most letters in a line of a label in a picture; longer names have several lines"""

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
"""the shapes of the models' dots, SVG paths around 0: 7 shapes and 12 colours let 84 models differ in one of them"""

DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [14, 4], [10, 2, 2, 2, 2, 2], [4, 6])
"""the dashes of the models' lines, as many as the shapes"""


@dataclass(frozen=True)
class Look:
    """What distinguishes a model from others in a chart."""

    color: str
    shape: str
    dash: list[int]


@dataclass(frozen=True)
class Palette:
    """The colours of a chart.

    Twelve are for models: any two differ for people who see no red, no green or no blue; two of one shape differ most.
    """

    ink: str
    muted: str
    """the colour of axes, baselines and chance"""
    line: str
    """the colour of the rules behind the data"""
    paper: str | None
    """the colour of the background; None is transparent"""
    models: tuple[str, ...]
    font: str = FONT
    size: float = 12.0
    """the size of text, in pixels"""
    row: float = 30.0
    """the height of a model's row in a leaderboard, in pixels; it also sets the size of dots"""
    padding: Any = 16

    @property
    def line_height(self) -> float:
        return 1.2 * self.size

    def looks(self, models: Iterable[str], baselines: Collection[str] = ()) -> dict[str, Look]:
        """Give each model a colour, a shape and a dash; baselines are grey.

        >>> [look.color for look in LIGHT.looks(["a", "floor", "b"], baselines=["floor"]).values()]
        ['#0072b2', '#5f6770', '#d55e00']
        """
        looks, numbers = {}, {False: count(), True: count()}
        for model in models:
            grey = model in baselines
            number = next(numbers[grey])
            color = self.muted if grey else self.models[number % len(self.models)]
            looks[model] = Look(color, SHAPES[number % len(SHAPES)], DASHES[number % len(DASHES)])
        return looks

    def scale(self, part: str, models: Sequence[str], baselines: Collection[str] = ()) -> alt.Scale:
        """The scale that gives each model one part of its look: ``"color"``, ``"shape"`` or ``"dash"``."""
        looks = self.looks(models, baselines).values()
        scale: alt.Scale = library("altair").Scale(domain=models, range=[getattr(look, part) for look in looks])
        return scale

    def legend(self, models: Sequence[str], width: Any, **look: Any) -> alt.Legend | None:
        """A legend with as many columns as names fit into ``width`` pixels; ``None`` for a single model."""
        if len(models) < 2:
            return None
        wide = width if isinstance(width, int | float) else 640
        columns = max(1, int(wide / (0.55 * self.size * max(map(len, models)) + 40)))
        legend: alt.Legend = library("altair").Legend(
            columns=min(columns, len(models)), labelLimit=max(wide - 40, 260), symbolOpacity=1, **look
        )
        return legend


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

PRINT = replace(LIGHT, font=PRINT_FONT, size=8 * 96 / 72, row=18.0, padding=2)
"""the look of a figure in a paper: text of 8 points"""

PAGE = Palette("var(--ink)", "var(--muted)", "var(--line)", None, MODELS, padding=ROOM)
"""the colours of the page's style sheet, which differ between light mode, dark mode and paper"""


IN_PAGE = (
    {getattr(LIGHT, name): getattr(PAGE, name) for name in ("ink", "muted", "line")}
    | dict(zip(LIGHT.models, PAGE.models, strict=True))
    | {"#ffffff": "var(--paper)"}
)
"""for each colour of a finished picture, the colour of the page's style sheet"""


def themed(chart: Any, palette: Palette) -> alt.Chart:
    """Give a chart the colours, sizes and typeface of a palette."""
    text: dict[str, Any] = {"labelColor": palette.muted, "titleColor": palette.muted}
    text |= {"labelFontSize": palette.size, "titleFontSize": palette.size}
    rules = dict.fromkeys(("gridColor", "domainColor", "tickColor"), palette.line)
    limit = 0 if palette.paper else LABEL_WIDTH
    title = {"color": palette.ink, "subtitleColor": palette.muted, "fontSize": palette.size + 2}
    styled: alt.Chart = chart.configure(
        font=palette.font,
        background=palette.paper or "transparent",
        customFormatTypes=True,
        padding=palette.padding,
        view={"stroke": None},
        axis={**text, **rules, "titleFontWeight": "normal", "labelLimit": limit, "labelPadding": palette.size / 2},
        title={**title, "anchor": "start", "offset": 10},
        legend={**text, "symbolStrokeWidth": 2, "orient": "top", "title": None},
        header={"labelColor": palette.ink, "title": None, "labelFontSize": palette.size},
    )
    return styled


def in_lines(name: str, letters: int = LABEL_LETTERS) -> str:
    r"""Break a long name into lines; they are joined by line feeds, and nothing of it is lost.

    >>> in_lines("ComplEx"), in_lines("TransE_dim200_lr0.001_neg64")
    ('ComplEx', 'TransE_dim200_lr0.001_\nneg64')
    """
    return "\n".join(wrap(name, letters, drop_whitespace=False, replace_whitespace=False)) or name


LINES = "split(datum.label, '\\n')"
"""Vega's expression for the labels of an axis, if they have several lines"""


def records(frame: pd.DataFrame) -> alt.Data:
    """Give a chart its rows; NaN becomes null."""
    plain = frame.astype(object).where(frame.notna(), None)
    data: alt.Data = library("altair").Data(values=plain.to_dict("records"))
    return data
