"""The aligned scorer: any scorer behind the ids of a dataset, also as a scorer of relations.

``align`` (in ``alignment.py``) makes it, and ``kgeval.ranking`` ranks with it and with nothing else. It takes queries
and candidates in the dataset's ids, and returns the scores of the scorer behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, FloatArray, IntArray
from kgeval.base.assumptions import Assumption
from kgeval.base.errors import InputError, ScoreError
from kgeval.base.threads import slices
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import Side, Triples
from kgeval.models.adapters.array_scorers import TripleArrays
from kgeval.models.adapters.prediction_lists import PredictionLists
from kgeval.models.mapped import EntityTypes, MappedScorer, Typed
from kgeval.models.scorer import (
    MadeOf,
    QueryPartition,
    Scorer,
    SparseScorer,
    SparseScores,
    TensorScorer,
    VectorScorer,
    as_float64,
    sides_of,
    views_of,
)


@dataclass(frozen=True, eq=False)
class Aligned(MappedScorer):
    """Any scorer behind the ids of a dataset: these are mapped to the scorer's own ids before it is asked.

    ``align`` (in ``alignment.py``) makes it, and ``kgeval.ranking`` ranks with it and with nothing else.
    """

    scorer: Scorer | VectorScorer
    entity_rows: IntArray
    """the scorer's id of each entity of the dataset, -1 if the scorer does not know it; int64[entity of the dataset]"""
    relation_rows: IntArray
    """the scorer's id of each relation of the dataset, likewise; int64[relation of the dataset]"""
    notes: tuple[str, ...] = ()
    source: Any = None
    """the scorer that was aligned, with or without labels"""
    time_rows: IntArray | None = None
    """the scorer's id of each time of the dataset, likewise; int64[time of the dataset], None if it numbers no times"""

    @property
    def num_entities(self) -> int:
        return len(self.entity_rows)

    @property
    def num_relations(self) -> int:
        return len(self.relation_rows)

    @property
    def title(self) -> str:
        """The name of the model in results: the title of the model or of its scorer, or the scorer's class."""
        titles = (getattr(scorer, "title", None) for scorer in (self.source, self.scorer))
        return next((str(title) for title in titles if title), type(self.scorer).__name__)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """How the model was read where another reading is possible."""
        return tuple(getattr(self.source, "assumptions", ()))

    @property
    def sides(self) -> tuple[Side, ...]:
        return sides_of(self.scorer)

    @property
    def lists(self) -> PredictionLists | None:
        """The scorer itself, if it has lists of predictions."""
        return self.scorer if isinstance(self.scorer, PredictionLists) else None

    @property
    def base(self) -> Aligned:
        """The scorer of the entities that no list ranks: the base of the lists, or this scorer itself."""
        return self if self.lists is None or self.lists.base is None else self.lists.base

    def listed(self, queries: Queries) -> tuple[Rows, Float64Array]:
        """List the entities of each query's list, −1 for text that names none, and their scores, float64[listed]."""
        rows, scores = cast("PredictionLists", self.scorer).listed(self.map_queries(queries))
        return Rows(rows.offsets, self.entities_of_rows[rows.ids]), scores

    def hold_answers(self, queries: Queries) -> BoolArray:
        """Whether each answer is in the list of its query; bool[answer]."""
        listed = (rows := self.listed(queries)[0]).owners * self.num_entities + rows.ids
        return np.isin(queries.owners * self.num_entities + queries.answers, listed[rows.ids >= 0])

    @property
    def asks_by_triple(self) -> bool:
        """Whether the scores of a query depend on the triple that asks it: each triple has its own row or list."""
        return isinstance(self.scorer, PredictionLists | TripleArrays)

    @cached_property
    def types(self) -> EntityTypes | None:
        """The types of the dataset's entities and relations, if the scorer has any."""
        scorer = self.base.scorer
        return scorer.types.renumbered(self.entity_rows, self.relation_rows) if isinstance(scorer, Typed) else None

    def by_place(self) -> Aligned:
        return replace(self, scorer=self.lists.by_place()) if self.lists else self

    def without_base(self) -> Aligned:
        """Return the lists alone; a query without a list has an empty one."""
        return replace(self, scorer=replace(self.lists, base=None, unanswered=True)) if self.lists else self

    @cached_property
    def entities_of_rows(self) -> IntArray:
        """The dataset's entity for each id of the scorer, -1 where there is none; int64[id + 1].

        The last is -1, so that the id -1 (listed text that names no entity) stays -1.
        """
        entities = np.full(self.scorer.num_entities + 1, -1)
        known = np.flatnonzero(self.entity_rows >= 0)
        entities[self.entity_rows[known]] = known
        return entities

    def knows(self, triples: Triples) -> BoolArray:
        """Whether the scorer knows head, relation and tail of each triple, and its time; bool[triple]."""
        entities = (self.entity_rows[triples.heads] >= 0) & (self.entity_rows[triples.tails] >= 0)
        known = entities & self._knows(triples.relations, triples.contexts)
        return known if self.types is None else known & self.types.hold(triples)

    def can_answer(self, queries: Queries) -> BoolArray:
        """Whether the scorer knows the anchor, the relation and the time of each query; bool[query]."""
        known = (self.entity_rows[queries.anchors] >= 0) & self._knows(queries.relations, queries.contexts)
        return known if self.types is None else known & (self.types.rows_of_anchors(queries) >= 0)

    def _knows(self, relations: IntArray, contexts: IntArray | None) -> BoolArray:
        times = self._times(contexts)
        return np.asarray((self.relation_rows[relations] >= 0) & (times is None or times >= 0))

    def groups(self, side: Side, relations: IntArray) -> Iterator[tuple[BoolArray, BoolArray]]:
        """Yield groups of queries (bool[query]) with the same possible answers, and these answers (bool[answer]).

        Possible answers are all ids that the scorer knows; if its entities have types, those of the answer's type.
        """
        if self.types is None or side == "relation":
            yield np.ones(len(relations), np.bool_), self.answer_rows(side) >= 0
        else:
            yield from self.types.groups(side, relations)

    def answer_rows(self, side: Side) -> IntArray:
        """Return the scorer's id of each possible answer on a side, -1 if it does not know it; int64[answer]."""
        return self.relation_rows if side == "relation" else self.entity_rows

    def scorer_of(self, side: Side) -> Scorer:
        return RelationAnswers(self, self.scorer) if side == "relation" else self

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        return self.scorer.scores(self.map_queries(queries), self.entity_rows[candidates])

    def score_tensor(self, queries: Queries, candidates: IntArray, device: Any) -> Any:
        """Return the scores as a tensor on a device; None if the scorer has none there."""
        mapped = self.map_queries(queries)
        views = [view for _, view in views_of(self.scorer, mapped)]
        if len(views) != 1 or not isinstance(views[0], TensorScorer):
            return None
        return views[0].score_tensor(mapped, self.entity_rows[candidates], device)

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        scorer = self.scorer
        if not isinstance(scorer, SparseScorer):
            return self.mapped_views(scorer, queries)

        def rule(asked: Queries) -> SparseScores:
            return scorer.sparse_scores(self.map_queries(asked)).renumbered(self.entities_of_rows)

        return views_of(SparseScorer(self.num_entities, self.num_relations, rule), queries)

    def map_queries(self, queries: Queries) -> Queries:
        return replace(
            queries,
            anchors=self.entity_rows[queries.anchors],
            relations=self.relation_rows[queries.relations],
            answers=self.answer_rows(queries.side)[queries.answers],
            contexts=self._times(queries.contexts),
        )

    def _times(self, contexts: IntArray | None) -> IntArray | None:
        return contexts if contexts is None or self.time_rows is None else self.time_rows[contexts]

    def map_answers(self, side: Side, ids: IntArray) -> tuple[Side, IntArray]:
        return side, self.entity_rows[ids]


