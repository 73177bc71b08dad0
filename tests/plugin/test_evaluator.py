"""The evaluator's own ``evaluate``: filters, restrictions, targets, what it refuses, and what it keeps."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from kgeval import RankTable, summarize
from kgeval.errors import InputError, MetricError, ScoreError
from kgeval.pykeen import KGEvalEvaluator, evaluate
from tests.plugin.conftest import assert_same_ranks, assert_same_values


def run(model, triples, evaluator=None, **kwargs):
    evaluator = evaluator or KGEvalEvaluator()
    return evaluator.evaluate(model, triples, use_tqdm=False, **kwargs), evaluator


@pytest.fixture
def test(graph):
    return graph.testing.mapped_triples


@pytest.fixture
def model(make):
    return make("DistMult", embedding_dim=8)


@pytest.mark.parametrize("form", ["list", "one tensor", "tuple", "nothing"])
def test_every_form_of_a_filter(graph, model, test, theirs, form):
    train, valid = graph.training.mapped_triples, graph.validation.mapped_triples
    given = {"list": [train, valid], "one tensor": train, "tuple": (train,), "nothing": None}[form]
    expected, ranks = theirs(model, test, additional_filter_triples=given)
    ours, evaluator = run(model, test, additional_filter_triples=given)
    assert_same_ranks(evaluator.table, ranks)
    assert_same_values(ours, expected)


def test_pykeen_says_both_of_one_side_too(model, test, theirs, known):
    expected, _ = theirs(model, test, additional_filter_triples=known, targets=["tail"])
    ours, evaluator = run(
        model, test, KGEvalEvaluator(metrics=["map"]), additional_filter_triples=known, targets=["tail"]
    )
    for name in ("both.realistic.mrr", "mrr", "both.pessimistic.hits_at_3"):
        assert ours.get_metric(name) == pytest.approx(expected.get_metric(name))
    assert ours.data["both", "expected", "map"] == ours.data["tail", "expected", "map"] == ours.get_metric("both.map")
    assert ours.get_metric("both.ndcg@10") == ours.get_metric("tail.ndcg@10")
    assert "both.mrr" not in summarize(evaluator.table, "mrr").to_frame()
    sampled = KGEvalEvaluator(estimate={"triples": 150, "first": 100})
    estimate, _ = run(model, test, sampled, additional_filter_triples=known, targets=["tail"])
    assert estimate.get_metric("both.realistic.mrr") == estimate.get_metric("tail.realistic.mrr")


@pytest.mark.parametrize("targets", [["tail"], ["head"], ("tail", "head")])
def test_every_choice_of_targets(model, test, theirs, known, targets):
    expected, ranks = theirs(model, test, additional_filter_triples=known, targets=targets)
    ours, evaluator = run(model, test, additional_filter_triples=known, targets=targets)
    assert_same_ranks(evaluator.table, ranks)
    assert_same_values(ours, expected)


@pytest.mark.parametrize("name", ["DistMult", "TransD"])
def test_candidates_restricted_to_some_entities(make, test, theirs, known, name):
    model, chosen = make(name, embedding_dim=8), [9, 1, 2, 3, 5, 6, 0, 7]
    request = {"additional_filter_triples": known, "restrict_entities_to": chosen, "pre_filtered_triples": False}
    expected, ranks = theirs(model, test, **request)
    ours, evaluator = run(model, test, **request)
    assert_same_ranks(evaluator.table, ranks)
    assert_same_values(ours, expected)
    assert evaluator.table.column("raw_candidates").max() == len(chosen)


def test_triples_restricted_to_some_relations(model, test, theirs, known):
    request = {"additional_filter_triples": known, "restrict_relations_to": [3, 4, 5], "pre_filtered_triples": False}
    expected, ranks = theirs(model, test, **request)
    ours, evaluator = run(model, test, **request)
    assert_same_ranks(evaluator.table, ranks)
    assert_same_values(ours, expected)


def test_a_triple_that_is_restricted_away_is_named(model, test):
    with pytest.raises(InputError, match=r"triple \d+, .* is not restricted"):
        run(model, test, restrict_entities_to=[0, 1, 2])


def test_a_repeated_triple_counts_each_time(model, test, theirs, known):
    twice = torch.cat([test, test[:50]])
    expected, _ = theirs(model, twice, additional_filter_triples=known)
    ours, evaluator = run(model, twice, additional_filter_triples=known)
    assert_same_values(ours, expected)
    assert ours.get_metric("count") == 2 * len(twice) == len(evaluator.table)


def test_the_raw_setting_which_pykeen_cannot_evaluate(graph, model, test):
    ours, evaluator = run(
        model, test, KGEvalEvaluator(filtered=False), additional_filter_triples=graph.training.mapped_triples
    )
    scores = model.predict_t(test[:, :2]).detach().numpy()
    answers = scores[np.arange(len(test)), test[:, 2]]
    better = (scores > answers[:, None]).sum(axis=1)
    tails = evaluator.table.to_pandas().query("side == 'tail'").sort_values("triple")
    np.testing.assert_array_equal(tails["greater"], better)
    assert ours.get_metric("tail.optimistic.mrr") == pytest.approx((1 / (1 + better)).mean())


def test_undefined_scores_are_refused_where_pykeen_reports_an_mrr_of_two(model, test, known):
    from pykeen.evaluation import RankBasedEvaluator

    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    theirs = RankBasedEvaluator(metrics=["mrr"], add_defaults=False)
    expected, _ = run(model, test, theirs, additional_filter_triples=known)
    assert expected.get_metric("mrr") == 2.0
    with pytest.raises(ScoreError, match="NaN"):
        run(model, test, additional_filter_triples=known)


@pytest.mark.parametrize("name", ["DistMult", "TransD"])
def test_what_nan_replaces_may_be_said(make, test, name):
    model = make(name, embedding_dim=8)
    with torch.no_grad():
        next(model.parameters())[0] = float("nan")
    with pytest.raises(ScoreError, match="NaN"):
        run(model, test)
    assert 0 < run(model, test, KGEvalEvaluator(nan="worst"))[0].get_metric("mrr") <= 1


def test_sampled_candidates_are_the_same_at_every_evaluation(model, test, known):
    evaluator = KGEvalEvaluator(corruption={"kind": "uniform", "count": 3, "seed": 1})
    first, _ = run(model, test, evaluator, additional_filter_triples=known)
    table = evaluator.table
    again, _ = run(model, test, evaluator, additional_filter_triples=known)
    assert table.column("candidates").max() == 4
    assert evaluator.table.data.equals(table.data)
    assert first.to_flat_dict() == again.to_flat_dict()


def test_own_metrics_are_reported_or_computed_by_name(model, test, known):
    ours, _ = run(model, test, KGEvalEvaluator(metrics=["ndcg@10", "hits@2"]), additional_filter_triples=known)
    assert "both.expected.ndcg@10" in ours.to_flat_dict()
    assert ours.get_metric("hits@2") <= ours.get_metric("hits@3")
    assert ours.get_metric("tail.map") == ours.to_flat_dict()["tail.expected.map"]
    assert 0 < ours.get_metric("head.p@1") < 1
    assert all(type(value) is float for value in ours.to_flat_dict().values())
    with pytest.raises(MetricError, match="Did you mean 'mrr'"):
        ours.get_metric("mrrr")


def test_a_z_score_of_kgeval_keeps_its_k(model, test, known):
    ours, _ = run(model, test, additional_filter_triples=known)
    assert ours.get_metric("z-hits@1") != ours.get_metric("z-hits@3")


def test_the_bootstrap_of_pykeen_goes_on_working(model, test, known):
    evaluator = KGEvalEvaluator(clear_on_finalize=False)
    ours, _ = run(model, test, evaluator, additional_filter_triples=known)
    samples = evaluator.finalize_multi(n_boot=20)["both.realistic.inverse_harmonic_mean_rank"]
    assert min(samples) < ours.get_metric("mrr") < max(samples)


def test_the_run_directory_of_the_last_evaluation(model, test, known, tmp_path):
    evaluator = KGEvalEvaluator(result_directory=tmp_path / "run")
    for _ in range(2):
        ours, _ = run(model, test, evaluator, additional_filter_triples=known)
    assert RankTable.from_parquet(tmp_path / "run" / "ranks.parquet").data.equals(evaluator.table.data)
    assert json.loads((tmp_path / "run" / "pykeen_metrics.json").read_text()) == ours.to_flat_dict()
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())["metrics"]
    assert metrics["both"]["mrr"] == pytest.approx(ours.get_metric("mrr"))


def test_results_say_what_they_are_of(graph, model, test, known, tmp_path):
    evaluator = KGEvalEvaluator(corruption={"kind": "uniform", "count": 5}, result_directory=tmp_path / "run")
    results, _ = run(model, test, evaluator, additional_filter_triples=known)
    expected = {
        "model": "DistMult",
        "dataset": "nations",
        "split": "test",
        "triples": len(test),
        "protocol": "standard",
        "filter": ["train", "valid", "test"],
        "candidates": "5 uniform (seed 0)",
    }
    assert results.table.provenance.to_dict() == expected
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["provenance"] == expected
    assert RankTable.from_parquet(tmp_path / "run").provenance == results.table.provenance
    (_, raw) = run(model, test, KGEvalEvaluator(filtered=False))
    assert (raw.table.provenance.filter, raw.table.provenance.candidates) == ((), "all 14 entities")
    among = {"restrict_entities_to": [0, 1, 2], "pre_filtered_triples": False}
    assert run(model, test, **among)[1].table.provenance.candidates.endswith("those among 3 entities compete")
    whole = evaluate(model, graph).provenance
    assert str(whole).startswith(f"DistMult on nations, {len(test)} test triples, protocol standard, filtered by train")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corupption": "all"}, "Did you mean 'corruption'"),
        ({"corruption": {"kind": "unifrom"}}, "Did you mean 'uniform'"),
        ({"nan": "ignore"}, "nan"),
    ],
)
def test_wrong_options_are_refused_at_once(options, message):
    with pytest.raises(InputError, match=message):
        KGEvalEvaluator(**options)


def test_unknown_targets_metrics_and_ids_are_refused(model, test):
    with pytest.raises(InputError, match="relation"):
        run(model, test, targets=["relation"])
    with pytest.raises(MetricError, match="Did you mean"):
        KGEvalEvaluator(metrics=["ndgc@10"])
    with pytest.raises(InputError, match="no triples"):
        run(model, test[:0])
    with pytest.raises(InputError, match="entity id 99"):
        run(model, torch.tensor([[99, 0, 1]]))


def test_the_mode_of_the_model_is_left_as_it_was(model, test):
    model.train()
    run(model, test)
    assert model.training


@pytest.mark.parametrize(
    "name", ["ndcg@10", "head.p@1", "both.expected.mrr", "macro.mrr", "mrr", "tail.hits@7", "z-hits@3"]
)
def test_a_key_of_a_key_is_itself(name):
    key = KGEvalEvaluator.metric_result_cls.key_to_string(name)
    assert KGEvalEvaluator.metric_result_cls.key_to_string(key) == key


def test_leaks_are_told_of_the_evaluated_triples_once_and_without_ids(graph, model, caplog):
    """Which split it is and what the ids are called, the evaluator does not know."""
    train = graph.training.mapped_triples
    valid = torch.cat([graph.validation.mapped_triples, train[:3], train[:40, [2, 1, 0]]])
    evaluator = KGEvalEvaluator()
    for _ in range(2):  # as early stopping does
        run(model, valid, evaluator, additional_filter_triples=[train])
    notes = [note for note in evaluator.table.notes if "in train" in note]
    facts, count = set(map(tuple, train.tolist())), len(valid)
    repeated = sum(tuple(triple) in facts for triple in valid.tolist())
    assert f"{repeated} of {count} evaluated triples ({repeated / count:.1%}) are in train too." in notes
    assert any(
        note.endswith(
            "inverse or symmetric relation. A model can answer them by swapping head and tail of train triples."
        )
        for note in notes
    )
    assert not any("test" in note for note in evaluator.table.notes)
    logged = [record.message for record in caplog.records if "in train" in record.message]
    assert sorted(logged) == sorted(notes)
