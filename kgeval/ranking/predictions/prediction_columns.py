"""The columns of a prediction table: the best answers of queries, their counts, and what is known of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.known import known_answers, observed_types
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import Side
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.kernels.collectors import ALL, KNOWN, BestAnswers
from kgeval.ranking.outsiders import Outsiders
from kgeval.ranking.predictions.prediction_table import NEW, SCHEMA
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.table_rows import with_times

LABELLED = {"anchor": "entities", "relation": "relations", "entity": "entities"}
"""the columns whose labels stand in the last columns of a table"""


class Counts(NamedTuple):
    """Of each query and place, how many candidates are above, and how many others tie; int64[query, place]."""

    greater: IntArray
    tied: IntArray


def to_prediction_columns(
    dataset: Dataset,
    task: RankingTask,
    best: BestAnswers,
    numbers: IntArray,
    split: str | None,
    outsiders: Outsiders,
) -> pa.Table:
    """Lay out the best answers of the queries of a task, whose numbers are int64[query], without labels."""
    queries, (owners, places) = task.queries, np.nonzero(best.scores > -np.inf)
    entities, scores = task.candidates.ids_of(0)[best.positions[owners, places]], best.scores[owners, places]
    answered = known_answers(queries, [dataset.split(split)] if split else [])
    columns = [
        numbers[owners],
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(owners), np.int32)), [queries.side]),
        queries.anchors[owners],
        queries.relations[owners],
        places + 1,
        entities,
        scores,
        *_counts(task, best, owners, places, outsiders.beside(owners, entities, scores)[1]),
        _known_from(dataset, queries, owners, entities),
        _is_of_type(dataset, queries.side, queries.relations[owners], entities),
        answered.positions(owners, entities) >= 0,
    ]
    arrays = [pa.array(column) if isinstance(column, np.ndarray) else column for column in columns]
    table = pa.table(arrays, pa.schema([*SCHEMA][: -len(LABELLED)]))
    return with_times(dataset, table, None if queries.contexts is None else queries.contexts[owners])


def with_labels(dataset: Dataset, table: pa.Table) -> pa.Table:
    """Add the labels of the ids: those of all rows together, so that they are coded alike wherever blocks end."""
    for name, kind in LABELLED.items():
        column = getattr(dataset, kind).column(table[name].to_numpy())
        table = table.append_column(SCHEMA.field(f"{name}_label"), column)
    return table.select([*SCHEMA.names, *(name for name in table.column_names if name not in SCHEMA.names)])


def _counts(
    task: RankingTask, best: BestAnswers, owners: IntArray, places: IntArray, outsiders: RankCounts
) -> list[IntArray | pa.Array]:
    """Count as a rank table does: greater, tied and candidates, filtered and raw."""
    each = (owners, places)
    above, beside, further = outsiders.columns
    everyone = task.num_candidates[owners] + further - 1
    unknown_alone = everyone - task.known.lengths[owners]
    greater, tied = _in_list(best, best.scores > -np.inf, best.tied[:, ALL])
    of_all = [greater[each] + above, tied[each] - 1 + beside]
    if best.drops_known:
        return [*of_all, unknown_alone, *[pa.nulls(len(owners), pa.int64())] * 3]
    is_known = _are_in(task.known, best.positions)
    known_greater, known_tied = _in_list(best, is_known, best.tied[:, KNOWN])
    itself = is_known[each]
    filtered = [of_all[0] - known_greater[each], of_all[1] - known_tied[each] + itself, unknown_alone + itself]
    return [*filtered, *of_all, everyone]


def _in_list(best: BestAnswers, counted: BoolArray, tied_with_last: IntArray) -> Counts:
    """Count some of the best answers, bool[query, place], at and above the score of each; ties go beyond the list."""
    scores, (starts, ends) = best.scores, best.spans_of_ties
    upto = np.hstack([np.zeros((len(scores), 1), np.int64), np.cumsum(counted, axis=1)])
    greater = np.take_along_axis(upto, starts, axis=1)
    tied = np.take_along_axis(upto, ends, axis=1) - greater
    return Counts(greater, np.where(scores == scores[:, -1:], tied_with_last[:, None], tied))


def _are_in(rows: Rows, positions: IntArray) -> BoolArray:
    """Whether each position (int64[query, place]) is in its query's row."""
    owners = np.repeat(np.arange(len(positions)), positions.shape[1])
    return (rows.positions(owners, positions.ravel()) >= 0).reshape(positions.shape)


def _known_from(dataset: Dataset, queries: Queries, owners: IntArray, entities: IntArray) -> pa.DictionaryArray:
    """Name the first split that has each triple."""
    names = [*dataset.splits, NEW]
    codes = np.full(len(owners), len(names) - 1, np.int32)
    for code, triples in reversed([*enumerate(dataset.splits.values())]):
        codes[known_answers(queries, [triples]).positions(owners, entities) >= 0] = code
    return pa.DictionaryArray.from_arrays(pa.array(codes), names)


def _is_of_type(dataset: Dataset, side: Side, relations: IntArray, entities: IntArray) -> BoolArray:
    return observed_types([dataset.train], side, dataset).positions(relations, entities) >= 0
