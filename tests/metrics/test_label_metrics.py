"""Metrics of labelled triples against scikit-learn, hand-worked cases and plain loops."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.frozen import FrozenEstimator

from kgeval import summarize
from kgeval.base.errors import MetricError
from kgeval.metrics.labels.fitted import LabelPredictions, Thresholds, calibrator, predict_labels
from kgeval.metrics.labels.label_metrics import precision_recall, reliability, roc
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.metrics.metric import Undefined, metrics
from kgeval.metrics.names import parse_all

METRICS = metrics("labels")


def scored(scores, labels, relations=None):
    relations = np.zeros(len(scores), int) if relations is None else np.asarray(relations)
    return ScoredLabels(np.asarray(scores, float), np.asarray(labels, float), relations)


def judged(truths, scores, decisions=None, probabilities=None):
    truths, scores = np.asarray(truths, bool), np.asarray(scores, float)
    decisions = scores >= 0.5 if decisions is None else np.asarray(decisions, bool)
    probabilities = scores if probabilities is None else np.asarray(probabilities, float)
    return LabelPredictions(truths, scores, np.zeros(len(truths), int), decisions, probabilities)


def value(name, data):
    return METRICS[name](data)


@st.composite
def cases(draw):
    """Triples of both classes, with scores in 0 … 1 of which many tie."""
    size = draw(st.integers(2, 40))
    truths = draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(lambda all_: 0 < sum(all_) < len(all_)))
    scores = draw(st.lists(st.integers(0, 12).map(lambda n: n / 12), min_size=size, max_size=size))
    return np.array(truths), np.array(scores)


def test_the_case_of_the_reference():
    data = judged([0, 0, 1, 1, 1], [0.1, 0.4, 0.35, 0.8, 0.8])
    curve = precision_recall(data)
    assert round(value("average_precision", data), 4) == 0.9167
    assert round(sk.auc(curve["recall"], curve["precision"]), 4) == 0.9028  # the trapezoids' area differs from it
    assert value("roc_auc", data) == pytest.approx(5 / 6)  # 5 of 6 pairs are in order


@settings(max_examples=25, deadline=None)
@given(cases())
def test_metrics_agree_with_scikit_learn(case):
    truths, scores = case
    data = judged(truths, scores)
    called = scores >= 0.5
    assert value("accuracy", data) == pytest.approx(sk.accuracy_score(truths, called))
    assert value("roc_auc", data) == pytest.approx(sk.roc_auc_score(truths, scores))
    assert value("average_precision", data) == pytest.approx(sk.average_precision_score(truths, scores))
    assert value("brier", data) == pytest.approx(sk.brier_score_loss(truths, scores))
    assert value("recall", data) == pytest.approx(sk.recall_score(truths, called))
    assert value("f1", data) == pytest.approx(sk.f1_score(truths, called))
    tn, fp, _, _ = sk.confusion_matrix(truths, called).ravel()
    assert value("specificity", data) == pytest.approx(tn / (tn + fp))
    assert value("fall-out", data) == pytest.approx(fp / (tn + fp))
    assert value("balanced_accuracy", data) == pytest.approx(sk.balanced_accuracy_score(truths, called))
    pairs = [(t > f) + (t == f) / 2 for t in scores[truths] for f in scores[~truths]]
    assert value("roc_auc", data) == pytest.approx(np.mean(pairs))
    inside = judged(truths, 0.01 + 0.98 * scores)
    assert value("log_loss", inside) == pytest.approx(sk.log_loss(truths, inside.scores))
    for metric in METRICS.values():
        if metric.name not in ("precision", "mcc") or len(set(inside.decisions)) == 2:
            assert metric.lowest <= metric(inside) <= metric.highest, metric.name
    if called.any():
        assert value("precision", data) == pytest.approx(sk.precision_score(truths, called))
    if len(set(called)) == 2:
        assert value("mcc", data) == pytest.approx(sk.matthews_corrcoef(truths, called))


@settings(max_examples=25, deadline=None)
@given(cases())
def test_the_curves_end_where_they_must_and_hold_the_areas(case):
    truths, scores = case
    data = judged(truths, scores)
    rates = roc(data)
    assert (rates["false_positive_rate"][0], rates["true_positive_rate"][0]) == (0, 0)
    assert (rates["false_positive_rate"][-1], rates["true_positive_rate"][-1]) == (1, 1)
    assert sk.auc(rates["false_positive_rate"], rates["true_positive_rate"]) == pytest.approx(value("roc_auc", data))
    curve = precision_recall(data)
    assert len(curve["precision"]) == len(curve["recall"]) == len(curve["threshold"])
    assert (curve["precision"][-1], curve["recall"][-1], curve["recall"][0]) == (1, 0, 1)


@settings(max_examples=25, deadline=None)
@given(cases(), st.integers(1, 20))
def test_the_reliability_curve_is_a_plain_loop_over_bins(case, bins):
    truths, scores = case
    curve = reliability(judged(truths, scores), bins=bins)
    expected = []
    for index in range(bins):
        low, high = index / bins, (index + 1) / bins
        # The bin of a probability is decided in the same arithmetic as its edges' multiples.
        inside = [s for s in range(len(scores)) if max(int(np.ceil(scores[s] * bins)) - 1, 0) == index]
        if inside:
            expected.append((low, high, len(inside), scores[inside].mean(), truths[inside].mean()))
    np.testing.assert_allclose(np.column_stack([*curve.values()]), expected)


def test_the_reliability_curve_agrees_with_scikit_learn_inside_the_bins():
    rng = np.random.default_rng(0)
    scores = rng.random(500)
    truths = rng.random(500) < scores
    curve = reliability(judged(truths, scores), bins=10)
    shares, means = calibration_curve(truths, scores, n_bins=10)
    np.testing.assert_allclose(curve["share_true"], shares)
    np.testing.assert_allclose(curve["mean_probability"], means)


def test_ece_of_a_case_by_hand():
    # Bins of 15: 0.2 in (2/15, 3/15], twice, half of them true; 0.9 in (13/15, 14/15], once, true.
    data = judged([1, 0, 1], [0.2, 0.2, 0.9])
    assert value("ece", data) == pytest.approx((2 * abs(0.5 - 0.2) + abs(1 - 0.9)) / 3)


@pytest.mark.parametrize("name", METRICS)
def test_a_perfect_and_a_hopeless_model_are_told_apart_in_the_declared_direction(name):
    truths = np.array([1, 1, 0, 0])
    right, wrong = judged(truths, [0.9, 0.8, 0.1, 0.2]), judged(truths, [0.1, 0.6, 0.9, 0.8])
    better = value(name, right) - value(name, wrong)
    assert better > 0 if METRICS[name].increasing else better < 0


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("roc_auc", judged([1, 1], [0.2, 0.3]), "all true"),
        ("average_precision", judged([0, 0], [0.2, 0.3]), "all false"),
        ("precision", judged([0, 1], [0.1, 0.2]), "no triple was predicted true"),
        ("recall", judged([0, 0], [0.1, 0.9]), "no triple is true"),
        ("f1", judged([0, 0], [0.1, 0.2]), "no triple is true or was predicted true"),
        ("specificity", judged([1, 1], [0.1, 0.9]), "no triple is false"),
        ("fall-out", judged([1, 1], [0.1, 0.9]), "no triple is false"),
        ("balanced_accuracy", judged([1, 1], [0.1, 0.9]), "all true"),
        ("mcc", judged([1, 0], [0.7, 0.9]), "all were predicted to be the same"),
        ("mcc", judged([1, 1], [0.1, 0.9]), "all triples are true"),
        ("log_loss", judged([1, 0], [0.0, 0.2]), "infinite"),
        ("log_loss", judged([1, 0], [0.7, 1.0]), "infinite"),
    ],
)
def test_the_undefined_is_named(name, data, why):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Undefined, match=why):
            value(name, data)


# Thresholds


def accuracy_at(threshold, scores, truths):
    return np.mean((scores >= threshold) == truths)


@settings(max_examples=25, deadline=None)
@given(cases())
def test_the_threshold_is_the_smallest_of_the_best_that_occur(case):
    truths, scores = case
    best = Thresholds.fit(scored(scores, truths)).global_threshold
    tried = {threshold: accuracy_at(threshold, scores, truths) for threshold in sorted(set(scores))}
    assert best == min(t for t, accuracy in tried.items() if accuracy == max(tried.values()))


def test_a_relation_without_validation_triples_gets_the_threshold_of_all():
    valid = scored([1, 2, 3, 7, 8, 9], [0, 0, 1, 0, 1, 1], ["a"] * 3 + ["b"] * 3)
    fitted = Thresholds.fit(valid)
    assert fitted.by_relation == {"a": 3.0, "b": 8.0}
    test = scored([3, 7, 7], [1, 0, 1], ["a", "b", "unheard of"])
    assert fitted.decide(test).tolist() == [True, False, True]
    assert fitted.global_threshold == 3.0


def test_no_validation_triples_leave_the_decisions_undefined_but_not_the_area():
    data = predict_labels(scored([], []), scored([1, 2], [0, 1]), calibration="platt")
    with pytest.raises(Undefined, match="no validation triples"):
        value("accuracy", data)
    with pytest.raises(Undefined, match="calibration needs both"):
        value("brier", data)
    assert value("roc_auc", data) == 1


# Calibration


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function is its single feature."""

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, x):
        return x[:, 0]

    def predict(self, x):
        return (x[:, 0] > 0).astype(int)


