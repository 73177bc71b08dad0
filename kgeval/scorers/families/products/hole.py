"""HolE: the circular correlation of head and tail, compared with the relation (Nickel et al., 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class HolE(VectorFamily):
    """score(h, r, t) = Σ_ij h_i r_{(j − i) mod d} t_j.

    Nickel, Rosasco and Poggio: Holographic Embeddings of Knowledge Graphs, AAAI 2016.
    """

    name: ClassVar[str] = "HolE"
    formula: ClassVar[str] = "Σ_ij h_i r_(j−i mod d) t_j"
    similarity: ClassVar[Similarity] = "dot"
    equal_widths: ClassVar[bool] = True

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Convolve the anchor with the relation: Σ_i h_i r_{j−i} for a tail query, Σ_j t_j r_{j−i} for a head query."""
        anchors, relations = rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        if queries.side == "head":
            # r_{j−i} as a function of i runs backwards; reversed and shifted by one, it is a convolution again.
            relations = np.roll(relations[:, ::-1], 1, axis=1)
        vectors = np.zeros_like(anchors)
        for k in range(anchors.shape[1]):
            vectors = vectors + anchors[:, k : k + 1] * np.roll(relations, k, axis=1)
        return vectors
