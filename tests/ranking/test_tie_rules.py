"""Tie rules: intervals around an answer's score rank as transformed scores do, by every kernel."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kgeval import ScoreTable
from kgeval.data.queries import Queries
from kgeval.models.alignment import align
from kgeval.models.families.bilinear import DistMult
from kgeval.models.families.translations import TransE
from kgeval.ranking.corruption import AllEntities, Uniform
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.model_ranking import ranking_of
from kgeval.ranking.rules import Rules, clamp, isclose_ties, sigmoid32, tied_under, truncate_to_decimals
from tests.brute_force import COUNTS, as_counts, brute_force
from tests.conftest import random_dataset

DATA = random_dataset(seed=3)
KERNELS = ["reference", "compiled", "float32"]
TRANSFORMS = {
    "thousandths": truncate_to_decimals(3),
    "hundred-thousandths": truncate_to_decimals(5),
    "sigmoid32": sigmoid32,
    "clamp": clamp(0.5),
    "nothing": lambda scores: scores,
}

SCALES = {"sigmoid32": 40.0, "thousandths": 0.02, "hundred-thousandths": 0.0002}


def scorer(kind, scale=1.0):
    rng = np.random.default_rng(1)
    size, relations = len(DATA.entities), len(DATA.relations)
    entity, relation = rng.normal(size=(size, 6)) * scale, rng.normal(size=(relations, 6))
    return DistMult(entity, relation) if kind == "dot" else TransE(entity, relation, 1)


def counts(table):
    frame = table.to_pandas().sort_values(["side", "triple"])
    return frame[COUNTS].to_numpy()


def finished(model, change):
    """The model's scores of every entity, changed, as a table."""
    everyone, rows = np.arange(len(DATA.entities)), {}
    for side in ("head", "tail"):
        queries = Queries.of(DATA.test, side)
        scores = np.empty((len(DATA.test), len(everyone)))
        scores[queries.triples] = change(model.scores(queries, everyone))[queries.owners]
        rows[side] = scores
    return ScoreTable(DATA.test, **rows)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", ["dot", "l1"])
@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("corruption", [AllEntities(), Uniform(count=9, seed=2)])
def test_an_interval_ranks_as_the_transformed_scores(kernel, kind, name, corruption):
    transform = TRANSFORMS[name]
    # Large scores saturate a sigmoid, small ones share their decimals.
    model = scorer(kind, SCALES.get(name, 1.0))
    evaluation, rules = (
        Evaluation(kernel=kernel, corruption=corruption),
        Rules(name="own", tie_rule=tied_under(transform)),
    )
    found = ranking_of(align(model, DATA), DATA, evaluation, rules=rules).rank()
    reference = Evaluation(kernel="reference", corruption=corruption)
    expected = ranking_of(align(finished(model, transform), DATA), DATA, reference).rank()
    assert np.array_equal(counts(found), counts(expected))
    assert found.column("tied").any() == (name != "nothing")


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_tolerance_counts_what_numpy_takes_for_close(kernel):
    model = scorer("dot", 0.3)
    rules = Rules(name="own", tie_rule=isclose_ties(relative=0.05, absolute=0.02))
    table = ranking_of(align(model, DATA), DATA, Evaluation(kernel=kernel), rules=rules).rank()
    scores = np.einsum("hd,rd,td->hrt", model.entity, model.relation, model.entity)
    expected = brute_force(
        lambda h, r, t: scores[h, r, t], DATA, level=lambda here, truth: bool(np.isclose(here, truth, 0.05, 0.02))
    )
    assert as_counts(table) == expected
    assert table.column("tied").any()


finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(st.lists(finite, min_size=1, max_size=8), st.sampled_from(sorted(TRANSFORMS)))
def test_the_ends_of_an_interval_are_the_last_numbers_inside_it(answers, name):
    transform, scores = TRANSFORMS[name], np.array(answers)
    with np.errstate(over="ignore"):
        lowest, highest = tied_under(transform)(scores)
        assert (lowest <= scores).all()
        assert (scores <= highest).all()
        for end, beyond in ((lowest, -np.inf), (highest, np.inf)):
            assert np.array_equal(transform(end), transform(scores))
            outside = np.nextafter(end, beyond)
            assert ((transform(outside) != transform(scores)) | (outside == end)).all()


def test_a_sigmoid_saturates_where_that_of_torch_does():
    scores = np.linspace(-110, 40, 300_001)
    theirs = torch.sigmoid(torch.from_numpy(scores.astype(np.float32))).double().numpy()
    ours = sigmoid32(scores)
    assert np.array_equal(ours == 1, theirs == 1)
    assert np.array_equal(ours == 0, theirs == 0)
    assert np.allclose(ours, theirs, rtol=4 * np.finfo(np.float32).eps, atol=0)  # of the two exponentials
    assert (np.diff(ours) >= 0).all()


def test_infinities_are_close_to_themselves_only():
    lowest, highest = isclose_ties(relative=1e-4, absolute=1e-5)(np.array([np.inf, -np.inf]))
    assert lowest.tolist() == highest.tolist() == [np.inf, -np.inf]
