"""Finished scores: each becomes float64 exactly as it was, or the evaluation says what it was given."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kgeval import CallableScorer, ScoreTable, Triples, evaluate
from kgeval.base.errors import InputError, ScoreError
from kgeval.models.scorer import as_float64
from tests.conftest import random_dataset

DATA = random_dataset(5)
HASHES = (np.arange(30)[:, None] * 7 + np.arange(30)) % 11
"""int64[entity, entity]; few values, so that many tie, and each is exact in every type"""


class Custom:
    """A scorer of its own kind, whose scores go through ``make``."""

    num_entities, num_relations = 30, 4

    def __init__(self, make):
        self.make = make

    def scores(self, queries, candidates):
        scores = HASHES[queries.anchors[:, None], np.broadcast_to(candidates, (len(queries), candidates.shape[-1]))]
        return self.make(scores)


def ranks(make):
    """The ranks of one set of scores, brought along the three ways that finished scores come."""
    tails = np.stack([HASHES[h] for h, _, _ in DATA.test.ids])
    heads = np.stack([HASHES[t] for _, _, t in DATA.test.ids])
    scorers = {
        "callable": CallableScorer(lambda h, r, t: make(HASHES[h, t][:, None]), 30, 4),
        "table": ScoreTable(DATA.test.ids, head=make(heads), tail=make(tails)),
        "custom": Custom(make),
    }
    return {name: evaluate(scorer, DATA, sides=("tail",)).to_pandas() for name, scorer in scorers.items()}


MAKERS = {
    "parameter": lambda scores: torch.nn.Parameter(torch.from_numpy(scores.astype(np.float32))),
    "bfloat16": lambda scores: torch.from_numpy(scores).to(torch.bfloat16),
    "half": lambda scores: torch.from_numpy(scores).half(),
    "int tensor": torch.from_numpy,
    "with gradient": lambda scores: torch.nn.Parameter(torch.from_numpy(scores * 1.0)) * 1,
    "list": lambda scores: scores.tolist(),
    "int8": lambda scores: scores.astype(np.int8),
    "uint64": lambda scores: scores.astype(np.uint64),
    "longdouble": lambda scores: scores.astype(np.longdouble),
    "beyond 2^53, exact": lambda scores: scores << 56,
}
COLUMNS = ["greater", "tied", "candidates"]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_whatever_float64_holds_gives_the_same_ranks(make):
    expected = ranks(lambda scores: scores.astype(np.float64))["callable"][COLUMNS]
    for name, found in ranks(make).items():
        assert found[COLUMNS].equals(expected), name


def test_truth_values_are_scores():
    found, expected = ranks(lambda scores: scores > 5), ranks(lambda scores: (scores > 5) * 1.0)
    assert all(found[name].equals(expected[name]) for name in found)


REFUSED = {
    "text": (lambda scores: scores.astype(str), r"dtype <U\d+; expected real numbers"),
    "bytes": (lambda scores: scores.astype(bytes), "expected real numbers"),
    "complex": (lambda scores: scores + 0j, "dtype complex128; expected real numbers"),
    "complex tensor": (lambda scores: torch.from_numpy(scores + 0j), "dtype complex128; expected real numbers"),
    "objects": (lambda scores: np.full(scores.shape, Fraction(1, 3)), "dtype object; expected real numbers"),
    "nothing": (lambda scores: np.full(scores.shape, None), "dtype object; expected real numbers"),
    "dates": (lambda scores: scores.astype("M8[s]"), "expected real numbers"),
    "spans of time": (lambda scores: scores.astype("m8[s]"), "expected real numbers"),
    "beyond 2^53": (lambda scores: scores + 2**53, "the score 90071992547409.*, which float64 cannot hold exactly"),
    "below -2^53": (lambda scores: scores - 2**53 - 20, "the score -90071992547.*, which float64 cannot hold exactly"),
    "uint64": (lambda scores: np.uint64(2**64 - 1) - scores.astype(np.uint64), "the score 1844.* cannot hold exactly"),
    "long tensor": (lambda scores: torch.from_numpy(scores + 2**60 + 1), "cannot hold exactly"),
    "masked": (lambda scores: np.ma.masked_equal(scores, 3), "masked scores"),
    "sparse tensor": (lambda scores: torch.from_numpy(scores * 1.0).to_sparse(), "not an array of real numbers"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_whatever_float64_does_not_hold_is_refused(make, message):
    tails = np.stack([HASHES[h] for h, _, _ in DATA.test.ids])
    for source, scorer in (
        ("the scoring function", lambda: CallableScorer(lambda h, r, t: make(HASHES[h, t]), 30, 4)),
        ("the score table", lambda: ScoreTable(DATA.test, tail=make(tails))),
        ("the scorer", lambda: Custom(make)),
    ):
        with pytest.raises(ScoreError, match=rf"{source}.* gave .*{message}"):
            evaluate(scorer(), DATA, sides=("tail",))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long doubles are doubles on this machine")
def test_a_long_double_is_not_rounded():
    with pytest.raises(ScoreError, match="cannot hold exactly"):
        as_float64(np.array([1, np.nextafter(np.longdouble(1), 2)]), "the model")
    with pytest.raises(ScoreError, match="cannot hold exactly"):
        as_float64(np.array([np.longdouble(2) ** 2000]), "the model")
    special = np.array([np.nan, np.inf, -np.inf, 0.5], np.longdouble)
    np.testing.assert_array_equal(as_float64(special, "the model"), special.astype(np.float64))


@settings(deadline=None)
@given(arrays.arrays(st.sampled_from([np.int64, np.uint64]), st.integers(0, 8)))
def test_integers_are_exact_or_refused(scores):
    """A whole number is exact in float64 if it comes back from Python's float, which rounds to nearest."""
    exact = all(int(float(score)) == score for score in scores.tolist())
    if exact:
        assert as_float64(scores, "the model").tolist() == scores.tolist()
    else:
        with pytest.raises(ScoreError, match="which float64 cannot hold exactly"):
            as_float64(scores, "the model")


