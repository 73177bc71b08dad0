"""The answer sets of a split: their coverage and sizes, by groups of rows or not, and the table of their entities.

An answer set is a conformal prediction set: all entities that score so well that the set has the answer with a chosen
probability. ``answers.py`` makes :class:`AnswerSets`; the command line and users read them. If the sets are listed,
their entities are an :class:`AnswerSetTable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.analysis.answer_sets.limits import Limit
from kgeval.analysis.answer_sets.nonconformity import find_nonconformity
from kgeval.analysis.answer_sets.scored_split import ScoredSplit, SideTask
from kgeval.analysis.slices.annotation import annotate, slices_to_add
from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import InputError, counted
from kgeval.base.notes import in_json
from kgeval.base.parquet_tables import StoredTable
from kgeval.base.tables.shown import Brief, Shown
from kgeval.base.tables.table import Cell, Figure, Table
from kgeval.data.dataset import Dataset
from kgeval.data.loading import Source
from kgeval.data.provenance import UNKNOWN, subject_of
from kgeval.metrics.intervals.interval import Interval, Intervals, NoInterval
from kgeval.metrics.intervals.mean_terms import MeanTerms, Units, ends_of_range
from kgeval.metrics.intervals.selection_intervals import attempt, unit_scatter
from kgeval.metrics.metric import Metric
from kgeval.metrics.rank_summary import group_rows
from kgeval.metrics.selection import TableView
from kgeval.ranking.kernels.collectors import BestAnswers
from kgeval.ranking.predictions import prediction_table
from kgeval.ranking.rank_table import RankTable


@dataclass(frozen=True, eq=False, repr=False)
class AnswerSets(Shown):
    """The answer sets of a split, one for each row of its rank table."""

    ranks: RankTable
    """the rank table of the split"""
    target: float
    """the probability with which a set should contain its answer"""
    nonconformity: str
    per: tuple[str, ...]
    """the columns whose values have a limit each; empty where all rows have one limit"""
    limits: tuple[Limit, ...]
    """the largest nonconformity in a set, for each calibrated group of rows (``limits.py``)"""
    covered: BoolArray
    """whether the set of each row has the answer; bool[row]"""
    sizes: IntArray
    """the number of entities in the set of each row; int64[row]"""
    notes: tuple[str, ...] = ()
    """notes on the ranks, the filter and the limits"""
    listed: AnswerSetTable | None = None
    """the entities in the sets; None if they were only counted"""

    def _brief(self) -> str:
        subject = subject_of(self.ranks.model, self.ranks.dataset)
        return f"{subject}: coverage {self.coverage:.3f} (target {self.target:g}), mean size {self.mean_size:.1f}"

    @property
    def coverage(self) -> float:
        """The share of the rows whose set has the answer."""
        return float(self.covered.mean())

    @property
    def mean_size(self) -> float:
        """The mean number of entities in a set."""
        return float(self.sizes.mean())

    @property
    def median_size(self) -> float:
        """The median number of entities in a set."""
        return float(np.median(self.sizes))

    @property
    def sets(self) -> AnswerSetTable:
        """The entities in the sets.

        Raises
        ------
        InputError
            if the sets were not listed
        """
        if self.listed is None:
            raise InputError("the sets were counted, not listed. Use list_sets=True.")
        return self.listed

    def groups(
        self, by: str | Sequence[str] = (), dataset: Dataset | Source | None = None, *, level: float = 0.95
    ) -> list[SetGroup]:
        """Describe the sets of all rows, or of groups by columns of the rank table or by slices.

        Parameters
        ----------
        by
            columns such as ``"side"`` and ``"relation"``, and slices such as ``"cardinality"``
        dataset
            the graph, which slices need
        level
            the level of the intervals

        Raises
        ------
        TableError
            if there is no such column or slice, with the nearest one
        InputError
            if a slice is named without the dataset
        """
        names, table = (by,) if isinstance(by, str) else tuple(by), self.ranks
        new = slices_to_add(table, names)
        if new and dataset is None:
            raise InputError(f"by: the slice {new[0].name!r} needs the dataset: groups({new[0].name!r}, dataset).")
        if new and dataset is not None:
            table = annotate(table, dataset, new)
        grouping = group_rows(table, names)
        return [self._group(key, grouping.of_group(number), level) for number, key in enumerate(grouping.keys)]

    def _group(self, key: dict[str, Any], rows: IntArray, level: float) -> SetGroup:
        units, sizes = Units.numbered("triple", self.ranks.column("triple")[rows]), self.sizes[rows]
        coverage, of_coverage = _with_interval(COVERAGE, self.covered[rows].astype(np.float64), units, level)
        size, of_size = _with_interval(SIZE, sizes.astype(np.float64), units, level)
        return SetGroup(key, len(rows), coverage, size, float(np.median(sizes)), of_coverage, of_size)

    @property
    def heads(self) -> tuple[str, ...]:
        """The provenance of the ranks, the coverage of the sets, and the limits of nonconformity."""
        formula, valid = find_nonconformity(self.nonconformity).formula, sum(limit.valid for limit in self.limits)
        finite = [limit.limit for limit in self.limits if np.isfinite(limit.limit)]
        ends = dict.fromkeys(f"{limit:.6g}" for limit in (min(finite), max(finite))) if finite else {}
        sets = [f"{formula} ≤ {'–'.join(ends)}"] if finite else []
        sets += ["all candidates (no finite limit reaches the coverage)"] if len(finite) < len(self.limits) else []
        how = self.nonconformity + (f" per {' and '.join(self.per)}" if self.per else "")
        calibration = (
            f"{self.target:g} coverage by {how}, {' or '.join(sets)}, calibrated on {valid:,} validation ranks"
        )
        return (*self.ranks.provenance.heads, calibration)

    def tables(self, groups: Sequence[SetGroup] = ()) -> tuple[Table, ...]:
        """Return one table, with a row for all sets and a row for each group."""
        by = list(groups[0].key) if groups else []
        rows: list[list[Cell]] = [
            [
                *(str(group.key.get(name, "all")) for name in by),
                Figure(group.coverage, group.coverage_interval),
                Figure(group.mean_size, group.size_interval),
                Figure(group.median_size, text=f"{group.median_size:g}"),
                group.rows,
            ]
            for group in (*self.groups(), *groups)
        ]
        return (Table([*by, "coverage", "mean size", "median size", "ranks"], rows, len(by)),)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: provenance, limits, coverage and sizes."""
        return {
            "provenance": self.ranks.provenance.to_dict(),
            "target": self.target,
            "nonconformity": self.nonconformity,
            "per": list(self.per),
            **self.groups()[0].to_dict(),
            "limits": [limit.to_dict() for limit in self.limits],
            **in_json(self.notes),
        }


