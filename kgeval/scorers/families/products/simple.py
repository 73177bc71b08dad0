"""SimplE: entities as heads and as tails, relations and their inverses (Kazemi and Poole, 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.data.queries import Queries
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class SimplE(VectorFamily):
    """score(h, r, t) = ½ Σ_k (h_k r_k t'_k + t_k r'_k h'_k), halves [as head | as tail] and [relation | inverse].

    Kazemi and Poole: SimplE Embedding for Link Prediction in Knowledge Graphs, NeurIPS 2018.
    """

    name: ClassVar[str] = "SimplE"
    formula: ClassVar[str] = "½ Σ (h r t' + t r' h')"
    similarity: ClassVar[Similarity] = "dot"
    equal_widths: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.entity.shape[1] % 2 == 0, "vectors are stored as halves of an even width")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Multiply both halves by the relation: ½ [h' r' | h r] for a tail query, ½ [r t' | r' t] for a head query."""
        head, tail = np.split(rows64(self.entity, queries.anchors), 2, axis=1)
        forward, backward = np.split(rows64(self.relation, queries.relations), 2, axis=1)
        if queries.side == "head":
            forward, backward = backward, forward
        return 0.5 * np.concatenate([tail * backward, head * forward], axis=1)
