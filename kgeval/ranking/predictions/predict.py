"""``kgeval.predict``: the best answers of queries by one model: queries → candidates → the best by score → a table.

Runs that keep predictions call ``ModelPredictions``. ``engine`` finds the best candidates, in blocks of queries;
``_columns`` lays each block out as rows of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import Unpack

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import InputError, refuse_unknown
from kgeval.base.notes import Example, Note, amount
from kgeval.base.parquet_tables import with_columns
from kgeval.base.progress import Progress, reporting
from kgeval.base.settings import takes
from kgeval.base.threads import bound_threads
from kgeval.data import KnownTimes
from kgeval.data.dataset import Dataset
from kgeval.data.entity_types import observed_entities
from kgeval.data.known import KnownAnswers, known_answers, known_triples
from kgeval.data.loading import as_dataset
from kgeval.data.queries import Queries
from kgeval.data.split_names import files_in
from kgeval.data.triples import triple_of
from kgeval.data.vocabulary import Labels
from kgeval.models.adapters.calling import ScoreFunction
from kgeval.models.alignment import align
from kgeval.models.checkpoints import as_model
from kgeval.models.checks import notes_on_equal_rows
from kgeval.ranking.corruption.generator import without_alone
from kgeval.ranking.engine import Engine
from kgeval.ranking.engine_choice import engine_for
from kgeval.ranking.evaluation import Evaluation, RankingKeywords
from kgeval.ranking.kernels.collectors import ALL, KNOWN, BestAnswers
from kgeval.ranking.memory_plan import Plan
from kgeval.ranking.model_on_dataset import ModelOnDataset
from kgeval.ranking.outsiders import Outsiders
from kgeval.ranking.predictions.prediction_table import NEW, SCHEMA, PredictionTable
from kgeval.ranking.predictions.query_rows import (
    NumberedQueries,
    as_triples,
    queries_of_rows,
    queries_of_triples,
    read_queries,
)
from kgeval.ranking.rank_table import stack, with_times
from kgeval.ranking.ranking_notes import notes_on_device
from kgeval.ranking.ranking_task import RankCounts, RankingTask
from kgeval.ranking.restriction import restriction

KnownPolicy = Literal["keep", "drop"]


@takes(Evaluation, RankingKeywords)
def predict(  # noqa: PLR0913
    model: ScoreFunction | Any,
    dataset: Dataset | str | Path,
    *,
    queries: Iterable[Sequence[Any]] | None = None,
    k: int = 10,
    known: KnownPolicy = "keep",
    entities: Labels | None = None,
    relations: Labels | None = None,
    time_labels: Labels | None = None,
    progress: Progress | bool | None = None,
    **settings: Unpack[RankingKeywords],
) -> PredictionTable:
    """Find the k best answers of queries among all entities, or among the candidates of a corruption, exactly.

    They are ordered by canonical score, descending, and equal scores by entity id, for every kernel and any division of
    the work. An entity whose score is minus infinity, such as one that is not in a list of predictions, is not an
    answer.

    Split, sides and restrictions choose the queries if none are given; ``unseen="worst"`` drops queries, as ``"drop"``
    does. A corruption of drawn negatives, which leave the answers out, is refused.

    Parameters
    ----------
    queries
        triples with ``"?"`` or None in the place of head or tail, by the labels or the ids of the dataset, in a
        temporal graph optionally with a time as the fourth part; by default all queries of the split
    k
        the number of answers for each query
    known
        ``"keep"`` keeps known answers and marks them; ``"drop"`` leaves them out, so that all predictions are new
    model, dataset, entities, relations, time_labels
        as :func:`kgeval.evaluate` takes them
    progress
        likewise; a function is called with the number of queries that were just answered
    {settings}

    Returns
    -------
    PredictionTable
        one row per (query, place), with the counts of a rank table

    Raises
    ------
    InputError
        if an argument is wrong, or a label is unknown, with the nearest one
    ScoreError
        if a score is NaN, with the query and the candidate

    Examples
    --------
    Bob and Eve tie at the last place; Bob's id is lower. Both have ``raw_tied`` 1.

    >>> from kgeval import Dataset
    >>> data = Dataset.from_labels(train=[("Ann", "knows", "Bob"), ("Bob", "knows", "Eve"), ("Eve", "knows", "Dan")])
    >>> def score(heads, relations, tails):
    ...     return [{"Ann": 0.1, "Bob": 0.5, "Dan": 0.9, "Eve": 0.5}[data.entities[tail]] for tail in tails]
    >>> table = predict(score, data, queries=[("Ann", "knows", "?")], k=2)
    >>> table.column("entity_label").tolist(), table.column("known").tolist(), table.column("raw_tied").tolist()
    (['Dan', 'Bob'], ['new', 'train'], [0, 1])
    """
    dataset = as_dataset(dataset)
    refuse_unknown("known: unknown value", known, get_args(KnownPolicy))
    evaluation = Evaluation.of_keywords(settings)
    rows = None if queries is None else read_queries(queries, dataset)
    model = as_model(model, dataset, nan=evaluation.nan, history=evaluation.history)
    scorer = align(model, dataset, entities=entities, relations=relations, times=time_labels)
    aligned = ModelPredictions(scorer, dataset, evaluation.for_model(scorer))
    return aligned.predict(k, rows, drops_known=known == "drop", progress=progress)


IDS_PER_PLACE = 4
"""a prediction, with the columns of its row, takes the memory of this many ids of a ranking task"""

UNANSWERED = "some queries have no prediction: no candidate is left, or none has a score above −∞ (NaN counts as −∞)."

LABELLED = {"anchor": "entities", "relation": "relations", "entity": "entities"}
"""the columns whose labels stand in the last columns of a table"""


@dataclass(frozen=True, eq=False)
class ModelPredictions(ModelOnDataset):
    """The predictions of one model on one dataset."""

    def predict(self, places: int, rows: IntArray | None = None, **options: Any) -> PredictionTable:
        """Return the predictions of all queries in one table. :meth:`in_parts` describes the options."""
        (table,) = self.in_parts(places, rows, **options)
        return table

    def in_parts(
        self,
        places: int,
        rows: IntArray | None = None,
        *,
        drops_known: bool = False,
        progress: Progress | bool | None = None,
        title: str | None = None,
        at_a_time: int | None = None,
    ) -> Iterator[PredictionTable]:
        """Find the best answers of queries among the candidates that the model knows.

        The queries are ``rows``, int64[query, 3] ids with −1 for the missing entity, int64[query, 4] with times; by
        default the queries of the split. ``drops_known`` leaves known answers out. One table is yielded for every
        ``at_a_time`` queries; by default one for all.
        """
        if isinstance(places, bool) or not isinstance(places, int | np.integer) or places < 1:
            raise InputError(f"k: expected how many answers each query gets, at least 1; found {places!r:.40}.")
        dataset, evaluation = self.dataset, self.evaluation
        evaluation.require_entities("predictions")
        evaluation.require_times(dataset)
        numbered, allowed, restricted = asked_queries(dataset, evaluation, rows)
        known, notes_on_unknown = self._known(numbered)
        corruption = evaluation.corruption.prepare(dataset)
        if corruption.leaves_out_answers:
            why = "its negatives leave the answers of queries out, so nothing is predicted from them"
            raise InputError(f"corruption {corruption.kind!r}: {why}. Choose all, entities, typed or file.")
        names = (*dataset.splits, *map(str, files_in(evaluation.filter)))
        table = PredictionTable(
            SCHEMA.empty_table(),
            places=int(places),
            queries=sum(len(part.numbers) for part in known),
            split=evaluation.split if rows is None else None,
            notes=(*self.scorer.notes, *dataset.notes, *notes_on_unknown, *restricted),
            filter=tuple(name for name in names if name in evaluation.filter),
            drops_known=drops_known,
            history=self.history,
            model=title or self.scorer.title,
            dataset=dataset.name,
        )
        if not table.queries:
            yield table
            return
        with reporting(table.queries, progress=progress, what="predicting", unit="queries") as report:
            engine = replace(engine_for(self.scorer, as_triples(known), evaluation), progress=report)
            with bound_threads(evaluation.threads):
                degenerate = notes_on_equal_rows(self.scorer.scorer, tuple(part.queries.side for part in known))
                prepared = replace(self, evaluation=evaluation.model_copy(update={"corruption": corruption}))
                of_candidates = [note for part in known for note in corruption.notes(part.queries, dataset)]
                about = replace(table, notes=(*table.notes, *degenerate, *without_alone(of_candidates)))
                sizes: list[IntArray] = []
                for parts in [known] if at_a_time is None else _divided(known, at_a_time):
                    found, of_parts = prepared._predict_parts(engine, parts, about, allowed)
                    sizes += of_parts  # the text on candidates describes all parts up to here
                    yield replace(
                        found, candidates=self.candidates_in_words(corruption, np.concatenate(sizes), allowed)
                    )

    def _predict_parts(
        self, engine: Engine, parts: Sequence[NumberedQueries], table: PredictionTable, allowed: BoolArray
    ) -> tuple[PredictionTable, list[IntArray]]:
        """Predict the answers of some queries; return the numbers of their candidates too, int64[query] by side."""
        sides = [self._predict_side(engine, part, table, allowed) for part in parts]
        data = stack([side for side, _, _ in sides]).sort_by([("query", "ascending"), ("place", "ascending")])
        work = engine.kernel.stats()
        of_candidates = without_alone(note for _, said, _ in sides for note in said)
        queries = sum(len(part.numbers) for part in parts)
        unanswered = [Note("left-out", UNANSWERED)] if pc.count_distinct(data["query"]).as_py() < queries else []
        notes = (*table.notes, *of_candidates, *unanswered, *notes_on_device(work))
        return replace(table, data=data, notes=notes, work=work, queries=queries), [sizes for _, _, sizes in sides]

    def _known(self, parts: Sequence[NumberedQueries]) -> tuple[list[NumberedQueries], list[str]]:
        """Keep the queries whose entity and relation the model knows; note the others, or refuse them."""
        answerable = [(part, self.scorer.can_answer(part.queries)) for part in parts]
        kept = [part.where(known) for part, known in answerable]
        unknown = [part.queries.where(~known) for part, known in answerable]
        if not (count := sum(map(len, unknown))):
            return kept, []
        examples = [
            self.dataset.triple(*triple_of(queries.side, int(anchor), int(relation), -1))
            for queries in unknown
            for anchor, relation in zip(queries.anchors[:3], queries.relations[:3], strict=True)
        ]
        shown = ", ".join(examples[:3]) + (", …" if count > 3 else "")
        fault = " with an entity or relation that the model does not know"
        unknown_queries = Note("unseen", amount(count, "query"), fault, Example(f": {shown}"))
        if self.evaluation.unseen == "error":
            raise InputError(f"{unknown_queries}. Set unseen: drop to leave them out.")
        note = Note("unseen", f"left out (unseen: {self.evaluation.unseen}): ", *unknown_queries.parts, ".")
        return [part for part in kept if len(part.numbers)], [note]

    def _predict_side(
        self, engine: Engine, part: NumberedQueries, table: PredictionTable, allowed: BoolArray
    ) -> tuple[pa.Table, tuple[str, ...], IntArray]:
        """Find the best answers of one side; return them, the notes on the candidates and their numbers."""
        scorer, dataset, side = self.scorer, self.dataset, part.queries.side
        corruption = self.evaluation.corruption
        places = min(table.places, int((scorer.entity_rows >= 0).sum()))
        times: KnownTimes = "static" if part.queries.contexts is None else self.evaluation.times
        known = KnownAnswers.of(known_triples(dataset, table.filter, times), side)
        blocks, notes, sizes = [], list[str](), []
        for alike, entities in scorer.groups(side, part.queries.relations):
            group = part.where(alike)
            ids = known.lengths(group.queries) + IDS_PER_PLACE * places
            widths = corruption.widths(group.queries, dataset)
            whole = [slice(0, len(group.queries))]
            for block in whole if widths is None else Plan(engine.memory).tasks(ids + widths):
                part_of_group = NumberedQueries(group.queries[block], group.numbers[block])
                chosen = corruption.choose(part_of_group.queries, known.rows(part_of_group.queries), dataset)
                notes += chosen.notes
                sizes.append(chosen.num_candidates(len(part_of_group.queries)))
                for same, candidates in chosen.restricted_to(entities & allowed).alike(len(part_of_group.queries)):
                    queries = part_of_group.queries[same]
                    task = RankingTask.of(queries, candidates, known.rows(queries))
                    with self.refusing_nan():
                        best = engine.best(scorer, task, places, drops_known=table.drops_known)
                    blocks.append(self._columns(task, best, part_of_group.numbers[same], table.split))
        data = _with_labels(dataset, pa.concat_tables(blocks).unify_dictionaries())
        return data, tuple(notes), np.concatenate(sizes)

    def _columns(self, task: RankingTask, best: BestAnswers, numbers: IntArray, split: str | None) -> pa.Table:
        """Lay out the best answers of a task's queries as rows without labels; ``numbers`` are int64[query]."""
        dataset, queries, (owners, places) = self.dataset, task.queries, np.nonzero(best.scores > -np.inf)
        entities, scores = task.candidates.ids_of(0)[best.positions[owners, places]], best.scores[owners, places]
        types = observed_entities([dataset.train], queries.side, dataset)
        outsiders = Outsiders.of(self.scorer, queries, task.candidates)
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
            types.positions(queries.relations[owners], entities) >= 0,
            answered.positions(owners, entities) >= 0,
        ]
        table = pa.table(columns, pa.schema([*SCHEMA][: -len(LABELLED)]))
        return with_times(dataset, table, None if queries.contexts is None else queries.contexts[owners])