BATCH_TRIPLES = 2048
"""the number of triples that are scored at a time, each with its own query vector"""


@dataclass(frozen=True, eq=False)
class RelationAnswers(MadeOf[Scorer | VectorScorer]):
    """A scorer of relations, made of a scorer of tails: a triple scores the same whether relation or tail is asked for.

    >>> from kgeval.models.adapters.functions import CallableScorer
    >>> near = CallableScorer(lambda h, r, t: -abs(h + r - t), num_entities=9, num_relations=4)
    >>> queries = Queries.of(Triples.of([(1, 0, 3), (2, 1, 8)]), "relation")
    >>> RelationAnswers(near, near).scores(queries, np.arange(4))
    array([[-2., -1.,  0., -1.],
           [-6., -5., -4., -3.]])
    """

    model: Scorer | VectorScorer
    """the scorer behind ``scorer``, which says what can be predicted; ``scorer`` takes the ids of the queries"""

    def __post_init__(self) -> None:
        of_entities = isinstance(self.model, TripleArrays | PredictionLists)
        if of_entities or "tail" not in getattr(self.model, "sides", ("tail",)):
            why = "it has entities for its own queries only" if of_entities else "it predicts heads only"
            raise InputError(f"sides: the model cannot predict relations: {why}. Leave relation out of the sides.")

    def scores(self, queries: Queries, candidates: IntArray) -> Float64Array:
        """Score relations (int64[candidate] or int64[query, candidate]) between heads and tails."""
        shape = (candidates.shape[-1], len(queries))
        # One relation after the other, since in many models each relation has a separate scorer.
        relations = np.broadcast_to(candidates.T if candidates.ndim == 2 else candidates[:, None], shape).ravel()
        heads, tails = (np.broadcast_to(ids, shape).ravel() for ids in (queries.anchors, queries.relations))
        times = None if queries.contexts is None else np.broadcast_to(queries.contexts, shape).ravel()
        score = np.empty(len(relations))
        for part in slices(len(score), BATCH_TRIPLES):
            ids = np.stack([heads[part], relations[part], tails[part]], axis=1)
            of_tails = Queries.per_triple(Triples(ids, None if times is None else times[part]), "tail")
            scores = as_float64(self.scorer.scores(of_tails, of_tails.answers[:, None]), "the scorer")
            if scores.shape != (expected := (len(ids), 1)):
                raise ScoreError(f"the scorer returned scores of shape {scores.shape}, expected {expected}.")
            score[part][of_tails.triples] = scores[:, 0]
        return np.ascontiguousarray(score.reshape(shape).T)
