"""Vector scorers whose arrays do not fit together are refused with the shapes, however they are ranked."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest

from kgeval import VectorScorer, evaluate
from kgeval.corruption import Uniform
from kgeval.errors import ScoreError
from tests.conftest import random_dataset

DATA = random_dataset(6)


class Ones(VectorScorer):
    """Arrays of ones, in the shapes that are wanted."""

    similarity = "dot"
    num_entities, num_relations = 30, 4

    def __init__(self, **shapes):
        self.shapes = shapes

    def _ones(self, name, *usual):
        return np.ones(self.shapes.get(name, lambda *shape: shape)(*usual))

    def query_vectors(self, queries):
        return self._ones("query", len(queries), 8)

    def entity_vectors(self, side, ids):
        return self._ones("entity", len(ids), 8)

    def entity_biases(self, side, ids):
        return self._ones("biases", len(ids))

    def query_offsets(self, queries):
        return self._ones("offsets", len(queries))


@pytest.mark.parametrize("how", [{}, {"nan": "worst"}, {"corruption": Uniform(count=5)}], ids=str)
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"entity": lambda n, _: (n, 6)}, r"query vectors have shape \(\d+, 8\), its entity vectors \(\d+, 6\)"),
        ({"query": lambda n, dim: (n - 1, dim)}, r"returned 7 query vectors for 8 queries: shape \(7, 8\)"),
        ({"query": lambda n, dim: (n,)}, r"returned 8 query vectors for 8 queries: shape \(8,\), expected \(8, dim\)"),
        ({"entity": lambda n, dim: (n + 1, dim)}, r"returned 31 entity vectors for 30 entities"),
        ({"entity": lambda n, dim: (n,)}, r"shape \(30,\), expected \(30, dim\)"),
        ({"entity": lambda n, dim: ()}, r"returned a single number as entity vectors for 30 entities"),
        ({"biases": lambda n: (n, 1)}, r"entity biases for 30 entities: shape \(30, 1\), expected \(30,\)"),
        ({"offsets": lambda n: (n - 1,)}, r"returned 7 query offsets for 8 queries"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(how, shapes, message):
    with pytest.raises(ScoreError, match=message):
        evaluate(Ones(**shapes), DATA, **how)


def test_shapes_that_fit_are_ranked():
    assert evaluate(Ones(), DATA).column("tied").max() > 0


def test_query_vectors_of_several_widths_are_refused(monkeypatch):
    """They are computed in batches, which are concatenated."""
    monkeypatch.setattr("kgeval.ranking.engine.QUERY_VECTOR_BATCH", 4)
    widths = cycle([8, 7])
    with pytest.raises(ScoreError, match="query vectors have 8 dimensions for some queries, 7 for others"):
        evaluate(Ones(query=lambda n, dim: (n, next(widths) if n <= 4 else dim)), DATA)
