"""Scorers of finished scores: any Python callable, and tables of scores that were computed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.known import KnownAnswers
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.errors import InputError, ScoreError
from kgeval.scorers.adapters.functions import OF_TRIPLES, FunctionScorer, ScoreFunction
from kgeval.scorers.adapters.score_arrays import as_array, as_float64
from kgeval.scorers.scorer import refuse_other_queries

BATCH_TRIPLES = 2**17
"""triples of a call, for each of which a function may need much memory; fewer where that is lacking"""


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
        return tuple(side for side in SIDES if getattr(self, side) is not None)

    @property
    def num_relations(self) -> int:
        """How many relations have a label; without labels, how many the triples speak of: the largest id and one."""
        if self.relations is not None:
            return len(Vocabulary.of(self.relations, "relation"))
        return int(self.triples.relations.max(initial=-1)) + 1

    def array_of(self, side: Side) -> npt.NDArray[Any]:
        array: npt.NDArray[Any] | None = getattr(self, side)
        if array is None:
            other = "tail" if side == "head" else "head"
            raise InputError(f"the {self.what} has no {self.content} of {side}s. Evaluate sides=('{other}',).")
        return array

    def rows_of(self, queries: Queries) -> IntArray:
        """Find the first row of each query; int64[query]."""
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
        found = {}
        for side in self.sides:
            anchors, relations, _ = self.triples.queries_of_side(side)
            numbered = np.stack([anchors, relations, np.arange(len(anchors))], 1)
            found[side] = KnownAnswers.of([Triples(numbered, self.triples.contexts)], "tail")
        return found


def _label(labels: Labels | None, kind: str, index: int) -> str:
    return str(index) if labels is None else repr(Vocabulary.of(labels, kind)[int(index)])


class CallableScorer(FunctionScorer):
    """Any function of equally long id arrays or tensors: ``f(heads, relations, tails) -> scores``.

    A function of four, ``f(heads, relations, tails, times)``, scores facts of a temporal graph at their times; where
    the fourth has a default, facts without a time are scored by three. A PyTorch module is such a function too;
    :class:`kgeval.scorers.adapters.functions.FunctionCaller` calls it.

    Parameters
    ----------
    function
        the function
    num_entities, num_relations
        how many ids it knows; labels tell that too
    entities, relations
        the label of each of its ids, where those are not the ids of the dataset: a list, an array or a ``Vocabulary``,
        or a dictionary of the id of each label
    times
        likewise, of the ids of times

    Raises
    ------
    InputError
        if it takes other arguments, or if neither a number nor labels are given

    Examples
    --------
    >>> from kgeval.data.triples import Triples
    >>> scorer = CallableScorer(lambda h, r, t: -abs(h + r - t), num_entities=5, num_relations=2)
    >>> scorer.scores(Queries.of(Triples.of([(1, 1, 2)]), "tail"), np.arange(5))
    array([[-2., -1.,  0., -1., -2.]])
    >>> CallableScorer(lambda h, r, t: h - t, entities=["Italy", "Rome"], relations=["capital"]).num_entities
    2
    """

    def __init__(
        self,
        function: ScoreFunction,
        num_entities: int | None = None,
        num_relations: int | None = None,
        *,
        entities: Labels | None = None,
        relations: Labels | None = None,
        times: Labels | None = None,
    ) -> None:
        super().__init__(function, OF_TRIPLES, BATCH_TRIPLES, entities, relations, times)
        self.num_entities = _size(num_entities, self.entities, "entities")
        self.num_relations = _size(num_relations, self.relations, "relations")

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Call the function with one row per query and candidate.

        Raises
        ------
        ScoreError
            if it returns another number of scores, or what is no number
        """
        refuse_other_queries(queries, candidates)
        shape = (len(queries), candidates.shape[-1])
        # Copies: a function may write into what it is given, and torch warns of arrays that it may not write into.
        anchors = np.broadcast_to(queries.anchors[:, None], shape).flatten()
        relations = np.broadcast_to(queries.relations[:, None], shape).flatten()
        others = np.broadcast_to(candidates, shape).flatten()
        heads, tails = (others, anchors) if queries.side == "head" else (anchors, others)
        columns = [heads, relations, tails]
        columns += [np.broadcast_to(times[:, None], shape).flatten() for times in self._times_of(queries)]

        def score(part: slice) -> Float64Array:
            values = as_float64(self._called(*(column[part] for column in columns)), "the scoring function")
            if values.size != len(others[part]):
                raise ScoreError(
                    f"the scoring function returned {values.size} scores for {len(others[part])} triples (shape "
                    f"{values.shape}); expected one for each."
                )
            return values.ravel()

        return np.concatenate([np.empty(0), *self._batches.compute(score, len(others))]).reshape(shape)


class ScoreTable(TripleArrays):
    """Scores of all entities in the place of one side of some triples, computed elsewhere.

    Parameters
    ----------
    triples
        the triples that the rows belong to
    head, tail
        float[triple, entity], arrays or tensors; row ``i`` holds the score of every entity in the place of triple
        ``i``'s head or tail; one of them may be missing, and that side is then not evaluated. An array may be mapped
        from disk (``np.load(path, mmap_mode="r")``)
    entities, relations
        the label of each column, and of each relation id, where those are not the ids of the dataset, as
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
        """Look the scores up; rows of triples that ask the same query hold the same scores.

        Raises
        ------
        InputError
            if the table has no row for a query
        """
        refuse_other_queries(queries, candidates)
        table = self.array_of(queries.side)
        return as_float64(table[self.rows_of(queries)[:, None], candidates], "the score table")


def _size(size: int | None, labels: Vocabulary | None, what: str) -> int:
    if size is None and labels is None:
        raise InputError(f"a callable needs num_{what}, or the labels of its ids as {what}=[…].")
    return int(size) if size is not None else len(labels or ())
