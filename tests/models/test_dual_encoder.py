"""Dual encoders: ranks by brute force over the cosines, tails alone without a word, rows that cannot be right."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval import DualEncoder, ScoreTable, answers, evaluate, explain, predict, summarize
from kgeval.base.errors import InputError
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Triples
from kgeval.models.similarity import canonical
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset

DATA = random_dataset(8)
RNG = np.random.default_rng(0)
ENTITY = RNG.integers(-2, 3, (30, 6)).astype(np.float32)  # of so few values, many cosines tie
ENTITY[:, 0] += 5
QUERY = {side: RNG.integers(1, 4, (30, 4, 6)).astype(np.float32) for side in SIDES}
"""the vector of each anchor and relation"""


def rows(triples, side):
    """One row for each triple, as an encoder writes them."""
    anchors, relations, _ = triples.queries_of_side(side)
    return QUERY[side][anchors, relations]


def encoder(*sides, triples=DATA.test, similarity="cosine", **options):
    queries = {side: rows(triples, side) for side in sides}
    return DualEncoder(triples, ENTITY, similarity=similarity, **queries, **options)


def dot(h, r, t, side):
    anchor, answer = (h, t) if side == "tail" else (t, h)
    return float(QUERY[side][anchor, r].astype(np.float64) @ ENTITY[answer])


@pytest.mark.parametrize("sides", [("tail",), ("head",), ("head", "tail")])
def test_ranks_are_those_of_brute_force_on_the_sides_that_there_are(sides):
    table = evaluate(encoder(*sides, similarity="dot"), DATA)
    expected = {}
    for side in sides:
        expected |= brute_force(lambda h, r, t, side=side: dot(h, r, t, side), DATA, sides=(side,))
    assert as_counts(table) == expected
    assert table.column("tied").any()


def test_cosines_are_those_of_a_vector_scorer():
    """Which tests/models/test_similarity.py compares with scikit-learn's and with whole fractions."""
    scores = canonical("cosine", rows(DATA.test, "tail").astype(np.float64)[:, None], ENTITY.astype(np.float64)[None])
    assert as_counts(evaluate(encoder("tail"), DATA)) == as_counts(evaluate(ScoreTable(DATA.test, tail=scores), DATA))


@pytest.mark.parametrize("own_ids", [False, True])
def test_each_triple_is_ranked_by_its_own_row(own_ids):
    """Two triples of one query, whose rows differ; in other ids too."""
    labels = [f"e{index}" for index in range(5)]
    facts = {"train": [("e0", "r", "e1"), ("e1", "r", "e2"), ("e3", "r", "e4")]}
    data = Dataset.from_labels(**facts, test=[("e0", "r", "e2"), ("e0", "r", "e3")])
    scores = np.array([[0, 1, 9, 2, 3], [0, 1, 2, 9, 3]], float)  # the answer of each row's triple is its best
    order = np.arange(5)[::-1] if own_ids else np.arange(5)
    triples = [(order[h], r, order[t]) for h, r, t in data.test.ids]
    names = {"entities": [labels[index] for index in order], "relations": ["r"]} if own_ids else {}
    table = evaluate(ScoreTable(triples, tail=scores[:, order], **names), data)
    assert table.column("score").tolist() == [9, 9]
    assert table.column("greater").tolist() == table.column("raw_greater").tolist() == [0, 0]
    noisy = np.array([[1.0, 0.0], [1.0, 0.001]])
    vectors = np.array([[0, 0], [0, 0], [1, 0.5], [1, -0.5], [0, 0]])[order]
    encoder = DualEncoder(triples, vectors, similarity="dot", tail=noisy, **names)
    assert evaluate(encoder, data).column("score") == pytest.approx([1, 1 - 0.0005], rel=1e-12)


def test_a_model_of_tails_alone_is_evaluated_on_tails_and_the_result_says_so():
    table = evaluate(encoder("tail"), DATA)
    assert set(table.column("side")) == {"tail"}
    assert "the model predicts tails only." in table.notes
    assert "the model predicts tails only." not in evaluate(encoder("head", "tail"), DATA).notes
    assert summarize(table, ["mrr"])["mrr"] == summarize(table, ["tail.mrr"])["tail.mrr"]


def test_whatever_ranks_takes_the_sides_that_there_are():
    scores = predict(encoder("tail"), DATA, k=2)
    assert set(scores.column("side")) == {"tail"}
    assert explain(encoder("tail"), DATA, "pykeen").rows[0].protocol == "pykeen"
    both = Triples(np.concatenate([DATA.valid.ids, DATA.test.ids]))
    assert set(answers(encoder("tail", triples=both), DATA).ranks.column("side")) == {"tail"}


def test_labels_put_the_rows_in_any_order():
    order = RNG.permutation(30)
    labels = [DATA.entities[int(index)] for index in order]
    renumbered = np.argsort(order)[DATA.test.ids[:, [0, 2]]]
    triples = np.stack([renumbered[:, 0], DATA.test.relations, renumbered[:, 1]], axis=1)
    names = {"entities": labels, "relations": DATA.relations}
    model = DualEncoder(triples, ENTITY[order], similarity="dot", tail=rows(DATA.test, "tail"), **names)
    assert as_counts(evaluate(model, DATA)) == as_counts(evaluate(encoder("tail", similarity="dot"), DATA))


def test_a_side_or_a_query_that_was_not_encoded_is_named():
    with pytest.raises(InputError, match=r"dual encoder has no query vectors of heads. Evaluate sides=\('tail',\)"):
        evaluate(encoder("tail"), DATA, sides=("head", "tail"))
    partial = encoder("tail", triples=DATA.valid)
    with pytest.raises(InputError, match=r"dual encoder has no row for the tail query with anchor \d+ and relation"):
        evaluate(partial, DATA)
    named = encoder("tail", triples=DATA.valid, entities=DATA.entities, relations=DATA.relations)
    with pytest.raises(InputError, match=r"no row for the tail query with anchor 'e\d{4}' and relation 'r\d\d'"):
        evaluate(named, DATA)


def test_noise_of_batches_is_let_through_and_another_order_is_not():
    triples = Triples.of([(0, 0, 1), (0, 0, 2), (1, 0, 2)])
    vectors = np.array([[1.0, 0], [1.0, 0.005], [0, 1]])

    def scores(order):
        model = DualEncoder(triples, np.eye(3)[:, :2], similarity="dot", tail=vectors[order])
        return model.scores(Queries.of(triples, "tail"), np.arange(3)).tolist()

    assert scores([0, 1, 2]) == scores([0, 0, 2])
    with pytest.raises(InputError, match=r"rows 0 and 1 of tail have the same query, but differ. Are the rows in"):
        scores([0, 2, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tail": np.ones((2, 3))}, r"vectors have shape \(3, 2\), those of queries 3 dimensions"),
        ({"tail": np.ones((2, 2)), "similarity": "cosin"}, "unknown similarity 'cosin'. Did you mean 'cosine'"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, message):
    triples = Triples.of([(0, 0, 1), (0, 0, 2)])
    with pytest.raises(InputError, match=message):
        DualEncoder(triples, np.ones((3, 2)), **{"similarity": "dot", **arguments})
