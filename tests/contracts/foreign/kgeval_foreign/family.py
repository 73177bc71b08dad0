"""A model family: TransM, a TransE whose relations weigh their distances (Fan et al., 2014)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.models.family import RelationalFamily, rows64
from kgeval.models.similarity import Similarity


@dataclass(frozen=True, eq=False)
class TransM(RelationalFamily):
    """score(h, r, t) = −w_r ‖h + r − t‖_p."""

    name: ClassVar[str] = "TransM"
    formula: ClassVar[str] = "−w_r ‖h + r − t‖_p"
    equal_widths: ClassVar[bool] = True

    weight: FloatArray
    """float[relation]"""
    norm: Literal[1, 2]
    """the p of the norm"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.weight.shape == (len(self.relation),), "weight must be one number per relation")

    @property
    def similarity(self) -> Similarity:
        """The distance that the norm measures."""
        return "l1" if self.norm == 1 else "l2"

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Move heads by the relation, tails back, and scale: w (h + r) or w (t − r)."""
        anchors, relations = rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        moved = anchors + relations if queries.side == "tail" else anchors - relations
        return rows64(self.weight, queries.relations)[:, None] * moved

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> Float64Array:
        """Scale entities by the relation's weight: w e."""
        return np.asarray(rows64(self.weight, relation) * rows64(self.entity, ids))
