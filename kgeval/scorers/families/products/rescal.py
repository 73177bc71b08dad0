"""RESCAL: a relation is a full bilinear form (Nickel et al., 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import BoolArray, Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.family import VectorFamily, by_relation, rows64
from kgeval.scorers.numerics.ordered import matmul_ordered
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class RESCAL(VectorFamily):
    """score(h, r, t) = hᵀ M_r t; a relation's row is its matrix, row by row.

    Nickel, Tresp and Kriegel: A Three-Way Model for Collective Learning on Multi-Relational Data, ICML 2011.
    """

    name: ClassVar[str] = "RESCAL"
    formula: ClassVar[str] = "hᵀ M_r t"
    similarity: ClassVar[Similarity] = "dot"

    def __post_init__(self) -> None:
        super().__post_init__()
        matrix = self.entity.shape[1] ** 2
        self.require(self.relation.shape[1] == matrix, "a relation must be an entity width × entity width matrix a row")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Multiply the anchor by the relation's matrix: Mᵀ h for a tail query, M t for a head query."""
        width = self.entity.shape[1]

        def multiply(relation: int, part: BoolArray) -> Float64Array:
            matrix = rows64(self.relation, relation).reshape(width, width)
            anchors = rows64(self.entity, queries.anchors[part])
            return matmul_ordered(anchors, matrix if queries.side == "tail" else matrix.T)

        return by_relation(queries.relations, width, multiply)
