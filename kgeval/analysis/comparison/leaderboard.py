"""A leaderboard: a row for each model, in each group; for a paper, the best and those not seen to be worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any, NamedTuple

from kgeval.analysis.comparison.paired_difference import DifferenceOptions, PairedDifference, adjustment
from kgeval.base.provenance import LabelProvenance, Provenance, shared_description
from kgeval.base.tables.shown import Page
from kgeval.base.tables.table import DIGITS, Cell, Figure, Table
from kgeval.metrics.names import PARTS, MetricName, title_of
from kgeval.metrics.rank_summary import RankSummary, common_ties_of, shared_columns
from kgeval.metrics.summary import Group, notes_with_models


class ModelRow(NamedTuple):
    """A model, in a group of rows or in all."""

    model: str
    group: Group


@dataclass(frozen=True)
class Leaderboard:
    """Rows of models by metrics."""

    summaries: Mapping[str, RankSummary]
    by: tuple[str, ...]
    """the columns whose values make the groups"""
    names: Sequence[MetricName]
    rows: Sequence[ModelRow]
    """group after group"""

    def table(self) -> Table:
        """Lay the numbers out; a metric of both sides is named without the side."""
        columns = [*self.by, "model", *(name.column for name in self.names)]
        rows: list[list[Cell]] = [
            [*self._key_of(row), *(_figure(row.group, name) for name in self.names)] for row in self.rows
        ]
        parts, item = [str(name.side) for name in self.names], "group" if self.by else "model"
        return Table(columns, rows, 1 + len(self.by), parts, item=item)

    def paper(
        self, pairs: Sequence[PairedDifference], options: DifferenceOptions, remarks: Sequence[str] = ()
    ) -> Table:
        """Lay the numbers out for a paper: the best marked, and what is not seen to be worse.

        Numbers have the digits that the differences of ``pairs`` justify; ``remarks`` follow the notes on the marks.
        """
        columns = [self._marked(name, pairs) for name in self.names]
        figures = [figure for column in columns for figure in column]
        of_group = " of its group" if self.by else ""
        notes = [f"Bold: the best in the column{of_group}."] if any(one.best for one in figures) else []
        if any(one.near for one in figures):
            tested = [pair for pair in pairs if pair.p is not None]
            notes.append(
                f"Underlined: no significant difference to the best ({options.draws:,} sign flips per {options.unit}, "
                f"two-sided, p > {options.alpha:.2g}; {adjustment(tested)})."
            )
        return Table(
            [*(name.capitalize() for name in self.by), "Model", *map(title_of, self.names)],
            [[*self._key_of(row), *cells] for row, *cells in zip(self.rows, *columns, strict=True)],
            1 + len(self.by),
            title="; ".join(dict.fromkeys(one.heads[0].partition(" on ")[2] for one in self.summaries.values())),
            notes=[*notes, *remarks],
            item="group" if self.by else "model",
        )

    def _key_of(self, row: ModelRow) -> list[str]:
        return [*(str(row.group.key[name]) for name in self.by), row.model]

    def _marked(self, name: MetricName, pairs: Sequence[PairedDifference]) -> list[Figure]:
        """Mark a metric's best in each group, and what is not seen to be worse; with the fewest digits of all pairs."""
        # Groups by side have metrics without a side, the pairs those of the sides that were ranked.
        of_all = name.of_part(next(iter(self.summaries.values())).pooled)
        pairs = [pair for pair in pairs if pair.metric == of_all]
        digits = min((pair.decimals for pair in pairs if pair.interval is not None), default=DIGITS)
        marked: list[Figure] = []
        for key, rows in groupby(self.rows, lambda row: row.group.key):
            figures = {model: _figure(group, name)._replace(digits=digits) for model, group in rows}
            known = [figure.value for figure in figures.values() if figure.value is not None]
            increasing = name.metric.increasing
            best = None if increasing is None or len(known) < 2 else (max if increasing else min)(known)
            leaders = [model for model, figure in figures.items() if best is not None and figure.value == best]
            unseen = [{pair.model, pair.other} for pair in pairs if pair.group == key and pair.seen == "none"]
            marked += [
                figure._replace(
                    best=model in leaders,
                    near=bool(leaders) and model not in leaders and {model, leaders[0]} in unseen,
                )
                for model, figure in figures.items()
            ]
        return marked


def leaderboard_of(summaries: Mapping[str, RankSummary], grouped: Mapping[str, RankSummary]) -> Leaderboard:
    """Lay the rows out: of the groups, if there are any, else of the models alone."""
    if not grouped:
        rows = [ModelRow(model, summary.groups[0]) for model, summary in summaries.items()]
        return Leaderboard(summaries, (), shared_columns(summaries), rows)
    keys: list[dict[str, Any]] = []
    for summary in grouped.values():
        keys += [group.key for group in summary.groups if group.key not in keys]
    found = [
        ModelRow(model, next((group for group in summary.groups if group.key == key), Group(key)))
        for key in keys
        for model, summary in grouped.items()
    ]
    by = next(iter(grouped.values())).by
    return Leaderboard(summaries, by, shared_columns(grouped, by), found)


def _figure(group: Group, name: MetricName) -> Figure:
    """A metric without a side is that of all sides which the model ranked: the first of its metrics with that name."""
    if not name.side and name not in group.values:
        name = next((own for own in group.values if own.base == name.base), name)
    return group.records[name].figure if name in group.records else Figure(None)


def side_by_side(summaries: Mapping[str, RankSummary]) -> Page:
    """Lay out a row for each of several models, with the parts of its provenance in which models differ.

    A metric without a side is of both sides, or of the one that was ranked.
    """
    further = notes_with_models({model: summary.heads[1:] for model, summary in summaries.items()})
    head, different = common_head([summary.provenance for summary in summaries.values()])
    board = leaderboard_of(summaries, {})
    names = sorted(board.names, key=lambda name: PARTS.index(name.side or "both"))
    table = replace(board, names=names).table()
    rows = [
        [model, *(_text(getattr(summaries[str(model)].provenance, name)) for name in different), *figures]
        for model, *figures in table.rows
    ]
    ties = common_ties_of(summaries.values())
    table = replace(table, columns=["model", *different, *table.columns[1:]], rows=rows, keys=1 + len(different))
    return Page((f"{head}, ties: {ties}", *further), (table,))


def common_head(provenances: Sequence[Provenance | LabelProvenance]) -> tuple[str, list[str]]:
    """Describe the provenance that several models have in common, and name its parts that differ."""
    first, *others = provenances
    values = {
        field.name: getattr(first, field.name) for field in fields(first) if field.compare and field.name != "model"
    }
    different = [name for name, value in values.items() if any(getattr(other, name) != value for other in others)]
    if different:
        # Datasets that differ are named nevertheless.
        named = replace(first, dataset=" and ".join(dict.fromkeys(one.dataset for one in provenances)))
        unnamed = [name for name in different if name != "dataset"]
        return shared_description(len(provenances), named, unnamed), different
    return str(replace(first, model=f"{len(provenances)} models") if others else first), []


def _text(value: Any) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else "" if value is None else str(value)
