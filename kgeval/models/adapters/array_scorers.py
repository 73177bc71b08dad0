"""Scorers of stored arrays that have a row for the query of each triple: the scores of all entities, or its vector.

Users make them, and so does the reader of folders of arrays (``checkpoints/readers/arrays.py``). They can only answer
the queries of these triples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.base.errors import InputError
from kgeval.base.threads import slices
from kgeval.data.known import KnownAnswers
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.models.scorer import VectorScorer, as_array, as_float64, refuse_other_queries
from kgeval.models.similarity import Similarity, refuse_other_similarities


@dataclass(frozen=True, eq=False)
class TripleArrays:
    """One array for each side that is answered, with a row for each triple: the scores or the vector of its query."""

    triples: Triples
    head: npt.NDArray[Any] | None = None
    tail: npt.NDArray[Any] | None = None
    entities: Labels | None = None
    relations: Labels | None = None

    what: ClassVar[str]
    """the name of such a scorer in messages"""
    content: ClassVar[str]
    """the name of the content of its rows in messages"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "triples", Triples.of(self.triples))
        if not self.sides:
            raise InputError(f"a {self.what} needs the {self.content} of heads or tails.")
        for side in self.sides:
            array = as_array(getattr(self, side), f"the {self.what}'s {side}")
            if array.ndim != 2 or len(array) != len(self.triples):
                expected = f"one row for each of the {len(self.triples)} triples"
                raise InputError(f"{self.what}: {side} has shape {array.shape}; expected {expected}.")
            object.__setattr__(self, side, array)
        if self.head is not None and self.tail is not None and self.head.shape != self.tail.shape:
            widths = f"{self.head.shape[1]} and {self.tail.shape[1]}"
            raise InputError(f"{self.what}: head and tail have {widths} columns; expected the same number in both.")

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that have an array."""
        return tuple(side for side in SIDES if getattr(self, side) is not None)

    @property
    def num_relations(self) -> int:
        """The number of relation labels; without labels, the largest relation id of the triples plus one."""
        if self.relations is not None:
            return len(Vocabulary.of(self.relations, "relation"))
        return int(self.triples.relations.max(initial=-1)) + 1

    def array_of(self, side: Side) -> npt.NDArray[Any]:
        """Return the array of a side; a side without one is refused."""
        array: npt.NDArray[Any] | None = getattr(self, side)
        if array is None:
            other = "tail" if side == "head" else "head"
            raise InputError(f"the {self.what} has no {self.content} of {side}s. Evaluate sides=('{other}',).")
        return array

    def rows_of(self, queries: Queries) -> IntArray:
        """Find the row of each query: its triple's row, or the first one if several triples ask it; int64[query]."""
        rows = self._rows_by_query[queries.side].rows(queries)
        if (missing := rows.lengths == 0).any():
            query = int(np.argmax(missing))
            anchor = _label(self.entities, "entity", queries.anchors[query])
            relation = _label(self.relations, "relation", queries.relations[query])
            has_ids = self.entities is not None or self.relations is not None
            ids = ", in the ids of entities= and relations=, not in those of the dataset" if has_ids else ""
            words = f"the {queries.side} query with anchor {anchor} and relation {relation}"
            raise InputError(f"the {self.what} has no row for {words}. Its triples must be the evaluated ones{ids}.")
        chosen = rows.ids[rows.offsets[:-1]]
        answers = self.triples.queries_of_side(queries.side)[2]
        # Backwards, so that the first row counts if a triple has two.
        mine = np.flatnonzero(answers[rows.ids] == queries.only_answers[rows.owners])[::-1]
        chosen[rows.owners[mine]] = rows.ids[mine]
        return chosen

    @cached_property
    def _rows_by_query(self) -> Mapping[Side, KnownAnswers]:
        known = {}
        for side in self.sides:
            anchors, relations, _ = self.triples.queries_of_side(side)
            numbered = np.stack([anchors, relations, np.arange(len(anchors))], 1)
            known[side] = KnownAnswers.of([Triples(numbered, self.triples.contexts)], "tail")
        return known


