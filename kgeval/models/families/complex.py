"""Families of complex numbers: ComplEx, its two forms for temporal graphs, RotatE, and pRotatE with phases alone.

Readers of checkpoints make these models of stored arrays; ``kgeval/models/family.py`` explains their methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.base.errors import CheckpointError
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.models.family import ProductFamily, ScoredFamily, VectorFamily, rows64
from kgeval.models.ordered import complex_product
from kgeval.models.similarity import Similarity, ordered_sum


class ComplEx(ProductFamily):
    """score(h, r, t) = Re Σ_k h_k r_k conj(t_k), complex vectors stored as halves [re | im].

    Trouillon et al.: Complex Embeddings for Simple Link Prediction, ICML 2016.
    """

    formula: ClassVar[str] = "Re Σ h r conj(t)"
    is_complex: ClassVar[bool] = True
    equal_widths: ClassVar[bool] = True

    def check_shapes(self) -> None:
        self.require(self.entity.shape[1] % 2 == 0, "complex vectors are stored as halves [re | im] of an even width")

    def query_vectors(self, queries: Queries) -> Float64Array:
        relations = self.relations_of(queries)
        return complex_product(rows64(self.entity, queries.anchors), relations, conjugate=queries.side == "head")

    def relations_of(self, queries: Queries) -> Float64Array:
        """Return the vector of each query's relation, at its time if the graph is temporal; float64[query, width]."""
        return rows64(self.relation, queries.relations)


@dataclass(frozen=True, eq=False)
class TComplEx(ComplEx):
    """score(h, r, t, τ) = Re Σ_k h_k r_k τ_k conj(t_k), complex vectors stored as halves [re | im].

    Lacroix, Obozinski and Usunier: Tensor Decompositions for Temporal Knowledge Base Completion, ICLR 2020.
    """

    formula: ClassVar[str] = "Re Σ h r τ conj(t)"

    time: FloatArray
    """the vector τ of each time; float[time, width]"""

    def check_shapes(self) -> None:
        super().check_shapes()
        self.require(self.time.shape[1:] == self.entity.shape[1:], "entity and time must have the same width")

    @property
    def num_times(self) -> int:
        return len(self.time)

    def relations_of(self, queries: Queries) -> Float64Array:
        return complex_product(rows64(self.relation, queries.relations), rows64(self.time, queries.times))


@dataclass(frozen=True, eq=False)
class TNTComplEx(TComplEx):
    """score(h, r, t, τ) = Re Σ_k h_k (r_k τ_k + r'_k) conj(t_k), complex vectors stored as halves [re | im].

    Lacroix, Obozinski and Usunier: Tensor Decompositions for Temporal Knowledge Base Completion, ICLR 2020.
    """

    formula: ClassVar[str] = "Re Σ h (r τ + r') conj(t)"

    timeless: FloatArray
    """the part r' of each relation that no time changes; float[relation, width]"""

    def check_shapes(self) -> None:
        super().check_shapes()
        self.require_shapes(timeless=self.relation.shape)

    def relations_of(self, queries: Queries) -> Float64Array:
        return super().relations_of(queries) + rows64(self.timeless, queries.relations)


UNIT = 1e-3
"""how far the modulus of a stored rotation may be from 1: float16 rounds it so"""


@dataclass(frozen=True, eq=False)
class RotatE(VectorFamily):
    """score(h, r, t) = −‖h∘r − t‖_p of complex vectors, |r_k| = 1.

    ``norm=1`` sums the moduli, as the original code does; ``norm=2`` is the Euclidean norm, as PyKEEN's. Entities are
    stored as halves [re | im]; relations likewise, or as phases in radians (half as wide as the entities). A head query
    rotates back by conj(r), which inverts r only where |r_k| = 1; with inverse relations, other moduli do no harm.

    Sun et al.: RotatE: Knowledge Graph Embedding by Relational Rotation in Complex Space, ICLR 2019.
    """

    formula: ClassVar[str] = "−‖h∘r − t‖_p, complex, |r| = 1"
    is_complex: ClassVar[bool] = True

    norm: Literal[1, 2]
    """1: the sum of the moduli; 2: the Euclidean norm"""

    def check_shapes(self) -> None:
        entity, relation = self.entity.shape[1], self.relation.shape[1]
        self.require(entity % 2 == 0, "complex vectors are stored as halves [re | im] of an even width")
        self.require(relation in {entity, entity // 2}, "relation must be as wide as entity, or half (phases)")

    def refuse_heads(self) -> None:
        real, imaginary = np.split(self.rotations, 2, axis=1)
        moduli = np.hypot(real, imaginary)
        off = np.abs(moduli - 1)
        if off.max() > UNIT:
            row, column = np.unravel_index(int(np.argmax(off)), off.shape)
            fault = f"relation row {row} is no rotation (its modulus at {column} is {moduli[row, column]:.4g}, not 1)"
            cure = "Normalise the relations, or give inverse relations (reciprocal=true)."
            raise CheckpointError(f"RotatE: {fault}, so heads cannot be found by turning back. {cure}")

    @property
    def similarity(self) -> Similarity:
        return "modulus" if self.norm == 1 else "l2"

    @cached_property
    def rotations(self) -> Float64Array:
        """The relations as halves [re | im], made once for all relations so that no batch can change a bit of them."""
        stored = self.relation.shape[1] == self.entity.shape[1]
        return np.asarray(self.relation, np.float64) if stored else _points(self.relation)

    def query_vectors(self, queries: Queries) -> Float64Array:
        anchors = rows64(self.entity, queries.anchors)
        return complex_product(anchors, self.rotations[queries.relations], conjugate=queries.side == "head")


class PRotatE(ScoredFamily):
    """score(h, r, t) = −Σ_k |sin(h_k + r_k − t_k)|, entities and relations stored as phases in radians.

    Sines and cosines of the stored phases are computed once; |sin(q − e)| = |sin q cos e − cos q sin e|.
    Sun et al.: RotatE: Knowledge Graph Embedding by Relational Rotation in Complex Space, ICLR 2019.
    """

    name: ClassVar[str] = "pRotatE"
    formula: ClassVar[str] = "−Σ |sin(h + r − t)|"
    equal_widths: ClassVar[bool] = True

    @cached_property
    def _entities(self) -> Float64Array:
        return _points(self.entity)

    @cached_property
    def _relations(self) -> Float64Array:
        return _points(self.relation)

    def query_vectors(self, queries: Queries) -> Float64Array:
        conjugate = queries.side == "head"
        return complex_product(self._entities[queries.anchors], self._relations[queries.relations], conjugate=conjugate)

    def candidate_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        return self._entities[ids]

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        (q_cos, q_sin), (e_cos, e_sin) = np.split(queries[:, None], 2, axis=-1), np.split(candidates, 2, axis=-1)

        def sines(k: slice) -> Float64Array:
            return np.abs(q_sin[..., k] * e_cos[..., k] - q_cos[..., k] * e_sin[..., k])

        return -ordered_sum(sines, q_cos.shape[-1])


def _points(phases: FloatArray) -> Float64Array:
    phases = np.asarray(phases, np.float64)
    return np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
