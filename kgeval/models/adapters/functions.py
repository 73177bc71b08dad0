"""Scorers by a user's function: ``CallableScorer`` of triples, ``QueryScorer`` of queries and all their candidates.

The function may be a PyTorch module, and takes NumPy arrays or PyTorch tensors. Whole-graph models such as NBFNet and
ULTRA are functions of queries. Users make these scorers; ``alignment.py`` makes one of a plain function of triples.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from copy import copy

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.base.errors import InputError, ScoreError
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Side, triple_of
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.models.adapters.calling import FunctionCaller, ScoreFunction, ShrinkingBatches, positional_parameters
from kgeval.models.scorer import as_array, as_float64, checked_sides, refuse_other_queries

TIMES = "times"
"""the name of the further argument of a function that scores facts at their times"""

TIME_NAMES = {"time", "times", "timestamp", "timestamps", "date", "dates", "ts", "tau", "year", "day"}
"""the names by which a further parameter of a function, whose default is no number, is recognised as the time"""


class FunctionScorer:
    """A scoring function with the labels of its ids: the base of all scorers by a function.

    >>> functions = (lambda h, r, t, tau: h, lambda h, r, t, scale=2: h)
    >>> [FunctionScorer(function, OF_TRIPLES, 9, None, None, None).takes_times for function in functions]
    [True, False]
    """

    def __init__(
        self, function: ScoreFunction, parameters: Sequence[str], batch_size: int, *labels: Labels | None
    ) -> None:
        """``labels`` are three: labels of entities, of relations and of times."""
        self.function = function
        self.entities, self.relations, self.times = (
            None if given is None else Vocabulary.of(given, kind)
            for given, kind in zip(labels, ("entity", "relation", "time"), strict=True)
        )
        following = positional_parameters(function)[len(parameters) : len(parameters) + 1]
        # A number as default is not of a time, but perhaps of a temperature.
        named = [it for it in following if it.name.lower() in TIME_NAMES and not isinstance(it.default, int | float)]
        self.takes_times = self.times is not None or bool(named)
        self._needs_times = self.times is not None or any(it.default is inspect.Parameter.empty for it in named)
        self._called = FunctionCaller(function, (*parameters, TIMES) if self.takes_times else parameters)
        self._batches = ShrinkingBatches(batch_size)

    @property
    def title(self) -> str:
        """Its name in results: the function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def _times_of(self, queries: Queries) -> tuple[IntArray, ...]:
        """The times of the queries, if the function gets any."""
        return (queries.times,) if self.takes_times and (self._needs_times or queries.contexts is not None) else ()


OF_TRIPLES = ("heads", "relations", "tails")

BATCH_TRIPLES = 2**17
"""the most triples of a call; fewer if memory is short"""


class CallableScorer(FunctionScorer):
    """Any function of equally long id arrays or tensors: ``f(heads, relations, tails) -> scores``.

    A function of four, ``f(heads, relations, tails, times)``, scores facts of a temporal graph at their times; if the
    fourth has a default, it also scores facts without a time. A PyTorch module is such a function too;
    :class:`kgeval.models.adapters.calling.FunctionCaller` calls it.

    Parameters
    ----------
    function
        the function
    num_entities, num_relations
        the number of ids it knows; with labels it is not needed
    entities, relations
        the label of each of its ids, if these are not the ids of the dataset: a list, an array or a ``Vocabulary``,
        or a dictionary of the id of each label
    times
        the labels of its time ids, given likewise

    Raises
    ------
    InputError
        if it has other parameters, or if neither a number nor labels are given

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
            if it returns another number of scores, or anything but numbers
        """
        refuse_other_queries(queries, candidates)
        shape = (len(queries), candidates.shape[-1])
        # Copies: a function may write into what it is given, and torch warns of arrays that it may not write into.
        asked = [ids[:, None] for ids in (queries.anchors, queries.relations, *self._times_of(queries))]
        others, anchors, relations, *times = (np.broadcast_to(ids, shape).flatten() for ids in (candidates, *asked))
        columns = (*triple_of(queries.side, anchors, relations, others), *times)

        def score(part: slice) -> Float64Array:
            values = as_float64(self._called(*(column[part] for column in columns)), "the scoring function")
            if values.size != len(others[part]):
                fault = f"{values.size} scores for {len(others[part])} triples (shape {values.shape})"
                raise ScoreError(f"the scoring function returned {fault}; expected one for each.")
            return values.ravel()

        return np.concatenate([np.empty(0), *self._batches.compute(score, len(others))]).reshape(shape)


