"""Scorers behind a mapping of ids: models trained with inverse relations, and models whose entities are of types.

Readers of checkpoints make ``Reciprocal`` and ``Typed`` models; ``Aligned`` (in ``aligned.py``) maps ids likewise.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries, starts_of_runs
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.models.family import Family
from kgeval.models.scorer import MadeOf, PartitionedScorer, QueryPartition, Scorer, VectorScorer, views_of
from kgeval.models.similarity import Similarity


class MappedScorer(PartitionedScorer):
    """Maps queries and answers to the ids and sides of another scorer, and asks this scorer.

    Its numbers of entities and relations count ids before the mapping.
    """

    @abstractmethod
    def map_queries(self, queries: Queries) -> Queries:
        """Put queries into the ids of the other scorer."""

    def map_answers(self, side: Side, ids: IntArray) -> tuple[Side, IntArray]:
        """Put answers into the ids of the other scorer."""
        return side, ids

    def mapped_views(self, scorer: Scorer | VectorScorer, queries: Queries) -> Iterator[QueryPartition]:
        """Split queries as the other scorer splits the mapped ones; each slice has that scorer's vectors."""
        for part, view in views_of(scorer, self.map_queries(queries)):
            yield QueryPartition(part, RemappedVectors(self, view) if isinstance(view, VectorScorer) else self)


@dataclass(frozen=True, eq=False)
class RemappedVectors(MadeOf[MappedScorer], VectorScorer):
    """A vector scorer in the ids of a mapped scorer: ids are mapped before its vectors are taken."""

    vectors: VectorScorer

    @property
    def concurrent(self) -> bool:  # type: ignore[override]
        return self.vectors.concurrent

    @property
    def similarity(self) -> Similarity:
        similarity: Similarity = self.vectors.similarity
        return similarity

    def query_vectors(self, queries: Queries) -> Float64Array:
        return self.vectors.query_vectors(self.scorer.map_queries(queries))

    def query_offsets(self, queries: Queries) -> Float64Array:
        return self.vectors.query_offsets(self.scorer.map_queries(queries))

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        return self.vectors.entity_vectors(*self.scorer.map_answers(side, ids))

    def entity_biases(self, side: Side, ids: IntArray) -> Float64Array:
        return self.vectors.entity_biases(*self.scorer.map_answers(side, ids))


@dataclass(frozen=True, eq=False)
class Reciprocal(MappedScorer):
    """A family whose relation rows are R relations, then their R inverses: (?, r, t) is scored as (t, r + R, ?).

    Lacroix, Usunier and Obozinski: Canonical Tensor Decomposition for Knowledge Base Completion, ICML 2018.
    """

    family: Family

    def __post_init__(self) -> None:
        rows = self.family.num_relations
        self.family.require(rows % 2 == 0, "a reciprocal model has two rows per relation, so an even number")

    @property
    def num_entities(self) -> int:
        return self.family.num_entities

    @property
    def num_relations(self) -> int:
        return self.family.num_relations // 2

    @property
    def num_times(self) -> int | None:
        return self.family.num_times

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        return self.family.scores(self.map_queries(queries), candidates)

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        return self.mapped_views(self.family, queries)

    def map_queries(self, queries: Queries) -> Queries:
        if queries.side == "tail":
            return queries
        return replace(queries, side="tail", relations=queries.relations + self.num_relations)

    def map_answers(self, side: Side, ids: IntArray) -> tuple[Side, IntArray]:
        return "tail", ids


