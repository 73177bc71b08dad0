"""Critical difference diagrams: average ranks on one axis, and bars that join similar models (Demšar, 2006)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.analysis.comparison.dataset_ranks import DatasetRanks
from kgeval.reports.document import library
from kgeval.reports.pictures import row_of
from kgeval.reports.theme import LIGHT, Palette, in_lines, themed

if TYPE_CHECKING:
    import altair as alt


LETTERS = 16
"""of a line of a name, of which there are two beside the axis"""


def joined(average_ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Find the longest runs of models whose average ranks, in rising order, differ by less than the difference.

    >>> joined([1.0, 1.5, 2.4, 4.0], 1.2)
    [(0, 1), (1, 2)]
    """
    ends = np.searchsorted(average_ranks, np.asarray(average_ranks) + difference) - 1
    return [
        (first, last)
        for first, last in enumerate(ends.tolist())
        if last > first and (first == 0 or last > ends[first - 1])
    ]


def lanes(bars: Sequence[tuple[int, int]]) -> list[int]:
    """Put bars that overlap below each other.

    >>> lanes([(0, 2), (1, 3), (3, 4)])
    [0, 1, 0]
    """
    free: list[int] = []
    found = []
    for first, last in bars:
        lane = next((lane for lane, end in enumerate(free) if end < first), len(free))
        free[lane : lane + 1] = [last]
        found.append(lane)
    return found


def critical_difference(
    ranks: DatasetRanks,
    palette: Palette = LIGHT,
    *,
    axis: str = "average rank",
    baselines: Collection[str] = (),
    width: float = 420,
    title: str = "",
) -> alt.Chart:
    """Draw the diagram, the best model at the right; ``axis`` is the title of its axis."""
    altair = library("altair")
    average, line = ranks.average_ranks, palette.line_height
    order = np.argsort(average, kind="stable").tolist()
    bars = joined(average[order].tolist(), ranks.critical_difference)
    levels = lanes(bars)
    left = max(float(len(order)), 1 + ranks.critical_difference)
    texts = [f"{in_lines(ranks.models[place], LETTERS)} ({average[place]:.2f})" for place in order]
    step, top = row_of(texts, replace(palette, row=0)), 7.0 * (max(levels, default=-1) + 1) + line
    half, above = (len(order) + 1) // 2, -3.2 * line
    segments, names = [], []
    for index, place in enumerate(order):
        best = index < half
        rank, edge = float(average[place]), 1.0 if best else left
        y = top + step * (index if best else len(order) - 1 - index)
        color = palette.muted if ranks.models[place] in baselines else palette.ink
        segments += [_segment(rank, rank, 0, y, color), _segment(rank, edge, y, y, color)]
        names.append({"x": edge, "y": y, "text": texts[index], "color": color, "best": best})
    for (first, last), level in zip(bars, levels, strict=True):
        ends = float(average[order[first]]), float(average[order[last]])
        segments.append(_segment(*ends, 7.0 * (level + 1), 7.0 * (level + 1), palette.ink, 4))
    right = left - ranks.critical_difference
    ruler = {"x": left, "y": above - 6, "text": f"CD = {ranks.critical_difference:.3f}", "color": palette.ink}
    segments.append(_segment(left, right, above, above, palette.ink, 1.5))
    segments += [_segment(end, end, above - 4, above + 4, palette.ink, 1.5) for end in (left, right)]
    height = top + step * (half - 0.5)
    lines: dict[str, Any] = {"grid": False, "domainColor": palette.ink, "tickColor": palette.ink}
    places = list(range(1, len(order) + 1))
    numbers = altair.Axis(orient="top", values=places, format="d", title=axis, labelFlush=False, **lines)
    x = altair.X("x:Q", scale=altair.Scale(domain=[left, 1], nice=False, zero=False), axis=numbers)
    y = altair.Y("y:Q", scale=altair.Scale(domain=[0, height], range=[0, height]), axis=None)
    color = altair.Color("color:N", scale=None)
    rules = altair.Chart(altair.Data(values=segments)).mark_rule(strokeCap="butt")
    thick = altair.StrokeWidth("thick:Q", scale=None)
    layers = [rules.encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=color, strokeWidth=thick)]
    for rows, look in (
        ([name for name in names if name["best"]], {"align": "left", "dx": 5, "baseline": "middle"}),
        ([name for name in names if not name["best"]], {"align": "right", "dx": -5, "baseline": "middle"}),
        ([ruler], {"align": "left", "baseline": "bottom"}),
    ):
        text = altair.Chart(altair.Data(values=rows)).mark_text(**look, fontSize=palette.size, lineBreak="\n")
        layers.append(text.encode(x=x, y=y, text="text:N", color=color))
    description = f"{axis}; bars join models that differ by less than {ranks.critical_difference:.3f}."
    chart = altair.layer(*layers).properties(width=width, height=height, title=title, description=description)
    return themed(chart, palette).properties(usermeta={"notes": list(ranks.notes)})


def _segment(x: float, x2: float, y: float, y2: float, color: str, thick: float = 1) -> dict[str, Any]:
    return {"x": x, "x2": x2, "y": y, "y2": y2, "color": color, "thick": thick}