@pytest.mark.parametrize(("calibration", "method"), [("platt", "sigmoid"), ("isotonic", "isotonic")])
def test_calibration_agrees_with_scikit_learn(calibration, method):
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 3, 200)
    truths = (scores + rng.normal(0, 2, 200) > 1).astype(int)
    model = CalibratedClassifierCV(FrozenEstimator(Scores().fit(None, truths)), method=method)
    model.fit(scores[:, None], truths)
    new = np.linspace(-8, 8, 33)
    expected = model.predict_proba(new[:, None])[:, 1]
    np.testing.assert_allclose(calibrator(scored(scores, truths), calibration)(new), expected, atol=2e-5)


@settings(max_examples=25, deadline=None)
@given(cases(), st.sampled_from(["platt", "isotonic"]))
def test_probabilities_never_fall_as_scores_rise_the_better_way(case, calibration):
    truths, scores = case
    fitted = calibrator(scored(scores, truths), calibration)(np.linspace(-1, 2, 31))
    assert ((fitted >= 0) & (fitted <= 1)).all()
    rises = np.diff(fitted)
    assert (rises >= -1e-12).all() or (calibration == "platt" and (rises <= 1e-12).all())


def test_separable_scores_stay_finite():
    fitted = calibrator(scored([-1000.0, 1000.0], [0, 1]))(np.array([-1000.0, 1000.0]))
    # Platt's targets of one triple each: 1/3 and 2/3.
    np.testing.assert_allclose(fitted, [1 / 3, 2 / 3], atol=1e-6)