@dataclass(frozen=True, repr=False)
class SetGroup(Brief):
    """The coverage and sizes of the sets of some rows."""

    key: dict[str, Any]
    """the values that these rows have in common, by column; empty for all rows"""
    rows: int
    coverage: float
    mean_size: float
    median_size: float
    coverage_interval: Interval | None
    """the interval of the coverage (resampling test triples); None if there is none"""
    size_interval: Interval | None
    """the interval of the mean size; None if there is none"""

    def _brief(self) -> str:
        return f"{counted(self.rows, 'row')}: coverage {self.coverage:.3f}, mean size {self.mean_size:.1f}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: coverage and sizes."""
        return {name: value for name, value in asdict(self).items() if name != "key"}


COVERAGE = Metric(
    "coverage", "coverage", "mean 1[answer in set]", "—", lowest=0, highest=1, increasing=None, compute=lambda x, _: x
)

SIZE = Metric("size", "set size", "mean |set|", "—", lowest=0, highest=np.inf, increasing=False, compute=lambda x, _: x)


def _with_interval(metric: Metric, values: Float64Array, units: Units, level: float) -> tuple[float, Interval | None]:
    """Compute the mean of values (float64[row]) and its interval, in which the rows of one triple are one unit."""
    terms = MeanTerms(values[None], np.ones(len(values)), lambda mean: mean, units, ends_of_range(metric))
    scatter = unit_scatter(terms, np.zeros(units.count, np.int64))
    interval = attempt(partial(scatter.interval, metric, terms.value, Intervals(level=level)))
    return terms.value, None if isinstance(interval, NoInterval) else interval


