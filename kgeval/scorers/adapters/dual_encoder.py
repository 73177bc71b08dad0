"""Dual encoders: a vector of each entity and of each query, made by a model that is not there any more."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.data.vocabulary import Labels
from kgeval.errors import InputError
from kgeval.scorers.adapters.array_scorers import TripleArrays
from kgeval.scorers.adapters.score_arrays import as_array, as_float64
from kgeval.scorers.numerics.similarity import Similarity, refuse_other_similarities
from kgeval.scorers.scorer import VectorScorer
from kgeval.threads import slices

NOISE = 2.0**-6
"""how far apart two vectors of one query may be, in parts of their length: a text is encoded anew in each batch, in
half precision"""

BATCH_ROWS = 2**12
"""rows that are compared at a time"""


class DualEncoder(TripleArrays, VectorScorer):
    """A text encoder's vectors, ranked by the exact kernels: score(q, e) = similarity(query vector, entity vector).

    Only the queries of the triples can be answered. A model of tails alone is evaluated on tails alone.

    Parameters
    ----------
    triples
        the triples whose queries were encoded, such as ``data.test``
    vectors
        float[entity, dim], the vector of each entity
    similarity
        ``"cosine"``, ``"dot"``, ``"l1"``, ``"l2"``, ``"squared_l2"`` or ``"modulus"``: no array tells it
    tail, head
        float[triple, dim]; row ``i`` is the vector of the query for triple ``i``'s tail or head. Triples of one query
        have one vector, but for the noise of batches: the first counts
    entities, relations
        the label of each row of ``vectors``, and of each relation id, where those are not the ids of the dataset. The
        triples are then in these ids too

    Raises
    ------
    InputError
        if an array has another shape; if rows of one query differ, as they do when the triples are in another order

    Examples
    --------
    The two triples ask for the same tail, and the second one's answer is nearer to the query.

    >>> triples = Triples.of([(0, 0, 1), (0, 0, 2)])
    >>> encoder = DualEncoder(triples, np.eye(3), similarity="cosine", tail=np.array([[0, 1, 2.0], [0, 1, 2.0]]))
    >>> encoder.scores(Queries.of(triples, "tail"), np.arange(3)).round(2)
    array([[0.  , 0.45, 0.89]])
    """

    what, content = "dual encoder", "query vectors"

    def __init__(
        self,
        triples: Triples,
        vectors: Any,
        *,
        similarity: Similarity,
        tail: Any = None,
        head: Any = None,
        entities: Labels | None = None,
        relations: Labels | None = None,
    ) -> None:
        super().__init__(triples, head, tail, entities, relations)
        refuse_other_similarities(similarity)
        self._similarity: Similarity
        self.vectors: FloatArray
        object.__setattr__(self, "_similarity", similarity)
        object.__setattr__(self, "vectors", as_array(vectors, "the dual encoder's entities"))
        for side in self.sides:
            width = self.array_of(side).shape[1]
            if self.vectors.ndim != 2 or self.vectors.shape[1] != width:
                raise InputError(
                    f"dual encoder: the entities' vectors have shape {self.vectors.shape}, those of queries {width} "
                    "dimensions: they must be equally wide."
                )
            self._refuse_other_order(side)

    @property
    def similarity(self) -> Similarity:
        return self._similarity

    @property
    def num_entities(self) -> int:
        return len(self.vectors)

    def entity_vectors(self, side: Side, ids: IntArray) -> FloatArray:
        """Return the vectors of entities, the same on both sides; float[id, dim]."""
        return self.vectors[ids]

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Return the vectors of queries; float64[query, dim].

        Raises
        ------
        InputError
            if a query was not encoded, with the query
        """
        return as_float64(self.array_of(queries.side)[self.rows_of(queries)], "the dual encoder's queries")

    def _refuse_other_order(self, side: Side) -> None:
        """Refuse rows of one query that differ by more than noise."""
        array, queries = self.array_of(side), Queries.of(self.triples, side)
        firsts = np.empty(len(array), np.int64)
        firsts[queries.triples] = self.rows_of(queries)[queries.owners]
        repeated = np.flatnonzero(firsts != np.arange(len(array)))
        for part in slices(len(repeated), BATCH_ROWS):
            rows = repeated[part]
            again, first = (array[which].astype(np.float64) for which in (rows, firsts[rows]))
            apart = np.linalg.norm(again - first, axis=1) > NOISE * np.linalg.norm(first, axis=1)
            if apart.any():
                row = int(rows[np.argmax(apart)])
                raise InputError(
                    f"dual encoder: rows {firsts[row]} and {row} of {side} are of the same query, and differ. Are the "
                    "rows in the order of the triples?"
                )
