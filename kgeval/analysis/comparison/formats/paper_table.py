"""A leaderboard for a paper, whatever it is written in: which cells are best, and which are not seen to be worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgeval.analysis.comparison.comparison_notes import adjustment
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


def paper_table(
    summaries: Mapping[str, RankSummary],
    pairs: Sequence[PairedDifference],
    *,
    options: DifferenceOptions,
    remarks: Sequence[str] = (),
    digits: int | None = None,
) -> PaperTable:
    """Lay the leaderboard of a comparison out.

    Parameters
    ----------
    summaries, pairs, options, remarks
        those of the comparison
    digits
        after the point; by default as many as the intervals of differences justify
    """
    names = next(iter(summaries.values())).requested_columns
    columns = tuple(_column(name, summaries, pairs, digits) for name in names)
    cells = [one for column in columns for one in column.cells]
    notes = ["Bold: the best."] if any(one.best for one in cells) else []
    if any(one.near for one in cells):
        notes.append(_note_on_near(options, [pair for pair in pairs if pair.p is not None]))
    return PaperTable(_caption(summaries), tuple(summaries), columns, (*notes, *remarks))


def _column(
    name: MetricName, summaries: Mapping[str, RankSummary], pairs: Sequence[PairedDifference], digits: int | None
) -> PaperColumn:
    values = {model: summary.groups[0].values[name] for model, summary in summaries.items()}
    intervals = {model: summary.groups[0].intervals.get(name) for model, summary in summaries.items()}  # of estimates
    of_metric = [pair for pair in pairs if pair.metric == name and not pair.group]
    places = _justified(of_metric) if digits is None else digits
    increasing, known = name.metric.increasing, [value for value in values.values() if value is not None]
    best = None if increasing is None or len(known) < 2 else (max if increasing else min)(known)
    leaders = [model for model, value in values.items() if value is not None and value == best]
    unseen = [{pair.model, pair.other} for pair in of_metric if pair.seen == "none"]
    cells = tuple(
        PaperCell(
            "" if value is None else cell(value, intervals[model], places),
            best=model in leaders,
            near=bool(leaders) and model not in leaders and {model, leaders[0]} in unseen,
        )
        for model, value in values.items()
    )
    return PaperColumn(short_title(name), ARROWS[increasing], cells)


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
    return "; ".join(dict.fromkeys(str(summary.provenance).partition(" on ")[2] for summary in summaries.values()))