class ScoreTable(TripleArrays):
    """Finished scores of all entities in the place of one side of some triples.

    Parameters
    ----------
    triples
        the triples that the rows belong to
    head, tail
        float[triple, entity], arrays or tensors; row ``i`` holds the score of every entity in the place of triple
        ``i``'s head or tail; one of them may be missing; then that side is not evaluated. An array may be mapped
        from disk (``np.load(path, mmap_mode="r")``)
    entities, relations
        the label of each column, and of each relation id, if these are not the ids of the dataset, as
        :class:`CallableScorer` takes them. The triples are then in the table's own ids too

    Examples
    --------
    >>> from kgeval.data.triples import Triples
    >>> table = ScoreTable(Triples.of([(0, 0, 2)]), tail=np.array([[0.1, 0.9, 0.5]]))
    >>> table.scores(Queries.of(Triples.of([(0, 0, 2)]), "tail"), np.array([2, 1]))
    array([[0.5, 0.9]])
    """

    what, content = "score table", "scores"

    @property
    def num_entities(self) -> int:
        """How many entities have a column."""
        return int(self.array_of(self.sides[0]).shape[1])

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Look up scores: those in the row of the triple that asks, or in the first row if several triples ask.

        Raises
        ------
        InputError
            if the table has no row for a query
        """
        refuse_other_queries(queries, candidates)
        return as_float64(self.array_of(queries.side)[self.rows_of(queries)[:, None], candidates], "the score table")


NOISE = 2.0**-6
"""the largest distance of two vectors of one query, as a share of the first one's length: in half precision, a vector
depends on its batch"""

BATCH_ROWS = 2**12
"""the number of rows that are compared at a time"""


class DualEncoder(TripleArrays, VectorScorer):
    """A text encoder's vectors, ranked by the exact kernels: score(q, e) = similarity(query vector, entity vector).

    Only the queries of the triples can be answered. A model with tails only is evaluated on tails only.

    Parameters
    ----------
    triples
        the triples whose queries were encoded, such as ``data.test``
    vectors
        float[entity, dim], the vector of each entity
    similarity
        ``"cosine"``, ``"dot"``, ``"l1"``, ``"l2"``, ``"squared_l2"`` or ``"modulus"``; it has no default
    tail, head
        float[triple, dim]; row ``i`` is the vector of the query for triple ``i``'s tail or head. Triples of one query
        have the same vector, but for the noise of batches: each triple is ranked by its own row
    entities, relations
        the label of each row of ``vectors``, and of each relation id, if these are not the ids of the dataset. The
        triples are then in these ids too

    Raises
    ------
    InputError
        if an array has another shape; if rows of one query differ, for example because the triples are in another order

    Examples
    --------
    The two triples ask for the same tail, and the second one's answer is nearer to the query.

    >>> triples = Triples.of([(0, 0, 1), (0, 0, 2)])
    >>> encoder = DualEncoder(triples, np.eye(3), similarity="cosine", tail=np.array([[0, 1, 2.0], [0, 1, 2.0]]))
    >>> encoder.scores(Queries.of(triples, "tail"), np.arange(3)).round(2)
    array([[0.  , 0.45, 0.89]])
    """

    what, content = "dual encoder", "query vectors"

    vectors: FloatArray
    similarity: Any = None  # set when it is made

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
        object.__setattr__(self, "similarity", similarity)
        object.__setattr__(self, "vectors", as_array(vectors, "the dual encoder's entities"))
        for side in self.sides:
            width = self.array_of(side).shape[1]
            if self.vectors.ndim != 2 or self.vectors.shape[1] != width:
                fault = f"the entities' vectors have shape {self.vectors.shape}, those of queries {width} dimensions"
                raise InputError(f"dual encoder: {fault}: they must have the same width.")
            self._refuse_other_order(side)

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
                fault = f"rows {firsts[row]} and {row} of {side} have the same query, but differ"
                raise InputError(f"dual encoder: {fault}. Are the rows in the order of the triples?")


def _label(labels: Labels | None, kind: str, index: int) -> str:
    return str(index) if labels is None else repr(Vocabulary.of(labels, kind)[int(index)])
