"""Rows of a rank table: the counts of some triples on one side, laid out as columns, and such parts put together.

Every way to rank (a model, recorded scores, shards, a file of ranks) ends here: ``to_rank_columns`` takes the counts of
rows of a split, and ``join_parts`` and ``stack`` concatenate what was ranked in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import IntArray
from kgeval.base.parquet_tables import with_columns
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Side
from kgeval.ranking.rank_table import COUNTS, NAN, SCHEMA, TIME
from kgeval.ranking.ranking_task import Ranked

MULTIPLICITY = "multiplicity"
"""the column that says how often a triple stands in its split, where one is repeated"""

WITH_TEST = "with_test_"
"""what the names of counts begin with for which the triples of test were known answers too"""


def to_rank_columns(dataset: Dataset, split: str, rows: IntArray, side: Side, ranked: Ranked) -> pa.Table:
    """Lay the counts of rows of a split out as columns of a rank table."""
    triples = dataset.split(split)[rows]
    heads, relations, tails = triples.ids.T
    filtered, raw = ranked.filtered, ranked.raw
    columns = [
        *(rows, heads, relations, tails),
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(rows), np.int32)), [side]),
        ranked.scores,
        *(filtered.greater, filtered.tied, filtered.candidates),
        *(raw.greater, raw.tied, raw.candidates),
        dataset.entities.column(heads),
        dataset.relations.column(relations),
        dataset.entities.column(tails),
    ]
    arrays = [pa.array(np.ascontiguousarray(c)) if isinstance(c, np.ndarray) else c for c in columns]
    table = with_times(dataset, pa.table(arrays, SCHEMA), triples.contexts)
    holes = {} if ranked.nan is None else dict(zip(NAN, map(pa.array, ranked.nan.T), strict=True))
    return with_columns(table, holes)


def with_times(dataset: Dataset, table: pa.Table, contexts: IntArray | None) -> pa.Table:
    """Add the label of each row's time, whose ids are ``contexts`` (int64[row]); nothing where there are none."""
    if dataset.times is None or contexts is None:
        return table
    codes = pa.array(contexts.astype(np.int32))
    return table.append_column(TIME, pa.DictionaryArray.from_arrays(codes, dataset.times.labels, ordered=True))


def with_test_known(table: pa.Table, other: pa.Table) -> pa.Table:
    """Add the filtered counts of another table of the same rows, for which the triples of test were known too."""
    return with_columns(table, {WITH_TEST + name: other[name] for name in COUNTS})


@dataclass(frozen=True, eq=False)
class RankedPart:
    """The rows of some triples of the split on one side, with what a table says of them."""

    side: Side
    data: pa.Table
    """as :data:`kgeval.ranking.rank_table.SCHEMA` says, in the order of the split"""
    notes: tuple[str, ...]
    """what is odd about the candidates"""
    num_candidates: IntArray
    """int64[query], before those that may not compete were left out"""
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
