"""TransE with the opposite sign: larger distances are more plausible, as Marius trains and ranks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.scorers.family import VectorFamily, rows64
from kgeval.scorers.numerics.ordered import dot_rows
from kgeval.scorers.numerics.similarity import Similarity


@dataclass(frozen=True, eq=False)
class MariusTransE(VectorFamily):
    """score(h, r, t) = +‖h + r − t‖² = [−2q | 1] · [e | e²] + ‖q‖², a dot product; the distance itself ranks alike."""

    name: ClassVar[str] = "MariusTransE"
    formula: ClassVar[str] = "+‖h + r − t‖²"
    similarity: ClassVar[Similarity] = "dot"
    equal_widths: ClassVar[bool] = True

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return [−2q | 1] of the moved anchor: q = h + r for a tail query, q = t − r for a head query."""
        moved = self._moved(queries)
        return np.concatenate([-2 * moved, np.ones_like(moved)], axis=1)

    def query_offsets(self, queries: Queries) -> Float64Array:
        """Return ‖q‖²."""
        moved = self._moved(queries)
        return dot_rows(moved, moved)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return [e | e²]."""
        entities = rows64(self.entity, ids)
        return np.concatenate([entities, entities * entities], axis=1)

    def _moved(self, queries: Queries) -> Float64Array:
        anchors, relations = rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        return anchors + relations if queries.side == "tail" else anchors - relations
