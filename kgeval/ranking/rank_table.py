"""The rank table: one row for each triple and side, with three counts from which every metric is computed.

``kgeval.evaluate`` makes one, ``kgeval.summarize`` and all comparisons read it, ``ranks.parquet`` stores it.

Every way to rank (a model, recorded scores, shards, a file of ranks) ends here: ``to_rank_columns`` lays out the counts
of rows of a split, and ``join_parts`` and ``stack`` concatenate what was ranked in parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.assumptions import Assumption
from kgeval.base.errors import TableError, counted, refuse_unknown
from kgeval.base.parquet_tables import LABELS, with_columns
from kgeval.data import History, KnownTimes
from kgeval.data.provenance import OF_FILE, UNKNOWN, LeakCounts, Provenance, provenance_of, subject_of
from kgeval.data.triples import TARGETS, Side
from kgeval.metrics.selection import RankColumns
from kgeval.ranking.ranking_task import RankCounts, Ranked

if TYPE_CHECKING:
    import pandas as pd

    from kgeval.data.dataset import Dataset

COUNTS = ("greater", "tied", "candidates")

SCHEMA = pa.schema(
    [
        *((name, pa.int64()) for name in ("triple", "head", "relation", "tail")),
        ("side", LABELS),
        ("score", pa.float64()),
        *((prefix + name, pa.int64()) for prefix in ("", "raw_") for name in COUNTS),
        *((f"{name}_label", LABELS) for name in ("head", "relation", "tail")),
    ]
)
"""Ids are the dataset's; ``triple`` is the row in the split; ``side`` is the part of the triple that was predicted."""

RANK = "rank"
"""the column of ranks, which are computed from the counts and not stored"""

NAN = ("nan_candidates", "nan_answer")
"""further columns if NaN is the worst score: how many candidates' scores were NaN, and if the answer's was (0 or 1)"""

ALIKE_IN_SHARDS = {name: f"{name}s" for name in ("split", "filter", "protocol", "model", "dataset")}
ALIKE_IN_SHARDS |= {"times": "filtered times", "competing": "numbers of entities that the model knows"}
ALIKE_IN_SHARDS |= {"static_filter": "static filters", "history": "histories"}
"""the fields that must be equal in all tables of ``concat`` -> their names in a message"""

LISTED = "listed"
"""the further column of a model that has lists of predictions: whether the list of its query names the answer"""

TIME = "time"
"""the further column of a temporal graph: the label of each row's time"""


