"""Draws: the probabilities of the definition, distinct, unknown, and a function of their key alone."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from kgeval import CallableScorer, evaluate
from kgeval.data.known import known_answers
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import Triples
from kgeval.ranking.corruption import DegreeWeighted, PopularityWeighted, Uniform
from kgeval.ranking.corruption.keyed_draws import draw_weighted
from tests.conftest import random_dataset

DATA = random_dataset(5)
EVERYTHING = [DATA.train, DATA.valid, DATA.test]


KINDS = [Uniform, PopularityWeighted, DegreeWeighted]


def drawn(generator, queries, known=None):
    return generator.candidates(queries, known or known_answers(queries, EVERYTHING), DATA).rows


def weights_of(kind, side):
    if kind is Uniform:
        return np.ones(30)
    counts = Counter()
    for head, _, tail in DATA.train.ids.tolist():
        counts.update([head, tail] if kind is DegreeWeighted else [head if side == "head" else tail])
    return np.array([counts[entity] for entity in range(30)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["head", "tail"])
def test_entities_are_drawn_by_their_weight(kind, side):
    every = [(a, r, 0) if side == "tail" else (0, r, a) for a in range(30) for r in range(400)]
    queries = Queries.of(Triples.of(every), side)
    rows = drawn(kind(count=1, seed=1), queries, known_answers(queries, []))
    weights = weights_of(kind, side)
    counts = np.bincount(rows.ids, minlength=30)
    assert not counts[weights == 0].any()
    held = weights > 0
    assert chisquare(counts[held], weights[held] / weights.sum() * counts.sum()).pvalue > 1e-3


def test_pairs_are_drawn_one_after_the_other_by_what_is_left():
    weights = np.array([1, 6, 0, 3])
    anchors, relations = np.divmod(np.arange(20_000), 100)
    avoid = Rows.sized(np.zeros(20_000, np.int64), np.empty(0, np.int64))
    rows = draw_weighted(2, weights, avoid, (4, 1), anchors, relations)
    expected = Counter()
    for first, second in permutations([0, 1, 3], 2):
        expected[min(first, second), max(first, second)] += (
            weights[first] / 10 * weights[second] / (10 - weights[first])
        )
    seen = Counter(map(tuple, rows.ids.reshape(-1, 2).tolist()))
    assert seen.keys() == expected.keys()
    pairs = sorted(expected)
    assert chisquare([seen[pair] for pair in pairs], [20_000 * expected[pair] for pair in pairs]).pvalue > 1e-3


@given(
    weights=st.lists(st.integers(0, 2**40), min_size=1, max_size=40),
    count=st.integers(1, 50),
    seed=st.integers(0, 2**63 - 1),
    data=st.data(),
)
def test_a_draw_is_distinct_possible_and_a_function_of_its_key(weights, count, seed, data):
    avoided = data.draw(st.lists(st.sets(st.integers(0, len(weights) - 1)), min_size=1, max_size=5))
    avoid = Rows.of([sorted(row) for row in avoided])
    anchors = np.arange(len(avoided))
    rows = draw_weighted(count, np.array(weights), avoid, (seed, 0), anchors, anchors % 2)
    for query, row in enumerate(avoided):
        possible = {number for number, weight in enumerate(weights) if weight} - row
        found = rows.row(query).tolist()
        assert found == sorted(set(found))
        assert set(found) <= possible
        assert len(found) == min(count, len(possible))
        one = slice(query, query + 1)
        alone = draw_weighted(count, np.array(weights), avoid[one], (seed, 0), anchors[one], anchors[one] % 2)
        assert alone.ids.tolist() == found


@pytest.mark.parametrize("kind", KINDS)
def test_order_and_shards_change_no_draw_but_seed_and_side_do(kind):
    queries, generator = Queries.of(DATA.test, "head"), kind(count=5, seed=3)
    rows, known = drawn(generator, queries), known_answers(queries, EVERYTHING)
    assert drawn(generator, Queries.of(Triples(DATA.test.ids[::-1]), "head")).ids.tolist() == rows.ids.tolist()
    assert drawn(generator, queries[4:8], known[4:8]).ids.tolist() == rows[4:8].ids.tolist()
    assert drawn(kind(count=5, seed=4), queries).ids.tolist() != rows.ids.tolist()
    heads, tails = (Queries.of(Triples.of([(1, 1, 1)]), side) for side in ("head", "tail"))
    nothing = known_answers(heads, [])
    assert drawn(kind(count=8), heads, nothing).ids.tolist() != drawn(kind(count=8), tails, nothing).ids.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_known_answers_are_drawn_only_where_they_are_allowed(kind):
    queries = Queries.of(DATA.test, "tail")
    known, rows = known_answers(queries, EVERYTHING), drawn(kind(count=8), queries)
    for query in range(len(queries)):
        row = rows.row(query).tolist()
        assert row == sorted(set(row) - set(known.row(query).tolist()))
        assert len(row) == 8 or kind is PopularityWeighted
    allowed = drawn(kind(count=30, allow_known=True), queries)
    assert (allowed.lengths == (weights_of(kind, "tail") > 0).sum()).all()


@pytest.mark.parametrize("kind", [Uniform, DegreeWeighted])
def test_a_short_list_is_noted_and_not_padded(kind):
    """A draw of every entity gives the filtered counts of all entities."""
    scorer = CallableScorer(lambda h, r, t: (h * 7 + r * 3 + t * 5) % 11, 30, 4)
    assert (weights_of(DegreeWeighted, "tail") > 0).all()
    table, full = evaluate(scorer, DATA, corruption=kind(count=30)), evaluate(scorer, DATA)
    for name in ("greater", "tied", "candidates"):
        assert table.column(name).tolist() == full.column(name).tolist()
    assert any("with fewer than 30 possible negatives" in note for note in table.notes)
