"""Bilinear and trilinear families: a score is a sum of products of head, relation and tail; some have a core tensor.

A ``ProductFamily`` writes its formula as query vector · entity vector + offset of the query. ``query_vectors`` makes
the query vector of anchor and relation; the entity vector is the stored row, unless ``entity_vectors`` takes a part of
it; the offset is 0, unless ``query_offsets`` computes one. ``ClampedDistMult``, a ``ScoredFamily``, compares the
vectors itself. Readers of checkpoints make these models of stored arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, FloatArray, IntArray
from kgeval.base.errors import CheckpointError
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.models.family import ProductFamily, ScoredFamily, by_relation, rows64
from kgeval.models.ordered import matmul_ordered, weighted_sum
from kgeval.models.similarity import canonical, dot_rows


class DistMult(ProductFamily):
    """score(h, r, t) = Σ_k h_k r_k t_k.

    Yang et al.: Embedding Entities and Relations for Learning and Inference in Knowledge Bases, ICLR 2015.
    """

    formula: ClassVar[str] = "Σ h r t"
    equal_widths: ClassVar[bool] = True

    def query_vectors(self, queries: Queries) -> Float64Array:
        return np.asarray(np.multiply(*self.rows_of(queries)))


class RESCAL(ProductFamily):
    """score(h, r, t) = hᵀ M_r t; M_r is given as a matrix [head, tail], or as its rows one after the other.

    Nickel, Tresp and Kriegel: A Three-Way Model for Collective Learning on Multi-Relational Data, ICML 2011.
    """

    formula: ClassVar[str] = "hᵀ M_r t"

    def __post_init__(self) -> None:
        width, shape = np.shape(self.entity)[1:], np.shape(self.relation)
        if len(width) == 1 and len(shape) == 3 and isinstance(self.relation, np.ndarray):
            if shape[1:] != 2 * width:
                side, size = width[0], np.shape(self.entity)
                fault = f"'relation' has shape {shape}, but 'entity' {size}: expected [relation, {side}, {side}]"
                raise CheckpointError(f"RESCAL: {fault} or [relation, {side**2}]. Perhaps an array is transposed.")
            object.__setattr__(self, "relation", self.relation.reshape(len(self.relation), width[0] ** 2))
        super().__post_init__()

    def check_shapes(self) -> None:
        matrix = self.entity.shape[1] ** 2
        self.require(self.relation.shape[1] == matrix, "a relation must be an entity width × entity width matrix a row")

    def query_vectors(self, queries: Queries) -> Float64Array:
        width = self.entity.shape[1]

        def multiply(relation: int, part: BoolArray) -> Float64Array:
            matrix = rows64(self.relation, relation).reshape(width, width)
            anchors = rows64(self.entity, queries.anchors[part])
            return matmul_ordered(anchors, matrix if queries.side == "tail" else matrix.T)

        return by_relation(queries.relations, multiply)


class SimplE(ProductFamily):
    """score(h, r, t) = ½ Σ_k (h_k r_k t'_k + t_k r'_k h'_k), halves [as head | as tail] and [relation | inverse].

    Kazemi and Poole: SimplE Embedding for Link Prediction in Knowledge Graphs, NeurIPS 2018.
    """

    formula: ClassVar[str] = "½ Σ (h r t' + t r' h')"
    equal_widths: ClassVar[bool] = True

    def check_shapes(self) -> None:
        self.require(self.entity.shape[1] % 2 == 0, "vectors are stored as halves of an even width")

    def query_vectors(self, queries: Queries) -> Float64Array:
        head, tail = np.split(rows64(self.entity, queries.anchors), 2, axis=1)
        forward, backward = np.split(rows64(self.relation, queries.relations), 2, axis=1)
        if queries.side == "head":
            forward, backward = backward, forward
        return 0.5 * np.concatenate([tail * backward, head * forward], axis=1)


class CP(ProductFamily):
    """score(h, r, t) = Σ_k h_k r_k t'_k, entities stored as halves [as head | as tail].

    Lacroix, Usunier and Obozinski: Canonical Tensor Decomposition for Knowledge Base Completion, ICML 2018.
    """

    formula: ClassVar[str] = "Σ h r t'"

    def check_shapes(self) -> None:
        self.require(self.entity.shape[1] == 2 * self.relation.shape[1], "entity must be twice as wide as relation")

    def query_vectors(self, queries: Queries) -> Float64Array:
        heads, tails = np.split(rows64(self.entity, queries.anchors), 2, axis=1)
        return (heads if queries.side == "tail" else tails) * rows64(self.relation, queries.relations)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        heads, tails = np.split(self.entity, 2, axis=1)
        return (heads if side == "head" else tails)[ids]


class HolE(ProductFamily):
    """score(h, r, t) = Σ_ij h_i r_{(j − i) mod d} t_j.

    Nickel, Rosasco and Poggio: Holographic Embeddings of Knowledge Graphs, AAAI 2016.
    """

    formula: ClassVar[str] = "Σ_ij h_i r_(j−i mod d) t_j"
    equal_widths: ClassVar[bool] = True

    def query_vectors(self, queries: Queries) -> Float64Array:
        anchors, relations = self.rows_of(queries)
        if queries.side == "head":
            # r_{j−i} as a function of i runs backwards; reversed and shifted by one, it is a convolution again.
            relations = np.roll(relations[:, ::-1], 1, axis=1)
        vectors = np.zeros_like(anchors)
        for k in range(anchors.shape[1]):
            vectors = vectors + anchors[:, k : k + 1] * np.roll(relations, k, axis=1)
        return vectors


@dataclass(frozen=True, eq=False)
class AutoSF(ProductFamily):
    """score(h, r, t) = Σ s ⟨h_i, r_j, t_k⟩ over the coefficients (i, j, k, s), vectors stored block after block.

    Zhang, Yao, Dai and Chen: AutoSF: Searching Scoring Functions for Knowledge Graph Embedding, ICDE 2020.
    """

    formula: ClassVar[str] = "Σ s ⟨h_i, r_j, t_k⟩"

    coefficients: tuple[tuple[int, int, int, int], ...]
    """for each product, the numbers (from 0) of its blocks of head, relation and tail, and its sign"""
    width: int
    """the width of a block"""

    def check_shapes(self) -> None:
        whole = self.width > 0 and all(array.shape[1] % self.width == 0 for array in (self.entity, self.relation))
        self.require(whole, f"width {self.width} must divide the width of entity and relation")
        entities, relations = (array.shape[1] // self.width for array in (self.entity, self.relation))
        limits = (entities, relations, entities)
        named = all(0 <= at < size for product in self.coefficients for at, size in zip(product, limits, strict=False))
        self.require(bool(self.coefficients) and named, "every coefficient must name blocks that there are")

    def query_vectors(self, queries: Queries) -> Float64Array:
        anchors, relations = self.rows_of(queries)
        vectors = np.zeros_like(anchors)
        for head, relation, tail, sign in self.coefficients:
            anchor, other = (head, tail) if queries.side == "tail" else (tail, head)
            columns = [slice(block * self.width, (block + 1) * self.width) for block in (anchor, relation, other)]
            vectors[:, columns[2]] += sign * anchors[:, columns[0]] * relations[:, columns[1]]
        return vectors


class DistMA(ProductFamily):
    """score(h, r, t) = h·r + r·t + h·t.

    The symmetric part E₁ of Shi and Xiao: Modeling Multi-mapping Relations for Precise Cross-lingual Entity Alignment,
    EMNLP 2019.
    """

    formula: ClassVar[str] = "h·r + r·t + h·t"
    equal_widths: ClassVar[bool] = True

    def query_vectors(self, queries: Queries) -> Float64Array:
        return np.asarray(np.add(*self.rows_of(queries)))

    def query_offsets(self, queries: Queries) -> Float64Array:
        return dot_rows(*self.rows_of(queries))


@dataclass(frozen=True, eq=False)
class ClampedDistMult(ScoredFamily):
    """score(h, r, t) = min(max(Σ_k h_k r_k t_k, low), high): every score beyond a limit is a tie."""

    formula: ClassVar[str] = "min(max(Σ h r t, low), high)"
    equal_widths: ClassVar[bool] = True

    low: float
    """the lowest score; −inf for no limit"""
    high: float
    """the highest score; inf for no limit"""

    query_vectors = DistMult.query_vectors

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        return np.clip(canonical("dot", queries[:, None], candidates), self.low, self.high)


@dataclass(frozen=True, eq=False)
class TuckER(ProductFamily):
    """score(h, r, t) = B₁(B₀(h) ×₁ W ×₂ r) · t, B(x) = scale∘x + shift: the trained batch normalisation.

    Balažević, Allen and Hospedales: TuckER: Tensor Factorization for Knowledge Graph Completion, EMNLP 2019.
    """

    formula: ClassVar[str] = "B₁(B₀(h) ×₁ W ×₂ r) · t"

    core: FloatArray
    """float[entity width, relation width, entity width], axes head, relation, tail"""
    head_scale: FloatArray | None = None
    """the scale of B₀, 1 if it is None; float[entity width]"""
    head_shift: FloatArray | None = None
    """the shift of B₀, 0 if it is None; float[entity width]"""
    product_scale: FloatArray | None = None
    """the scale of B₁, 1 if it is None; float[entity width]"""
    product_shift: FloatArray | None = None
    """the shift of B₁, 0 if it is None; float[entity width]"""

    def check_shapes(self) -> None:
        width = self.entity.shape[1]
        self.require_shapes(core=(width, self.relation.shape[1], width))
        self.require_shapes(head_scale=(width,), head_shift=(width,), product_scale=(width,), product_shift=(width,))

    def query_vectors(self, queries: Queries) -> Float64Array:
        anchors = rows64(self.entity, queries.anchors)
        if queries.side == "head":
            return self._factor("head_scale") * self._adjoint(queries, anchors)
        mixed = multiplied(self, queries, self._factor("head_scale") * anchors + self._factor("head_shift"))
        return self._factor("product_scale") * mixed + self._factor("product_shift")

    def query_offsets(self, queries: Queries) -> Float64Array:
        if queries.side == "tail":
            return np.zeros(len(queries))
        anchors = rows64(self.entity, queries.anchors)
        terms = self._factor("head_shift") * self._adjoint(queries, anchors) + self._factor("product_shift") * anchors
        return np.asarray(np.add.accumulate(terms, axis=1)[:, -1])

    def _adjoint(self, queries: Queries, tails: Float64Array) -> Float64Array:
        return multiplied(self, queries, self._factor("product_scale") * tails)

    def _factor(self, name: str) -> Float64Array:
        value = getattr(self, name)
        neutral = 1.0 if name.endswith("scale") else 0.0
        return np.full(self.entity.shape[1], neutral) if value is None else np.asarray(value, np.float64)


@dataclass(frozen=True, eq=False)
class MultiLinearTucker(ProductFamily):
    """score(h, r, t) = W ×₁ h ×₂ r ×₃ t', entities stored as [as head | as tail].

    Tucker: Some Mathematical Notes on Three-Mode Factor Analysis, Psychometrika 1966.
    """

    formula: ClassVar[str] = "W ×₁ h ×₂ r ×₃ t'"

    core: FloatArray
    """float[head width, relation width, tail width], W"""

    def check_shapes(self) -> None:
        self.require(self.core.ndim == 3, "core must be head width × relation width × tail width")
        head, relation, tail = self.core.shape
        widths = self.entity.shape[1] == head + tail and self.relation.shape[1] == relation
        self.require(widths, "core must be as wide as entity (as head, and as tail) and relation")

    def query_vectors(self, queries: Queries) -> Float64Array:
        heads, tails = np.split(rows64(self.entity, queries.anchors), [self.core.shape[0]], axis=1)
        return multiplied(self, queries, heads if queries.side == "tail" else tails)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        heads, tails = np.split(self.entity, [self.core.shape[0]], axis=1)
        return (heads if side == "head" else tails)[ids]


def multiplied(family: TuckER | MultiLinearTucker, queries: Queries, vectors: Float64Array) -> Float64Array:
    """Multiply vectors with the matrix M_r = Σ_j r_j W[:, j, :] of each query's relation, transposed for a head."""
    core = np.moveaxis(np.asarray(family.core, np.float64), 1, 0)

    def multiply(relation: int, part: BoolArray) -> Float64Array:
        matrix = weighted_sum(rows64(family.relation, relation), core)
        return matmul_ordered(vectors[part], matrix if queries.side == "tail" else matrix.T)

    return by_relation(queries.relations, multiply)