@pytest.mark.parametrize("calibration", ["platt", "isotonic"])
@pytest.mark.parametrize(("factor", "shift"), [(1e-300, 0), (1e-17, 0), (1e150, 0), (1e300, 0), (0.001, 1), (900, -99)])
def test_no_scale_of_scores_loses_their_order(calibration, factor, shift):
    rng = np.random.default_rng(3)
    scores, truths = rng.normal(size=60), rng.integers(0, 2, 60)
    plain = calibrator(scored(scores, truths), calibration)(scores)
    assert len(np.unique(plain)) >= 5
    moved = factor * scores + shift
    scaled = calibrator(scored(moved, truths), calibration)(moved)
    np.testing.assert_allclose(scaled, plain, atol=1e-5)


@pytest.mark.parametrize("calibration", ["platt", "isotonic"])
def test_constant_scores_are_as_probable_as_the_share_of_true_ones(calibration):
    fitted = calibrator(scored(np.full(1000, 0.1), np.arange(1000) % 4 == 0), calibration)
    expected = 0.25 if calibration == "isotonic" else (250 * 251 / 252 + 750 / 752) / 1000
    np.testing.assert_allclose(fitted(np.array([0.0999, 0.1, 0.1001])), expected, atol=1e-6)


def test_scores_far_beyond_those_of_validation_are_certain():
    fitted = calibrator(scored([-1e-5, 1e-5, -2e-5, 2e-5], [0, 1, 1, 1]))
    np.testing.assert_allclose(fitted(np.array([-1.7e308, 1.7e308])), [0, 1])


@pytest.mark.parametrize("calibration", ["platt", "isotonic"])
def test_no_test_triples_leave_everything_undefined(calibration):
    data = predict_labels(scored([0.1, 0.9], [0, 1]), scored([], []), calibration=calibration)
    for name, metric in METRICS.items():
        with pytest.raises(Undefined, match=r"there are no triples|no triple (was predicted|is) true"):
            print(name, metric(data))