@dataclass(frozen=True, eq=False, repr=False)
class RankTable(RankColumns):
    """The ranks of a split.

    The optimistic rank of a row is ``1 + greater``, the pessimistic one ``1 + greater + tied``, the realistic one their
    mean; the ``raw_`` columns hold the same before known answers were filtered out, or nothing if that is not known.
    """

    _SCHEMA = SCHEMA
    _FILE = "ranks.parquet"
    _KIND = "rank table"
    _NOUN = ("rank", "ranks")
    _SHOWN = ("head_label", "relation_label", "tail_label", TIME, "side", RANK, "candidates")
    _COMPUTED = (RANK,)
    _KEY = "kgeval"

    times: KnownTimes | None = None
    """for a temporal graph, which facts were known answers: those at the query's time (``time-aware``), or at all times
    (``static``)"""
    static_filter: tuple[str, ...] = ()
    """the splits whose facts of all times were known answers for the columns ``static_…``, if the table has these"""
    history: History | None = None
    """for a temporal graph, the facts before a query's time that the model had in view; None if that is not said"""
    leaks: LeakCounts | None = None
    """how many triples of the split can be looked up in train; None if there are none, or if that is not known"""
    has_ties: bool = True
    """whether the numbers of ties are known; if not, the ranks have a tie policy of their own, and no other"""
    own_ties: str = OF_FILE
    """the tie policy of ranks whose numbers of ties are unknown: ``OF_FILE``, or its name"""
    assumptions: tuple[Assumption, ...] = ()
    """how the dataset and the model were read where another reading is possible"""
    fingerprint: str = ""
    """which graph was ranked, as ``kgeval.data.fingerprint`` tells graphs apart; empty if that is not known"""

    def _brief(self) -> str:
        of = "" if self.sampling is None else f" of {self.sampling.num_triples:,}"
        subject = "" if self.model == self.dataset == UNKNOWN else f"{subject_of(self.model, self.dataset)}, "
        return f"{counted(len(self), 'rank')} of {subject}{self.num_triples:,}{of} {self.split} triples"

    @property
    def num_triples(self) -> int:
        """How many different triples were ranked."""
        return int(pc.count_distinct(self.data.column("triple"), mode="all").as_py())

    @property
    def ranks(self) -> Float64Array:
        """The filtered realistic rank of each row, 1 + greater + tied / 2; float64[row].

        Ties count half: an answer that ties with one other at the top has rank 1.5. For other tie policies use the
        counts, or :func:`kgeval.summarize`.

        >>> from kgeval import evaluate
        >>> table = evaluate(lambda h, r, t: h + t, "nations")
        >>> float((1 / table.ranks).mean()) == float((1 / table.to_pandas()["rank"]).mean())
        True
        """
        return np.asarray(1 + self.column("greater") + self.column("tied") / 2, np.float64)

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Return one column as an array (labels as strings); ``rank`` is :attr:`ranks`.

        Raises
        ------
        TableError
            if there is no such column, with the nearest one
        """
        return self.ranks if name == RANK and RANK not in self.columns else super().column(name)

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with the columns of the table and ``rank``; labels are categorical."""
        frame = super().to_pandas()
        if RANK not in frame:
            frame.insert(list(frame.columns).index("greater"), RANK, self.ranks)
        return frame

    @property
    def provenance(self) -> Provenance:
        """The model, dataset, split, rules and candidates of the ranks."""
        ranked = pc.unique(self.data.column("side")).to_pylist()
        sides = tuple(side for side in TARGETS if side in ranked)
        return provenance_of(self, Provenance, triples=self.num_triples, sides=sides, nan=self.nan)

    @property
    def nan(self) -> dict[str, int] | None:
        """How many scores of candidates and of answers were NaN and taken for the worst; None if none was accepted."""
        if not {*NAN} <= {*self.columns}:
            return None
        return dict(zip(("candidates", "answers"), (int(self.column(name).sum()) for name in NAN), strict=True))

    def where(self, keep: BoolArray) -> RankTable:
        """Keep some rows (bool[row]); ``missing`` still counts the missing ranks of the whole split."""
        sampling = None if self.sampling is None else self.sampling.without_regression()
        return replace(super().where(keep), work={}, sampling=sampling)

    @classmethod
    def _of(cls, data: pa.Table, metadata: Mapping[str, Any]) -> RankTable:
        if (sampling := metadata.get("sampling")) and (missing := {"typed_counts", "typed_means"} - {*sampling}):
            raise KeyError(min(missing))
        old = [("columns", "head, relation, tail", "usual", metadata["suspicion"])] if metadata.get("suspicion") else []
        return super()._of(data, {"split": UNKNOWN, "assumptions": old, **metadata})

    def _refuse_nonsense(self) -> None:
        """Refuse empty cells, impossible counts, unknown sides and repeated rows."""
        if self.times is not None and TIME not in self.columns:
            raise TableError(f"a rank table of a temporal graph needs the column {TIME!r}.")
        for name in SCHEMA.names:
            unknown = name.startswith("raw_") and self.knows_no_raw  # where ranks were made elsewhere
            if name != "score" and not name.endswith("_label") and not unknown and self.data.column(name).null_count:
                raise TableError(f"the column {name} has empty cells.")
        for prefix in ("", *([] if self.knows_no_raw else ["raw_"]), *(["static_"] if self.static_filter else [])):
            wrong = RankCounts.of(self.data, prefix).impossible
            if wrong.any():
                raise TableError(f"row {int(np.argmax(wrong))}: its {prefix}counts are impossible.")
        for name in ("triple", "head", "relation", "tail"):
            wrong = self.column(name) < 0
            if wrong.any():
                row = int(np.argmax(wrong))
                raise TableError(f"row {row}: its {name} has the id {self.column(name)[row]}; ids begin at 0.")
        for side in np.unique(self.column("side").astype(str)):
            refuse_unknown("unknown side", str(side), TARGETS, TableError)
        self._refuse_repetitions()
        self._refuse_ambiguous_rows()

    def _refuse_repetitions(self) -> None:
        """Refuse a triple that is ranked twice on a side: it would count twice."""
        keys = self.data.select(["side", "triple", "head", "relation", "tail"])
        if keys.group_by(keys.column_names).aggregate([]).num_rows == len(self):
            return
        row = int(np.argmax(keys.to_pandas().duplicated()))
        triple = ", ".join(str(self.column(f"{name}_label")[row]) for name in ("head", "relation", "tail"))
        side = self.column("side")[row]
        raise TableError(f"row {row}: the {side} of ({triple}) was ranked in an earlier row. Keep one of them.")

    def _refuse_ambiguous_rows(self) -> None:
        """Refuse a number of a triple that two different triples have."""
        triples = self.data.select(["triple", "head", "relation", "tail"])
        distinct = triples.group_by(triples.column_names).aggregate([])
        if distinct.num_rows != self.num_triples:
            counts = pc.value_counts(distinct.column("triple"))
            twice = next(count["values"].as_py() for count in counts if count["counts"].as_py() > 1)
            raise TableError(f"the triple {twice} of the split is two different triples in this table.")

    def raw(self) -> RankTable:
        """Return the ranks among all candidates, known answers too.

        Raises
        ------
        TableError
            if they are not known, as in a file of filtered ranks
        """
        self.refuse_without_raw()
        return replace(self, data=with_counts(self.data, RankCounts.of(self.data, "raw_")), filter=())

    def static(self) -> RankTable:
        """Return the ranks whose known answers are facts of all times.

        Raises
        ------
        TableError
            if the table has time-aware ranks alone
        """
        if self.times == "static":
            return self
        if not self.static_filter:
            cure = "Evaluate with times static (--times static), or with the protocol regcn, which counts both"
            raise TableError(f"these ranks are not static, and the static ranks are not known. {cure}.")
        data = with_counts(self.data, RankCounts.of(self.data, "static_"))
        return replace(self, data=data, filter=self.static_filter, times="static")

    def refuse_without_raw(self) -> None:
        """Refuse ranks whose raw counts are not known.

        Raises
        ------
        TableError
            if they are not known, as of a file of filtered ranks
        """
        if any(self.data.column(f"raw_{name}").null_count for name in COUNTS):
            raise TableError("these ranks are filtered, and the raw ranks are not known.")

    @property
    def knows_no_raw(self) -> bool:
        """Whether the raw counts are unknown."""
        raw = (self.data.column(f"raw_{name}") for name in COUNTS)
        return len(self) > 0 and all(column.null_count == len(self) for column in raw)

    @classmethod
    def concat(cls, tables: Iterable[RankTable]) -> RankTable:
        """Put the shards of one evaluation together.

        Raises
        ------
        TableError
            if there are no tables, if they have different models, datasets, splits, filters or further columns, if one
            is a sample, if a triple and side is ranked twice, or if several tables of one side lack ranks
        """
        tables = list(tables)
        if any(table.sampling is not None for table in tables):
            raise TableError("cannot concatenate samples of triples: together they are not a random sample.")
        if not tables:
            raise TableError("there are no tables to concatenate.")
        for name, noun in ALIKE_IN_SHARDS.items():
            values = dict.fromkeys(str(getattr(table, name)) for table in tables)
            if len(values) > 1:
                raise TableError(f"cannot concatenate ranks of different {noun}: {' and '.join(values)}.")
        sides = [side for table in tables for side in table.provenance.sides]
        missing = sum(table.missing for table in tables)
        if missing and len({*sides}) < len(sides):
            cure = "Load one file of all ranks, or record all batches in one Recorder."
            raise TableError(f"several tables of one side lack ranks, which another of them may have. {cure}")
        if len({frozenset((field.name, field.type) for field in table.further) for table in tables}) > 1:
            raise TableError("ranks with other further columns: add these to all tables, or remove them.")
        data = stack([table.data for table in tables])
        keys = ["side", "head", "relation", "tail", *({TIME} & {*data.column_names})]
        if again := data.num_rows - data.group_by(keys).aggregate([]).num_rows:
            fault = f"{again} of {data.num_rows} are of a triple and side that is already there, and would count twice"
            raise TableError(f"cannot concatenate these ranks: {fault}. Give each shard once.")
        notes = dict.fromkeys(note for table in tables for note in table.notes)
        candidates = "; ".join(dict.fromkeys(table.candidates for table in tables))
        joined = replace(tables[0], data=data, notes=tuple(notes), work={}, candidates=candidates, missing=missing)
        apart = sum(table.num_triples for table in tables) == joined.num_triples
        unscored = (sum if apart else max)(table.unscored for table in tables)
        return replace(joined, leaks=_joint_leaks(tables, joined.num_triples), unscored=unscored)


