"""Intervals of label metrics, and tests of their differences: against derivatives, DeLong's formula and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    matthews_corrcoef,
    precision_score,
    recall_score,
    roc_auc_score,
)

from kgeval import ScoredLabels, summarize
from kgeval.base.errors import MetricError
from kgeval.metrics.intervals.interval import Intervals, NoInterval
from kgeval.metrics.labels.fitted import LabelPredictions
from kgeval.metrics.labels.label_intervals import Scatter, added_by_units
from kgeval.metrics.labels.label_intervals import label_interval as interval_around
from kgeval.metrics.labels.label_summary import label_groups
from kgeval.metrics.names import parse
from scripts.simulation.labels import CASES, METRICS, held, rejected
from scripts.simulation.labels import made as simulated
from tests.simulated import draws, error

SCORES = {
    "accuracy": lambda y, d, s, p, w: accuracy_score(y, d, sample_weight=w),
    "precision": lambda y, d, s, p, w: precision_score(y, d, sample_weight=w),
    "recall": lambda y, d, s, p, w: recall_score(y, d, sample_weight=w),
    "f1": lambda y, d, s, p, w: f1_score(y, d, sample_weight=w),
    "specificity": lambda y, d, s, p, w: recall_score(~y, ~d, sample_weight=w),
    "fall-out": lambda y, d, s, p, w: 1 - recall_score(~y, ~d, sample_weight=w),
    "balanced_accuracy": lambda y, d, s, p, w: balanced_accuracy_score(y, d, sample_weight=w),
    "mcc": lambda y, d, s, p, w: matthews_corrcoef(y, d, sample_weight=w),
    "roc_auc": lambda y, d, s, p, w: roc_auc_score(y, s, sample_weight=w),
    "average_precision": lambda y, d, s, p, w: average_precision_score(y, s, sample_weight=w),
    "brier": lambda y, d, s, p, w: brier_score_loss(y, p, sample_weight=w),
    "log_loss": lambda y, d, s, p, w: log_loss(y, p, sample_weight=w),
}
"""scikit-learn's metrics of labels, decisions, scores, probabilities and weights"""


def label_interval(name, data, settings):
    (group,) = label_groups("model", data, [name])
    return interval_around(name, data, group.values[name], settings)


def made(rng, count=60, *, digits=None, share=0.5, shift=1.0):
    truths = np.arange(count) < max(1, round(share * count))
    scores = rng.normal(size=count) + shift * truths
    scores = scores if digits is None else scores.round(digits)
    relations = rng.integers(0, 25, count)
    return LabelPredictions(truths, scores, relations, scores > shift / 2, 1 / (1 + np.exp(-scores)))


@pytest.mark.parametrize("digits", [None, 0])
@pytest.mark.parametrize("name", SCORES)
def test_contributions_are_the_derivatives_of_scikit_learns_weighted_metrics(name, digits):
    """The derivative by the weight of each triple, as a difference quotient; also where scores tie."""
    data = made(np.random.default_rng(3), digits=digits)
    arguments = data.truths, data.decisions, data.scores, data.probabilities
    added, strata = added_by_units(parse(name, "classification"), data, "triple")
    assert strata.tolist() == data.truths.tolist()
    for row in range(0, len(data), 3):
        step = 1e-4 * (np.arange(len(data)) == row)
        high, low = (SCORES[name](*arguments, 1 + sign * step) for sign in (1, -1))
        assert added[row] == pytest.approx((high - low) / 2e-4, abs=1e-6), row


