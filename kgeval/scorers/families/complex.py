"""Complex families: ComplEx, and its two forms for temporal graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import Float64Array, FloatArray
from kgeval.data.queries import Queries
from kgeval.scorers.family import ProductFamily, rows64
from kgeval.scorers.numerics.ordered import multiply


@dataclass(frozen=True, eq=False)
class ComplEx(ProductFamily):
    """score(h, r, t) = Re Σ_k h_k r_k conj(t_k), complex vectors stored as halves [re | im].

    Trouillon et al.: Complex Embeddings for Simple Link Prediction, ICML 2016.
    """

    formula: ClassVar[str] = "Re Σ h r conj(t)"
    equal_widths: ClassVar[bool] = True

    def check_shapes(self) -> None:
        self.require(self.entity.shape[1] % 2 == 0, "complex vectors are stored as halves [re | im] of an even width")

    def query_vectors(self, queries: Queries) -> Float64Array:
        relations = self.relations_of(queries)
        return multiply(rows64(self.entity, queries.anchors), relations, conjugate=queries.side == "head")

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
    """float[time, width]"""

    def check_shapes(self) -> None:
        super().check_shapes()
        self.require(self.time.shape[1:] == self.entity.shape[1:], "entity and time must have the same width")

    @property
    def num_times(self) -> int:
        return len(self.time)

    def relations_of(self, queries: Queries) -> Float64Array:
        return multiply(rows64(self.relation, queries.relations), rows64(self.time, queries.times))


@dataclass(frozen=True, eq=False)
class TNTComplEx(TComplEx):
    """score(h, r, t, τ) = Re Σ_k h_k (r_k τ_k + r'_k) conj(t_k), complex vectors stored as halves [re | im].

    Lacroix, Obozinski and Usunier: Tensor Decompositions for Temporal Knowledge Base Completion, ICLR 2020.
    """

    formula: ClassVar[str] = "Re Σ h (r τ + r') conj(t)"

    timeless: FloatArray
    """float[relation, width], the part r' of each relation that no time changes"""

    def check_shapes(self) -> None:
        super().check_shapes()
        self.require_shapes(timeless=self.relation.shape)

    def relations_of(self, queries: Queries) -> Float64Array:
        return super().relations_of(queries) + rows64(self.timeless, queries.relations)
