"""Numbers of vectors: cosines as those of scikit-learn and of whole fractions, distances from boxes as numpy's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kgeval import evaluate
from kgeval.base.errors import InputError, ScoreError
from kgeval.data.queries import Queries
from kgeval.models.kernels import distances_from_box
from kgeval.models.similarity import canonical, dot_rows, unit
from tests.conftest import random_dataset
from tests.models.conftest import ByVectors
from tests.ranking.test_kernels import KERNELS

DATA = random_dataset(2)
RNG = np.random.default_rng(0)


class Encoder(ByVectors):
    """A vector for each text: of the question, and of the answer."""

    def __init__(self, similarity="cosine", dtype=np.float32, dim=16):
        self.entity, self.question = RNG.normal(size=(30, dim)).astype(dtype), RNG.normal(size=(30, 4, dim))
        super().__init__(lambda *query: self.question[query], lambda ids: self.entity[ids], similarity)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_ranks_are_those_of_cosines_in_float64(dtype, kernel):
    from sklearn.metrics.pairwise import cosine_similarity

    scorer = Encoder(dtype=dtype)
    table = evaluate(scorer, DATA, sides="tail", filter=(), kernel=kernel)
    questions = scorer.question[DATA.test.heads, DATA.test.relations]
    cosines = cosine_similarity(questions, scorer.entity.astype(np.float64))
    answers = cosines[np.arange(len(cosines)), DATA.test.tails]
    assert table.column("greater").tolist() == (cosines > answers[:, None]).sum(1).tolist()
    assert not table.column("tied").any()
    np.testing.assert_allclose(table.column("score"), answers, rtol=0, atol=1e-15)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_scores_are_the_canonical_ones_whatever_the_length_of_vectors(kernel):
    """Powers of two change no bit of a vector's direction, so what is longer only ties."""
    scorer = Encoder(dtype=np.float64)
    scorer.entity[10:20] = scorer.entity[:10] * 2.0 ** RNG.integers(-600, 600, (10, 1))
    table = evaluate(scorer, DATA, sides="tail", filter=(), kernel=kernel)
    twins = table.where(table.column("tail") < 20)
    assert (twins.column("tied") == 1).all()
    queries = Queries.of(DATA.test, "tail")
    scores = scorer.scores(queries, np.arange(30))
    assert table.column("score")[queries.triples].tolist() == scores[queries.owners, queries.answers].tolist()


VECTORS = arrays.arrays(np.float64, (2, 5), elements=st.floats(-1e300, 1e300))


@settings(deadline=None)
@given(VECTORS)
def test_a_cosine_is_that_of_exact_arithmetic(pair):
    """Against whole fractions, whose square root alone is rounded."""
    first, second = pair
    exact = [[Fraction(float(value)) for value in vector] for vector in pair]
    square = [sum(value * value for value in vector) for vector in exact]
    found = float(canonical("cosine", first, second))
    if not all(square):
        assert found == 0.0
        return
    product = sum(a * b for a, b in zip(*exact, strict=True))
    share = product * product / (square[0] * square[1])
    expected = float(share) ** 0.5 * (1 if product > 0 else -1)
    assert abs(found - expected) < 1e-7 if abs(expected) < 1e-7 else abs(found - expected) < 1e-14
    assert abs(np.linalg.norm(unit(first)) - 1) < 1e-15 * 8


def test_a_zero_vector_has_the_cosine_zero_with_all_and_an_infinite_one_none():
    scorer = Encoder()
    scorer.entity[3] = 0.0
    scores = scorer.scores(Queries.of(DATA.test, "tail"), np.arange(30))
    assert (scores[:, 3] == 0).all()
    assert (np.abs(np.delete(scores, 3, axis=1)) > 0).all()
    evaluate(scorer, DATA)
    scorer.entity[3, 0] = np.inf
    with pytest.raises(ScoreError, match=r"NaN for .* candidate e0003"):
        evaluate(scorer, DATA, sides="tail")


@pytest.mark.parametrize(("similarity", "hint"), [("cosin", "Did you mean 'cosine'?"), ("euclidean", "Choose one of")])
def test_an_unknown_similarity_is_refused_with_the_list(similarity, hint):
    with pytest.raises(InputError, match="unknown similarity") as refusal:
        evaluate(Encoder(similarity), DATA)
    assert str(refusal.value).startswith(f"unknown similarity {similarity!r}. {hint}")


def by_numpy(points, low, high, euclidean):
    width, away = high - low, np.abs(points - 0.5 * (low + high))
    outside = away * (width + 1) - 0.5 * width * (width + 1 - 1 / (width + 1))
    terms = np.where((points >= low) & (points <= high), away / (width + 1), outside)
    return np.sqrt(dot_rows(terms, terms)) if euclidean else dot_rows(terms, np.ones_like(terms))


@pytest.mark.parametrize("dim", [1, 7, 8, 50, 131])
@pytest.mark.parametrize("euclidean", [False, True])
def test_distances_have_the_bits_of_numpy(dim, euclidean):
    rng = np.random.default_rng(dim)
    low, high = np.sort(rng.normal(size=(2, dim)), axis=0)
    points = rng.normal(size=(300, dim)) * 10.0 ** rng.integers(-3, 3, (300, 1))
    points[0], points[1], points[2, 0], points[3, -1] = low, high, np.nan, np.inf
    found = np.empty(300)
    distances_from_box(points, low, high, euclidean, found)
    assert found.tobytes() == by_numpy(points, low, high, euclidean).tobytes()


def test_a_box_of_width_minus_one_divides_by_zero_as_numpy_does():
    found = np.empty(1)
    distances_from_box(np.array([[0.5]]), np.array([1.0]), np.array([0.0]), False, found)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert found.tobytes() == by_numpy(np.array([[0.5]]), np.array([1.0]), np.array([0.0]), False).tobytes()
