"""Listed scores: for each query the few candidates that a model lists, and nothing for all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.errors import InputError
from kgeval.graph.queries import Queries
from kgeval.graph.rows import Rows
from kgeval.graph.triples import Side
from kgeval.graph.vocabulary import Vocabulary

Query = tuple[int, int]
"""anchor and relation"""


@dataclass(frozen=True, eq=False)
class SideLists:
    """The lists of the queries of one side."""

    places: Mapping[Query, int]
    """the row of each query"""
    rows: Rows
    """the listed entities"""
    scores: Float64Array
    """float64[listed entity]"""


@dataclass(frozen=True, eq=False)
class ListedScores:
    """A scorer of the candidates that were listed for each query; those that were not share the lowest place.

    Examples
    --------
    >>> from kgeval.graph.triples import Triples
    >>> lists = SideLists({(0, 0): 0}, Rows.of([[2, 1]]), np.array([0.9, 0.5]))
    >>> labels = Vocabulary(["ant", "bee", "cat", "dog"]), Vocabulary(["eats"], "relation")
    >>> ListedScores({"tail": lists}, *labels).scores(Queries.of(Triples.of([(0, 0, 2)]), "tail"), np.arange(4))
    array([[-inf,  0.5,  0.9, -inf]])
    """

    sides: Mapping[Side, SideLists]
    entities: Vocabulary
    relations: Vocabulary

    @property
    def num_entities(self) -> int:
        """How many entities there are, listed or not."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """How many relations there are."""
        return len(self.relations)

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Look the scores up, −∞ for what was not listed.

        Raises
        ------
        InputError
            if a query has no list, not even an empty one
        """
        lists = self.sides.get(queries.side)
        asked = zip(queries.anchors.tolist(), queries.relations.tolist(), strict=True)
        places = np.array([lists.places.get(query, -1) if lists else -1 for query in asked], np.int64)
        if lists is None or (places < 0).any():
            query = int(np.argmax(places < 0))
            raise InputError(
                f"there are no predictions for {self._asked(queries, query)}. Are they those of this split?"
            )
        offsets = lists.rows.offsets
        listed = Rows.spans(offsets[places], offsets[places + 1], np.arange(len(lists.scores)))
        keys = listed.owners * self.num_entities + lists.rows.ids[listed.ids]
        wanted = np.arange(len(queries))[:, None] * self.num_entities + candidates
        order = np.argsort(keys)
        found = np.searchsorted(keys, wanted, sorter=order)
        there = np.append(keys[order], -1)[found] == wanted
        return np.where(there, np.append(lists.scores[listed.ids][order], -np.inf)[found], -np.inf)

    def _asked(self, queries: Queries, index: int) -> str:
        """Spell a query: ``(?, eats, cat)``."""
        known, relation = self.entities[int(queries.anchors[index])], self.relations[int(queries.relations[index])]
        return f"({known}, {relation}, ?)" if queries.side == "tail" else f"(?, {relation}, {known})"
