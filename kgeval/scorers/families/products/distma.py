"""DistMA: what head, relation and tail have in common, two by two (Shi and Xiao, 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.ordered import dot_rows
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class DistMA(VectorFamily):
    """score(h, r, t) = h·r + r·t + h·t.

    The symmetric part E₁ of Shi and Xiao: Modeling Multi-mapping Relations for Precise Cross-lingual Entity Alignment,
    EMNLP 2019.
    """

    name: ClassVar[str] = "DistMA"
    formula: ClassVar[str] = "h·r + r·t + h·t"
    similarity: ClassVar[Similarity] = "dot"
    equal_widths: ClassVar[bool] = True

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Add the relation to the anchor: h + r or t + r."""
        return rows64(self.entity, queries.anchors) + rows64(self.relation, queries.relations)

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return the part that all candidates share: h·r or t·r."""
        return dot_rows(rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations))
