"""Relations as answers: (h, ?, t) is scored by the scores of t as the tail of (h, r), for each relation r."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.errors import InputError, ScoreError
from kgeval.scorers.adapters.prediction_lists import PredictionLists
from kgeval.scorers.adapters.score_arrays import as_float64
from kgeval.scorers.adapters.triple_arrays import TripleArrays
from kgeval.scorers.scorer import Scorer, VectorScorer
from kgeval.threads import slices

BATCH_TRIPLES = 2048
"""triples that are scored at a time, each with a query vector of its own"""


@dataclass(frozen=True, eq=False)
class RelationAnswers:
    """A scorer of relations, made of one of tails: a triple has the same score whichever of the two is predicted.

    Raises
    ------
    InputError
        if the model has scores of some queries only, or answers no tails

    Examples
    --------
    >>> from kgeval.scorers.adapters.array_scorers import CallableScorer
    >>> near = CallableScorer(lambda h, r, t: -abs(h + r - t), num_entities=9, num_relations=4)
    >>> queries = Queries.of(Triples.of([(1, 0, 3), (2, 1, 8)]), "relation")
    >>> RelationAnswers(near, near).scores(queries, np.arange(4))
    array([[-2., -1.,  0., -1.],
           [-6., -5., -4., -3.]])
    """

    tails: Scorer | VectorScorer
    """scores tails, in the ids of the queries"""
    model: Scorer | VectorScorer
    """what that is made of"""

    def __post_init__(self) -> None:
        if isinstance(self.model, TripleArrays):
            what = f"a {self.model.what} has {self.model.content} of its own queries alone, which name their relation"
        elif isinstance(self.model, PredictionLists):
            what = "lists of predictions are of entities"
        elif "tail" not in getattr(self.model, "sides", ("tail",)):
            what = "the model answers heads alone, and a relation is scored by the tail"
        else:
            return
        raise InputError(f"sides: the model cannot predict relations: {what}. Leave relation out of the sides.")

    @property
    def num_entities(self) -> int:
        """How many entities it knows."""
        return self.tails.num_entities

    @property
    def num_relations(self) -> int:
        """How many relations it knows."""
        return self.tails.num_relations

    def scores(self, queries: Queries, candidates: IntArray) -> Float64Array:
        """Score relations (int64[candidate] or int64[query, candidate]) between heads and tails."""
        shape = (candidates.shape[-1], len(queries))
        # One relation after the other: of many models, each has a scorer of its own.
        relations = np.broadcast_to(candidates.T if candidates.ndim == 2 else candidates[:, None], shape).ravel()
        heads, tails = (np.broadcast_to(ids, shape).ravel() for ids in (queries.anchors, queries.relations))
        times = None if queries.contexts is None else np.broadcast_to(queries.contexts, shape).ravel()
        found = np.empty(len(relations))
        for part in slices(len(found), BATCH_TRIPLES):
            ids = np.stack([heads[part], relations[part], tails[part]], axis=1)
            found[part] = self._of_tails(Triples(ids, None if times is None else times[part]))
        return np.ascontiguousarray(found.reshape(shape).T)

    def _of_tails(self, triples: Triples) -> Float64Array:
        """Score each triple by its tail; float64[triple].

        Raises
        ------
        ScoreError
            if the scorer returns an array of another shape, or what is no number
        """
        queries = Queries.per_triple(triples, "tail")
        scores = as_float64(self.tails.scores(queries, queries.answers[:, None]), "the scorer")
        if scores.shape != (len(triples), 1):
            expected = f"expected {(len(triples), 1)} (query, candidate)"
            raise ScoreError(f"the scorer returned scores of shape {scores.shape}, {expected}.")
        found = np.empty(len(triples))
        found[queries.triples] = scores[:, 0]
        return found
