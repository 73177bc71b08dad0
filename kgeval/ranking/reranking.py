"""Re-ranking: entities that a list names come first, in the order of the list, and all others in the order of a base.

A list holds the ordered answers that a model predicts for a query; a base is a model, or its ranks, of all entities.
``ModelRanking`` calls ``reranked`` for a model that has lists over a base, such as a language model that was given the
best answers of a checkpoint. ``kgeval.rerank`` does the same over stored ranks.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import BoolArray, Float64Array
from kgeval.base.errors import InputError
from kgeval.base.notes import Note
from kgeval.base.parquet_tables import with_columns
from kgeval.data.dataset import Dataset
from kgeval.data.known import known_answers, known_triples
from kgeval.data.loading import as_dataset
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import SIDES, Side
from kgeval.models.adapters.prediction_lists import ALL_LISTS, Key, OneList, PredictionLists, SideLists
from kgeval.models.aligned import Aligned
from kgeval.models.alignment import align
from kgeval.models.checkpoints import as_model
from kgeval.ranking.corruption.candidates import Candidates
from kgeval.ranking.engine import Engine
from kgeval.ranking.engine_choice import engine_for
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.list_audit import notes_on_knowledge
from kgeval.ranking.outsiders import Outsiders, compete
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_table import LISTED, TIME, RankTable, with_counts
from kgeval.ranking.ranking_notes import notes_on_listed_answers, notes_on_lists
from kgeval.ranking.ranking_task import RankCounts, Ranked, RankingTask
from kgeval.ranking.table_triples import triples_in


def among_listed(scorer: Aligned, task: RankingTask, known: Rows) -> RankingTask:
    """Return a task of the same queries, with those candidates alone that the list of each query names."""
    listed, _ = scorer.listed(task.queries)
    listed = listed.where(compete(listed, task.candidates))
    order = np.lexsort((listed.ids, listed.owners))
    return RankingTask.of(task.queries, Candidates(Rows(listed.offsets, listed.ids[order])), known)


def reranked(engine: Engine, scorer: Aligned, named: RankingTask, whole: Ranked, part: Ranked) -> Ranked:
    """Rank answers by their list; an answer that is not listed follows the list, in the order of the base.

    ``named`` is the task with the listed candidates alone, which are compared in the order of the list. All other
    candidates are below a listed answer. With an answer that is not listed, they are compared by the base: ``whole``
    has its counts of all candidates, ``part`` its counts of the listed ones, and the difference is for the others. The
    scores that are returned come from the lists; they are −∞ for answers that are not listed.
    """
    first = engine.rank(scorer.without_base().scorer_of(named.queries.side), named)
    unlisted = first.scores == -np.inf
    filtered = first.filtered + _rest(whole.filtered, part.filtered, unlisted)
    return whole._replace(scores=first.scores, filtered=filtered, raw=first.raw + _rest(whole.raw, part.raw, unlisted))


def _rest(whole: RankCounts, part: RankCounts, unlisted: BoolArray) -> RankCounts:
    others = whole.candidates - part.candidates
    greater = np.minimum(whole.greater - part.greater, others) * unlisted
    return RankCounts(greater, np.minimum(whole.tied - part.tied, others - greater) * unlisted, others + 1)


def rerank(
    ranks: RankTable, lists: Any, dataset: Dataset | str | Path, *, predictions: PredictionTable | None = None
) -> RankTable:
    """Re-rank stored ranks by lists: what a list names comes first, and then the rest in the order of the ranks.

    For a base model that can be read, ``load_checkpoint(lists, dataset=…, base=…)`` gives a model that is evaluated as
    any other, and needs no stored ranks.

    An answer that its list names has its place there. Any other moves back by one place for each listed entity that the
    base had behind it. Where that is not known, since the entity is not among the predictions, it counts as behind: the
    rank is then an upper bound, and a note says how many are.

    Parameters
    ----------
    ranks
        the ranks of the base among all entities
    lists
        a model made of lists, or the path of their file
    dataset
        the graph that was ranked, or the folder or PyKEEN name of one
    predictions
        the best answers of the base

    Returns
    -------
    RankTable
        the same rows and filter, with a column ``listed``: whether the list of a row's query names its answer

    Raises
    ------
    InputError
        if the model has no lists; if the ranks are not among all entities
    TableError
        if the ranks are of another dataset

    Examples
    --------
    The base has Eve first. The list has Dan before Eve; the filter takes Eve out of the rank of Dan.

    >>> import json, tempfile
    >>> import kgeval
    >>> data = kgeval.Dataset.from_labels(train=[("Ann", "knows", "Bob"), ("Bob", "knows", "Eve")],
    ...                                   test=[("Ann", "knows", "Dan"), ("Ann", "knows", "Eve")])
    >>> liked = {"Eve": 3, "Ann": 2, "Dan": 1, "Bob": 0}
    >>> base = kgeval.evaluate(lambda h, r, t: [liked[data.entities[one]] for one in t], data, sides="tail")
    >>> file = tempfile.NamedTemporaryFile("w", suffix=".jsonl")
    >>> with file:
    ...     _ = file.write(json.dumps({"head": "Ann", "relation": "knows", "predictions": ["Dan", "Eve"]}))
    ...     file.flush()
    ...     found = kgeval.rerank(base, file.name, data)
    >>> base.ranks, found.ranks, found.column("listed")
    (array([2., 1.]), array([1., 1.]), array([ True,  True]))
    """
    dataset = as_dataset(dataset)
    scorer = align(as_model(lists, dataset), dataset)
    if not scorer.lists:
        raise InputError(f"lists: {scorer.title} has scores, not lists of predictions.")
    scorer = replace(scorer, scorer=scorer.lists.over(ranks))
    sides, triples = [side for side in SIDES if (ranks.column("side") == side).any()], triples_in(dataset, ranks)
    parts = [_rerank_side(ranks, side, scorer, predictions, dataset) for side in sides]
    data = pa.concat_tables([part for part, _, _ in parts])
    bounds, outsiders = (sum(part[count] for part in parts) for count in (1, 2))
    notes = [
        *([Note("lists", NOTE_ON_BOUNDS.format(bounds, len(data)))] if bounds else []),
        *notes_on_knowledge(scorer, triples, sides, ranks.split),
        *notes_on_lists(scorer, triples, sides, dataset, ranks.split),
        *scorer.notes,
        *notes_on_listed_answers(scorer, data, outsiders),
    ]
    return replace(ranks, data=data, model=f"{scorer.title} over {ranks.model}", notes=(*notes, *ranks.notes))


NOTE_ON_BOUNDS = (
    "{:,} of {:,} ranks are upper bounds: which entities of a list the base has before the answer is not known. For "
    "exact ranks, give the base model, or keep more of its predictions (evaluation: keep: predictions)."
)


def _rerank_side(
    ranks: RankTable, side: Side, scorer: Aligned, predictions: PredictionTable | None, dataset: Dataset
) -> tuple[pa.Table, int, int]:
    """Re-rank the rows of one side; also count the ranks that are upper bounds, and the outsiders."""
    rows = ranks.where(ranks.column("side") == side)
    queries = Queries.per_triple(triples_in(dataset, rows), side, as_given=True)
    known = known_answers(queries, known_triples(dataset, ranks.filter or (), ranks.times))
    task = RankingTask.of(queries, Candidates.shared(np.arange(len(dataset.entities))), known)
    filtered = RankCounts.of(rows.data)
    if (filtered.candidates != task.filtered_candidates).any():
        raise InputError("ranks: they are not among all entities but the known answers. Re-rank the base model itself.")
    whole = Ranked(rows.column("score"), filtered, filtered if rows.knows_no_raw else RankCounts.of(rows.data, "raw_"))
    engine, named = engine_for(scorer.without_base(), dataset.test[:0], Evaluation()), among_listed(scorer, task, known)
    part, is_bound = _among_known(engine, named, whole.scores, predictions, dataset)
    ranked = reranked(engine, scorer, named, whole, part)
    listed = ranked.scores > -np.inf
    ranked, outsiders = Outsiders.of(scorer, queries, task.candidates, known).added_to(ranked, queries)
    data = with_counts(rows.data, ranked.filtered)
    data = data if rows.knows_no_raw else with_counts(data, ranked.raw, "raw_")
    columns = {"score": pa.array(ranked.order), LISTED: pa.array(listed)}
    return with_columns(data, columns), int((is_bound & ~listed).sum()), outsiders


def _among_known(
    engine: Engine, named: RankingTask, scores: Float64Array, predictions: PredictionTable | None, dataset: Dataset
) -> tuple[Ranked, BoolArray]:
    """Rank answers among listed entities by what is known of the base: the scores of answers and of its predictions.

    A listed entity without a known score is not before the last prediction of its query. It counts as behind every
    answer. That may be wrong for an answer that is not before the last prediction either: the second result says for
    which answers, bool[answer].
    """
    queries = named.queries
    times = () if queries.contexts is None else (queries.contexts.tolist(),)
    keys = [*zip(queries.anchors.tolist(), queries.relations.tolist(), [ALL_LISTS] * len(queries), *times, strict=True)]
    found = {} if predictions is None else _scores_of_best(predictions, queries.side, dataset)
    lowest = np.array([min(found.get(key, {}).values(), default=np.inf) for key in keys])
    for key, answer, score in zip(keys, queries.answers.tolist(), scores.tolist(), strict=True):
        if np.isfinite(score):
            found.setdefault(key, {})[answer] = score
    of_side = SideLists.of({key: OneList.of(of_query) for key, of_query in found.items()})
    lists = PredictionLists({queries.side: of_side}, dataset.entities, dataset.relations, unanswered=True)
    part = engine.rank(align(lists, dataset), named)
    unknown = part.scores == -np.inf
    behind = part.raw.candidates - 1 - part.raw.greater - ~unknown * part.raw.tied
    filtered, raw = (replace(kind, tied=kind.tied * ~unknown) for kind in (part.filtered, part.raw))
    return Ranked(part.scores, filtered, raw), (part.scores <= lowest) & (behind > 0)


def _scores_of_best(predictions: PredictionTable, side: Side, dataset: Dataset) -> dict[Key, dict[int, float]]:
    """Collect the scores of the predictions for each query of a side: key of the query -> entity -> score."""
    table = predictions.where(predictions.column("side") == side)
    vocabularies = {"anchor": dataset.entities, "relation": dataset.relations, "entity": dataset.entities}
    ids = (labels.ids(table.column(f"{name}_label")).tolist() for name, labels in vocabularies.items())
    times = [dataset.times.ids(table.column(TIME)).tolist()] if dataset.times else []
    found: dict[Key, dict[int, float]] = {}
    for anchor, relation, entity, score, *time in zip(*ids, table.column("score").tolist(), *times, strict=True):
        found.setdefault((anchor, relation, ALL_LISTS, *time), {})[entity] = score
    return found
