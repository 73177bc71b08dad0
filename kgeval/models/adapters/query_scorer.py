"""Whole-graph scorers, such as NBFNet and ULTRA: a function that scores all entities for a few queries at a time."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from kgeval.base.arrays import FloatArray, IntArray
from kgeval.base.errors import InputError, ScoreError
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Side
from kgeval.data.vocabulary import Labels
from kgeval.models.adapters.functions import FunctionScorer, ScoreFunction
from kgeval.models.adapters.score_arrays import as_array
from kgeval.models.scorer import checked_sides, refuse_other_queries

BATCH_QUERIES = 32
"""queries of a call: message passing over the whole graph needs memory for each"""


OF_QUERIES = ("anchors", "relations", "side")


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
            raise ScoreError(
                f"the scoring function returned scores of shape {rows.shape} for {len(queries)} queries; expected "
                f"{expected}: one for each query and entity."
            )
        return rows
