"""TransE turned around: larger distances are more plausible, as Marius trains and ranks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.graph.queries import Queries
from kgeval.graph.triples import Side
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.similarity import Similarity
from kgeval.scorers.squares import squared_lengths, squares_of_candidates, squares_of_queries


@dataclass(frozen=True, eq=False)
class FarTransE(VectorFamily):
    """score(h, r, t) = +‖h + r − t‖², as a dot product of −[2q | −1] and [e | e²]; the distance itself ranks alike."""

    name: ClassVar[str] = "FarTransE"
    formula: ClassVar[str] = "+‖h + r − t‖²"
    similarity: ClassVar[Similarity] = "dot"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(self.entity.shape[1] == self.relation.shape[1], "entity and relation must have the same width")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """−[2q | −1] of q = h + r for a tail query, q = t − r for a head query."""
        return -squares_of_queries(self._places(queries))

    def query_offsets(self, queries: Queries) -> Float64Array:
        """‖q‖²."""
        return squared_lengths(self._places(queries))

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return [e | e²]."""
        return squares_of_candidates(rows64(self.entity, ids))

    def _places(self, queries: Queries) -> Float64Array:
        anchors, relations = rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        return anchors + relations if queries.side == "tail" else anchors - relations
