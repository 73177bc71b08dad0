"""The order of rows: ``--sort`` and ``--limit``, for the tables of groups or models that a command shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import click

from kgeval.base.errors import ConfigError, MetricError, counted, did_you_mean

if TYPE_CHECKING:
    from kgeval.base.tables.table import Cell, Table
    from kgeval.metrics.names import MetricName
    from kgeval.runs.config.run_config import RunConfig

SORT, LIMIT = "kgeval.sort", "kgeval.limit"
"""the keys of the values of ``--sort`` and ``--limit`` in the context of a command"""


class SortKey(NamedTuple):
    """A metric by which groups are sorted, the worst first, or models, the best first; or the other way round."""

    metric: MetricName
    backwards: bool = False

    @classmethod
    def read(cls, text: str) -> SortKey:
        """Read a metric of any kind of table, after a minus for the other way round.

        >>> SortKey.read("-hits@10").backwards, str(SortKey.read("relation.accuracy").metric)
        (True, 'relation.accuracy')
        """
        from kgeval.metrics.names import parse

        name = text.removeprefix("-")
        for kind in ("classification", "confidences"):
            with suppress(MetricError):
                return cls(parse(name, kind), name != text)
        return cls(parse(name), name != text)

    def column(self, table: Table) -> int | None:
        """Find the column of the metric, with a side or without one; of differences, the column of these."""
        from kgeval.metrics.names import PARTS, title_of

        names = [self.metric, *(self.metric.of_part(part) for part in PARTS)]
        spelled = [*map(str, names), *map(title_of, names), "difference"]
        return next((table.columns.index(name) for name in spelled if name in table.columns), None)

    def refuse_other(self, names: Iterable[str]) -> None:
        """Refuse the metric, which is not among some."""
        near = did_you_mean(str(self.metric), [*names])
        raise ConfigError(f"--sort: {self.metric} is not among the metrics of the table. {near}")


def arranged(table: Table, sort: SortKey | None, limit: int | None) -> Table:
    """Sort the rows of a table of groups or models, and keep the first ones; other tables are left alone.

    A group keeps the rows of its models together, and takes its place by the worst of them. Undefined numbers are last.

    >>> from kgeval.base.tables.table import Table
    >>> table = Table(["relation", "both.mrr"], [["eats", 0.5], ["likes", 0.2], ["owns", 0.3]], item="group")
    >>> found = arranged(table, SortKey.read("mrr"), 2)
    >>> found.rows, found.notes
    ([['likes', 0.2], ['owns', 0.3]], ['… and 1 more group'])
    """
    if not table.item:
        return table
    if sort is not None and "difference" in table.columns:  # which has the metric in its title
        sort = sort._replace(metric=SortKey.read(table.title.split()[0].rstrip(":")).metric)
    heads = [column.lower() for column in table.columns[: table.keys]]
    keys = heads.index("model") if table.item == "group" and "model" in heads else table.keys
    groups = [[*rows] for _, rows in groupby(table.rows, lambda row: [*row[:keys]])]
    if sort is not None and (column := sort.column(table)) is not None:
        increasing = sort.metric.metric.increasing
        best_first = (table.item == "model" or increasing is None) != sort.backwards
        sign = -1 if best_first == (increasing is not False) else 1

        def place(rows: Sequence[Sequence[Cell]]) -> float:
            values = [cell.value if isinstance(cell := row[column], tuple) else cell for row in rows]
            return min((sign * value for value in values if isinstance(value, int | float)), default=math.inf)

        groups.sort(key=place)
    kept, left = groups[:limit], len(groups[limit or len(groups) :])
    more = [f"… and {counted(left, f'more {table.item}')}"] if left else []
    return replace(table, rows=[row for rows in kept for row in rows], notes=[*table.notes, *more])


def arranged_as_wanted(tables: Sequence[Table]) -> list[Table]:
    """Sort and cut tables as the options of the command want."""
    meta = getattr(click.get_current_context(silent=True), "meta", {})
    sort, shown = meta.get(SORT), [table for table in tables if table.item]
    if sort is not None and shown and all(sort.column(table) is None for table in shown):
        sort.refuse_other({column.rpartition(".")[2] for table in shown for column in table.columns[table.keys :]})
    return [arranged(table, sort, meta.get(LIMIT)) for table in tables]


def refuse_unrequested(config: RunConfig) -> None:
    """Refuse to sort by a metric that a configuration does not compute, before anything is ranked."""
    from kgeval.metrics.kinds import KINDS
    from kgeval.metrics.names import parse_all
    from kgeval.ranking.protocols.protocol import find_protocol

    usual = find_protocol(config.protocol).metrics if config.task is None else KINDS[config.kind].metrics
    names = [name.base for name in parse_all(config.metrics or usual, config.kind)]
    if (sort := click.get_current_context().meta.get(SORT)) and sort.metric.base not in (*names, "count"):
        sort.refuse_other(names)
