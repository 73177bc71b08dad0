"""Sameness: whether two rank tables have the same ranks and metrics, and in which rows they differ.

``kgeval.analysis.same_ranks`` and ``kgeval compare --same`` compare a table with that of another run or program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.analysis.comparison.comparable import TRIPLES, differing_fields, notes_on_unknowns, shared_rows
from kgeval.base.arrays import IntArray
from kgeval.base.errors import MetricError
from kgeval.base.notes import Note, in_json
from kgeval.base.tables.shown import Shown
from kgeval.base.tables.table import Table
from kgeval.data.columns import TRIPLE
from kgeval.data.provenance import ALIKE, UNKNOWN
from kgeval.metrics.kinds import RANKS
from kgeval.metrics.rank_summary import rank_summary
from kgeval.metrics.selection import MetricOptions
from kgeval.ranking.rank_table import COUNTS, TIME, RankTable
from kgeval.ranking.ranking_task import RankCounts

SHOWN = 10
"""the number of differing rows that are shown, the worst first"""


def same_ranks(tables: Mapping[str, RankTable], metrics: Any = RANKS.metrics, **policies: Any) -> SameRanks:
    """Tell whether two tables hold identical ranks: greater, tied and candidates of every row, and so all metrics.

    Rows are joined by the labels of head, relation, tail, time and side. Raw counts are compared where both tables have
    them. Ranks from a text file do not tell how many candidates tied: then the ranks (1 + greater + tied / 2) are
    compared in place of greater and tied.

    Parameters
    ----------
    tables
        two tables by their names; from this program, or from another one (:func:`kgeval.load_ranks`)
    metrics
        the metrics that are compared
    policies
        what the metrics of ranks depend on, as in :func:`kgeval.summarize`: ties, seed, chance, popularity

    Raises
    ------
    MetricError
        if there are not two tables, or if a metric or a policy is unknown

    Examples
    --------
    >>> from kgeval import evaluate
    >>> mine, theirs = (evaluate(lambda h, r, t: (h * 31 + t * number) % 50, "nations") for number in (7, 8))
    >>> same_ranks({"mine": mine, "again": mine}).same
    True
    >>> same_ranks({"mine": mine, "theirs": theirs}).heads
    ('mine and theirs are not the same: 311 of 402 common rows differ.',)
    """
    if len(tables) != 2:
        raise MetricError(f"expected two tables of ranks, found {len(tables)}: {', '.join(tables)}.")
    rows = shared_rows(tables)
    fields = differing_fields(tables, rows, (*ALIKE, TRIPLES))
    differ = (Note("differences", f"{field}: {difference}.") for field, difference in fields.items())
    notes = [*differ, *notes_on_unknowns(tables)]
    one, other = tables.values()
    prefixes = [""] if one.knows_no_raw or other.knows_no_raw else ["", "raw_"]
    tells_ties = UNKNOWN not in (one.protocol, other.protocol)
    order = np.argsort(next(iter(rows.rows.values())))  # the first table's, so that sums are the same to the last bit
    shared = {name: table.data.take(rows.rows[name][order]) for name, table in tables.items()}
    distance = np.abs(np.subtract(*(_row_numbers(part, prefixes, tells_ties=tells_ties) for part in shared.values())))
    differing = np.flatnonzero(distance.any(axis=1))
    worst = differing[np.lexsort(-distance[differing].T[::-1])[:SHOWN]]
    kept = [*TRIPLE, *(f"{name}_label" for name in TRIPLE), "side", *({TIME} & {*one.columns} & {*other.columns})]
    kept += [prefix + name for prefix in prefixes for name in COUNTS]
    pairs = zip(*(part.select(kept).take(worst).to_pylist() for part in shared.values()), strict=True)
    if rows.of_all:
        tables = {name: replace(table, data=shared[name]) for name, table in tables.items()}
    options = MetricOptions(**policies)
    summaries = {name: rank_summary(table, metrics, by=(), options=options) for name, table in tables.items()}
    wanted = dict.fromkeys(name for summary in summaries.values() for name in summary.columns())
    values = {name.column: {of: its.groups[0].values.get(name) for of, its in summaries.items()} for name in wanted}
    notes += [] if len(prefixes) > 1 else [Note("differences", "raw ranks were not compared: one table has none.")]
    notes += [] if tells_ties else [Note("differences", "ties were not compared: one table has only ranks.")]
    same = rows.of_all and not len(differing) and all(len({*pair.values()}) == 1 for pair in values.values())
    first = [dict(zip(tables, pair, strict=True)) for pair in pairs]
    return SameRanks(same, len(rows), len(differing), rows.others, first, values, tuple(notes))


@dataclass(frozen=True, repr=False)
class SameRanks(Shown):
    """Whether two tables hold the same ranks, and if not, in what they differ."""

    same: bool
    """whether all ranks and all metrics are identical"""
    rows: int
    """the number of rows that both tables have"""
    differing: int
    """the number of these rows whose counts differ"""
    alone: Mapping[str, int]
    """{table: the number of its rows that the other table lacks}"""
    first: Sequence[Mapping[str, Mapping[str, Any]]]
    """the rows that differ most, each as {table: its columns}, the largest difference of ranks first"""
    metrics: Mapping[str, Mapping[str, float | None]]
    """{metric: {table: value}}"""
    notes: tuple[str, ...] = ()
    """what else differs, and what could not be compared"""

    @property
    def heads(self) -> tuple[str, ...]:
        """Whether the ranks are the same, in a line."""
        who, metrics = " and ".join(self.alone), ", ".join(self.metrics)
        if self.same:
            return (f"{who} are the same: identical ranks in all {self.rows:,} rows, identical metrics ({metrics}).",)
        alone = "".join(f", {count:,} rows are only in {name}" for name, count in self.alone.items() if count)
        return (f"{who} are not the same: {self.differing:,} of {self.rows:,} common rows differ{alone}.",)

    def tables(self) -> tuple[Table, ...]:
        """Return the first rows that differ, and the metrics."""
        metrics = Table(["", *self.alone], [[name, *values.values()] for name, values in self.metrics.items()])
        example = next(iter(self.first[0].values())) if self.first else {}
        labels = [*TRIPLE, *({TIME} & {*example}), "side"]
        ranks = {"rank": "", "raw rank": "raw_"} if "raw_greater" in example else {"rank": ""}
        rows = []
        for one, other in (pair.values() for pair in self.first):
            keys = [str(one.get(f"{name}_label") or one[name]) for name in labels]
            rows.append([*keys, *(_written(row, prefix) for prefix in ranks.values() for row in (one, other))])
        columns = [*labels, *(f"{rank} in {name}" for rank in ranks for name in self.alone)]
        return (*([Table(columns, rows, len(labels))] if rows else []), metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with the rows that differ most."""
        return asdict(self) | in_json(self.notes)


def _row_numbers(rows: pa.Table, prefixes: Sequence[str], *, tells_ties: bool) -> IntArray:
    """Return twice the rank from 0, the ties (0 if unknown) and the candidates of each row; int64[row, 3 or 6].

    There are three columns for each of ``prefixes``, filtered and raw.
    """
    counts = [RankCounts.of(rows, prefix) for prefix in prefixes]
    columns = [(2 * each.greater + each.tied, each.tied * tells_ties, each.candidates) for each in counts]
    return np.stack([column for several in columns for column in several], axis=1)


def _written(row: Mapping[str, Any], prefix: str) -> str:
    greater, tied, candidates = (row[prefix + name] for name in COUNTS)
    return f"{1 + greater}{f'–{1 + greater + tied}' if tied else ''} of {candidates}"