def delong(truths, scores):
    """The covariance of AUCs by structural components, from all pairs (DeLong et al., 1988); float64[model, model]."""
    wins = [(s[truths][:, None] > s[~truths]) + (s[truths][:, None] == s[~truths]) / 2 for s in scores]
    of_true, of_false = (np.cov([won.mean(axis=axis) for won in wins]) for axis in (1, 0))
    return of_true / truths.sum() + of_false / (~truths).sum()


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), digits=st.sampled_from([None, 0]), share=st.sampled_from([0.3, 0.5]))
def test_the_standard_errors_of_auc_and_its_difference_are_those_of_delong(seed, digits, share):
    rng, auc = np.random.default_rng(seed), parse("roc_auc", "classification")
    one, other = made(rng, 100, digits=digits, share=share), made(rng, 100, digits=digits, share=share)
    added = [added_by_units(auc, data, "triple") for data in (one, other)]
    expected = delong(one.truths, [one.scores, other.scores])
    assert Scatter.of(*added[0], "triple").error ** 2 == pytest.approx(expected[0, 0], abs=1e-15)
    difference = Scatter.of(added[0][0] - added[1][0], added[0][1], "triple")
    assert difference.error**2 == pytest.approx(expected[0, 0] + expected[1, 1] - 2 * expected[0, 1], abs=1e-15)


def test_the_interval_of_an_accuracy_by_hand():
    """40 of 50 true and 30 of 50 false triples are right: V = (.8 · .2 + .6 · .4) / 4 / 49, by the logit."""
    truths = np.repeat([True, False], 50)
    right = np.r_[np.arange(50) < 40, np.arange(50) < 30]
    data = LabelPredictions(truths, np.zeros(100), np.zeros(100), right == truths, np.zeros(100))
    interval = label_interval(parse("accuracy", "classification"), data, Intervals())
    variances = np.array([0.8 * 0.2, 0.6 * 0.4]) / 4 / 49
    assert interval.standard_error == pytest.approx(np.sqrt(variances.sum()))
    degrees = variances.sum() ** 2 / (variances**2 / 49).sum()
    from scipy.stats import t

    reach = t.ppf(0.975, degrees) * np.sqrt(variances.sum()) / (0.7 * 0.3)
    ends = 1 / (1 + np.exp(-(np.log(0.7 / 0.3) + np.array([-reach, reach]))))
    assert (interval.low, interval.high) == pytest.approx(tuple(ends))
    assert (interval.units, interval.unit, interval.method) == (100, "triple", "linearised, by class, logit")


def test_relations_are_resampled_as_a_whole():
    """Twice the same triples are no more relations: the interval stays, but for triples it is narrower."""
    rng = np.random.default_rng(5)
    data = made(rng, 200)
    twice = LabelPredictions(*(np.concatenate([column, column]) for column in vars(data).values()))
    for name in SCORES:
        metric = parse(name, "classification")
        of_relations = [label_interval(metric, part, Intervals(unit="relation")) for part in (data, twice)]
        assert of_relations[0].standard_error == pytest.approx(of_relations[1].standard_error)
        of_triples = [label_interval(metric, part, Intervals()) for part in (data, twice)]
        assert of_triples[1].standard_error < 0.75 * of_triples[0].standard_error


def test_a_mean_over_relations_scatters_as_its_relations():
    data, name = made(np.random.default_rng(7), 400), parse("relation.accuracy", "classification")
    values = [
        np.mean((data.decisions == data.truths)[data.relations == relation]) for relation in np.unique(data.relations)
    ]
    interval = label_interval(name, data, Intervals(unit="relation"))
    assert interval.standard_error == pytest.approx(np.std(values, ddof=1) / np.sqrt(len(values)))
    assert interval.low < np.mean(values) < interval.high
    assert "over relations" in str(label_interval(name, data, Intervals()))


