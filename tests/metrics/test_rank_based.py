"""Rank-based metrics against truths worked by hand, every way to break ties, PyKEEN and random ranking."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import parse
from kgeval.metrics.ranks.moments import (
    GEOMETRIC_MEAN,
    HITS_AT_K,
    INVERSE_GEOMETRIC_MEAN,
    MEAN_RANK,
    MEAN_RECIPROCAL_RANK,
    GeometricMean,
)
from kgeval.metrics.ranks.ranks import Ranks
from kgeval.metrics.ranks.ties import tie_policies
from tests.metrics.example_ranks import CUTOFF, METRICS, OF_RANKS, near, ranks, some_ranks, tied_ranks
from tests.simulated import draws

STATISTICS = {
    "mr": MEAN_RANK,
    "mrr": MEAN_RECIPROCAL_RANK,
    "hits": HITS_AT_K,
    "gmr": GEOMETRIC_MEAN,
    "igmr": INVERSE_GEOMETRIC_MEAN,
}


def expectation(mean, table, k):
    if isinstance(mean, GeometricMean):
        return np.exp(mean.log_expectation(table))
    return mean.expectation(table, k)


def variance_of(mean, table, k):
    if isinstance(mean, GeometricMean):
        return expectation(mean, table, k) ** 2 * np.expm1(mean.log_relative_square(table))
    return table.normalized_weights**2 @ mean.variances(table, k)


FIVE = ranks([1, 2, 5, 3, 10], [10, 10, 20, 4, 100])
WITHOUT_CLOSED_FORM = {"imr", "hmr", "median", "inverse-median", "std", "mad"}


def test_the_worked_ranks():
    four = ranks([1, 12, 6, 2])
    assert METRICS["hits"](four, k=3) == 0.5
    assert METRICS["mrr"](four) == 0.4375
    assert METRICS["median"](four) == 4
    assert METRICS["gmr"](four) == near(144 ** (1 / 4))


def test_the_chance_adjusted_numbers():
    assert METRICS["mrr"](FIVE) == near(0.4266666666666667)
    assert MEAN_RECIPROCAL_RANK.expectation(FIVE, 0) == near(0.2676775484321129)
    assert variance_of(MEAN_RECIPROCAL_RANK, FIVE, 0) == near(0.011364785931595442)
    assert METRICS["mr"](FIVE) == near(4.2)
    assert MEAN_RANK.expectation(FIVE, 0) == near(14.9)
    assert variance_of(MEAN_RANK, FIVE, 0) == near(35.37)
    assert METRICS["hits"](FIVE, k=3) == near(0.6)
    assert HITS_AT_K.expectation(FIVE, 3) == near(0.306)
    assert variance_of(HITS_AT_K, FIVE, 3) == near(0.030564)
    assert expectation(GEOMETRIC_MEAN, FIVE, 0) == near(7.13615270478404)
    assert METRICS["amr"](FIVE) == near(4.2 / 14.9)
    assert METRICS["amri"](FIVE) == near(0.7697841726618705)
    assert METRICS["amrr"](FIVE) == near(0.2171026136016469)
    assert METRICS["ahits"](FIVE, k=3) == near(0.42363112391930835)
    assert METRICS["z-mrr"](FIVE) == near(1.491374698314262)
    assert METRICS["z-mr"](FIVE) == near(1.7991453378889686)
    assert METRICS["z-hits"](FIVE, k=3) == near(1.6816756464837215)


def test_one_answer_among_four_that_all_tie():
    tied = Ranks(np.array([0]), np.array([3]), np.array([4]))
    assert METRICS["mrr"](tied.under("expected")) == near(25 / 48)
    assert METRICS["hits"](tied.under("expected"), k=1) == 0.25
    assert METRICS["mrr"](tied.under("realistic")) == 0.4
    assert METRICS["mrr"](tied.under("optimistic")) == 1
    assert METRICS["mrr"](tied.under("pessimistic")) == 0.25
    assert {METRICS["mr"](replace(tied, ties="random", draws=np.array([u]))) for u in (0, 0.26, 0.51, 0.999)} == {
        1, 2, 3, 4
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(OF_RANKS) - WITHOUT_CLOSED_FORM))
@settings(max_examples=25, deadline=None)
@given(table=some_ranks(most=4))
def test_expected_is_the_mean_of_the_metric_over_every_way_to_break_the_ties(name, table):
    metric, k = METRICS[name], CUTOFF[name]
    ways = itertools.product(*(range(level + 1) for level in table.tied.tolist()))
    nothing = np.zeros_like(table.tied)
    try:
        broken = [metric(replace(table, greater=table.greater + way, tied=nothing), k=k) for way in ways]
    except Undefined as reason:
        with pytest.raises(Undefined, match=f"{re.escape(str(reason))}|no closed form"):
            metric(table.under("expected"), k=k)
        return
    assert metric(table.under("expected"), k=k) == pytest.approx(np.mean(broken), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", sorted(WITHOUT_CLOSED_FORM))
def test_an_expectation_without_closed_form_is_refused_only_where_ranks_tie(name):
    assert METRICS[name](FIVE.under("expected")) == METRICS[name](FIVE)
    with pytest.raises(Undefined, match="no closed form; choose another tie policy"):
        METRICS[name](tied_ranks(np.random.default_rng(0), 9).under("expected"))


def pykeen_metrics():
    from pykeen.metrics.ranking import rank_based_metric_resolver

    return sorted(rank_based_metric_resolver, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", pykeen_metrics(), ids=lambda kind: kind.__name__)
def test_pykeen_gives_the_same_numbers(kind):
    theirs = kind()
    name = parse(theirs.key)
    rng = np.random.default_rng(1)
    candidates = rng.integers(2, 100, 501)
    values = (rng.random(501) * candidates).astype(int) + 1
    assert name.metric(ranks(values, candidates), k=name.k) == pytest.approx(
        float(theirs(values, candidates)), rel=1e-10
    )
    if theirs.supports_weights and name.name != "mad":  # PyKEEN leaves the scale of a normal distribution out of it
        weights = rng.random(501)
        ours = name.metric(ranks(values, candidates, weights), k=name.k)
        assert ours == pytest.approx(float(theirs(values.astype(float), candidates, weights=weights)), rel=1e-10)


@pytest.mark.parametrize("kind", pykeen_metrics(), ids=lambda kind: kind.__name__)
def test_every_spelling_of_pykeen_is_understood(kind):
    own = parse(kind().key)
    for synonym in kind.synonyms:
        if synonym in {"ahk", "zahk"}:  # PyKEEN's names of a family, which say no cut-off
            continue
        assert parse(f"{synonym.removesuffix('k')}10" if synonym.endswith(("@", "_", "@k")) else synonym) == own


@pytest.mark.parametrize("weighted", [False, True])
def test_pykeen_has_the_same_expectations_and_variances(weighted):
    from pykeen.metrics import ranking

    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 60, 40)
    weights = rng.random(40) if weighted else None
    ours = ranks(np.ones(40), sizes, weights)
    theirs = {
        "mr": ranking.ArithmeticMeanRank(),
        "mrr": ranking.InverseHarmonicMeanRank(),
        "hits": ranking.HitsAtK(3),
        "gmr": ranking.GeometricMeanRank(),
    }
    for name, metric in theirs.items():
        expected, variance = metric.expected_value(sizes, weights=weights), metric.variance(sizes, weights=weights)
        assert expectation(STATISTICS[name], ours, 3) == pytest.approx(expected, rel=1e-10), name
        assert variance_of(STATISTICS[name], ours, 3) == pytest.approx(variance, rel=1e-9), name


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", STATISTICS)
def test_random_ranking_has_the_expectation_and_the_variance(name, weighted):
    rng = np.random.default_rng(5)
    sizes, trials = np.array([1, 2, 3, 7, 40, 300]), draws(4_000)
    weights = rng.random(len(sizes)) if weighted else None
    drawn = rng.integers(1, sizes + 1, (trials, len(sizes)))
    values = np.array([METRICS[name](ranks(row, sizes, weights), k=3 if name == "hits" else 0) for row in drawn])
    table = ranks(np.ones(len(sizes)), sizes, weights)
    centred = values - values.mean()
    errors = np.sqrt(np.array([np.mean(centred**2), np.mean(centred**4) - np.mean(centred**2) ** 2]) / trials)
    # Four standard errors: one draw in sixteen thousand lies outside.
    assert abs(values.mean() - expectation(STATISTICS[name], table, 3)) < 4 * errors[0]
    assert abs(np.mean(centred**2) - variance_of(STATISTICS[name], table, 3)) < 4 * errors[1]


@pytest.mark.parametrize("name", OF_RANKS)
@settings(max_examples=30, deadline=None)
@given(table=some_ranks(), ties=st.sampled_from(sorted(tie_policies())))
def test_every_value_lies_in_its_declared_range(name, table, ties):
    try:
        value = METRICS[name](table.under(ties), k=CUTOFF[name])
    except Undefined:
        return
    assert METRICS[name].lowest <= value <= METRICS[name].highest


def test_a_mean_of_ones_is_one_under_any_weights():
    weights = np.random.default_rng(0).uniform(0.1, 5, (200, 7))
    perfect = [ranks(np.ones(7), np.full(7, 9), one) for one in weights]
    assert any(float(one.normalized_weights @ np.ones(7)) > 1 for one in perfect)  # what rounding alone would give
    for name in ("hits", "mrr", "amri"):
        assert max(METRICS[name](one, k=3) for one in perfect) == 1


def z_gmr(values, sizes):
    """By Π and Σ in 50 digits: (E − M) / √(E[M²] − E²)."""
    with localcontext() as context:
        context.prec = 50
        n = Decimal(len(values))
        logs = [Decimal(j).ln() for j in range(1, max(sizes) + 1)]

        def moment(power):
            means = {size: sum((power * log / n).exp() for log in logs[:size]) / size for size in set(sizes)}
            return sum(means[size].ln() for size in sizes).exp()

        reached = (sum(logs[value - 1] for value in values) / n).exp()
        once, twice = moment(1), moment(2)
        return float((once - reached) / (twice - once**2).sqrt())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", [7, 400, 600, 5000])
def test_the_geometric_z_score_keeps_its_digits(count, weighted):
    rng = np.random.default_rng(count)
    sizes = rng.choice([2, 3, 10, 50], count)
    values = rng.integers(1, sizes + 1)
    weights = np.full(count, 0.3) if weighted else None
    exact = z_gmr(values.tolist(), sizes.tolist())
    assert METRICS["z-gmr"](ranks(values, sizes, weights)) == pytest.approx(exact, rel=1e-10, abs=1e-10)


SKEWED = [Fraction(1, 10**tens) for tens in (0, 30, 90)]
"""what the answers with a competitor weigh beside one that has none"""


@pytest.mark.parametrize("weight", SKEWED, ids=float)
@pytest.mark.parametrize(
    ("base", "value", "best"),
    [
        ("mr", Fraction, -1),
        ("mrr", lambda rank: Fraction(1, rank), 1),
        ("hits", lambda rank: Fraction(rank <= 3), 1),
    ],
    ids=["mr", "mrr", "hits"],
)
def test_a_certain_answer_of_any_weight_changes_no_digit(base, value, best, weight):
    values, sizes = [1, 4, 2, 9, 30], [1, 9, 4, 50, 31]
    weights = [Fraction(1), weight, weight / 3, weight / 7, weight / 2]
    table = ranks(values, sizes, np.array(weights, float))
    chances = [Fraction(sum(value(rank) for rank in range(1, size + 1)), size) for size in sizes]
    squares = [Fraction(sum(value(rank) ** 2 for rank in range(1, size + 1)), size) for size in sizes]
    gained = sum(w * (value(rank) - chance) for w, rank, chance in zip(weights, values, chances, strict=True))
    variance = sum(w**2 * (square - c**2) for w, square, c in zip(weights, squares, chances, strict=True))
    to_gain = sum(w * (1 - chance) for w, chance in zip(weights, chances, strict=True))
    square = float(gained**2 / variance)
    index = {"mr": "amri", "mrr": "amrr", "hits": "ahits"}[base]
    score = METRICS[f"z-{base}"](table, k=CUTOFF[f"z-{base}"])
    assert score == pytest.approx(best * math.copysign(square**0.5, gained), rel=1e-12)
    assert METRICS[index](table, k=CUTOFF[index]) == pytest.approx(float(gained / to_gain), rel=1e-12)


@pytest.mark.parametrize("weight", SKEWED, ids=float)
def test_a_certain_answer_of_any_weight_changes_no_digit_of_geometric_means(weight):
    values, sizes = [1, 4, 2, 9, 30], [1, 9, 4, 50, 31]
    weights = [Fraction(1), weight, weight / 3, weight / 7, weight / 2]
    with mpmath.workdps(250):
        shares = [mpmath.mpf(w.numerator) / w.denominator for w in weights]
        total = mpmath.fsum(shares)
        shares = [share / total for share in shares]

        def moment(power):
            return mpmath.fprod(
                mpmath.fsum(mpmath.mpf(j) ** (power * share) for j in range(1, size + 1)) / size
                for share, size in zip(shares, sizes, strict=True)
            )

        reached = mpmath.fprod(mpmath.mpf(rank) ** share for rank, share in zip(values, shares, strict=True))
        chance = moment(1)
        index = float((reached - chance) / (1 - chance))
        score = float((chance - reached) / mpmath.sqrt(moment(2) - chance**2))
    table = ranks(values, sizes, np.array(weights, float))
    assert METRICS["agmri"](table) == pytest.approx(index, rel=1e-12)
    assert METRICS["z-gmr"](table) == pytest.approx(score, rel=1e-12)


def test_the_geometric_z_score_grows_with_the_root_of_the_number_of_ranks():
    """The same rank, over and over: z / √n tends to (1 − r / exp E[ln j]) / √V[ln j]."""
    logs = np.log(np.arange(1, 101))
    limit = (1 - 3 / np.exp(logs.mean())) / logs.std()
    for count in (10**5, 10**6):
        values = np.full(count, 3)
        assert METRICS["z-gmr"](ranks(values, np.full(count, 100))) / count**0.5 == pytest.approx(limit, rel=1e-5)


@pytest.mark.parametrize("name", [name for name in OF_RANKS if METRICS[name].increasing is not None])
@settings(max_examples=30, deadline=None)
@given(table=some_ranks(), ties=st.sampled_from(sorted(tie_policies())), data=st.data())
def test_no_metric_worsens_when_an_answer_rises(name, table, ties, data):
    metric, k = METRICS[name], CUTOFF[name]
    below = np.flatnonzero(table.greater)
    if not len(below):
        return
    row = data.draw(st.sampled_from(below.tolist()))
    above = replace(table, greater=table.greater - (np.arange(len(table)) == row))
    try:
        change = metric(above.under(ties), k=k) - metric(table.under(ties), k=k)
    except Undefined:
        return
    assert change >= -1e-12 if metric.increasing else change <= 1e-12


@pytest.mark.parametrize("name", ["mr", "mrr", "hits", "gmr", "igmr", "imr", "hmr", "amr", "amri", "amrr", "ahits",
                                  "median", "inverse-median", "variance", "std", "mad"])  # fmt: skip
@settings(max_examples=20, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=8))
def test_whole_weights_are_repetitions(name, rows):
    values, weights = map(np.array, zip(*rows, strict=True))
    sizes = values + 7
    weighed = METRICS[name](ranks(values, sizes, weights.astype(float)), k=CUTOFF[name])
    repeated = METRICS[name](ranks(values.repeat(weights), sizes.repeat(weights)), k=CUTOFF[name])
    assert weighed == pytest.approx(repeated, rel=1e-10, abs=1e-12)


OF_CHANCE = ["amri", "amrr", "agmri", "z-mr", "z-mrr", "z-gmr"]
EACH = [name for name in OF_RANKS if name != "count"]


@pytest.mark.parametrize(
    ("names", "given", "why"),
    [
        (EACH, ranks([]), "there are no ranks"),
        (EACH, ranks([2], [9], np.array([0.0])), "no rank has a weight"),
        (["mrr"], ranks([1, 2], weights=np.array([np.nan, 1.0])), "not finite"),
        (OF_CHANCE, ranks([1, 1], [1, 1]), "no answer had a competitor"),
        ([*OF_CHANCE, "amr"], ranks([1, 1], [0, 5]), "an answer has no competitor, and does not count itself"),
        (["ahits", "z-hits"], ranks([1, 3], [2, 3]), "no answer had more than 3 candidates"),
        (["z-mr"], ranks([1, 2], [1, 3], np.array([1.0, 0.0])), "no answer with a weight had a competitor"),
    ],
)
def test_the_undefined_is_never_a_number(names, given, why):
    for name in names:
        with pytest.raises(Undefined, match=why):
            METRICS[name](given, k=CUTOFF[name])
    assert METRICS["amr"](ranks([1, 1], [1, 1])) == 1  # which needs no competitor


def test_random_ties_are_uniform():
    table = Ranks(np.zeros(60_000, np.int64), np.full(60_000, 2), np.full(60_000, 5), ties="random")
    places, counts = np.unique(table.values, return_counts=True)
    assert places.tolist() == [1, 2, 3]
    assert np.abs(counts - 20_000).max() < 4 * np.sqrt(60_000 * 2 / 9)
