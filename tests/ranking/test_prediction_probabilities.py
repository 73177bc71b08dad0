"""Probabilities of predictions: scikit-learn's calibration, and how often predictions of a probability are true."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve

import kgeval
from kgeval import ScoredLabels
from kgeval.base.errors import MetricError
from kgeval.metrics.labels.fitted import calibrator, threshold_of_precision
from kgeval.ranking.predictions.prediction_files import flat_rows, written_rows

COUNT = 40_000


def one_score(h, r, t):
    return (h * 5 + r * 3 + t * 7) % 11


@pytest.fixture(scope="module")
def valid():
    return kgeval.classify(one_score, "nations").scored("valid")


@pytest.fixture(scope="module")
def table():
    return kgeval.predict(one_score, "nations", k=5)


def test_probabilities_are_the_logistic_function_of_greatest_likelihood(table, valid):
    """With many triples, Platt's smoothed targets are nearly the labels, as which scikit-learn fits them."""
    many = ScoredLabels(*(np.tile(column, 200) for column in (valid.scores, valid.labels, valid.relations)))
    model = LogisticRegression(C=np.inf).fit(many.scores[:, None], many.labels)
    found = table.with_probabilities(many).column("probability")
    assert found == pytest.approx(model.predict_proba(table.column("score")[:, None])[:, 1], abs=1e-4)
    assert np.array_equal(
        table.with_probabilities(valid, "isotonic").column("probability"),
        calibrator(valid, "isotonic")(table.column("score")),
    )


@pytest.mark.parametrize("calibration", ["platt", "isotonic"])
def test_probabilities_are_shares_of_a_held_out_half_within_the_binomial_band(calibration):
    """In ten groups by probability, the number of true triples is within 3.3 standard deviations (99.9 %)."""
    rng = np.random.default_rng(4)
    scores = rng.normal(size=COUNT)
    truth = expit(1.5 * scores - 0.5) if calibration == "platt" else np.clip(0.5 + 0.4 * np.tanh(2 * scores), 0, 1)
    labels = rng.random(COUNT) < truth
    half = np.arange(COUNT) % 2 == 0
    fitted = calibrator(ScoredLabels(scores[half], labels[half], np.zeros(COUNT // 2)), calibration)
    inside(fitted(scores[~half]), labels[~half])


def inside(probabilities, labels):
    for rows in np.array_split(np.argsort(probabilities), 10):
        p = probabilities[rows]
        assert abs(labels[rows].sum() - p.sum()) <= 3.3 * np.sqrt((p * (1 - p)).sum()) + 1


@pytest.mark.parametrize("name", ["umls-complex", "umls-distmult", "umls-transe"])
@pytest.mark.parametrize("calibration", ["platt", "isotonic"])
def test_probabilities_of_trained_models_hold_on_test(shared, name, calibration):
    """Fitted on valid: in ten groups, predicted and true shares of test differ as two samples of one share do."""
    labels = kgeval.classify(kgeval.load_checkpoint(shared / "checkpoints" / "pykeen" / name), "umls")
    test = labels.scored("test")
    p = calibrator(labels.scored("valid"), calibration)(test.scores)
    for rows in np.array_split(np.argsort(p, kind="stable"), 10):
        predicted, true = p[rows].mean(), test.labels[rows].mean()
        pooled = (predicted + true) / 2
        assert abs(predicted - true) <= 3.3 * np.sqrt(2 * pooled * (1 - pooled) / len(rows)) + 1 / len(rows)


def test_a_threshold_has_the_precision_of_scikit_learns_curve(valid):
    precision, _, thresholds = precision_recall_curve(valid.is_true, valid.scores)
    for wanted in (0.3, 0.49, 0.5):
        expected = [threshold for share, threshold in zip(precision[:-1], thresholds, strict=True) if share >= wanted]
        assert threshold_of_precision(valid, wanted) == min(expected)
    with pytest.raises(MetricError, match=r"no threshold has the precision 0\.99: the highest is 0\."):
        threshold_of_precision(valid, 0.99)


def test_predictions_below_the_threshold_are_left_out(table, valid):
    threshold = threshold_of_precision(valid, 0.5)
    kept = table.with_probabilities(valid, precision=0.5)
    assert np.array_equal(kept.column("score"), table.column("score")[table.column("score") >= threshold])
    kept._refuse_nonsense()


def test_one_label_calibrates_nothing(table):
    with pytest.raises(MetricError, match="all true: calibration needs both"):
        table.with_probabilities(ScoredLabels([0.1, 0.2], [1, 1], ["r", "r"]))


def test_rows_have_the_query_and_what_the_table_says(table, valid):
    """Against the table, row by row; lines of JSON and CSV have the same content."""
    with_probabilities = table.with_probabilities(valid)
    frame = with_probabilities.to_pandas()
    rows = flat_rows(with_probabilities)
    assert [*rows] == [
        *("query", "head", "relation", "tail", "side", "entity", "score", "probability", "rank", "raw_rank", "known"),
        "of_type",
    ]
    for row, expected in zip(rows.to_dict("records"), frame.to_dict("records"), strict=True):
        anchor, missing = ("tail", "head") if expected["side"] == "head" else ("head", "tail")
        assert (row[anchor], row[missing]) == (expected["anchor_label"], "?")
        assert (row["relation"], row["entity"]) == (expected["relation_label"], expected["entity_label"])
        assert (row["rank"], row["raw_rank"]) == (expected["rank"], expected["raw_rank"])
        assert row["of_type"] == ("yes" if expected["is_of_type"] else "no")
    lines = written_rows(with_probabilities, "jsonl").decode().splitlines()
    assert [json.loads(line) for line in lines] == rows.to_dict("records")
    parts = [with_probabilities.where(with_probabilities.column("query") < 3)]
    parts.append(with_probabilities.where(with_probabilities.column("query") >= 3))
    whole = written_rows(with_probabilities, "csv")
    assert whole == b"".join(written_rows(part, "csv", header=not number) for number, part in enumerate(parts))
    assert whole.count(b"query,head") == 1


def test_labels_with_line_breaks_stay_in_their_cells():
    labels = ["a,b", 'c"d', "e\rf", "g\nh", "=1"]
    data = kgeval.Dataset.from_labels(train=[(one, "r", other) for one in labels for other in labels])
    table = kgeval.predict(lambda h, r, t: t, data, queries=[("a,b", "r", "?")], k=5)
    rows = [*csv.DictReader(io.StringIO(written_rows(table, "csv").decode(), newline=""))]
    assert [row["entity"] for row in rows] == table.column("entity_label").tolist()
    assert {row["head"] for row in rows} == {"a,b"}


def test_infinite_scores_are_text_in_json():
    scores = np.full((14, 55, 14), 0.5)
    scores[:, :, 3] = np.inf
    table = kgeval.predict(lambda h, r, t: scores[h, r, t], "nations", queries=[(0, 0, -1)], k=2)
    first, _ = written_rows(table, "jsonl").decode().splitlines()
    assert json.loads(first)["score"] == "inf"
