"""Samples: some rows of a rank table, handed to each metric as what it needs, ranks or lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.queries import starts_of_runs
from kgeval.errors import MetricError
from kgeval.metrics.lists.from_ranks import answer_lists
from kgeval.metrics.lists.ranked_lists import RankedLists
from kgeval.metrics.metric import Undefined
from kgeval.metrics.metric_options import DEFAULT_OPTIONS, MetricOptions
from kgeval.metrics.ranks.keyed_random import uniform
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.tables.averages import WEIGHINGS, Average, against_popularity
from kgeval.provenance import Provenance

Rows = IntArray | slice


class RankColumns(Protocol):
    """What a summary reads: the columns of a rank table."""

    @property
    def split(self) -> str:
        """The split that was ranked."""
        ...

    @property
    def filter(self) -> tuple[str, ...] | None:
        """The splits whose triples were known answers, where that is known."""
        ...

    @property
    def provenance(self) -> Provenance:
        """What the ranks are of."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the ranks should know."""
        ...

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        ...

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Return one column."""
        ...


def rank_columns(table: Any) -> RankColumns:
    """Take a table of ranks for what it is.

    Raises
    ------
    MetricError
        if it is something else
    """
    # Two that no other kind of table has; to look at all would count the triples.
    if not callable(getattr(table, "column", None)) or not hasattr(table, "filter"):
        what = "a rank table, as kgeval.evaluate, RankTable.from_parquet and kgeval.load_ranks give one"
        raise MetricError(f"expected {what}, found {type(table).__name__}.")
    ranks: RankColumns = table
    return ranks


@dataclass(frozen=True, eq=False)
class TableView:
    """The whole table; what only some metrics read is worked out when the first of them asks."""

    table: RankColumns
    policies: MetricOptions = DEFAULT_OPTIONS

    @cached_property
    def ranks(self) -> Ranks:
        """The counts of every row."""
        greater, tied, candidates = (self.table.column(name) for name in ("greater", "tied", "candidates"))
        return Ranks(greater, tied, candidates)

    @cached_property
    def scores(self) -> Float64Array:
        """The score of every answer."""
        return np.asarray(self.table.column("score"), np.float64)

    @cached_property
    def sides(self) -> np.ndarray[Any, Any]:
        """The side that every row predicts."""
        return np.asarray(self.table.column("side"))

    @cached_property
    def ids(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Whether the tail is predicted, the entity that is kept, the relation, and the answer of every row."""
        head, relation, tail = (self.table.column(name) for name in ("head", "relation", "tail"))
        tails = self.sides == "tail"
        return tails.astype(np.int64), np.where(tails, head, tail), relation, np.where(tails, tail, head)

    @cached_property
    def queries(self) -> IntArray:
        """The number of the query that each row asks."""
        side, anchor, relation, _ = self.ids
        order = np.lexsort((anchor, relation, side))
        first = starts_of_runs(side[order], relation[order], anchor[order])
        queries = np.empty(len(order), np.int64)
        queries[order] = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(order)]))
        return queries

    @cached_property
    def unpopularity(self) -> Float64Array:
        """The weight of each row against the popularity, in the whole table, of its answer and relation."""
        _, anchor, relation, answer = self.ids
        entities = np.bincount(np.r_[anchor, answer])
        return against_popularity(
            answer, relation, (entities, np.bincount(relation)), self.policies.popularity_exponents
        )

    @cached_property
    def draws(self) -> Float64Array:
        """What random ties are broken by: a function of the seed and of the row's side and triple."""
        return uniform(self.policies.seed, *self.ids)


@dataclass(frozen=True, eq=False)
class RowSelection:
    """Some rows of a table, which may be those of several groups, one after the other."""

    source: TableView
    rows: Rows
    groups: IntArray | None = None
    """int64[row], ascending: the group of each row; nothing where all are one group"""

    def ranks(self, ties: Ties | None, average: Average | None) -> Ranks:
        """Their ranks under a tie policy (of those of the source by default), weighed by an average (micro)."""
        policies = self.source.policies
        ties = ties or policies.ties
        draws = self.source.draws[self.rows] if ties == "random" else None
        weights = WEIGHINGS[average or "micro"].answers(self)
        # Of ranks alone: lists are as long as they are.
        candidates = self._counts.candidates - (policies.chance == "without-answer")
        return replace(self._counts, candidates=candidates, ties=ties, weights=weights, draws=draws)

    def lists(self, average: Average | None) -> RankedLists:
        """The lists of their queries, weighed by an average (macro by default).

        Raises
        ------
        Undefined
            if the ranks do not tell where the answers of a query stand in one list
        MetricError
            if lists cannot be weighed so
        """
        weigh = WEIGHINGS[average or "macro"].lists
        if weigh is None:
            raise MetricError(f"lists have no {average} average.")
        return replace(self.unweighed, weights=weigh(self))

    @property
    def queries(self) -> IntArray:
        """The number of the query that each row asks, in its group."""
        return self._by_group(self.source.queries)

    @property
    def relations(self) -> IntArray:
        """The number of the relation of each row, in its group."""
        return self._by_group(self.source.ids[2])

    def of_lists(self, column: IntArray) -> IntArray:
        """A column of each list; the lists are in the order of the numbers of their queries."""
        return column[np.unique(self.queries, return_index=True)[1]]

    def _by_group(self, column: IntArray) -> IntArray:
        values = column[self.rows]
        return values if self.groups is None else self.groups * (int(column.max(initial=0)) + 1) + values

    @cached_property
    def _counts(self) -> Ranks:
        whole, rows = self.source.ranks, self.rows
        return Ranks(whole.greater[rows], whole.tied[rows], whole.candidates[rows])

    @cached_property
    def unweighed(self) -> RankedLists:
        """The lists of their queries.

        Raises
        ------
        Undefined
            as :meth:`lists`
        """
        table = self.source.table
        if table.filter is not None and table.split not in table.filter:
            raise Undefined(
                f"the {table.split} split is not among the filtered ones, so that each answer was ranked against the "
                "other answers of its query too"
            )
        return answer_lists(self.queries, self.source.scores[self.rows], self._counts)
