"""QuatE: a relation multiplies quaternions (Zhang et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class QuatE(VectorFamily):
    """score(h, r, t) = (h ⊗ r) · t, ⊗ the Hamilton product; quaternions are stored as quarters [1 | i | j | k].

    The relations are used as they are stored: a reader normalises them where its framework does.
    Zhang et al.: Quaternion Knowledge Graph Embeddings, NeurIPS 2019.
    """

    name: ClassVar[str] = "QuatE"
    formula: ClassVar[str] = "(h ⊗ r) · t, quaternions"
    similarity: ClassVar[Similarity] = "dot"
    equal_widths: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.entity.shape[1] % 4 == 0, "quaternions are stored as quarters: the width is a multiple of 4")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Multiply the anchor by the relation: h ⊗ r for a tail query, t ⊗ conj(r) for a head query."""
        a1, b1, c1, d1 = np.split(rows64(self.entity, queries.anchors), 4, axis=1)
        a2, b2, c2, d2 = np.split(rows64(self.relation, queries.relations), 4, axis=1)
        if queries.side == "head":
            b2, c2, d2 = -b2, -c2, -d2
        return np.concatenate(
            [
                a1 * a2 - b1 * b2 - c1 * c2 - d1 * d2,
                a1 * b2 + b1 * a2 + c1 * d2 - d1 * c2,
                a1 * c2 - b1 * d2 + c1 * a2 + d1 * b2,
                a1 * d2 + b1 * c2 - c1 * b2 + d1 * a2,
            ],
            axis=1,
        )