def test_an_end_of_the_range_has_wilsons_interval():
    """All 60 right: z² / (n + z²) below 1, of the 30 triples of the smaller class."""
    truths = np.repeat([True, False], 30)
    data = LabelPredictions(truths, truths.astype(float), np.zeros(60), truths, np.where(truths, 0.9, 0.1))
    square = norm.ppf(0.975) ** 2
    for name in ("accuracy", "roc_auc", "average_precision"):
        interval = label_interval(parse(name, "classification"), data, Intervals())
        assert (interval.low, interval.high) == (pytest.approx(30 / (30 + square)), 1)
    assert isinstance(label_interval(parse("brier", "classification"), data, Intervals()), NoInterval)


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        ("triple", "only 5 triples of one label; an interval needs at least 20"),
        ("relation", "only 1 rel"),
    ],
)
def test_few_units_have_no_interval(unit, reason):
    data = made(np.random.default_rng(0), 50, share=0.1)
    data = LabelPredictions(data.truths, data.scores, np.zeros(50), data.decisions, data.probabilities)
    assert reason in str(label_interval(parse("roc_auc", "classification"), data, Intervals(unit=unit)))


@pytest.mark.parametrize("label", [True, False])
@pytest.mark.parametrize("name", ["accuracy", "f1", "brier"])
def test_triples_of_one_label_alone_have_no_interval(name, label):
    truths, decisions = np.full(100, label), np.arange(100) % 7 > 0
    data = LabelPredictions(truths, np.arange(100.0), np.zeros(100), decisions, np.full(100, 0.5))
    assert "only 0 triples of one label" in str(label_interval(parse(name, "classification"), data, Intervals()))


def test_a_precision_of_few_predicted_triples_has_no_interval():
    """It rests on the triples that are predicted true, however many there are."""
    truths = np.repeat([True, False], 200)
    decisions = np.arange(400) < 15
    data = LabelPredictions(truths, np.zeros(400), np.zeros(400), decisions, np.zeros(400))
    assert "only 15 triples" in str(label_interval(parse("precision", "classification"), data, Intervals()))
    assert not isinstance(label_interval(parse("accuracy", "classification"), data, Intervals()), NoInterval)


def test_a_mean_over_few_defined_relations_has_no_interval():
    """The AUC is defined in 3 of 40 relations."""
    relations = np.arange(400) % 40
    truths = np.where(relations < 3, np.arange(400) % 80 < 40, relations % 2 == 0)
    data = LabelPredictions(truths, np.random.default_rng(0).normal(size=400), relations, truths, np.zeros(400))
    name = parse("relation.roc_auc", "classification")
    assert "only 3 relations" in str(label_interval(name, data, Intervals(unit="relation")))


def test_summaries_have_intervals_of_the_model_and_of_baselines():
    rng = np.random.default_rng(2)
    parts = {split: made(rng, 200) for split in ("valid", "test")}
    scored = {split: ScoredLabels(of.scores, of.truths, of.relations) for split, of in parts.items()}
    summary = summarize(scored, ["roc_auc", "ece", "relation.f1"], intervals="triple")
    assert str(summary.heads[-1]) == "95 % intervals (resampling triples)"
    ends = summary.interval("auc")
    assert ends.low < summary["roc_auc"] < ends.high
    assert summary.to_dict()["remarks"]["model"]["intervals"]["roc_auc"]["low"] == ends.low
    assert any(note.startswith("no intervals of ece: ") for note in summary.notes)
    assert summarize(scored, "roc_auc", by="relation", intervals="triple").groups[1].no_interval
    with pytest.raises(MetricError, match="no unit 'query'"):
        summarize(scored, "roc_auc", intervals="query")


@pytest.mark.parametrize("name", METRICS)
def test_the_metrics_of_the_simulation_are_the_metrics(name):
    data = simulated(np.random.default_rng(23), 400, 0.5, 1.0)
    assert METRICS[name](data) == pytest.approx(parse(name, "classification")(data), abs=1e-14)


@pytest.mark.parametrize("name", METRICS)
def test_intervals_hold_the_truth_and_tests_reject_as_often_as_they_say(name):
    """``scripts/simulate labels`` draws 10,000 times, in four cases."""
    count = draws(600)
    assert held(name, CASES[0], count) == pytest.approx(0.95, abs=0.005 + error(0.95, count))
    assert rejected(name, CASES[0], count) == pytest.approx(0.05, abs=0.002 + error(0.05, count))
