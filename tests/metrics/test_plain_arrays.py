"""The functions on plain arrays against published truths, scikit-learn, and the average over every order of ties."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval.base.errors import MetricError
from kgeval.metrics import (
    average_precision,
    cumulative_gain,
    dcg,
    f1_at_k,
    hits_at_k,
    mae,
    mean_reciprocal_rank,
    mse,
    ndcg,
    precision_at_k,
    recall_at_k,
    rmse,
)
from kgeval.metrics.lists.ranked_lists import ranked
from kgeval.metrics.metric import Undefined, metrics
from kgeval.metrics.names import parse
from tests.metrics.example_ranks import near

RATINGS, WHOLE = [5, 3, 2, 1, 2], [5, 4, 3, 2, 2, 1, 0]


ALIKE = [1, 0, 0, 0], [7, 7, 7, 7]
SERVED = [7, 2, 5, 10, 1]
LETTERS = [3, 2, 1, 0], [0.111, 0.222, 0.001, 0.10]
OF_SCIKIT_LEARN = [10, 0, 0, 1, 5]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (hits_at_k([1, 12, 6, 2], 3), 0.5),
        (mean_reciprocal_rank([1, 12, 6, 2]), 0.4375),
        (average_precision([1, 0, 0, 1, 1, 0, 0, 1, 0, 0]), 0.65),
        (average_precision([0, 0, 1, 1, 1], [0.1, 0.4, 0.35, 0.8, 0.8]), 11 / 12),
        (dcg(RATINGS, k=5, gain="exponential"), 38.507743254777225),
        (dcg(WHOLE, k=5, gain="exponential"), 46.41653439949567),
        (ndcg(RATINGS, k=5, gain="exponential", ideal=WHOLE), 0.8296126316400654),
        (ndcg(RATINGS, gain="exponential", ideal=WHOLE), 38.507743254777225 / 46.772741586603686),
        (ndcg([5, 3, 2, 1, 2], ideal=[5, 3, 2, 1, 2, 4, 0]), 0.8258905018399365),
        (recall_at_k([1, 1, 0, 1], relevant=4), 3 / 4),
        (recall_at_k([1, 1, 0, 1], k=2, relevant=8), 2 / 8),
        (recall_at_k([0, 0], relevant=3), 0),
        (f1_at_k([1, 1, 0, 1], k=2, relevant=8), 2 / (1 + 4)),
        (average_precision([1, 1, 0, 1], relevant=6), (1 + 1 + 3 / 4) / 6),
        (average_precision([0, 1], [0.5, 0.5], relevant=2), (1 + 1 / 2) / 4),
        (dcg(SERVED), 15.455477895111388),
        (dcg([10, 7, 5, 2, 1]), 18.16471419838153),
        (ndcg(SERVED), 0.8508516966640997),
        (dcg(SERVED, gain="exponential"), 585.36176097703),
        (dcg([10, 7, 5, 2, 1], gain="exponential"), 1120.3069611850299),
        (ndcg(SERVED, gain="exponential"), 0.5225012262334338),
        (ndcg(*LETTERS, k=3), 0.8174935137996165),
        (ndcg([1, 2, 3]), 0.7899980042460358),
        (ndcg([1, 2, 3], gain="exponential"), 0.6806060567602008),
        (ndcg(OF_SCIKIT_LEARN, [0.1, 0.2, 0.3, 4, 70]), 0.6956940443813076),
        (ndcg(OF_SCIKIT_LEARN, [0.05, 1.1, 1, 0.5, 0]), 0.493680191377376),
        (ndcg(OF_SCIKIT_LEARN, [0.05, 1.1, 1, 0.5, 0], k=4), 0.3520241100634488),
        (ndcg(*ALIKE), 0.6404015779112125),
        (average_precision(*ALIKE), 25 / 48),
        (precision_at_k(*ALIKE, k=1), 0.25),
        (dcg([3, 2], discount="ln"), 3 / np.log(2) + 2 / np.log(3)),
        (dcg([2, 3], discount="ln"), 2 / np.log(2) + 3 / np.log(3)),
        (dcg([3, 2, 4], discount="log10"), 3 / np.log10(2) + 2 / np.log10(3) + 4 / np.log10(4)),
        (dcg([3, 2, 4], k=2, discount="log3"), 3 * np.log(3) / np.log(2) + 2),
        (dcg([3, 2, 4, 1], discount="original"), 3 + 2 + 4 / np.log2(3) + 1 / 2),
        (dcg([3, 2, 4, 1], discount="original3"), 3 + 2 + 4 + np.log(3) / np.log(4)),
        (dcg([3, 2], gain="exponential", discount="original"), 7 + 3),
        (ndcg([1, 2, 3], discount="original"), (3 + 3 / np.log2(3)) / (5 + 1 / np.log2(3))),
        (ndcg([1, 2, 3], discount="original4"), 1),
        (ndcg([1, 0, 2], k=2, ideal=[2, 2, 1], discount="original"), 1 / 4),
        (ndcg([1, 2, 3], discount="ln"), 0.7899980042460358),
        (dcg([3, 2], k=5), dcg([3, 2])),
        (precision_at_k([1, 1], k=5), 2 / 5),
        (ndcg([3, 2], k=5, ideal=[3, 2, 1]), (3 + 2 / np.log2(3)) / (3 + 2 / np.log2(3) + 1 / 2)),
        (average_precision([1, 0, 1, 1][:3], relevant=min(3, 4)), (1 + 2 / 3) / 3),
        (mse([1, 2, 3], [1, 2, 5]), 4 / 3),
        (mae([1, 2, 3], [1, 2, 5]), 2 / 3),
        *((value, 0) for value in (dcg([], k=3), cumulative_gain([], k=3), precision_at_k([], k=3))),
        *((value, 0) for value in (ndcg([], ideal=[2, 1]), recall_at_k([], relevant=2), f1_at_k([], [], relevant=2))),
        (average_precision([], relevant=2, k=1), 0),
    ],
)
def test_published_and_worked_numbers(found, expected):
    assert found == near(expected)


def test_the_example_of_jarvelin_and_kekalainen():
    """Their G' and its vectors DCG' (base 2) and DCG of the ideal I', of two digits, a few cut off (TOIS 20, 2002)."""
    gains, ideal = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0], [3, 3, 3, 2, 2, 2, 1, 1, 1, 1]
    vector = [3, 5, 6.89, 6.89, 6.89, 7.28, 7.99, 8.66, 9.61, 9.61]
    of_ideal = [3, 6, 7.89, 8.89, 9.75, 10.52, 10.88, 11.21, 11.53, 11.83]
    for order, expected in ((gains, vector), (ideal, of_ideal)):
        found = [dcg(order, k=k, discount="original") for k in range(1, 11)]
        assert found == pytest.approx(expected, abs=0.008)
    shares = [ndcg(gains, k=k, discount="original", ideal=ideal) for k in range(1, 11)]
    assert shares == pytest.approx(np.divide(vector, of_ideal), abs=0.001)


