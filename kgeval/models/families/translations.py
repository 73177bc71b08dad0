"""Families of translations: a relation moves the head, perhaps stretched, and the tail should be near.

Readers of checkpoints make these models of stored arrays; ``kgeval/models/family.py`` explains their methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.models.family import (
    Family,
    NormDistance,
    ProductFamily,
    RelationalFamily,
    ScoredFamily,
    VectorFamily,
    moved,
    rows64,
)
from kgeval.models.ordered import matmul_ordered
from kgeval.models.similarity import Similarity, dot_rows


def translated(family: Family, queries: Queries) -> Float64Array:
    """Move the stored anchors by the stored relations; float64[query, width]."""
    return moved(*family.rows_of(queries), queries.side)


@dataclass(frozen=True, eq=False)
class TransE(NormDistance, VectorFamily):
    """score(h, r, t) = −‖h + r − t‖_p.

    Bordes et al.: Translating Embeddings for Modeling Multi-relational Data, NeurIPS 2013.
    """

    formula: ClassVar[str] = "−‖h + r − t‖_p"
    equal_widths: ClassVar[bool] = True

    query_vectors = translated


class MariusTransE(ProductFamily):
    """score(h, r, t) = +‖h + r − t‖² = [−2q | 1] · [e | e²] + ‖q‖², a dot product; the distance itself ranks alike."""

    formula: ClassVar[str] = "+‖h + r − t‖²"
    equal_widths: ClassVar[bool] = True

    def query_vectors(self, queries: Queries) -> Float64Array:
        vectors = translated(self, queries)
        return np.concatenate([-2 * vectors, np.ones_like(vectors)], axis=1)

    def query_offsets(self, queries: Queries) -> Float64Array:
        vectors = translated(self, queries)
        return dot_rows(vectors, vectors)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        entities = rows64(self.entity, ids)
        return np.concatenate([entities, entities * entities], axis=1)


@dataclass(frozen=True, eq=False)
class TorusE(ScoredFamily):
    """score(h, r, t) = −‖d‖_p, d how far each h_k + r_k − t_k is from the next whole number.

    Ebisu and Ichise: TorusE: Knowledge Graph Embedding on a Lie Group, AAAI 2018.
    """

    formula: ClassVar[str] = "−‖h + r − t − [h + r − t]‖_p, [·] the next whole number"
    equal_widths: ClassVar[bool] = True
    by_dimension: ClassVar[bool] = True

    norm: Literal[1, 2]
    """the p of the norm"""

    query_vectors = translated

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        # Numba is loaded when something is scored, not before.
        from kgeval.models.kernels import distances_on_torus

        distances = np.empty((len(queries), candidates.shape[1]))
        distances_on_torus(queries, candidates, self.norm == 2, distances)
        return -distances


class TransF(ProductFamily):
    """score(h, r, t) = (h + r)·t + h·(t − r).

    Feng, Huang, Wang, Zhou, Hao and Zhu: Knowledge Graph Embedding by Flexible Translation, KR 2016.
    """

    formula: ClassVar[str] = "(h + r)·t + h·(t − r)"
    equal_widths: ClassVar[bool] = True

    def query_vectors(self, queries: Queries) -> Float64Array:
        anchors, relations = self.rows_of(queries)
        return moved(2 * anchors, relations, queries.side)

    def query_offsets(self, queries: Queries) -> Float64Array:
        product = dot_rows(*self.rows_of(queries))
        return -product if queries.side == "tail" else product


@dataclass(frozen=True, eq=False)
class MuRE(RelationalFamily):
    """score(h, r, t) = −‖R_r∘h + r − t‖² + b_h + b'_t. Each relation stretches heads in its own way.

    Balažević, Allen and Hospedales: Multi-relational Poincaré Graph Embeddings, NeurIPS 2019.
    """

    formula: ClassVar[str] = "−‖R∘h + r − t‖² + b_h + b'_t"
    similarity: ClassVar[Similarity] = "squared_l2"
    equal_widths: ClassVar[bool] = True

    diagonal: FloatArray
    """the factors R of each relation; float[relation, width]"""
    head_bias: FloatArray
    """the bias b of each entity as a head; float[entity]"""
    tail_bias: FloatArray
    """the bias b' of each entity as a tail; float[entity]"""

    def check_shapes(self) -> None:
        rows = (len(self.entity),)
        self.require_shapes(diagonal=self.relation.shape, head_bias=rows, tail_bias=rows)

    def is_shared(self, side: Side) -> bool:
        return side == "tail"

    def query_vectors(self, queries: Queries) -> Float64Array:
        return moved(super().query_vectors(queries), rows64(self.relation, queries.relations), queries.side)

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> FloatArray:
        if side == "tail":
            return self.entity[ids]
        return np.asarray(rows64(self.diagonal, relation) * rows64(self.entity, ids))

    def candidate_biases(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        return rows64(self.head_bias if side == "head" else self.tail_bias, ids)


@dataclass(frozen=True, eq=False)
class PairRE(NormDistance, RelationalFamily):
    """score(h, r, t) = −‖h∘r − t∘r'‖_p, relations stored as halves [for heads | for tails].

    The entities are used as they are stored: a reader normalises them where its framework does.
    Chao et al.: PairRE: Knowledge Graph Embeddings via Paired Relation Vectors, ACL 2021.
    """

    formula: ClassVar[str] = "−‖h∘r − t∘r'‖_p"
    parts: ClassVar[int] = 2
    """how many vectors a relation has, the first for heads and the last for tails"""

    def check_shapes(self) -> None:
        fits = self.relation.shape[1] == self.parts * self.entity.shape[1]
        self.require(fits, f"relation must be {self.parts} times as wide as entity")

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        vectors = np.split(rows64(self.relation, relation), self.parts)
        return rows64(self.entity, ids) * vectors[0 if side == "head" else -1]


class LineaRE(PairRE):
    """score(h, r, t) = −‖h∘r + b − t∘r'‖_p, relations stored as thirds [for heads | b | for tails].

    TripleRE (Yu et al., 2022) is the same with a number added to r and r'.
    Peng and Zhang: LineaRE: Simple but Powerful Knowledge Graph Embedding for Link Prediction, ICDM 2020.
    """

    formula: ClassVar[str] = "−‖h∘r + b − t∘r'‖_p"
    parts: ClassVar[int] = 3

    def query_vectors(self, queries: Queries) -> Float64Array:
        between = np.split(rows64(self.relation, queries.relations), 3, axis=1)[1]
        return moved(super().query_vectors(queries), between, queries.side)


@dataclass(frozen=True, eq=False)
class SE(NormDistance, RelationalFamily):
    """score(h, r, t) = −‖R_r h − R'_r t‖_p; ``relation`` has the rows of R, ``tail_relation`` the rows of R'.

    Bordes, Weston, Collobert and Bengio: Learning Structured Embeddings of Knowledge Bases, AAAI 2011.
    """

    formula: ClassVar[str] = "−‖R h − R' t‖_p"

    tail_relation: FloatArray
    """the matrix R' of each relation, row by row; float[relation, relation width × entity width]"""

    def check_shapes(self) -> None:
        whole = self.relation.shape[1] % self.entity.shape[1] == 0
        self.require(whole, "relation must be a matrix with rows of the entity width a row")
        self.require_shapes(tail_relation=self.relation.shape)

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        matrices = self.relation if side == "head" else self.tail_relation
        matrix = rows64(matrices, relation).reshape(-1, self.entity.shape[1])
        return matmul_ordered(rows64(self.entity, ids), matrix.T)
