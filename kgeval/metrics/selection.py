"""Selections: from a rank table to the ranks, or the lists, of some of its rows, which a metric is computed from.

``ranking.rank_table.RankTable`` is a :class:`RankColumns`, declared here because metrics do not import ranking. A
:class:`TableView` is a table with :class:`MetricOptions`; a :class:`RowSelection` is some rows of a view.
``rank_summary`` makes a selection for each side or group; its method ``value`` computes a metric. ``_weights`` weighs
rows by an average, ``lists`` weighs lists. A list has all answers of one query; MAP and NDCG, for example, read lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.base.parquet_tables import StoredTable
from kgeval.data.provenance import UNKNOWN, Provenance
from kgeval.data.queries import starts_of_runs
from kgeval.metrics.averages import WEIGHINGS, Average, evenly, numbered
from kgeval.metrics.intervals.interval import Unit
from kgeval.metrics.intervals.sampling import Sampling
from kgeval.metrics.kinds import Chance, Needs
from kgeval.metrics.lists.ranked_lists import RankedLists, answer_lists
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName, Part, pooled_side
from kgeval.metrics.ranks.ranks import Ranks, Rows
from kgeval.metrics.ranks.ties import Ties, tie_policy, uniform

_LARGEST = 10
"""the largest exponent of ``popularity``: two frequencies below 10¹⁵, to such powers, multiply to a finite weight"""

RETRIEVED = "retrieved"
"""a column of rank tables: whether the model's list for the query has the answer; if not, it adds 0 to list metrics"""


@dataclass(frozen=True, eq=False, repr=False)
class RankColumns(StoredTable):
    """What metrics read of a rank table: its columns, and how they were made; the base of ``RankTable``."""

    split: str = "test"
    notes: tuple[str, ...] = ()
    """notes on the ranks, the most important first: dropped triples, short candidate lists, …"""
    work: Mapping[str, Any] = field(default_factory=dict)
    """how the counts were made: the kernel, and how many comparisons needed a canonical score"""
    filter: tuple[str, ...] | None = None
    """the splits of the dataset whose triples were known answers; None if that is not known"""
    protocol: str = UNKNOWN
    """the name of the protocol"""
    model: str = UNKNOWN
    """the name of the model"""
    dataset: str = UNKNOWN
    """the name of the dataset"""
    candidates: str = UNKNOWN
    """which entities competed"""
    competing: int | None = None
    """how many entities the model knows, if only these compete; None if it knows all"""
    unscored: int = 0
    """how many of the ranked triples the model does not know, so that their answers are last"""
    missing: int = 0
    """how many ranks of the split are missing or were left out"""
    sampling: Sampling | None = None
    """how the triples were sampled, if they are a sample of the split"""

    @property
    def provenance(self) -> Provenance:
        """The model, dataset, split, rules and candidates of the ranks."""
        raise NotImplementedError


@dataclass(frozen=True)
class MetricOptions:
    """The tie policy, and the conventions of adjusted and stratified metrics."""

    ties: Ties = "realistic"
    """the tie policy of metrics that name none"""
    seed: int = 0
    """the seed of random ties"""
    chance: Chance = "exact"
    """how many candidates a random ranking has, with which adjusted metrics and z-scores compare"""
    popularity: tuple[float, float] = (1.0, 1.0)
    """the exponents of the frequencies of answers and relations, for the average ``strat``"""

    def __post_init__(self) -> None:
        tie_policy(self.ties)
        refuse_unknown("unknown chance", self.chance, get_args(Chance), MetricError)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer):
            raise MetricError(f"the seed of random ties must be a whole number, found {self.seed!r}.")
        object.__setattr__(self, "seed", int(self.seed))
        object.__setattr__(self, "popularity", checked_exponents(self.popularity))


def checked_exponents(exponents: Any) -> tuple[float, float]:
    pair = list(exponents) if isinstance(exponents, tuple | list | np.ndarray) else []
    numbers = [float(one) for one in pair if isinstance(one, int | float | np.number) and not isinstance(one, bool)]
    if len(pair) != 2 or len(numbers) != 2 or not all(abs(number) <= _LARGEST for number in numbers):
        expected = f"two exponents, for the frequencies of answer and relation, each from -{_LARGEST} to {_LARGEST}"
        raise MetricError(f"popularity: expected {expected}; found {exponents!r}.")
    return numbers[0], numbers[1]


DEFAULT_OPTIONS = MetricOptions()