FUNCTIONS = {
    "average precision": average_precision,
    "precision": precision_at_k,
    "recall": recall_at_k,
    "f1": f1_at_k,
    "cumulative gain": cumulative_gain,
    "dcg": dcg,
    "ndcg": ndcg,
    "exponential dcg": lambda *args, k: dcg(*args, k=k, gain="exponential"),
    "exponential ndcg": lambda *args, k: ndcg(*args, k=k, gain="exponential"),
    "original dcg": lambda *args, k: dcg(*args, k=k, discount="original"),
    "original ndcg": lambda *args, k: ndcg(*args, k=k, discount="original1.5"),
    "map-capped": lambda *args, k: metrics()["map-capped"](ranked(*args), k=k or 4),
    "iprec": lambda *args, k: parse("iprec")(ranked(*args)),
    "iprec@.3": lambda *args, k: parse("iprec@.3")(ranked(*args)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=25, deadline=None)
@given(
    items=st.lists(st.tuples(st.sampled_from([0, 0, 0.3, 1, 2.5]), st.integers(0, 3)), min_size=1, max_size=6),
    k=st.none() | st.integers(1, 8),
)
def test_ties_are_the_average_over_every_order(name, items, k):
    relevance, scores = map(list, zip(*items, strict=True))
    if not any(relevance):
        relevance[0] = 1
    orders = [
        order
        for order in itertools.permutations(range(len(items)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    brute = np.mean([FUNCTIONS[name]([relevance[item] for item in order], k=k) for order in orders])
    assert FUNCTIONS[name](relevance, scores, k=k) == pytest.approx(brute, rel=1e-12)


def served(relevance, k):
    """The definitions, read off one list in its order."""
    k = len(relevance) if k is None else k
    hits = [int(grade > 0) for grade in relevance]
    found, total = sum(hits[:k]), sum(hits)
    places = [place for place, hit in enumerate(hits[:k], 1) if hit]
    discounted = [
        sum(g / np.log2(p + 1) for p, g in enumerate(grades[:k], 1))
        for grades in (relevance, sorted(relevance, reverse=True))
    ]
    return {
        "average precision": sum(sum(hits[:place]) / place for place in places) / total,
        "precision": found / k,
        "recall": found / total,
        "f1": 2 / (k / found + total / found) if found else 0,
        "cumulative gain": sum(relevance[:k]),
        "dcg": discounted[0],
        "ndcg": discounted[0] / discounted[1],
    }


@settings(max_examples=30, deadline=None)
@given(
    relevance=st.lists(st.sampled_from([0, 0.3, 1, 2.5]), min_size=1, max_size=12).filter(any),
    k=st.none() | st.integers(1, 14),
)
def test_a_served_order_gives_the_definitions(relevance, k):
    for name, value in served(relevance, k).items():
        assert FUNCTIONS[name](relevance, k=k) == pytest.approx(value, rel=1e-12), name


@settings(deadline=None)
@given(values=st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=1))
def test_errors_are_scikit_learns(values):
    from sklearn.metrics import mean_absolute_error, mean_squared_error, root_mean_squared_error

    true, predicted = map(list, zip(*values, strict=True))
    for ours, theirs in ((rmse, root_mean_squared_error), (mse, mean_squared_error), (mae, mean_absolute_error)):
        assert ours(true, predicted) == pytest.approx(theirs(true, predicted), rel=1e-12, abs=1e-12)


def test_without_anything_relevant_gains_are_zero_and_shares_of_it_undefined():
    for share in (
        ndcg,
        average_precision,
        recall_at_k,
        lambda grades: ndcg(grades, ideal=[0, 0]),
        lambda grades: recall_at_k(grades, relevant=0),
    ):
        with pytest.raises(Undefined, match="nothing in the list is relevant"):
            share([0])
    assert precision_at_k([0, 0], k=1) == f1_at_k([0, 0], k=1) == dcg([0, 0]) == cumulative_gain([0]) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ndcg([], k=3), "relevance: the list is empty. To count it as 0, give ideal"),
        (lambda: recall_at_k([], k=3), "relevance: the list is empty. To count it as 0, give relevant"),
        (lambda: precision_at_k(np.array([])), "the list is empty. To count it as 0, give k"),
        (lambda: precision_at_k([[]], k=3), r"relevance: expected one row of numbers, found shape \(1, 0\)"),
        (lambda: precision_at_k([1, 0], True), r"scores: expected one row of numbers, found shape \(\)"),
        (lambda: dcg([], [1, 2], k=3), r"relevance: expected one row of at least one number, found shape \(0,\)"),
        (
            lambda: precision_at_k([1, 0], 2),
            r"scores: expected one row of numbers, found 2. Is it the cut-off\? Write k=2",
        ),
        (lambda: ndcg([1, 0], np.int64(2)), r"Write k=2"),
        (
            lambda: dcg([1], discount="log"),
            r"unknown discount 'log'. Use log2, ln, original, or a base: log10, original1.5",
        ),
        (lambda: dcg([1], discount="log1"), "unknown discount 'log1'"),
        (lambda: ndcg([1], discount="original0.5"), "unknown discount 'original0.5'"),
        (lambda: ndcg([1], discount="log" + 5000 * "9"), "unknown discount 'log999"),
        (lambda: ndcg([1], discount=2), "unknown discount 2"),
        (lambda: mse([1e200], [-1e200]), "the error is larger than any number in float64"),
        (lambda: mae([], []), "y_true: expected one row of at least one number"),
        (lambda: mse([1], [1, 2]), "1 true but 2 predicted"),
        (lambda: ndcg([[1, 0]]), r"found shape \(1, 2\)"),
        (lambda: ndcg(["x"]), "relevance: expected numbers"),
        (lambda: ndcg([1, -1]), r"relevance\[1\] is -1: grades of relevance are 0 or more"),
        (lambda: ndcg([1, float("nan")]), r"relevance\[1\] is nan"),
        (lambda: ndcg([1, 0], [1, float("nan")]), r"scores\[1\] is nan"),
        (lambda: ndcg([1, 0], [1]), "2 grades of relevance but 1 scores"),
        (lambda: ndcg([1, 0], k=0), "cut-off k must be a whole number from 1 and below 10¹⁸, found 0"),
        (lambda: dcg([1], k=True), "found True"),
        (lambda: dcg([1], k=1.5), "found 1.5"),
        (lambda: dcg([1], gain="linaer"), r"unknown gain 'linaer'. Did you mean 'linear'\?"),
        (lambda: dcg([2000], gain="exponential"), "use the linear gain"),
        (lambda: ndcg([1e308, 1e308]), r"relevance\[0\] is 1e\+308: grades of relevance, which are added, go up to"),
        (lambda: rmse([1.7e308], [-1.7e308]), "the error is larger than any number in float64"),
        (lambda: ndcg([3, 3], ideal=[3, 2, 1]), "the grade 3 occurs more often than in the ideal list"),
        (lambda: hits_at_k([1, 0], 1), r"ranks\[1\] is 0: the first rank is 1"),
        (lambda: hits_at_k([], 1), "ranks: expected one row of at least one number"),
        (lambda: hits_at_k([1], 0), "found 0"),
        (lambda: hits_at_k([1], None), "found None"),
        (lambda: mean_reciprocal_rank([float("inf")]), r"ranks\[0\] is inf"),
        (lambda: rmse([1], [1, 2]), "1 true but 2 predicted"),
        (lambda: recall_at_k([1, 1], relevant=1), "relevant must be a whole number from 2, as many as are in the list"),
        (lambda: f1_at_k([1, 1], relevant=2.5), "relevant must be a whole number from 2"),
        (lambda: average_precision([0], relevant=True), "relevant must be a whole number from 0"),
        (lambda: average_precision([0], relevant=10**5000), "in the list, to 10⁸"),
        (lambda: ndcg([3], ideal=[3, -1]), r"ideal\[1\] is -1"),
        (lambda: hits_at_k(np.array([1 + 5j]), 1), "ranks: expected numbers, found complex128"),
        (lambda: hits_at_k([1, "2"], 1), "ranks: expected numbers, found text"),
        (lambda: hits_at_k([1, None], 1), "ranks: expected numbers, found NoneType"),
        (lambda: mean_reciprocal_rank(np.ma.array([1, 4.0], mask=[0, 1])), "found masked values. Leave them out"),
        (lambda: mean_reciprocal_rank(np.array(["2020-01-01"], "M8[D]")), r"found datetime64\[D\]"),
        (lambda: mean_reciprocal_rank(np.array([3], "m8[s]")), r"found timedelta64\[s\]"),
        (lambda: mean_reciprocal_rank([1, 10**400]), r"ranks\[1\] is beyond float64"),
        (lambda: mean_reciprocal_rank([Decimal("1e400")]), r"ranks\[0\] is beyond float64"),
        (lambda: mean_reciprocal_rank([Decimal("sNaN")]), r"ranks\[0\] is nan"),
        (lambda: hits_at_k([1], 10**5000), "whole number from 1 and below 10¹⁸, found one far beyond"),
        (lambda: f1_at_k([1, 1], k=2**63 - 1), "below 10¹⁸, found one far beyond"),
        (lambda: ndcg([1], k=np.int64(10**18)), "below 10¹⁸"),
    ],
)
def test_bad_input_is_explained(call, message):
    with pytest.raises(MetricError, match=message):
        call()


