"""A picture as a file: SVG, PNG, PDF or a page, in its natural size or exactly as wide as a column of a paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, cast

from kgeval.base.errors import ConfigError, InputError, did_you_mean, visible
from kgeval.base.storage import replacing, write_text
from kgeval.reports.document import document, library
from kgeval.reports.theme import IN_PAGE, LIGHT, PRINT, each_text

if TYPE_CHECKING:
    import altair as alt


PICTURES = (".svg", ".png", ".pdf", ".html")

INCH, POINTS = 96, 72
"""pixels and points of an inch"""

HIGHEST = 9
"""inches: the highest figure on a page of a paper"""

SMALLER = "Choose fewer metrics, slices or models, or shorter names (NAME=RUN)."

LETTERS = 60
"""of a line of a title, for which the narrowest chart has room"""

NARROWEST = 50
"""pixels of a panel, below which its axis has no two numbers"""


class OfflineChart:
    """A chart that a notebook shows as a picture, which needs no network; a renderer that was enabled goes first.

    Control characters in its texts are written as on a terminal: XML, and so SVG, has none.
    """

    def to_dict(self, *args: Any, **options: Any) -> Any:
        return each_text(super().to_dict(*args, **options), visible)  # type: ignore[misc]

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        if library("altair").renderers.active != "default":
            return super()._repr_mimebundle_(*args, **options)  # type: ignore[misc]
        return {"image/svg+xml": svg_of(cast("alt.Chart", self))}

    def __reduce_ex__(self, protocol: Any) -> Any:
        # The class is made at run time, so that pickle does not find it by its name.
        reduced: Any = super().__reduce_ex__(protocol)
        _, (kind, *_), *state = reduced
        return (_empty, (kind.__mro__[2],), *state)


def _empty(kind: Any) -> Any:
    return object.__new__(offline(kind))


@cache
def offline(kind: Any) -> Any:
    """Make the class of charts that need no network, of a class of charts."""
    return type(kind.__name__, (OfflineChart, kind), {"__doc__": kind.__doc__, "__module__": kind.__module__})


def _offline_chart(chart: Any) -> alt.Chart:
    object.__setattr__(
        chart, "__class__", offline(cast("Any", type(chart)))
    )  # a chart keeps plain assignments as its content
    return cast("alt.Chart", chart)


def figure(
    draw: Callable[..., Any], inches: float | None, *, columns: int = 0, title: str = "", notes: Sequence[str] = ()
) -> alt.Chart:
    """Draw a chart in its natural size, or for print: ``inches`` wide, with text of 8 points and no title.

    ``draw`` takes a palette, the width of a panel in pixels and, if there are several, the number of columns of panels.
    Names and numbers next to the panels need a fixed width, so panels become wider until the picture has its width.
    """
    if inches is None:
        chart = _offline_chart(draw(LIGHT, title=wrap(title, LETTERS) if len(title) > LETTERS else title))
        return chart.properties(usermeta={"notes": [*notes, *about(chart).get("notes", [])]}) if notes else chart
    if not 1 <= inches <= 40:
        raise ConfigError(f"width: expected 1 to 40 inches, found {inches:g}.")
    for number in range(columns or 1, 0, -1):
        sizes = {"columns": number} if columns else {}
        width = INCH * inches / number / 2
        for _ in range(4):
            chart = _offline_chart(draw(PRINT, width=width, **sizes))
            wide, high = size_in(svg_of(chart))
            if abs(INCH * inches - 1 - wide) <= 1:
                break
            width += (INCH * inches - 1 - wide) / number
        if width >= NARROWEST:
            of_chart = [*notes, *about(chart).get("notes", [])]
            if high > HIGHEST * INCH:
                too_high = f"the figure is {high / INCH:.1f} inches high, too high for a page ({HIGHEST} inches)"
                of_chart.append(f"{too_high}. {SMALLER}")
            return chart.properties(usermeta={"notes": of_chart, "inches": inches})
    raise ConfigError(
        f"width: {inches:g} inches leave no room for a chart beside the names. Choose a larger width or shorter names "
        "(NAME=RUN)."
    )


def about(chart: alt.Chart) -> dict[str, Any]:
    """Return what a chart holds beside its picture: ``inches``, its width in print, and ``notes``."""
    return dict(chart.usermeta) if isinstance(chart.usermeta, dict) else {}


def size_in(svg: str) -> tuple[float, float]:
    """Measure a chart in SVG, in pixels."""
    width, height = re.findall(r'(?:width|height)="([\d.]+)"', svg)[:2]
    return float(width), float(height)


def svg_of(chart: alt.Chart) -> str:
    version = library("altair").SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    # The descriptions for screen readers are computed: there the escapes of labels became control characters again.
    return visible(library("vl_convert").vegalite_to_svg(chart.to_dict(validate=False), vl_version=version))


def printed(svg: str, inches: float, unit: float = 1, name: str = "in") -> str:
    """Give a chart in SVG exactly so many inches, of which each has so many units; they are those of PDF if unnamed."""
    width, height = size_in(svg)
    wide = max(width, INCH * inches)
    size = f'width="{inches * unit:.6g}{name}" height="{height * inches * unit / wide:.6g}{name}"'
    root = f'{size} viewBox="0 0 {wide:g} {height:g}"><rect width="{wide:g}"'
    return re.sub(r'width="[^"]*" height="[^"]*" viewBox="[^"]*"><rect width="[^"]*"', root, svg, count=1)


def check_picture(path: Path) -> None:
    """Refuse a file whose ending is no format of pictures.

    >>> check_picture(Path("figure.pgn"))
    Traceback (most recent call last):
    kgeval.base.errors.InputError: 'figure.pgn': a picture ends in .svg, .png, .pdf or .html. Did you mean '.png'?
    """
    if path.suffix.lower() not in PICTURES:
        hint = did_you_mean(path.suffix.lower(), PICTURES)
        raise InputError(f"{str(path)!r}: a picture ends in .svg, .png, .pdf or .html. {hint}")


def picture_document(chart: alt.Chart, name: str) -> str:
    spec = each_text(chart.to_dict(), lambda text: IN_PAGE.get(text, text))
    title = spec.pop("title", "")
    return document(
        "picture.html.j2",
        scripts=("theme.js", "charts.js"),
        data={"charts": {"picture": spec}},
        title=" ".join(title) if isinstance(title, list) else title or name,
        about="",
    )


def save_picture(chart: alt.Chart, path: Path) -> None:
    """Write a chart in the format that the ending of its file says; a page of it needs no network.

    A chart for print is a PNG of 300 dots an inch; one without a width has two dots a pixel.
    """
    check_picture(path)
    convert = library("vl_convert")
    kind = path.suffix.lower().removeprefix(".")
    if kind == "html":
        write_text(path, picture_document(chart, path.stem))
        return
    inches, svg = about(chart).get("inches"), svg_of(chart)
    dots = {"scale": 2.0} if inches is None else {"scale": 1.000001, "ppi": 300}
    if inches is not None:
        svg = printed(svg, inches) if kind == "svg" else printed(svg, inches, POINTS, "")
    with replacing(path) as file:
        if kind == "svg":
            file.write_text(svg, encoding="utf-8")
        else:
            file.write_bytes(convert.svg_to_pdf(svg) if kind == "pdf" else convert.svg_to_png(svg, **dots))
