"""The sums over ranges of positions against fractions and extended precision."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgeval.metrics.lists.gain import discount_named
from kgeval.metrics.ranks.moments import mean_of_powers, sum_of_inverse_squares, sum_of_reciprocals, sums_over_places

ranges = st.tuples(st.integers(1, 60) | st.integers(10**5, 10**9), st.integers(0, 40)).map(lambda r: (r[0], sum(r)))


@given(ranges)
def test_reciprocals(span):
    low, high = span
    exact = float(sum(Fraction(1, j) for j in range(low, high + 1)))
    assert sum_of_reciprocals(*map(np.array, ([low], [high])))[0] == pytest.approx(exact, rel=3e-15)


def test_reciprocals_of_long_ranges():
    exact = float(mpmath.harmonic(10**6) - mpmath.harmonic(2))
    assert sum_of_reciprocals(np.array([3]), np.array([10**6]))[0] == pytest.approx(exact, rel=1e-15)


@given(st.integers(1, 300))
def test_inverse_squares(count):
    exact = float(sum(Fraction(1, j * j) for j in range(1, count + 1)))
    assert sum_of_inverse_squares(np.array([count]))[0] == pytest.approx(exact, rel=1e-15)


@given(ranges, st.sampled_from([-2.0, -1.0, -0.5, -1e-3, 1e-6, 0.01, 0.5, 1.0, 2.0]) | st.floats(-2, 2))
def test_powers(span, power):
    low, high = span
    exact = float(mpmath.fsum(mpmath.mpf(j) ** power for j in range(low, high + 1)) / (high - low + 1))
    assert mean_of_powers(np.array([low]), np.array([high]), power)[0] == pytest.approx(exact, rel=1e-13)


DIVISORS = {
    "log2": lambda place: math.log2(place + 1),
    "ln": lambda place: math.log(place + 1),
    "log10": lambda place: math.log10(place + 1),
    "log1.5": lambda place: math.log(place + 1, 1.5),
    "original": lambda place: max(1, math.log2(place)),
    "original3.5": lambda place: 1 if place < 3.5 else math.log(place, 3.5),
}


@given(st.integers(1, 500), st.integers(-1, 100), st.sampled_from([*DIVISORS]))
def test_discounts(low, further, word):
    exact = math.fsum(1 / DIVISORS[word](j) for j in range(low, low + further + 1))
    found = sums_over_places(discount_named(word), np.array([low]), np.array([low + further]))[0]
    assert found == pytest.approx(exact, rel=1e-13, abs=0)


def test_nothing_to_sum():
    for low in (1, 7, 10**6):
        assert sum_of_reciprocals(np.array([low]), np.array([low - 1]))[0] == 0