AS_PREDICTED = ("side", "anchor", "relation", "place", "entity", "score", "is_answer")
LABELLED = ("anchor_label", "relation_label", "entity_label")

SCHEMA = pa.schema([("triple", pa.int64()), *map(prediction_table.SCHEMA.field, (*AS_PREDICTED, *LABELLED))])
"""The ids are the dataset's; ``triple`` is the row in the split, ``side`` the part of the triple that is predicted,
``place`` the position of the entity in its set, from 1."""


@dataclass(frozen=True, eq=False, repr=False)
class AnswerSetTable(StoredTable):
    """The entities in the sets of all rows; each set is sorted by descending score, equal scores by entity id.

    An entity whose score is minus infinity has no place: it is in a set only where all candidates are.
    """

    _SCHEMA = SCHEMA
    _FILE = "answer-sets.parquet"
    _KIND = "table of answer sets"
    _NOUN = ("entity", "entities")
    _SHOWN = ("anchor_label", "relation_label", "side", "place", "entity_label", "score", "is_answer")
    _KEY = "kgeval_answer_sets"
    _REQUIRED = ("split", "coverage", "nonconformity", "model", "dataset")

    split: str = "test"
    coverage: float = 0.0
    """the probability with which a set should contain its answer"""
    nonconformity: str = UNKNOWN
    model: str = UNKNOWN
    dataset: str = UNKNOWN

    def _brief(self) -> str:
        entities = counted(len(self), "entity")
        return f"{entities} in sets of {subject_of(self.model, self.dataset)}, coverage {self.coverage:g}"


def entries_of_sets(split: ScoredSplit, lowest: Float64Array, sizes: IntArray) -> pa.Table:
    """List the candidates that score at least ``lowest`` (float64[row]); ``sizes`` (int64[row]) counts them."""
    # split.best leaves known answers out. If a row's own answer is a known answer, it is added here.
    added = split.answer_is_known & (split.scores >= lowest)
    rows = np.flatnonzero(added)
    parts = [(rows, TableView(split.ranks).ids[3][rows], split.scores[rows])]
    parts += [_entries_in_sets(side, best, lowest) for side, best in split.best(sizes - added)]
    rows, entities, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((entities, -scores, rows))
    return _columns(split, rows[order], entities[order], scores[order])


def _entries_in_sets(
    side: SideTask, best: BestAnswers, lowest: Float64Array
) -> tuple[IntArray, IntArray, Float64Array]:
    """Take the best candidates that are in the sets: their rows, entities and scores; [entry] each."""
    owners = side.task.queries.owners
    scores = best.scores[owners]
    answers, places = np.nonzero((scores >= lowest[side.rows, None]) & (scores > -np.inf))
    entities = side.task.candidates.ids_of(0)[best.positions[owners[answers], places]]
    return side.rows[answers], entities, scores[answers, places]


def _columns(split: ScoredSplit, rows: IntArray, entities: IntArray, scores: Float64Array) -> pa.Table:
    """Lay out the entries, which are sorted by row."""
    dataset = split.dataset
    anchors, relations, answers = (ids[rows] for ids in TableView(split.ranks).ids[1:])
    sides = split.ranks.data.column("side").combine_chunks().take(pa.array(rows))
    places = 1 + np.arange(len(rows)) - np.searchsorted(rows, rows)
    columns = [
        *(split.ranks.column("triple")[rows], sides, anchors, relations, places, entities, scores),
        answers == entities,
        *(dataset.entities.column(anchors), dataset.relations.column(relations), dataset.entities.column(entities)),
    ]
    return pa.table([pa.array(values) if isinstance(values, np.ndarray) else values for values in columns], SCHEMA)
