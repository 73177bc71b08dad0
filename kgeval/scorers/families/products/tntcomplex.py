"""TNTComplEx: TComplEx with a part of each relation that no time changes (Lacroix, Obozinski and Usunier, 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.scorers.families.products.tcomplex import TComplEx
from kgeval.scorers.family import rows64


@dataclass(frozen=True, eq=False)
class TNTComplEx(TComplEx):
    """score(h, r, t, τ) = Re Σ_k h_k (r_k τ_k + r'_k) conj(t_k), complex vectors stored as halves [re | im].

    Lacroix, Obozinski and Usunier: Tensor Decompositions for Temporal Knowledge Base Completion, ICLR 2020.
    """

    name: ClassVar[str] = "TNTComplEx"
    formula: ClassVar[str] = "Re Σ h (r τ + r') conj(t)"

    timeless: FloatArray
    """float[relation, width], the part r' of each relation that no time changes"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.timeless.shape == self.relation.shape, "relation and timeless must have the same shape")

    def relations_at(self, relations: IntArray, times: IntArray) -> Float64Array:
        """Return the vector of each relation at a time: r τ + r'; float64[relation, width]."""
        return super().relations_at(relations, times) + rows64(self.timeless, relations)