def _divided(parts: Sequence[NumberedQueries], size: int) -> Iterator[list[NumberedQueries]]:
    """Divide queries into blocks of successive numbers."""
    numbers = np.sort(np.concatenate([part.numbers for part in parts]))
    for block in np.split(numbers, range(size, len(numbers), size)):
        chosen = (part.where((part.numbers >= block[0]) & (part.numbers <= block[-1])) for part in parts)
        yield [part for part in chosen if len(part.numbers)]


def asked_queries(
    dataset: Dataset, evaluation: Evaluation, rows: IntArray | None = None
) -> tuple[list[NumberedQueries], BoolArray, list[str]]:
    """Return the queries of some rows or of the split, which entities may compete (bool[entity]), and notes.

    A restriction chooses triples of the split, and with them entities.
    """
    if rows is None:
        allowed, kept, notes = restriction(dataset, evaluation)
        parts = queries_of_triples(dataset.split(evaluation.split)[kept], evaluation.sides)
        return [NumberedQueries.without_answers(part.queries, part.numbers) for part in parts], allowed, notes
    for name in ("restrict_entities_to", "restrict_relations_to"):
        if getattr(evaluation, name) is not None:
            cure = "Leave it out. For the candidates of queries, give a corruption, such as entities:path=FILE."
            raise InputError(f"{name}: it restricts the triples of a split, and queries were given. {cure}")
    return [*queries_of_rows(rows)], np.ones(len(dataset.entities), np.bool_), []


