"""Comparisons of classifications: paired differences against a bootstrap and by hand, baselines, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import rankdata, ttest_rel
from sklearn.metrics import roc_auc_score

import kgeval
from kgeval import classify, compare, evaluate, load_dataset
from kgeval.base.errors import MetricError
from kgeval.tasks import GeneratedNegatives


def model(seed):
    """A model that knows a little of umls: the frequency of tails, with noise."""
    rng = np.random.default_rng(seed)
    data = load_dataset("umls")
    counts = np.zeros((46, 135))
    np.add.at(counts, (data.train.relations, data.train.tails), 1.0)
    noise = rng.normal(size=(135, 46, 135))
    return lambda h, r, t: np.log1p(counts[r, t]) + noise[h, r, t]


@pytest.fixture(scope="module")
def tables():
    return {name: classify(model(seed), "umls") for name, seed in {"one": 0, "other": 1}.items()}


def test_a_difference_of_auc_has_the_standard_error_of_a_paired_bootstrap(tables):
    """Triples are drawn with replacement within each class, the same for both models."""
    (pair, *_) = compare(tables, "roc_auc").pairs
    one, other = (table.scored("test") for table in tables.values())
    true, false = np.flatnonzero(one.is_true), np.flatnonzero(~one.is_true)
    rng, drawn = np.random.default_rng(0), []
    for _ in range(2_000):
        rows = np.r_[rng.choice(true, len(true)), rng.choice(false, len(false))]
        # The AUC is the mean rank of the true triples, less (true + 1) / 2, divided by the number of the false ones.
        true_ranks = np.stack([rankdata(of.scores[rows])[: len(true)] for of in (one, other)])
        drawn.append(np.subtract(*true_ranks.mean(axis=1)) / len(false))
    assert pair.difference == roc_auc_score(one.labels, one.scores) - roc_auc_score(other.labels, other.scores)
    assert pair.interval.standard_error == pytest.approx(np.std(drawn), rel=0.06)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert (pair.interval.low, pair.interval.high) == pytest.approx((low, high), abs=0.002)


def test_a_difference_of_accuracies_is_tested_by_classes(tables):
    """Against the paired t test of SciPy, which takes all triples as one class: here both err alike often."""
    pair = next(pair for pair in compare(tables, ["accuracy"]).pairs if pair.other == "other")
    right = [
        predicted["model"].decisions == predicted["model"].truths for predicted in map(_predictions, tables.values())
    ]
    expected = ttest_rel(*(of.astype(float) for of in right))
    assert pair.p == pytest.approx(expected.pvalue, rel=0.02)


def _predictions(table):
    return kgeval.summarize(table, "accuracy").predictions


def test_a_mean_over_relations_is_tested_over_relations(tables):
    comparison = compare(tables, ["relation.accuracy"], intervals="relation")
    relations = _predictions(tables["one"])["model"].relations
    values = []
    for table in tables.values():
        of = _predictions(table)["model"]
        values.append([np.mean((of.decisions == of.truths)[relations == one]) for one in np.unique(relations)])
    assert comparison.pairs[0].p == pytest.approx(ttest_rel(*values).pvalue)
    assert "over relations alone" in compare(tables, ["relation.accuracy"]).pairs[0].reason


def test_models_are_tested_against_baselines_and_baselines_not_against_each_other(tables):
    comparison = compare(tables, ["roc_auc", "brier"])
    assert {(pair.model, pair.other) for pair in comparison.pairs} == {
        ("one", "other"),
        *((model, baseline) for model in tables for baseline in tables["one"].baselines),
    }
    assert {pair.other: pair.family for pair in comparison.pairs} == {
        "other": 1,
        **dict.fromkeys(tables["one"].baselines, 4),
    }
    assert comparison.pairs[0].adjusted_p == comparison.pairs[0].p
    assert comparison.of("tail frequency", "auc") == kgeval.summarize(tables["one"], "auc").of("tail frequency", "auc")
    assert comparison.best("brier") in {*tables, "tail frequency"}
    referred = compare(tables, "roc_auc", reference="tail frequency")
    assert {(pair.model, pair.other) for pair in referred.pairs} == {(model, "tail frequency") for model in tables}


def test_the_rows_of_tables_may_have_any_order(tables):
    rng = np.random.default_rng(1)
    table = tables["other"]
    turned = replace(table, data=table.data.take(pa.array(rng.permutation(len(table)))))
    expected, found = (compare({"one": tables["one"], "other": other}).pairs for other in (table, turned))
    assert [pair.p for pair in found] == pytest.approx([pair.p for pair in expected])


def test_groups_are_relations(tables):
    comparison = compare(tables, "roc_auc", by="relation", intervals="triple")
    assert all(pair.group for pair in comparison.pairs)
    reasons = {pair.reason for pair in comparison.pairs if not pair.p}
    assert any("triples of one label; a test needs at least 20" in reason for reason in reasons)
    assert any(pair.p for pair in comparison.pairs)


def test_all_formats_have_the_differences(tables):
    comparison = compare(tables, ["roc_auc", "f1"], margin=0.05)
    text = str(comparison)
    assert "4 models on umls, 1,322 labelled test triples" in text
    assert "ties" not in comparison.heads[0]
    assert "equivalent" in text
    content = comparison.to_dict()
    assert content["calibration"] == "platt"
    assert content["differences"]["pairs"][0]["equivalence_p"] == comparison.pairs[0].equivalence_p
    assert "t test over triples" in comparison.to_latex()
    assert "Baselines are not tested against each other." in comparison.to_latex()
    assert comparison.to_csv().splitlines()[0] == "model,roc_auc,f1"
    assert any("DeLong et al., 1988" in note for note in comparison.notes)
    assert len(comparison.to_frame()) == 4


def test_other_triples_are_refused(tables):
    fewer = tables["other"].where(np.arange(len(tables["other"])) != len(tables["other"]) - 1)
    with pytest.raises(MetricError, match=r"triples: other classified other .*\(1,322 in one, 1,321 in other\)"):
        compare({"one": tables["one"], "other": fewer})
    negatives = GeneratedNegatives(corruption={"kind": "uniform", "count": 1, "seed": 5})
    other = classify(model(1), "umls", negatives=negatives)
    with pytest.raises(MetricError, match="these runs cannot be compared"):
        compare({"one": tables["one"], "other": other})


def test_what_labels_do_not_have_is_refused(tables):
    with pytest.raises(MetricError, match="no unit 'query'"):
        compare(tables, intervals="query")
    with pytest.raises(MetricError, match="grouped by 'relation' only"):
        compare(tables, by="side")
    with pytest.raises(MetricError, match="no model is called 'x'"):
        compare(tables, reference="x")
    with pytest.raises(MetricError, match="expected a rank table"):
        compare({**tables, "ranks": evaluate(model(0), "umls")})
    for name, value in {"allow": "triples", "baselines": ["one"], "suite": {"all": ["umls"]}}.items():
        with pytest.raises(MetricError, match=f"{name} has no effect on classifications. Leave it out"):
            compare(tables, **{name: value})
    with pytest.raises(MetricError, match="mrr"):
        compare(tables, "mrr")