def _joint_leaks(tables: Sequence[RankTable], triples: int) -> LeakCounts | None:
    """Add the leaks of shards of different triples, counted apart; or take the most, for the same triples."""
    known = [table.leaks for table in tables if table.leaks is not None]
    counted_alone = all(table.leaks is None or table.leaks.triples == table.num_triples for table in tables)
    if known and counted_alone and sum(table.num_triples for table in tables) == triples:
        counts = ([it.repeated, it.swapped, it.in_training_graph, it.returning] for it in known)
        return LeakCounts(triples, *map(sum, zip(*counts, strict=True)))
    # A relation is not given away by its triple swapped, so that shards of relations count fewer leaks.
    return max(known, key=lambda leaks: (leaks.repeated, leaks.swapped, leaks.returning), default=None)


MULTIPLICITY = "multiplicity"
"""the further column of a split that repeats triples: how often the split has the triple of each row"""


def to_rank_columns(dataset: Dataset, split: str, rows: IntArray, side: Side, ranked: Ranked) -> pa.Table:
    """Lay the counts of rows of a split out as columns of a rank table."""
    triples = dataset.split(split)[rows]
    heads, relations, tails = triples.ids.T
    columns = [
        *(rows, heads, relations, tails),
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(rows), np.int32)), [side]),
        *(ranked.scores, *ranked.filtered.columns, *ranked.raw.columns),
        dataset.entities.column(heads),
        dataset.relations.column(relations),
        dataset.entities.column(tails),
    ]
    table = with_times(dataset, pa.table(columns, SCHEMA), triples.contexts)
    holes = {} if ranked.nan is None else dict(zip(NAN, map(pa.array, ranked.nan.T), strict=True))
    return with_columns(table, holes)