def _with_labels(dataset: Dataset, table: pa.Table) -> pa.Table:
    """Add the labels of the ids: those of all rows together, so that they are coded alike wherever blocks end."""
    labels = {name: getattr(dataset, kind).column(table[name].to_numpy()) for name, kind in LABELLED.items()}
    table = with_columns(table, {f"{name}_label": column for name, column in labels.items()})
    return table.select([*SCHEMA.names, *(name for name in table.column_names if name not in SCHEMA.names)])


def _counts(
    task: RankingTask, best: BestAnswers, owners: IntArray, places: IntArray, outsiders: RankCounts
) -> list[IntArray | pa.Array]:
    """Count as a rank table does: greater, tied and candidates, filtered and raw; int64[prediction] each."""
    each = (owners, places)
    above, beside, further = outsiders.columns
    everyone = task.num_candidates[owners] + further - 1
    unknown_alone = everyone - task.known.lengths[owners]
    greater, tied = _in_list(best, best.scores > -np.inf, best.tied[:, ALL])
    of_all = [greater[each] + above, tied[each] - 1 + beside]
    if best.drops_known:
        return [*of_all, unknown_alone, *[pa.nulls(len(owners), pa.int64())] * 3]
    rows = np.repeat(np.arange(len(best.positions)), best.positions.shape[1])
    is_known = (task.known.positions(rows, best.positions.ravel()) >= 0).reshape(best.positions.shape)
    known_greater, known_tied = _in_list(best, is_known, best.tied[:, KNOWN])
    itself = is_known[each]
    filtered = [of_all[0] - known_greater[each], of_all[1] - known_tied[each] + itself, unknown_alone + itself]
    return [*filtered, *of_all, everyone]


def _in_list(best: BestAnswers, counted: BoolArray, tied_with_last: IntArray) -> tuple[IntArray, IntArray]:
    """For each place, count the ``counted`` answers (bool[query, place]) above it and tied; int64[query, place] both.

    Ties with the last place go beyond the list: ``tied_with_last``, int64[query], counts them.
    """
    scores, (starts, ends) = best.scores, best.spans_of_ties
    upto = np.hstack([np.zeros((len(scores), 1), np.int64), np.cumsum(counted, axis=1)])
    greater = np.take_along_axis(upto, starts, axis=1)
    tied = np.take_along_axis(upto, ends, axis=1) - greater
    return greater, np.where(scores == scores[:, -1:], tied_with_last[:, None], tied)


def _known_from(dataset: Dataset, queries: Queries, owners: IntArray, entities: IntArray) -> pa.DictionaryArray:
    """Name the first split that has each triple, or ``new`` if no split has it."""
    names = [*dataset.splits, NEW]
    codes = np.full(len(owners), len(names) - 1, np.int32)
    for code, triples in reversed([*enumerate(dataset.splits.values())]):
        codes[known_answers(queries, [triples]).positions(owners, entities) >= 0] = code
    return pa.DictionaryArray.from_arrays(pa.array(codes), names)
