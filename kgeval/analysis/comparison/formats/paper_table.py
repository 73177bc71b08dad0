"""A leaderboard for a paper, whatever it is written in: which cells are best, and which are not seen to be worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from kgeval.analysis.comparison.comparison_notes import adjustment
from kgeval.analysis.comparison.leaderboard_rows import Leaderboard, ModelRow, interval_of, value_of
from kgeval.analysis.comparison.paired_difference import DifferenceOptions, PairedDifference
from kgeval.metrics.tables.metric_titles import ARROWS, short_title
from kgeval.metrics.tables.names import MetricName
from kgeval.metrics.tables.rank_summary import RankSummary
from kgeval.metrics.tables.rendering import DIGITS, cell


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
    """one for each row"""


@dataclass(frozen=True)
class PaperTable:
    """Models by metrics, group by group."""

    caption: str
    """what the numbers are of"""
    keys: tuple[str, ...]
    """the titles of what names a row: the columns of the groups, and the model"""
    rows: tuple[tuple[str, ...], ...]
    """what names each row, likewise"""
    columns: tuple[PaperColumn, ...]
    notes: tuple[str, ...]
    """what bold and underlined numbers are, and how the models' ranks differ"""


def paper_table(
    board: Leaderboard,
    pairs: Sequence[PairedDifference],
    *,
    options: DifferenceOptions,
    remarks: Sequence[str] = (),
    digits: int | None = None,
) -> PaperTable:
    """Lay the leaderboard of a comparison out.

    Parameters
    ----------
    board, pairs, options, remarks
        the rows of the comparison, and what it has else
    digits
        after the point; by default as many as the intervals of differences justify
    """
    columns = tuple(_column(name, board, pairs, digits) for name in board.names)
    cells = [one for column in columns for one in column.cells]
    of_group = " of its group" if board.by else ""
    notes = [f"Bold: the best in the column{of_group}."] if any(one.best for one in cells) else []
    if any(one.near for one in cells):
        notes.append(_note_on_near(options, [pair for pair in pairs if pair.p is not None]))
    rows = tuple(tuple(board.key_of(row)) for row in board.rows)
    keys = (*(name.capitalize() for name in board.by), "Model")
    return PaperTable(_caption(board.summaries), keys, rows, columns, (*notes, *remarks))


def _column(name: MetricName, board: Leaderboard, pairs: Sequence[PairedDifference], digits: int | None) -> PaperColumn:
    # Groups by side have metrics without a side, the pairs those of the sides that were ranked.
    of_all = name.of_part(next(iter(board.summaries.values())).pooled)
    of_metric = [pair for pair in pairs if pair.metric == of_all]
    places = _justified(of_metric) if digits is None else digits
    cells: list[PaperCell] = []
    for key, rows in groupby(board.rows, lambda row: row.group.key):
        cells += _cells(name, list(rows), [pair for pair in of_metric if pair.group == key], places)
    return PaperColumn(short_title(name), ARROWS[name.metric.increasing], tuple(cells))


def _cells(
    name: MetricName, rows: Sequence[ModelRow], pairs: Sequence[PairedDifference], places: int
) -> Iterator[PaperCell]:
    """Lay a metric of the models in one group out, and mark the best and what is not seen to be worse."""
    values = {row.model: value_of(row.group, name) for row in rows}
    increasing, known = name.metric.increasing, [value for value in values.values() if value is not None]
    best = None if increasing is None or len(known) < 2 else (max if increasing else min)(known)
    leaders = [model for model, value in values.items() if value is not None and value == best]
    unseen = [{pair.model, pair.other} for pair in pairs if pair.seen == "none"]
    for model, group in rows:
        value = values[model]
        yield PaperCell(
            "" if value is None else cell(value, interval_of(group, name), places),
            best=model in leaders,
            near=bool(leaders) and model not in leaders and {model, leaders[0]} in unseen,
        )


def _justified(pairs: Sequence[PairedDifference]) -> int:
    """The digits that differences justify, the least of all pairs."""
    return min((pair.decimals for pair in pairs if pair.interval is not None), default=DIGITS)


def _note_on_near(options: DifferenceOptions, tested: Sequence[PairedDifference]) -> str:
    """Say by which test, of which unit and for how many pairs of models, a difference was not seen."""
    return (
        f"Underlined: no difference to the best is seen ({options.draws:,} sign flips per {options.unit}, two-sided, "
        f"p > {options.alpha:.2g}; {adjustment(tested)})."
    )


def _caption(summaries: Mapping[str, RankSummary]) -> str:
    """Say what the models were evaluated on."""
    return "; ".join(dict.fromkeys(summary.heads[0].partition(" on ")[2] for summary in summaries.values()))