def with_times(dataset: Dataset, table: pa.Table, contexts: IntArray | None) -> pa.Table:
    """Add the label of each row's time, whose ids are ``contexts`` (int64[row]); no column if there are no times."""
    if dataset.times is None or contexts is None:
        return table
    codes = pa.array(contexts.astype(np.int32))
    return table.append_column(TIME, pa.DictionaryArray.from_arrays(codes, dataset.times.labels, ordered=True))


def with_counts(table: pa.Table, counts: RankCounts, prefix: str = "") -> pa.Table:
    """Give rows their counts, in columns whose names begin with ``prefix``."""
    return with_columns(table, {f"{prefix}{count}": pa.array(getattr(counts, count)) for count in COUNTS})


@dataclass(frozen=True, eq=False)
class RankedPart:
    """The rows of some triples of the split on one side, with their columns in a table."""

    side: Side
    data: pa.Table
    """as :data:`kgeval.ranking.rank_table.SCHEMA` says, in the order of the split"""
    notes: tuple[str, ...]
    """notes on the candidates"""
    num_candidates: IntArray
    """int64[query], the number of candidates, before those that may not compete were left out"""
    outsiders: int = 0
    """how many listed entities counted as wrong answers, although they were no candidates"""


def join_parts(parts: Sequence[RankedPart]) -> RankedPart:
    """Concatenate parts of one side, in the order of the split."""
    data = stack([part.data for part in parts]).sort_by("triple")
    notes = tuple(note for part in parts for note in part.notes)
    num_candidates = np.concatenate([part.num_candidates for part in parts])
    return RankedPart(parts[0].side, data, notes, num_candidates, sum(part.outsiders for part in parts))


def stack(tables: list[pa.Table]) -> pa.Table:
    """Stack tables whose labels may be numbered differently."""
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()