def test_bounded_values_do_not_exceed_their_bounds():
    for length in range(1, 200):
        alike, ones = [0] * length, [1] * length
        for function in (ndcg, average_precision):
            assert function(ones, alike) <= 1
        for function in (precision_at_k, recall_at_k, f1_at_k):
            assert function(ones, alike, k=length) <= 1


@pytest.mark.parametrize("number", [int, np.int64, np.uint64])
def test_whole_scores_are_not_rounded(number):
    scores = [number(2**53), number(2**53 + 1)]
    assert average_precision([1, 0], scores) == 0.5
    assert average_precision([0, 1], np.array(scores)) == 1
    assert average_precision([1, 0], [2**70, 2**70 + 1]) == 0.5
    assert average_precision([1, 0], np.array([2**64 - 1, 0], np.uint64)) == 1


WIDE = np.finfo(np.longdouble)


@pytest.mark.skipif(WIDE.max <= np.finfo(np.float64).max, reason="this machine's long double is no wider than float64")
def test_long_doubles_are_ordered_without_rounding_and_refused_where_they_overflow():
    assert average_precision([1, 0], np.array([1, 1 + WIDE.eps], np.longdouble)) == 0.5
    with pytest.raises(MetricError, match=r"ranks\[1\] is beyond float64"):
        mean_reciprocal_rank(np.array([1, WIDE.max], np.longdouble))


