"""Arrays that a model made of the queries of some triples, one row a triple: which row is of which query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kgeval.arrays import IntArray
from kgeval.data.known import KnownAnswers
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.errors import InputError
from kgeval.scorers.adapters.score_arrays import as_array


@dataclass(frozen=True, eq=False)
class TripleArrays:
    """One array for each side that is answered, with a row for each triple: what was made of its query."""

    triples: Triples
    head: npt.NDArray[Any] | None = None
    tail: npt.NDArray[Any] | None = None
    entities: Labels | None = None
    relations: Labels | None = None

    what: ClassVar[str]
    """what messages call it"""
    content: ClassVar[str]
    """what its rows are"""

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
            raise InputError(f"{self.what}: head and tail have {widths} columns; expected as many in both.")

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that are answered."""
        return tuple(side for side in SIDES if getattr(self, side) is not None)

    @property
    def num_relations(self) -> int:
        """How many relations have a label; without labels, how many the triples speak of: the largest id and one."""
        if self.relations is not None:
            return len(Vocabulary.of(self.relations, "relation"))
        return int(self.triples.relations.max(initial=-1)) + 1

    def array_of(self, side: Side) -> npt.NDArray[Any]:
        """Return the array of one side.

        Raises
        ------
        InputError
            if there is none
        """
        array: npt.NDArray[Any] | None = getattr(self, side)
        if array is None:
            other = "tail" if side == "head" else "head"
            raise InputError(f"the {self.what} has no {self.content} of {side}s. Evaluate sides=('{other}',).")
        return array

    def rows_of(self, queries: Queries) -> IntArray:
        """Find the first row of each query; int64[query].

        Raises
        ------
        InputError
            if a query has none
        """
        rows = self._rows_by_query[queries.side].rows(queries)
        if (missing := rows.lengths == 0).any():
            query = int(np.argmax(missing))
            anchor = _label(self.entities, "entity", queries.anchors[query])
            relation = _label(self.relations, "relation", queries.relations[query])
            own = self.entities is not None or self.relations is not None
            ids = " in its own ids, whose labels are entities= and relations=, and not in the dataset's" if own else ""
            raise InputError(
                f"the {self.what} has no row for the {queries.side} query with anchor {anchor} and relation "
                f"{relation}. Its triples are to be those that are evaluated{ids}."
            )
        return rows.ids[rows.offsets[:-1]]

    @cached_property
    def _rows_by_query(self) -> Mapping[Side, KnownAnswers]:
        """The rows of each query, found as known answers are."""
        found = {}
        for side in self.sides:
            anchors, relations, _ = self.triples.queries_of_side(side)
            numbered = np.stack([anchors, relations, np.arange(len(anchors))], 1)
            found[side] = KnownAnswers.of([Triples(numbered, self.triples.contexts)], "tail")
        return found


def _label(labels: Labels | None, kind: str, index: int) -> str:
    return str(index) if labels is None else repr(Vocabulary.of(labels, kind)[int(index)])
