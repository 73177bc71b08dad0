"""SE, structured embeddings: a relation takes head and tail into its space by a matrix each (Bordes et al., 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import by_relation, rows64
from kgeval.scorers.numerics.ordered import matmul_ordered
from kgeval.scorers.numerics.similarity import NormDistance
from kgeval.scorers.relational import RelationalFamily


@dataclass(frozen=True, eq=False)
class SE(NormDistance, RelationalFamily):
    """score(h, r, t) = −‖R_r h − R'_r t‖_p, relations stored as the rows of R, and those of R' as ``tail_relation``.

    Bordes, Weston, Collobert and Bengio: Learning Structured Embeddings of Knowledge Bases, AAAI 2011.
    """

    name: ClassVar[str] = "SE"
    formula: ClassVar[str] = "−‖R h − R' t‖_p"

    tail_relation: FloatArray
    """float[relation, relation width × entity width], each row the matrix R' of tails, row by row"""
    norm: Literal[1, 2]
    """the p of the norm"""

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = self.relation.shape[1] % self.entity.shape[1] == 0
        self.require(whole, "relation must be a matrix with rows of the entity width a row")
        self.require(self.tail_relation.shape == self.relation.shape, "tail_relation must have the shape of relation")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Map the anchor into the relation's space: R h for a tail query, R' t for a head query."""
        side: Side = "head" if queries.side == "tail" else "tail"
        return by_relation(
            queries.relations,
            self.relation.shape[1] // self.entity.shape[1],
            lambda relation, part: self.candidate_vectors(side, relation, queries.anchors[part]),
        )

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """Map entities into the relation's space: R e as heads, R' e as tails."""
        matrices = self.relation if side == "head" else self.tail_relation
        matrix = rows64(matrices, relation).reshape(-1, self.entity.shape[1])
        return matmul_ordered(rows64(self.entity, ids), matrix.T)
