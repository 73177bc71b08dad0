"""Personalised PageRank against networkx, and the same bits whatever the batch."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import Baseline, evaluate
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from tests.conftest import random_dataset


@settings(max_examples=25)
@given(seed=st.integers(0, 2**16), damping=st.sampled_from([0.5, 0.85]))
def test_visits_are_those_of_networkx(seed, damping):
    data = random_dataset(seed, entities=12, relations=2, triples=20)
    graph = nx.Graph(zip(data.train.heads.tolist(), data.train.tails.tolist(), strict=True))
    fitted = Baseline("ppr", damping=damping, iterations=200).fit(data)
    for anchor in graph:
        queries = Queries.of(Triples.of([(anchor, 0, anchor)]), "tail")
        found = fitted.scores(queries, np.arange(12))[0]
        expected = nx.pagerank(graph, damping, personalization={anchor: 1}, tol=1e-12, max_iter=1000)
        expected[anchor] = 0
        assert found == pytest.approx([expected.get(entity, 0) for entity in range(12)], abs=1e-7)
        clear = [(a, b) for a in graph for b in graph if expected[a] > expected[b] + 1e-6]
        assert all(found[a] > found[b] for a, b in clear)


@pytest.mark.parametrize("batch", [1, 40, 10**6])
def test_no_batch_changes_a_bit(batch):
    data = random_dataset(3, entities=40, relations=3, triples=400)
    queries = Queries.of(data.test, "tail")
    fitted = Baseline("ppr").fit(data)
    before = fitted.scores(queries, np.arange(40))
    table = evaluate(Baseline("ppr"), data)
    fitted = replace(fitted, model=replace(fitted.model, batch_visits=batch))
    assert (fitted.scores(queries, np.arange(40)) == before).all()
    one = [fitted.scores(queries[row : row + 1], np.arange(40))[0] for row in range(len(queries))]
    assert (np.stack(one) == before).all()
    for size in (1, 7):
        assert evaluate(Baseline("ppr"), data, batch_size=size).data.equals(table.data)


def test_candidates_of_each_query_get_the_same_scores():
    data = random_dataset(4, entities=20, relations=2, triples=120)
    queries, fitted = Queries.of(data.test, "head"), Baseline("ppr").fit(data)
    own = np.random.default_rng(0).integers(0, 20, (len(queries), 5))
    whole = fitted.scores(queries, np.arange(20))
    assert (fitted.scores(queries, own) == np.take_along_axis(whole, own, axis=1)).all()
