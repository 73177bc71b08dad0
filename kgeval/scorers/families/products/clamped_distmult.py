"""DistMult whose scores are cut off below and above: what PyKEEN's SimplE with a clamp computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.block import ScoredFamily
from kgeval.scorers.family import rows64
from kgeval.scorers.numerics.similarity import canonical


@dataclass(frozen=True, eq=False)
class ClampedDistMult(ScoredFamily):
    """score(h, r, t) = min(max(Σ_k h_k r_k t_k, low), high): every score beyond a limit is a tie."""

    name: ClassVar[str] = "ClampedDistMult"
    formula: ClassVar[str] = "min(max(Σ h r t, low), high)"
    equal_widths: ClassVar[bool] = True

    low: float
    """the lowest score; −inf is none"""
    high: float
    """the highest score; inf is none"""

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Multiply the anchor by the relation: h∘r or r∘t."""
        return rows64(self.entity, queries.anchors) * rows64(self.relation, queries.relations)

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        """Return the dot product, cut off at the limits."""
        return np.clip(canonical("dot", queries[:, None], candidates), self.low, self.high)