@pytest.mark.parametrize("returned", [None, "high", object, [[1, 2], [3]], {"score": 1}], ids=repr)
def test_what_is_no_array_is_refused(returned):
    with pytest.raises(ScoreError, match="the scoring function gave "):
        evaluate(lambda h, r, t: returned, DATA)
    with pytest.raises(ScoreError, match=r"gave tuple, .*Give only the scores, as an array or a tensor\."):
        evaluate(lambda h, r, t: (h * 1.0, returned), DATA)


def test_a_score_table_in_its_own_ids_says_that_its_triples_are_too():
    order = np.random.default_rng(0).permutation(30)
    table = ScoreTable(DATA.test, tail=np.zeros((len(DATA.test), 30)), entities=[DATA.entities[int(i)] for i in order])
    with pytest.raises(
        InputError, match=r"has no row for the tail query.*triples must be the evaluated ones, in the ids of entities="
    ):
        evaluate(table, DATA)


@pytest.mark.parametrize(
    ("head", "tail", "message"),
    [
        (None, np.zeros(30), r"tail has shape \(30,\); expected one row for each of the 2 triples"),
        ([[0.5] * 30], None, r"head has shape \(1, 30\); expected one row for each"),
        (np.zeros((2, 29)), np.zeros((2, 30)), "head and tail have 29 and 30 columns"),
        (None, None, "needs the scores of heads or tails"),
    ],
)
def test_a_score_table_of_another_shape_is_refused(head, tail, message):
    with pytest.raises(InputError, match=message):
        ScoreTable(Triples.of([(0, 0, 1), (0, 0, 2)]), head=head, tail=tail)


def test_a_live_model_may_be_in_bfloat16():
    from pykeen.models import DistMult
    from pykeen.triples import CoreTriplesFactory

    factory = CoreTriplesFactory.create(torch.from_numpy(DATA.train.ids), num_entities=30, num_relations=4)
    model = DistMult(triples_factory=factory, embedding_dim=4, random_seed=0).to(torch.bfloat16)
    assert len(evaluate(model, DATA)) == 2 * len(DATA.test)


def test_a_signalling_nan_is_nan_without_a_warning():
    scores = np.array([0x7F800001, 0x3F800000], np.uint32).view(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = as_float64(scores, "the model")
    assert np.isnan(found[0])
    assert found[1] == 1