def test_exact_numbers_are_ordered_without_rounding():
    third = Fraction(1, 3)
    assert average_precision([1, 0], [third, third + Fraction(1, 10**40)]) == 0.5
    assert mean_reciprocal_rank([Decimal(2), Fraction(4)]) == 0.375


def test_cut_offs_may_be_longer_than_any_list():
    assert f1_at_k([1, 1], k=10**18 - 1) == near(4 / (10**18 + 1))
    assert precision_at_k([1], k=10**18 - 1) == near(1e-18)
    for function in (ndcg, average_precision, recall_at_k):
        assert function([1, 0], k=10**18 - 1) == 1


@pytest.mark.parametrize("tracked", [False, True])
def test_tensors_are_read_whatever_their_type_and_gradient(tracked):
    torch = pytest.importorskip("torch")
    ranks = torch.tensor([1.0, 2.0], requires_grad=tracked)
    assert mean_reciprocal_rank(ranks) == mean_reciprocal_rank(ranks.bfloat16()) == 0.75
    assert average_precision([1, 0], ranks) == 0.5


def test_small_grades_have_an_exponential_gain():
    assert ndcg([1e-17, 2e-17, 0], [1, 2, 3], gain="exponential") == near(ndcg([1, 2, 0], [1, 2, 3]))
    assert dcg([3], gain="exponential") == 7
    for grade in (0.001, 0.5, 0.999, 1.001):
        assert cumulative_gain([grade], gain="exponential") == pytest.approx(2**grade - 1, rel=1e-12)


def test_large_errors_are_not_infinite():
    assert mae([1e308], [-5e307]) == near(1.5e308)
    assert mse([1e-150], [-1e-150]) == near(4e-300)
    assert rmse([1e200], [-1e200]) == near(2e200)
    assert rmse([1e-300], [-1e-300]) == near(2e-300)


def test_infinite_scores_order_as_usual():
    assert average_precision([1, 0, 0], [-np.inf, 1, np.inf]) == near(1 / 3)
    assert average_precision([1, 0], [-np.inf, -np.inf]) == near(0.75)
