"""Screening on adversarial numbers: whatever the precision, the counts are the reference's, and the bounds hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kgeval import evaluate
from kgeval.models.alignment import align
from kgeval.models.similarity import canonical
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.kernels import kernel
from kgeval.ranking.kernels.screening.counting import pairs_of, score_bounds
from kgeval.ranking.kernels.screening.screened_kernel import ScreenedKernel
from kgeval.ranking.kernels.screening.screens import screens_for
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.model_ranking import ranking_of
from tests.conftest import random_dataset
from tests.ranking.test_kernels import COMPILED, Vectors

torch = pytest.importorskip("torch")

DATA = random_dataset(20, entities=120, triples=700)
PRECISIONS = ["float32", "bfloat16"]
SCREENS = [*({"kernel": precision} for precision in PRECISIONS), {"device": "torch:cpu"}]
"""the settings of an evaluation that is screened, on the processor and on a device of torch"""


# Vectors that make a careless screen go wrong.
ADVERSARIAL = {
    "duplicates": lambda vectors, rng: np.tile(vectors[:30], (4, 1)),
    "one ulp apart": lambda vectors, rng: np.concatenate([vectors[:60], np.nextafter(vectors[:60], np.inf)]),
    "norms far apart": lambda vectors, rng: vectors * 10.0 ** rng.integers(-15, 9, (120, 1)),
    "zeros": lambda vectors, rng: vectors * (np.arange(120) % 2)[:, None],
    "denormal": lambda vectors, rng: vectors * 1e-40,
    "squares underflow": lambda vectors, rng: vectors * 1e-25,
    "float32 overflows": lambda vectors, rng: vectors * 1e30,
    "float64 nearly overflows": lambda vectors, rng: vectors * 1e150,
    "saturated": lambda vectors, rng: np.sign(vectors) * 3.0,
    "near the limit": lambda vectors, rng: vectors * 2.0**50,
}


@pytest.mark.parametrize("similarity", COMPILED)
@pytest.mark.parametrize("kind", ADVERSARIAL)
def test_counts_are_the_references(kind, similarity):
    rng = np.random.default_rng(0)
    scorer = Vectors(similarity, ADVERSARIAL[kind](rng.normal(size=(120, 8)), rng))
    scorer.relation = 0.0 * scorer.relation
    expected = evaluate(scorer, DATA, kernel="reference").to_pandas()
    for screen in SCREENS:
        assert evaluate(scorer, DATA, **screen).to_pandas().equals(expected), screen


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(COMPILED),
    st.sampled_from(SCREENS),
    arrays(np.float64, (120, 4), elements=st.sampled_from([0.0, 1.0, -1.0, 1 + 2**-24, 1 + 2**-9, 3e-30, 1e15, -2.5])),
)
def test_counts_are_the_references_on_drawn_vectors(similarity, screen, entities):
    scorer = Vectors(similarity, entities)
    expected = evaluate(scorer, DATA, kernel="reference").to_pandas()
    assert evaluate(scorer, DATA, **screen).to_pandas().equals(expected)


@pytest.mark.parametrize("bias", [5.0, -5.0, 1e20, -1e20, 1e300, -1e300, np.inf, -np.inf])
@pytest.mark.parametrize("similarity", COMPILED)
def test_answers_may_owe_their_scores_to_a_bias_in_another_chunk(similarity, bias):
    rng = np.random.default_rng(4)
    scorer = Vectors(similarity, rng.normal(size=(120, 4)))
    scorer.bias = np.where(np.arange(120) < 64, 0.0, bias)
    expected = evaluate(scorer, DATA, kernel="reference").to_pandas()
    for precision in PRECISIONS:
        assert evaluate(scorer, DATA, kernel=precision, memory_limit="150kB").to_pandas().equals(expected), precision


def pairs_of_all_sizes(similarity, dim, *, dtype=np.float64, biased=False):
    """Queries and entities of norms far apart, and the canonical score of every pair; [query, entity]."""
    rng = np.random.default_rng(dim)
    queries = rng.normal(size=(40, dim)) * 10.0 ** rng.integers(-3, 4, (40, 1))
    entities = (rng.normal(size=(90, dim)) * 10.0 ** rng.integers(-3, 4, (90, 1))).astype(dtype)
    biases = rng.normal(size=90) * 10.0 ** rng.integers(-3, 4, 90) if biased else np.zeros(90)
    offsets = rng.normal(size=40)
    scores = canonical(similarity, queries[:, None], entities.astype(np.float64)) + biases + offsets[:, None]
    return QueryVectors(similarity, queries, offsets), EntityVectors(entities, biases), scores


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("similarity", COMPILED)
@pytest.mark.parametrize("dim", [2, 64, 400])
def test_what_encloses_a_score_holds_it(dim, similarity, dtype):
    query_vectors, entity_vectors, scores = pairs_of_all_sizes(similarity, dim, dtype=dtype, biased=True)
    pairs, everyone = pairs_of(query_vectors, entity_vectors), np.arange(90)
    lows, highs = np.empty(90), np.empty(90)
    for query in range(40):
        score_bounds(pairs, query, everyone, lows, highs)
        assert (lows <= scores[query]).all()
        assert (scores[query] <= highs).all()
        similar = np.abs(scores[query] - entity_vectors.biases - query_vectors.offsets[query])
        assert (highs - lows <= 1e-3 * (1 + similar + query_vectors.norms[query] * entity_vectors.norms)).all()


# Distances with biases are not screened, unless they are squared.
@pytest.mark.parametrize(
    ("similarity", "biased"),
    [*((similarity, False) for similarity in COMPILED), ("dot", True), ("squared_l2", True)],
)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("dim", [2, 64, 400])
def test_no_statistic_leaves_its_limits(dim, similarity, precision, biased):
    """Each candidate plays the answer: its own statistic must lie between the limits that enclose its own score."""
    query_vectors, entity_vectors, scores = pairs_of_all_sizes(similarity, dim, biased=biased)
    (made,) = screens_for([precision], query_vectors, entity_vectors, scores.ravel())
    statistics = np.array(made.statistics(slice(0, 40), made.buffer(40)))
    for column, candidate in enumerate(made.order):
        limits = made.limits(scores[:, candidate], scores[:, candidate], np.arange(40))
        assert (statistics[:, column] <= limits.upper[:, 0]).all()
        assert (statistics[:, column] >= limits.lower[:, 0]).all()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_sums_whose_errors_all_point_one_way_stay_within_their_limits(precision):
    """Thousands of equal terms, and terms that a running sum in float32 loses, one by one."""
    thirds, lost = np.full(5000, np.float32(1 / 3)), np.full(5000, np.float32(0.9 * 2**-24))
    lost[0] = 1
    entities = np.stack([thirds, lost, -thirds, np.sort(np.random.default_rng(0).random(5000)).astype(np.float32)])
    queries, candidates = QueryVectors("dot", entities.astype(float), np.zeros(4)), EntityVectors(entities, np.zeros(4))
    scores = entities.astype(np.longdouble) @ entities.T.astype(np.longdouble)
    (made,) = screens_for([precision], queries, candidates, scores.astype(float).ravel())
    statistics = np.array(made.statistics(slice(0, 4), made.buffer(4)))
    for column, candidate in enumerate(made.order):
        own = scores[:, candidate].astype(float)
        limits = made.limits(own, own, np.arange(4))
        assert (statistics[:, column] <= limits.upper[:, 0]).all()
        assert (statistics[:, column] >= limits.lower[:, 0]).all()


def test_where_dimensions_are_too_many_for_a_bound_nothing_is_screened():
    queries, entities = QueryVectors("dot", np.ones((1, 2**20 + 1)), np.zeros(1)), np.ones((2, 2**20 + 1), np.float32)
    assert screens_for(PRECISIONS, queries, EntityVectors(entities, np.zeros(2)), np.zeros(1)) == []


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_few_comparisons_stay_uncertain(screen):
    entities = np.random.default_rng(3).normal(size=(120, 200)).astype(np.float32)
    work = evaluate(Vectors("dot", entities), DATA, **screen).work
    assert work["kernel"] == screen.get("kernel", "float16")
    assert work["screened"] == 2 * len(DATA.test) * 120
    # Each answer meets itself, which is always uncertain: 1 in 120.
    assert work["rescored_share"] < {"bfloat16": 0.03}.get(work["kernel"], 0.009)


@pytest.mark.parametrize("quick", PRECISIONS)
def test_the_quickest_precision_is_kept_and_changes_no_count(quick):
    scorer = Vectors("dot", np.random.default_rng(5).normal(size=(120, 16)))
    ranking = ranking_of(align(scorer, DATA), DATA, Evaluation())
    expected = evaluate(scorer, DATA, kernel="reference").to_pandas()
    # Two blocks are timed by each precision: before and after each, the clock is looked at.
    seconds = np.repeat([precision != quick for precision in PRECISIONS], 2)
    ticks = np.cumsum([tick for taken in seconds for tick in (0.0, taken)])
    kernel = ScreenedKernel(*PRECISIONS, block=1, clock=iter(ticks).__next__)
    table = replace(ranking, engine=replace(ranking.engine, kernel=kernel)).rank()
    assert table.to_pandas().equals(expected)
    assert table.work["kernel"] == quick


def test_where_screening_does_not_pay_a_better_arithmetic_takes_over():
    scorer = Vectors("dot", np.ones((120, 8)))
    table = evaluate(scorer, DATA, kernel="bfloat16", batch_size=20, memory_limit="40kB")
    assert table.work["screened"] < 2 * len(DATA.test) * 120
    assert table.to_pandas().equals(evaluate(scorer, DATA, kernel="reference").to_pandas())


def test_auto_decides_without_importing_torch():
    assert kernel("auto").stats()["kernel"] in PRECISIONS


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("similarity", COMPILED)
def test_scorers_may_return_low_precision(similarity, dtype):
    class Low(Vectors):
        def query_vectors(self, queries):
            return (super().query_vectors(queries) * 100).astype(dtype)

    scorer = Low(similarity, np.random.default_rng(0).normal(size=(120, 8)).astype(dtype))
    expected = evaluate(scorer, DATA, kernel="reference").to_pandas()
    for how in [*SCREENS, {"kernel": "compiled"}]:
        assert evaluate(scorer, DATA, **how).to_pandas().equals(expected), how