@dataclass(frozen=True, eq=False)
class TableView:
    """A whole rank table with options; each property is computed when a metric first reads it, and kept."""

    table: RankColumns
    options: MetricOptions = DEFAULT_OPTIONS

    @cached_property
    def scores(self) -> Float64Array:
        return np.asarray(self.table.column("score"), np.float64)

    @cached_property
    def ranks(self) -> Ranks:
        greater, tied, candidates = (self.table.column(name) for name in ("greater", "tied", "candidates"))
        return Ranks(greater, tied, candidates)

    @cached_property
    def sides(self) -> np.ndarray[Any, Any]:
        return np.asarray(self.table.column("side"))

    @cached_property
    def ids(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The side (0 head, 1 tail, 2 relation), the anchor, the relation and the other entity; int64[row] each.

        The anchor is the entity that the query contains.
        """
        head, relation, tail = (self.table.column(name) for name in ("head", "relation", "tail"))
        side = np.where(self.of_entities, self.sides == "tail", 2)
        heads = side == 0
        return side, np.where(heads, tail, head), relation, np.where(heads, head, tail)

    @cached_property
    def of_entities(self) -> BoolArray:
        """Whether a row predicts a head or a tail, and no relation; bool[row]."""
        return np.asarray(self.sides != "relation", np.bool_)

    @cached_property
    def pooled(self) -> Part:
        """The side of a metric that names none; see :func:`pooled_side`."""
        return pooled_side(map(str, np.unique(self.sides)))

    def rows_of(self, part: Part | None) -> Rows:
        """Return the rows of a side, or of heads and tails (``both``), as positions or, if it is all rows, a slice."""
        rows = self.of_entities if part == "both" else self.sides == part
        return slice(None) if rows.all() else np.flatnonzero(rows)

    @cached_property
    def times(self) -> tuple[IntArray, ...]:
        """One column, the position of each row's time among all times, int64[row]; none for a graph without times."""
        if "time" not in self.table.columns:
            return ()
        codes = self.table.ordered_codes("time")
        return (np.unique(self.table.column("time"), return_inverse=True)[1] if codes is None else codes,)

    @cached_property
    def queries(self) -> IntArray:
        """The number of each row's query; int64[row]."""
        side, anchor, relation, other = self.ids
        partner = np.where(side == 2, other, relation)  # a query of a relation names both entities
        order = np.lexsort((*self.times, anchor, partner, side))
        first = starts_of_runs(*(column[order] for column in (side, partner, anchor, *self.times)))
        queries = np.empty(len(order), np.int64)
        queries[order] = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(order)]))
        return queries

    @cached_property
    def unpopularity(self) -> Float64Array:
        """The weight of each row, 1 / (freq(e)^βe · freq(r)^βr), e its answer (Mohamed et al., 2020); float64[row].

        Exponents of 0 give equal weights, 1 makes every entity or relation count the same. Frequencies are counted in
        all rows that predict heads or tails. A row that predicts a relation is weighed by the frequency of the relation
        alone, counted in all rows that predict relations.
        """
        _, anchor, relation, answer = self.ids
        of_entity, of_relation = self.options.popularity
        weights = np.empty(len(relation))
        for rows, exponent in ((np.flatnonzero(self.of_entities), of_entity), (np.flatnonzero(~self.of_entities), 0.0)):
            of_entities, of_relations = np.bincount(np.r_[anchor[rows], answer[rows]]), np.bincount(relation[rows])
            weights[rows] = of_entities[answer[rows]].astype(float) ** -exponent
            weights[rows] *= of_relations[relation[rows]].astype(float) ** -of_relation
        return weights

    @cached_property
    def draws(self) -> Float64Array:
        """Uniform random numbers for random ties: a function of the seed and of the row's side, triple and time."""
        return uniform(self.options.seed, *self.ids, *self.times)

    def draws_for(self, ties: Ties) -> Float64Array | None:
        return self.draws if tie_policy(ties).random else None


