"""The compiled distances from boxes: the bits of the formula in numpy, one elementwise operation after the other."""

from __future__ import annotations

import numpy as np
import pytest

from kgeval.scorers.numerics.kernels import distances_from_box
from kgeval.scorers.numerics.similarity import dot_rows


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
