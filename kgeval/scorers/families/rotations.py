"""Rotations: RotatE, and pRotatE, which has phases alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.errors import CheckpointError
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.family_bases import ScoredFamily
from kgeval.scorers.numerics.ordered import multiply
from kgeval.scorers.numerics.similarity import Similarity, ordered_sum

UNIT = 1e-3
"""how far the modulus of a stored rotation may be from 1, as float16 leaves it"""


@dataclass(frozen=True, eq=False)
class RotatE(VectorFamily):
    """score(h, r, t) = −‖h∘r − t‖_p of complex vectors, |r_k| = 1.

    ``norm=1`` sums the moduli, as the original code does; ``norm=2`` is the Euclidean norm, as PyKEEN's. Entities are
    stored as halves [re | im]; relations likewise, or as phases in radians (half as wide as the entities). A head query
    rotates back by conj(r), which inverts r only where |r_k| = 1; with inverse relations, other moduli do no harm.

    Sun et al.: RotatE: Knowledge Graph Embedding by Relational Rotation in Complex Space, ICLR 2019.
    """

    formula: ClassVar[str] = "−‖h∘r − t‖_p, complex, |r| = 1"

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
            raise CheckpointError(
                f"RotatE: relation row {row} is no rotation (its modulus at {column} is {moduli[row, column]:.4g}, not "
                "1), so heads cannot be found by turning back. "
                "Normalise the relations, or give inverse relations (reciprocal=true)."
            )

    @property
    def similarity(self) -> Similarity:
        return "modulus" if self.norm == 1 else "l2"

    @cached_property
    def rotations(self) -> Float64Array:
        """The relations as halves [cos | sin], made once for all so that no batch can change a bit of them."""
        stored = self.relation.shape[1] == self.entity.shape[1]
        return np.asarray(self.relation, np.float64) if stored else _points(self.relation)

    def query_vectors(self, queries: Queries) -> Float64Array:
        anchors = rows64(self.entity, queries.anchors)
        return multiply(anchors, self.rotations[queries.relations], conjugate=queries.side == "head")


@dataclass(frozen=True, eq=False)
class PRotatE(ScoredFamily):
    """score(h, r, t) = −Σ_k |sin(h_k + r_k − t_k)|, entities and relations stored as phases in radians.

    Sines and cosines are taken once of the stored phases; |sin(q − e)| = |sin q cos e − cos q sin e|.
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
        return multiply(self._entities[queries.anchors], self._relations[queries.relations], conjugate=conjugate)

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