@dataclass(frozen=True, eq=False)
class Typed(MappedScorer):
    """A vector model of typed entities: its table has a row for each entity of each type; other types score −∞."""

    model: Family | Reciprocal
    types: EntityTypes

    @property
    def family(self) -> Family:
        return self.model.family if isinstance(self.model, Reciprocal) else self.model

    @property
    def num_entities(self) -> int:
        return int(self.types.rows.shape[1])

    @property
    def num_relations(self) -> int:
        return self.model.num_relations

    def map_queries(self, queries: Queries) -> Queries:
        return replace(queries, anchors=self.types.rows_of_anchors(queries))

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        types = self.types.of_relation[queries.side][queries.relations]
        for start, stop in pairwise([*starts_of_runs(types), len(queries)]):
            for part, view in views_of(self.model, self.map_queries(queries[start:stop])):
                if not isinstance(view, VectorScorer):
                    raise TypeError("only vectors are looked up by type")
                vectors = VectorsOfType(self, view, self.types.rows[types[start]])
                yield QueryPartition(slice(start + part.start, start + part.stop), vectors)


@dataclass(frozen=True, eq=False)
class EntityTypes:
    """Which entities are of which type, and which type each relation takes on each side.

    An entity of two types has a row for each.

    >>> rows = np.array([[0, 1, -1], [2, -1, 3]])  # bee, cat, dog: the first two of one type, bee and dog of another
    >>> types = EntityTypes(rows, {"head": np.array([0]), "tail": np.array([1])})
    >>> types.rows_of("tail", np.array([0, 0, 0]), np.array([0, 1, 2]))
    array([ 2, -1,  3])
    """

    rows: IntArray
    """the row of each entity in the model's table, -1 if it is not of the type; int64[type, entity]"""
    of_relation: Mapping[Side, IntArray]
    """for each side, the type of entities that each relation takes there; int64[relation]"""

    def rows_of(self, side: Side, relations: IntArray, ids: IntArray) -> IntArray:
        """Find the row of each entity on a side of its relation, -1 if it is of another type; int64[id]."""
        return np.asarray(self.rows[self.of_relation[side][relations], ids])

    def rows_of_anchors(self, queries: Queries) -> IntArray:
        """Find the row of the entity that each query names, -1 where it is of another type; int64[query]."""
        side: Side = "head" if queries.side == "tail" else "tail"
        return self.rows_of(side, queries.relations, queries.anchors)

    def hold(self, triples: Triples) -> BoolArray:
        """Whether head and tail of each triple are of the types that its relation takes; bool[triple]."""
        sides = zip(SIDES, (triples.heads, triples.tails), strict=True)
        return np.asarray(np.all([self.rows_of(side, triples.relations, ids) >= 0 for side, ids in sides], axis=0))

    def groups(self, side: Side, relations: IntArray) -> Iterator[tuple[BoolArray, BoolArray]]:
        """Yield, for each type of answers, its queries (bool[query]) and its entities (bool[entity]).

        If there are no queries, one group is yielded.
        """
        types = self.of_relation[side][relations]
        for kind in np.unique(types) if len(types) else (0,):
            yield types == kind, self.rows[kind] >= 0

    def renumbered(self, entities: IntArray, relations: IntArray) -> EntityTypes:
        """Give entities and relations new ids: the arguments hold the present id of each new one, -1 for none.

        ``entities`` is int64[new entity], ``relations`` int64[new relation]. A relation without a present id gets the
        types of any other: it is in no query.
        """
        rows = np.where(entities < 0, -1, self.rows[:, entities])
        return EntityTypes(rows, {side: types[relations] for side, types in self.of_relation.items()})


@dataclass(frozen=True, eq=False)
class VectorsOfType(RemappedVectors):
    """The vectors of the entities of one type; if the anchor or the answer is of another type, the score is −∞."""

    rows: IntArray
    """the row of each entity in the model's table, -1 if it is of another type; int64[entity]"""

    def query_offsets(self, queries: Queries) -> Float64Array:
        return np.where(self.scorer.map_queries(queries).anchors < 0, -np.inf, super().query_offsets(queries))

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        return super().entity_vectors(side, self.rows[ids])

    def entity_biases(self, side: Side, ids: IntArray) -> Float64Array:
        return np.where(self.rows[ids] < 0, -np.inf, super().entity_biases(side, self.rows[ids]))
