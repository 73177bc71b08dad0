"""Dataset ranks: the worked example of Demšar (2006), scipy, equal ranks, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from kgeval.analysis.comparison.dataset_ranks import rank_models
from kgeval.base.errors import MetricError

MODELS = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
AUC = """
    .763 .768 .771 .798   .599 .591 .590 .569   .954 .971 .968 .967   .628 .661 .654 .657   .882 .888 .886 .898
    .936 .931 .916 .931   .661 .668 .609 .685   .583 .583 .563 .625   .775 .838 .866 .875   1.   1.   1.   1.
    .940 .962 .965 .962   .619 .666 .614 .669   .972 .981 .975 .975   .957 .978 .946 .970
"""
"""Table 6 of Demšar (2006): four variants of C4.5 on 14 datasets"""
VALUES = np.array(AUC.split(), float).reshape(14, 4)
VALUES[12, 2] += 0.0001  # the paper ranks .975 second and .975 third there, by digits that it does not print
RESULTS = {f"d{number}": dict(zip(MODELS, row.tolist(), strict=True)) for number, row in enumerate(VALUES)}


def test_the_example_of_demsar():
    """Average ranks, Friedman and Nemenyi, and Holm against C4.5, as in section 3.2 of the paper."""
    ranks = rank_models(RESULTS, reference="C4.5")
    np.testing.assert_allclose(ranks.average_ranks, [3.143, 2.000, 2.893, 1.964], atol=0.0005)
    uncorrected = 12 * 14 / (4 * 5) * ((ranks.average_ranks**2).sum() - 4 * 5**2 / 4)
    assert uncorrected == pytest.approx(9.28, abs=0.005)
    assert 13 * uncorrected / (14 * 3 - uncorrected) == pytest.approx(3.69, abs=0.005)
    assert ranks.critical_difference == pytest.approx(1.25, abs=0.005)
    raw = {"C4.5+m+cf": 0.016, "C4.5+m": 0.019, "C4.5+cf": 0.607}
    expected = {"C4.5+m+cf": 3 * raw["C4.5+m+cf"], "C4.5+m": 3 * raw["C4.5+m+cf"], "C4.5+cf": raw["C4.5+cf"]}
    assert ranks.adjusted_p == pytest.approx(expected, abs=0.002)


def test_friedman_is_corrected_for_ties_as_in_scipy():
    ranks = rank_models(RESULTS)
    statistic, p = stats.friedmanchisquare(*VALUES.T)
    assert ranks.friedman == pytest.approx((statistic, p))
    assert statistic > 9.28
    assert ranks.iman_davenport[0] == pytest.approx(13 * statistic / (42 - statistic))
    assert ranks.iman_davenport[1] < ranks.friedman[1]
    assert ranks.control == "C4.5+m+cf"


def test_lower_may_be_better():
    negative = {d: {m: -v for m, v in r.items()} for d, r in RESULTS.items()}
    up, down = rank_models(RESULTS), rank_models(negative, increasing=False)
    np.testing.assert_array_equal(up.ranks, down.ranks)
    assert up.friedman == pytest.approx(down.friedman)


def test_equal_models_are_alike():
    ranks = rank_models({d: dict.fromkeys("abc", 0.5) for d in "xyz"})
    assert ranks.average_ranks.tolist() == [2, 2, 2]
    assert ranks.friedman == (0, 1)
    assert ranks.iman_davenport == (0, 1)
    assert set(ranks.adjusted_p.values()) == {1}


def test_one_order_on_all_datasets_is_as_far_as_ranks_can_tell():
    ranks = rank_models({d: {"a": 3, "b": 2, "c": 1} for d in "vwxyz"})
    assert ranks.friedman[0] == pytest.approx(10)
    assert ranks.to_dict()["iman_davenport"] == {"statistic": None, "p": pytest.approx(6**-4)}


@pytest.mark.parametrize("values", [(3, 2, 1), (3, 2, 2), (4, 4, 1, 1), (5, 2, 2, 2)])
def test_where_all_orders_are_one_p_is_how_often_chance_makes_them_one(values):
    """Counted over all orders of the values on each of three datasets; F alone would say 0."""
    orders = list(itertools.permutations(values))
    same = sum(first == second == third for first, second, third in itertools.product(orders, repeat=3))
    ranks = rank_models({d: dict(zip("abcd", values, strict=False)) for d in "xyz"})
    assert ranks.iman_davenport == (np.inf, pytest.approx(same / len(orders) ** 3))


def test_what_is_told_as_data_frame_and_text():
    ranks = rank_models(RESULTS, level=0.9)
    frame = ranks.to_frame()
    assert frame.loc["C4.5", "average rank"] == ranks.average_ranks[0]
    assert frame["p"].isna().tolist() == [False, False, False, True]
    columns, rows = ranks.table()
    assert [row[0] for row in rows] == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    assert rows[0][1] == "1.964"
    assert ranks.tables()[1].texts()[0] == [
        "d0",
        *(f"{value:.6f} ({rank:g})" for value, rank in zip(VALUES[0], [4, 3, 2, 1], strict=True)),
    ]
    assert all(cell in str(ranks) and cell in ranks._repr_html_() for row in [columns, *rows] for cell in row)
    assert "Nemenyi, 90 %" in str(ranks)
    assert ranks.critical_difference == pytest.approx(2.291 * np.sqrt(20 / 84), abs=0.001)  # Table 5 (a) of the paper


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        ({"d": {"a": 1, "b": 2, "c": 3}}, {}, "at least three models and two datasets, found 3 and 1"),
        ({d: {"a": 1, "b": 2} for d in "xy"}, {}, "found 2 and 2"),
        ({"x": {"a": 1, "b": 2, "c": 3}, "y": {"a": 1, "b": 2}}, {}, "c: no value on y. Each model needs one"),
        ({d: {"a": 1, "b": np.nan, "c": 3} for d in "xy"}, {}, "b on x: expected a number, found nan"),
        ({d: {"one": 1, "two": 2, "three": 3} for d in "xy"}, {"reference": "tow"}, "Did you mean 'two'"),
    ],
)
def test_incomplete_results_are_refused(results, options, message):
    with pytest.raises(MetricError, match=message):
        rank_models(results, **options)
