"""A leaderboard for a paper, whatever it is written in: which cells are best, and which are not seen to be worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgeval.metrics.tables.metric_titles import ARROWS, short_title
from kgeval.metrics.tables.names import MetricName
from kgeval.metrics.tables.rendering import DIGITS, number

if TYPE_CHECKING:
    from kgeval.analysis.comparison.comparison import Comparison


@dataclass(frozen=True)
class PaperCell:
    """A number of the table."""

    text: str
    """as it is printed; empty where the metric is undefined"""
    best: bool = False
    near: bool = False
    """whether no difference to the best is seen"""


@dataclass(frozen=True)
class PaperColumn:
    """A metric of the table."""

    title: str
    arrow: str
    """``"↑"``, ``"↓"``, or empty where the metric says nothing about quality"""
    cells: tuple[PaperCell, ...]
    """one for each model"""


@dataclass(frozen=True)
class PaperTable:
    """Models by metrics."""

    caption: str
    """what the numbers are of"""
    models: tuple[str, ...]
    columns: tuple[PaperColumn, ...]
    notes: tuple[str, ...]
    """what bold and underlined numbers are, and how the models' ranks differ"""


def paper_table(comparison: Comparison, digits: int | None = None) -> PaperTable:
    """Lay the leaderboard of a comparison out, with the digits that differences justify, or as many as are wanted."""
    names = next(iter(comparison.summaries.values())).requested_columns
    columns = tuple(_column(comparison, name, digits) for name in names)
    marked = [cell for column in columns for cell in column.cells]
    notes = [*(["Bold: the best."] if any(cell.best for cell in marked) else [])]
    if any(cell.near for cell in marked):
        notes.append(_note_on_near(comparison))
    return PaperTable(_caption(comparison), tuple(comparison.summaries), columns, (*notes, *comparison.remarks))


def _column(comparison: Comparison, name: MetricName, digits: int | None) -> PaperColumn:
    values = {model: summary.groups[0].values[name] for model, summary in comparison.summaries.items()}
    places = _digits(comparison, name) if digits is None else digits
    increasing, known = name.metric.increasing, [value for value in values.values() if value is not None]
    best = None if increasing is None or len(known) < 2 else (max if increasing else min)(known)
    leaders = [model for model, value in values.items() if value is not None and value == best]
    cells = tuple(
        PaperCell(
            "" if value is None else number(value, places),
            best=model in leaders,
            near=bool(leaders) and model not in leaders and _is_near(comparison, name, {model, leaders[0]}),
        )
        for model, value in values.items()
    )
    return PaperColumn(short_title(name), ARROWS[increasing], cells)


def _digits(comparison: Comparison, name: MetricName) -> int:
    """The digits that the differences of a metric justify, the least of all pairs."""
    return min(
        (pair.decimals for pair in comparison.pairs if pair.metric == name and pair.interval is not None),
        default=DIGITS,
    )


def _is_near(comparison: Comparison, name: MetricName, models: set[str]) -> bool:
    return any(
        pair.seen == "none" and pair.metric == name and not pair.group and {pair.model, pair.other} == models
        for pair in comparison.pairs
    )


def _note_on_near(comparison: Comparison) -> str:
    """Say by which test, of which unit and family, a difference was not seen."""
    options = comparison.options
    family = f"the family of {comparison.family} tests" if comparison.family > 1 else "this one test"
    return (
        f"Underlined: no difference to the best seen ({options.draws:,} sign flips per {options.unit}, two-sided, "
        f"p > {options.alpha:.2g} adjusted for {family}; Holm, 1979)."
    )


def _caption(comparison: Comparison) -> str:
    """Say what all models were evaluated on."""
    provenances = [summary.provenance for summary in comparison.summaries.values()]
    captions = list(dict.fromkeys(str(one).partition(" on ")[2] for one in provenances))
    return captions[0] if len(captions) == 1 else "; ".join(captions)
