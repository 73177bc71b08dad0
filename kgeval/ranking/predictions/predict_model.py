"""The predictions of one model on one dataset: queries → candidates → the best by score → prediction table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kgeval.arrays import BoolArray, Float64Array, IntArray
from kgeval.corruption.candidates import Candidates
from kgeval.data import KnownTimes
from kgeval.data.dataset import Dataset
from kgeval.data.known import KnownAnswers, known_answers, known_triples, observed_types
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows
from kgeval.data.triples import Side, triple_of
from kgeval.errors import InputError, ScoreError
from kgeval.progress import Progress, reporting
from kgeval.ranking.engine import Engine, UndefinedScore
from kgeval.ranking.engine_choice import engine_for
from kgeval.ranking.evaluation import Evaluation, UnseenPolicy
from kgeval.ranking.kernels.collectors import ALL, KNOWN, BestAnswers
from kgeval.ranking.plan import Plan
from kgeval.ranking.predictions.prediction_table import NEW, SCHEMA, PredictionTable
from kgeval.ranking.predictions.query_rows import NumberedQueries, as_triples, queries_of_rows, queries_of_split
from kgeval.ranking.ranking_notes import notes_on_device, undefined_rank
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.table_rows import with_times
from kgeval.scorers.aligned import Aligned
from kgeval.scorers.checks import notes_on_equal_rows
from kgeval.threads import bound_threads

LABELLED = {"anchor": "entities", "relation": "relations", "entity": "entities"}
"""the columns whose labels stand in the last columns of a table"""


class Counts(NamedTuple):
    """Of each query and place, how many candidates are above, and how many others tie; int64[query, place]."""

    greater: IntArray
    tied: IntArray


InventedAbove = Callable[[IntArray, Float64Array], tuple[IntArray, IntArray, IntArray] | None]
"""(query of each answer, its score) -> the counts of further candidates, which name no entity, if there are any"""


def to_prediction_columns(
    dataset: Dataset,
    task: RankingTask,
    best: BestAnswers,
    numbers: IntArray,
    split: str | None,
    invented: InventedAbove,
) -> pa.Table:
    """Lay out the best answers of the queries of a task, whose numbers are int64[query], without labels."""
    queries, (owners, places) = task.queries, np.nonzero(best.scores > -np.inf)
    entities = task.candidates.ids_of(0)[best.positions[owners, places]]
    answered = known_answers(queries, [dataset.split(split)] if split else [])
    columns = [
        numbers[owners],
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(owners), np.int32)), [queries.side]),
        queries.anchors[owners],
        queries.relations[owners],
        places + 1,
        entities,
        best.scores[owners, places],
        *_counts(task, best, owners, places, invented(owners, best.scores[owners, places])),
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
    task: RankingTask,
    best: BestAnswers,
    owners: IntArray,
    places: IntArray,
    invented: tuple[IntArray, IntArray, IntArray] | None,
) -> list[IntArray | pa.Array]:
    """Count as a rank table does: greater, tied and candidates, filtered and raw."""
    each = (owners, places)
    # ``candidates`` counts the answer too.
    above, beside, further = (0, 0, 1) if invented is None else invented
    everyone = task.num_candidates[owners] + further - 1
    greater, tied = _in_list(best, best.scores > -np.inf, best.tied[:, ALL])
    if best.drops_known:
        unknown = pa.nulls(len(owners), pa.int64())
        return [
            greater[each] + above,
            tied[each] - 1 + beside,
            everyone - task.known.lengths[owners],
            unknown,
            unknown,
            unknown,
        ]
    is_known = _are_in(task.known, best.positions)
    known_greater, known_tied = _in_list(best, is_known, best.tied[:, KNOWN])
    itself = is_known[each]
    return [
        (greater - known_greater)[each] + above,
        (tied - known_tied)[each] - 1 + itself + beside,
        everyone - task.known.lengths[owners] + itself,
        greater[each] + above,
        tied[each] - 1 + beside,
        everyone,
    ]


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


IDS_PER_PLACE = 4
"""a prediction, with the columns of its row, takes the memory of so many ids of a ranking task"""


@dataclass(frozen=True, eq=False)
class PredictionRequest:
    """What is to be predicted."""

    places: int
    """how many answers of each query"""
    rows: IntArray | None = None
    """int64[query, 3], the queries as ids, −1 for what is sought, with times int64[query, 4]; by default those of the
    split"""
    drops_known: bool = False
    """whether known answers are left out"""

    def __post_init__(self) -> None:
        if isinstance(self.places, bool) or not isinstance(self.places, int | np.integer) or self.places < 1:
            raise InputError(
                f"k: expected how many answers are wanted of each query, from 1; found {self.places!r:.40}."
            )


def predict_model(
    scorer: Aligned,
    dataset: Dataset,
    evaluation: Evaluation,
    request: PredictionRequest,
    *,
    progress: Progress | bool | None = None,
    title: str | None = None,
) -> PredictionTable:
    """Find the best answers of queries among all entities that the model knows; the corruption is unused."""
    evaluation.require_entities("predictions")
    evaluation = evaluation.for_model(scorer)
    if request.rows is None:
        split, parts = evaluation.split, [*queries_of_split(dataset, evaluation.split, evaluation.sides)]
    else:
        split, parts = None, [*queries_of_rows(request.rows)]
    parts, notes_on_unknown = _known_to(scorer, dataset, parts, evaluation.unseen)
    table = PredictionTable(
        SCHEMA.empty_table(),
        places=int(request.places),
        queries=sum(len(part.numbers) for part in parts),
        split=split,
        notes=(*scorer.notes, *dataset.notes, *notes_on_unknown),
        filter=tuple(name for name in dataset.splits if name in evaluation.filter),
        drops_known=request.drops_known,
        model=title or scorer.title,
        dataset=dataset.name,
    )
    if not table.queries:
        return table
    with reporting(table.queries, progress=progress, what="predicting", unit="queries") as report:
        engine = replace(engine_for(scorer, as_triples(parts), evaluation), progress=report)
        places = min(table.places, int((scorer.entity_rows >= 0).sum()))
        with bound_threads(evaluation.threads):
            degenerate = notes_on_equal_rows(scorer.scorer, tuple(part.queries.side for part in parts))
            sides = [_predict_side(engine, scorer, dataset, part, table, places) for part in parts]
    data = pa.concat_tables(sides).unify_dictionaries().combine_chunks()
    data = data.sort_by([("query", "ascending"), ("place", "ascending")])
    work = engine.kernel.stats()
    return replace(table, data=data, notes=(*table.notes, *degenerate, *notes_on_device(work)), work=work)


def _known_to(
    scorer: Aligned, dataset: Dataset, parts: Sequence[NumberedQueries], unseen: UnseenPolicy
) -> tuple[list[NumberedQueries], list[str]]:
    """Keep the queries whose entity and relation the model knows; note, or refuse, that there are others."""
    kept, examples, count = [], [], 0
    for part in parts:
        queries = part.queries
        known = scorer.can_answer(queries)
        unknown = np.flatnonzero(~known)
        examples += [_written(dataset, queries, query) for query in unknown[:3]]
        count += len(unknown)
        kept.append(part.where(known))
    if not count:
        return kept, []
    shown = ", ".join(examples[:3]) + (", …" if count > 3 else "")
    what = f"{count} queries name an entity or relation that the model does not know: {shown}"
    if unseen == "error":
        raise InputError(f"{what}. Set unseen: drop to leave them out.")
    notes = [f"{what}. There are no predictions for them (unseen: {unseen})."]
    return [part for part in kept if len(part.numbers)], notes


def _written(dataset: Dataset, queries: Queries, query: np.intp) -> str:
    anchor, relation = int(queries.anchors[query]), int(queries.relations[query])
    return dataset.triple(*triple_of(queries.side, anchor, relation, -1))


def _predict_side(
    engine: Engine, scorer: Aligned, dataset: Dataset, part: NumberedQueries, table: PredictionTable, places: int
) -> pa.Table:
    times: KnownTimes = "all" if part.queries.contexts is None else "same"
    known = KnownAnswers.of(known_triples(dataset, table.filter, times), part.queries.side)
    blocks = []
    for alike, entities in scorer.groups(part.queries.side, part.queries.relations):
        group, candidates = part.where(alike), Candidates.shared(np.flatnonzero(entities))
        for block in Plan(engine.memory).tasks(known.lengths(group.queries) + IDS_PER_PLACE * places):
            queries = group.queries[block]
            task = RankingTask.of(queries, candidates, known.rows(queries))
            try:
                best = engine.best(scorer, task, places, drops_known=table.drops_known)
            except UndefinedScore as error:
                raise ScoreError(undefined_rank(error, dataset)) from error
            invented = partial(scorer.invented_above, queries)
            blocks.append(to_prediction_columns(dataset, task, best, group.numbers[block], table.split, invented))
    return with_labels(dataset, pa.concat_tables(blocks).unify_dictionaries())