@dataclass(frozen=True, eq=False)
class RowSelection:
    """Some rows of a table, or the rows of several groups, group by group."""

    view: TableView
    rows: Rows
    groups: IntArray | None = None
    """int64[row], ascending: the group of each row; ``None`` where all are one group"""
    _ranks: dict[tuple[Ties | None, Average | None], Ranks] = field(default_factory=dict, init=False, repr=False)
    """the ranks by tie policy and average, kept for further metrics"""

    def of_group(self, group: int) -> RowSelection:
        """Select the rows of one group; without groups, all rows."""
        if self.groups is None:
            return self
        low, high = np.searchsorted(self.groups, [group, group + 1])
        return RowSelection(self.view, np.asarray(self.rows)[low:high])

    def data(self, name: MetricName) -> Any:
        """Return the input of a metric: the ranks or the lists of these rows."""
        return self.lists(name.average) if name.metric.needs == "lists" else self.ranks(name.ties, name.average)

    def value(self, name: MetricName) -> float:
        """Compute a metric of these rows."""
        return name(self.data(name))

    def ranks(self, ties: Ties | None, average: Average | None) -> Ranks:
        """Return the ranks under a tie policy (by default the options'), weighed by an average (by default micro)."""
        if (ties, average) not in self._ranks:
            self._ranks[ties, average] = self._ranks_of(ties, average)
        return self._ranks[ties, average]

    def _ranks_of(self, ties: Ties | None, average: Average | None) -> Ranks:
        options = self.view.options
        ties = ties or options.ties
        # ``chance`` changes the N of a random ranking alone; ``Ranks.competitors`` adds the uncounted answer again.
        counts, uncounted = self._counts, int(options.chance == "without-answer")
        candidates = counts.candidates - uncounted
        draws = self.view.draws_for(ties)
        draws = None if draws is None else draws[self.rows]
        weights = self._weights(average)
        return replace(counts, candidates=candidates, uncounted=uncounted, ties=ties, weights=weights, draws=draws)

    def _weights(self, average: Average | None) -> Float64Array | None:
        """Return the weight of each answer, float64[row]; ``None`` if all are equal."""
        if average == "strat":
            return self.view.unpopularity[self.rows]
        over = WEIGHINGS[average].over if average else None
        return evenly(self.numbers(over)) if over else None

    def lists(self, average: Average | None) -> RankedLists:
        """Return the lists of the rows' queries, weighed by an average (by default macro)."""
        weights, over = None, WEIGHINGS[average].over if average else None
        if average == "micro":
            weights = self.unweighed.relevant.astype(np.float64)
        elif over:
            weights = evenly(self.of_lists(self.numbers(over)))
        return replace(self.unweighed, weights=weights)

    def numbers(self, of: Unit) -> IntArray:
        """Number the triple, query, relation or time of each row; no two groups share a number; int64[row]."""
        if of == "triple":
            column = np.asarray(self.view.table.column("triple"))
        elif of == "time":
            refuse_timeless(self.view.times)
            (column,) = self.view.times
        else:
            column = self.view.queries if of == "query" else self.view.ids[2]
        values = column[self.rows]
        return values if self.groups is None else self.groups * (int(column.max(initial=0)) + 1) + values

    def groups_of(self, needs: Needs) -> IntArray:
        """Return the group of each row (``"ranks"``), or of each list (``"lists"``); 0 where all are one group."""
        groups = np.zeros(len(self._counts), np.int64) if self.groups is None else self.groups
        return self.of_lists(groups) if needs == "lists" else groups

    def of_lists(self, column: IntArray) -> IntArray:
        """Return the value that a column (int64[row]) has for each list, in the order of their queries; int64[list]."""
        queries = self.numbers("query")
        first = np.unique(queries, return_index=True)[1]
        if not self.view.of_entities.all() and (column[first][numbered(queries)[1]] != column).any():
            raise Undefined("a list of relations is of several relations")
        return column[first]

    @cached_property
    def _counts(self) -> Ranks:
        return self.view.ranks.at(self.rows)

    @cached_property
    def unweighed(self) -> RankedLists:
        """The lists of the rows' queries, all of the same weight."""
        table = self.view.table
        if table.filter is not None and table.split not in table.filter:
            problem = f"the {table.split} split is not among the filtered ones"
            raise Undefined(f"{problem}, so that each answer was ranked against the other answers of its query too")
        retrieved = table.column(RETRIEVED)[self.rows] if RETRIEVED in table.columns else None
        return answer_lists(self.numbers("query"), self.view.scores[self.rows], self._counts, retrieved)


def refuse_timeless(times: object) -> None:
    """Refuse averages and intervals over times of ranks, or of a dataset, that have none."""
    if not times:
        what = "the average time. and intervals that resample times need a temporal graph"
        raise MetricError(f"{what}, and these triples have no times. Leave them out.")


def refuse_other_tables(tables: Iterable[Any]) -> None:
    if others := [type(table).__name__ for table in tables if not isinstance(table, RankColumns)]:
        what = "a rank table (from kgeval.evaluate, RankTable.from_parquet or kgeval.load_ranks)"
        raise MetricError(f"expected {what}, found {others[0]}.")