def _size(size: int | None, labels: Vocabulary | None, what: str) -> int:
    if size is None and labels is None:
        raise InputError(f"a callable needs num_{what}, or the labels of its ids as {what}=[…].")
    return int(size) if size is not None else len(labels or ())


OF_QUERIES = ("anchors", "relations", "side")

BATCH_QUERIES = 32
"""the most queries of a call: message passing over the whole graph needs memory for each query"""


class QueryScorer(FunctionScorer):
    """A function of queries: ``f(anchors, relations, side) -> scores``, float[query, entity].

    The anchors and relations are equally long arrays of ids, or tensors if the function accepts these (a PyTorch module
    is in evaluation mode while it scores, and gets them on its device); ``side``, ``"head"`` or ``"tail"``, is the side
    that is predicted. A column is an entity. Each distinct query is scored once. A function with a fourth argument
    called ``times`` (or ``time``, ``tau``, …) also gets the times of a temporal graph's queries; if it has a default,
    the function also scores queries without a time.

    Parameters
    ----------
    function
        the function
    num_entities, num_relations
        the number of ids it knows, if not those of the dataset; with labels it is not needed
    sides
        the sides that it predicts
    batch_size
        the most queries of a call; fewer if memory is short
    entities, relations, times
        the label of each of its ids, if these are not the ids of the dataset

    Raises
    ------
    InputError
        if it has other parameters, or there is no such side

    Examples
    --------
    >>> from kgeval.data.triples import Triples
    >>> near = QueryScorer(lambda anchors, relations, side: -abs(anchors[:, None] - np.arange(4)), 4, 1, sides="tail")
    >>> near.scores(Queries.of(Triples.of([(1, 0, 2), (3, 0, 2)]), "tail"), np.arange(4))
    array([[-1,  0, -1, -2],
           [-3, -2, -1,  0]])
    """

    def __init__(
        self,
        function: ScoreFunction,
        num_entities: int | None = None,
        num_relations: int | None = None,
        *,
        sides: Side | Sequence[Side] = SIDES,
        batch_size: int = BATCH_QUERIES,
        entities: Labels | None = None,
        relations: Labels | None = None,
        times: Labels | None = None,
    ) -> None:
        super().__init__(function, OF_QUERIES, batch_size, entities, relations, times)
        self.num_entities = len(self.entities) if self.entities is not None else num_entities or 0
        self.num_relations = len(self.relations) if self.relations is not None else num_relations or 0
        self.sides = checked_sides(sides)
        if batch_size < 1:
            raise InputError(f"batch_size: expected how many queries a call has, from 1; found {batch_size}.")

    def of_size(self, num_entities: int, num_relations: int) -> QueryScorer:
        """Set the numbers of ids, if neither numbers nor labels were given."""
        sized = copy(self)
        sized.num_entities = self.num_entities or num_entities
        sized.num_relations = self.num_relations or num_relations
        return sized

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Score all entities, and take the candidates (int64[candidate] or int64[query, candidate]).

        Raises
        ------
        InputError
            if it does not predict the side
        ScoreError
            if the function returns an array of another shape, or anything but numbers
        """
        refuse_other_queries(queries, candidates)
        if queries.side not in self.sides:
            raise InputError(f"the model predicts {self.sides[0]}s only. Evaluate sides=('{self.sides[0]}',).")

        def score(part: slice) -> FloatArray:
            rows = self._rows(queries[part])
            return rows[:, candidates] if candidates.ndim == 1 else np.take_along_axis(rows, candidates[part], axis=1)

        parts = [*self._batches.compute(score, len(queries))]
        return np.concatenate(parts) if parts else np.empty((0, candidates.shape[-1]))

    def _rows(self, queries: Queries) -> FloatArray:
        # Copies: a function may write into what it is given, and torch warns of arrays that it may not write into.
        times = [ids.copy() for ids in self._times_of(queries)]
        returned = self._called(queries.anchors.copy(), queries.relations.copy(), queries.side, *times)
        rows: FloatArray = as_array(returned, "the scoring function")
        expected = (len(queries), self.num_entities)
        if rows.shape != expected:
            fault = f"scores of shape {rows.shape} for {len(queries)} queries"
            raise ScoreError(f"the scoring function returned {fault}; expected {expected}, a row for each query.")
        return rows
