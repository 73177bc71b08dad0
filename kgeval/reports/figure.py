"""A picture as a file: SVG, PNG, PDF or a page, of its own size or exactly as wide as a column of a paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgeval.errors import ConfigError, InputError, RunError, did_you_mean
from kgeval.reports.document import document, library
from kgeval.reports.theme import LIGHT, PRINT, in_page
from kgeval.storage import write_text

if TYPE_CHECKING:
    import altair as alt


PICTURES = (".svg", ".png", ".pdf", ".html")

INCH, POINT = 96, 96 / 72
"""pixels"""

HIGHEST = 9
"""inches: what a page of a paper has room for"""

NARROWEST = 50
"""pixels of a panel, below which its axis has no two numbers"""


def figure(draw: Callable[..., Any], inches: float | None, *, columns: int | None = None, title: Any = "") -> alt.Chart:
    """Draw a chart of its own size, or for print: so many inches wide with text of 8 points, and no title.

    ``draw`` takes a palette, the width of a panel in pixels and, if there are any, in how many columns panels stand.
    Names and numbers beside the panels take what they need, so panels become wider until the whole has the width.
    """
    if inches is None:
        chart: alt.Chart = draw(LIGHT, title=title)
        return chart
    if not 1 <= inches <= 40:
        raise ConfigError(f"width: expected 1 to 40 inches, found {inches:g}.")
    for number in range(columns or 1, 0, -1):
        sizes = {"columns": number} if columns else {}
        width = INCH * inches / number / 2
        for _ in range(3):
            width += (INCH * inches - 1 - size_of(draw(PRINT, width=width, **sizes))[0]) / number
            if width < NARROWEST:
                break
        else:
            chart = draw(PRINT, width=width, **sizes)
            return chart.properties(usermeta={**about(chart), "inches": inches})
    raise ConfigError(
        f"width: {inches:g} inches leave no room beside the names. Give more, or shorter names (NAME=RUN)."
    )


def about(chart: alt.Chart) -> dict[str, Any]:
    """What a chart says of itself: ``inches``, its width in print, and ``notes``."""
    meta = chart.to_dict().get("usermeta", {})
    return dict(meta)


def size_of(chart: alt.Chart) -> tuple[float, float]:
    """Measure a chart, in pixels."""
    width, height = re.findall(r'(?:width|height)="([\d.]+)"', svg_of(chart))[:2]
    return float(width), float(height)


def svg_of(chart: alt.Chart) -> str:
    library("vl_convert")
    text = StringIO()
    chart.save(text, format="svg")
    return text.getvalue()


def printed(chart: alt.Chart, inches: float) -> str:
    """Write a chart as SVG of exactly so many inches, which every viewer and LaTeX take as they are."""
    width, height = size_of(chart)
    wide = max(width, INCH * inches)
    size = f'width="{inches:g}in" height="{height * inches / wide:.4f}in" viewBox="0 0 {wide:g} {height:g}"'
    return re.sub(r'width="[^"]*" height="[^"]*" viewBox="[^"]*"', size, svg_of(chart), count=1)


def check_picture(path: Path) -> None:
    """Refuse a file whose ending is no format of pictures.

    >>> check_picture(Path("figure.pgn"))
    Traceback (most recent call last):
    kgeval.errors.InputError: 'figure.pgn': a picture ends in .svg, .png, .pdf or .html. Did you mean '.png'?
    """
    if path.suffix.lower() not in PICTURES:
        hint = did_you_mean(path.suffix.lower(), PICTURES)
        raise InputError(f"{str(path)!r}: a picture ends in .svg, .png, .pdf or .html. {hint}")


def picture_document(chart: alt.Chart, name: str) -> str:
    spec = in_page(chart.to_dict())
    title = spec.pop("title", "")
    return document(
        "picture.html.j2",
        scripts=("theme.js", "charts.js"),
        data={"charts": {"picture": spec}},
        title=title if isinstance(title, str) and title else name,
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
    inches = about(chart).get("inches")
    try:
        if inches is None:
            chart.save(str(path), format=kind, **({"scale_factor": 2.0} if kind == "png" else {}))
        elif kind == "svg":
            path.write_text(printed(chart, inches), encoding="utf-8")
        elif kind == "pdf":
            path.write_bytes(convert.svg_to_pdf(printed(chart, inches), scale=1 / POINT))
        else:
            path.write_bytes(convert.svg_to_png(printed(chart, inches), scale=1 / POINT, ppi=300))
    except OSError as error:
        raise RunError(f"{str(path)!r} cannot be written ({error.strerror or error}).") from error