def test_scores_that_are_no_probabilities_are_not_taken_for_such():
    valid = scored([0.5, 3.0], [0, 1])
    data = predict_labels(valid, valid, calibration="none")
    with pytest.raises(Undefined, match="scores such as 3 are not probabilities"):
        value("brier", data)
    assert value("accuracy", data) == 1


# Input and names


def test_all_unknown_names_are_told_at_once():
    with pytest.raises(MetricError, match=r"(?s)'accurcy'.*'accuracy'.*'relatoin'.*'relation'"):
        parse_all(["accurcy", "relatoin.f1", "f1"], "classification")
    with pytest.raises(MetricError, match="'rmse': rmse is computed from confidences, not from labels"):
        parse_all(["rmse"], "classification")
    with pytest.raises(MetricError, match=r"unknown metric 'recal' of classification\. Did you mean 'recall'"):
        parse_all("recal", "classification")


@pytest.mark.parametrize("kind", ["classification", "confidences"])
def test_macro_means_over_queries_and_relation_over_relations(kind):
    name = {"classification": "f1", "confidences": "rmse"}[kind]
    with pytest.raises(MetricError, match="unexpected 'macro'"):
        parse_all(f"macro.{name}", kind)
    assert [str(found) for found in parse_all([f"micro.{name}", f"relation.{name}"], kind)] == [
        name,
        f"relation.{name}",
    ]
    for prefix in ("head", "random", "strat"):
        with pytest.raises(MetricError, match=f"unexpected '{prefix}'"):
            parse_all(f"{prefix}.{name}", kind)


def test_own_scores_and_labels_are_summarised_as_scikit_learn_does():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 400)
    scores = labels + rng.normal(0, 1.2, 400)
    relations = rng.choice(["likes", "knows"], 400).tolist()
    valid = ScoredLabels(scores[:200].tolist(), labels[:200].tolist(), relations[:200])
    test = ScoredLabels(torch.tensor(scores[200:], requires_grad=True), torch.tensor(labels[200:]), relations[200:])
    names = ["roc_auc", "average_precision", "accuracy", "relation.f1", "ece"]
    summary = summarize({"valid": valid, "test": test}, names)
    assert summary["roc_auc"] == pytest.approx(sk.roc_auc_score(labels[200:], scores[200:]))
    assert summary["average_precision"] == pytest.approx(sk.average_precision_score(labels[200:], scores[200:]))
    decisions = Thresholds.fit(valid).decide(test)
    assert summary["accuracy"] == pytest.approx((decisions == labels[200:]).mean())
    assert [line.predictor for line in summary.groups] == ["model"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: calibrator(scored([1, 2], [1, 1])), "all true"),
        (lambda: calibrator(scored([1, 2], [0, 1]), "plat"), "Did you mean 'platt'"),
        (lambda: Thresholds.fit(scored([1, 2], [0.3, 1])), r"labels\[0\] is 0\.3"),
        (lambda: scored([1, np.nan], [0, 1]), r"scores\[1\] is nan"),
        (lambda: scored([1, np.inf], [0, 1]), r"scores\[1\] is inf"),
        (lambda: scored([1, 2], [0, -0.5]), r"labels\[1\] is -0.5"),
        (lambda: scored([1, 2], [0, np.inf]), r"labels\[1\] is inf"),
        (lambda: scored([1, 2], [0, np.nan]), r"labels\[1\] is nan"),
        (lambda: ScoredLabels(None, None, None), r"scores: expected one row of numbers, found shape \(\)"),
        (lambda: ScoredLabels(np.ones((2, 2)), [1, 1], [0, 0]), r"found shape \(2, 2\)"),
        (lambda: ScoredLabels(["a"], [1], [0]), "scores: expected numbers, found text"),
        (lambda: ScoredLabels([0.5], [1], 7), r"relations: expected one id or label for each triple, found shape \(\)"),
        (lambda: ScoredLabels([0.5], [1], [[1], [2, 3]]), "relations: expected one id or label for each triple"),
        (lambda: ScoredLabels([0.5], [1, 0], ["a"]), "1 scores, 2 labels and 1 relations"),
        (lambda: summarize({"test": scored([1], [1])}), "ScoredLabels of 'valid' and of 'test', found {'test'"),
        (lambda: summarize({"valid": 1, "test": 2}), "found {'valid': int, 'test': int}"),
        (lambda: summarize(5), "the table of kgeval.classify or kgeval.tasks.Confidences, .* found int"),
    ],
)
def test_what_is_not_labelled_is_explained(call, message):
    with pytest.raises(MetricError, match=message):
        call()
