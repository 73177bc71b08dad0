"""The evaluator's options and ``evaluate``: filters, restrictions, targets, what it refuses, and what it keeps."""

from __future__ import annotations

import copy
import inspect
import json
import pickle

import numpy as np
import pytest
import torch
from pykeen.evaluation import Evaluator, RankBasedEvaluator

from kgeval import RankTable, summarize
from kgeval.base.errors import DatasetError, InputError, MetricError, ScoreError
from kgeval.pykeen import KGEvalEvaluator, KGEvalMetricResults, evaluate
from tests.pykeen.conftest import assert_same_as_pykeen, assert_same_ranks, assert_same_values, run, theirs

SOME = {"restrict_entities_to": [9, 1, 2, 3, 5, 6, 0, 7], "pre_filtered_triples": False}


@pytest.mark.parametrize("form", ["list", "one tensor", "tuple", "nothing"])
def test_every_form_of_a_filter(model, test, known, form):
    given = {"list": known, "one tensor": known[0], "tuple": (known[0],), "nothing": None}[form]
    assert_same_as_pykeen(model, test, additional_filter_triples=given)


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("DistMult", {"targets": ["tail"]}),
        ("DistMult", {"targets": ["head"]}),
        ("DistMult", {"targets": ("tail", "head")}),
        ("DistMult", {"restrict_relations_to": [3, 4, 5], "pre_filtered_triples": False}),
        ("DistMult", SOME),
        ("TransD", SOME),
    ],
)
def test_targets_and_restrictions(make, test, known, name, request_):
    model = make(name, embedding_dim=8)
    _, table = assert_same_as_pykeen(model, test, additional_filter_triples=known, **request_)
    assert table.column("raw_candidates").max() == len(request_.get("restrict_entities_to", range(14)))


def test_arrays_and_one_word_do_as_well(model, test, known):
    arrays = [part.numpy() for part in known]
    _, ranks = theirs(model, test, additional_filter_triples=known, targets=["tail"])
    for triples, parts in ((test.int(), known), (test.numpy(), arrays)):
        assert_same_ranks(run(model, triples, additional_filter_triples=parts, targets="tail")[1], ranks)
    _, ranks = theirs(model, test, additional_filter_triples=known[0])
    assert_same_ranks(run(model, test, additional_filter_triples=arrays[0])[1], ranks)


def test_it_takes_what_pykeens_evaluators_take():
    ours, theirs = (inspect.signature(kind.evaluate).parameters for kind in (KGEvalEvaluator, Evaluator))
    assert [(name, one.default) for name, one in ours.items()] == [(name, one.default) for name, one in theirs.items()]


def test_pykeen_says_both_of_one_side_too(model, test, known):
    request = {"additional_filter_triples": known, "targets": ["tail"]}
    expected, _ = theirs(model, test, **request)
    ours, table = run(model, test, KGEvalEvaluator(metrics=["map"]), **request)
    for name in ("both.realistic.mrr", "mrr", "both.pessimistic.hits_at_3"):
        assert ours.get_metric(name) == pytest.approx(expected.get_metric(name))
    assert ours.data["both", "expected", "map"] == ours.data["tail", "expected", "map"] == ours.get_metric("both.map")
    assert ours.get_metric("both.ndcg@10") == ours.get_metric("tail.ndcg@10")
    assert "both.mrr" not in summarize(table, "mrr").to_frame()
    estimate, _ = run(model, test, KGEvalEvaluator(estimate={"triples": 150, "first": 100}), **request)
    assert estimate.get_metric("both.realistic.mrr") == estimate.get_metric("tail.realistic.mrr")


def test_a_repeated_triple_counts_each_time(model, test, known):
    twice = torch.cat([test, test[:50]])
    expected, _ = theirs(model, twice, additional_filter_triples=known)
    ours, table = run(model, twice, additional_filter_triples=known)
    assert_same_values(ours, expected)
    assert ours.get_metric("count") == 2 * len(twice) == len(table)


def test_the_raw_setting_which_pykeen_cannot_evaluate(model, test, known):
    ours, table = run(model, test, KGEvalEvaluator(filtered=False), additional_filter_triples=known[0])
    scores = model.predict_t(test[:, :2]).detach().numpy()
    answers = scores[np.arange(len(test)), test[:, 2]]
    better = (scores > answers[:, None]).sum(axis=1)
    tails = table.to_pandas().query("side == 'tail'").sort_values("triple")
    np.testing.assert_array_equal(tails["greater"], better)
    assert ours.get_metric("tail.optimistic.mrr") == pytest.approx((1 / (1 + better)).mean())


@pytest.mark.parametrize("name", ["DistMult", "TransD"])
def test_undefined_scores_are_refused_or_replaced_where_pykeen_reports_an_mrr_of_two(make, test, known, name):
    model, evaluator = make(name, embedding_dim=8), RankBasedEvaluator(metrics=["mrr"], add_defaults=False)
    with torch.no_grad():
        next(model.parameters())[0] = float("nan")
    with pytest.raises(ScoreError, match="NaN"):
        run(model, test, additional_filter_triples=known)
    assert 0 < run(model, test, KGEvalEvaluator(nan="worst"))[0].get_metric("mrr") <= 1
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    expected = evaluator.evaluate(model, test, use_tqdm=False, additional_filter_triples=known)
    assert expected.get_metric("mrr") == 2.0
    with pytest.raises(ScoreError, match="NaN"):
        run(model, test, additional_filter_triples=known)


def test_sampled_candidates_are_the_same_at_every_evaluation(model, test, known):
    evaluator = KGEvalEvaluator(corruption={"kind": "uniform", "count": 3, "seed": 1})
    (first, table), (again, other) = (run(model, test, evaluator, additional_filter_triples=known) for _ in range(2))
    assert table.column("candidates").max() == 4
    assert other.data.equals(table.data)
    assert first.to_flat_dict() == again.to_flat_dict()


def test_own_metrics_are_reported_or_computed_by_name(model, test, known):
    ours, _ = run(model, test, KGEvalEvaluator(metrics=["ndcg@10", "hits@2"]), additional_filter_triples=known)
    assert "both.expected.ndcg@10" in ours.to_flat_dict()
    assert ours.get_metric("hits@2") <= ours.get_metric("hits@3")
    assert ours.get_metric("tail.map") == ours.to_flat_dict()["tail.expected.map"]
    assert 0 < ours.get_metric("head.p@1") < 1
    assert ours.get_metric("z-hits@1") != ours.get_metric("z-hits@3")  # under one key in PyKEEN
    assert all(type(value) is float for value in ours.to_flat_dict().values())
    with pytest.raises(MetricError, match="Did you mean 'mrr'"):
        ours.get_metric("mrrr")


def test_arguments_of_metrics_stay_with_their_metrics(model, test):
    metrics = {"metrics": ["ndcg@10", "hits@k", "mrr"], "metrics_kwargs": [None, {"k": 7}, None]}
    results, _ = run(model, test, KGEvalEvaluator(**metrics, add_defaults=False))
    expected = {"both.realistic.hits_at_7", "both.expected.ndcg@10", "both.optimistic.inverse_harmonic_mean_rank"}
    assert expected < set(results.to_flat_dict())


@pytest.mark.parametrize(
    "name", ["ndcg@10", "head.p@1", "both.expected.mrr", "macro.mrr", "mrr", "tail.hits@7", "z-hits@3"]
)
def test_a_key_of_a_key_is_itself(name):
    key = KGEvalMetricResults.key_to_string(name)
    assert KGEvalMetricResults.key_to_string(key) == key


def test_the_bootstrap_of_pykeen_goes_on_working(model, test, known):
    evaluator = KGEvalEvaluator(clear_on_finalize=False)
    ours, _ = run(model, test, evaluator, additional_filter_triples=known)
    samples = evaluator.finalize_multi(n_boot=20)["both.realistic.inverse_harmonic_mean_rank"]
    assert min(samples) < ours.get_metric("mrr") < max(samples)


def test_results_say_what_they_are_of_and_the_last_ones_are_kept(graph, model, test, known, tmp_path):
    folder = tmp_path / "run"
    evaluator = KGEvalEvaluator(corruption={"kind": "uniform", "count": 5}, result_directory=folder)
    for _ in range(2):
        ours, table = run(model, test, evaluator, additional_filter_triples=known)
    expected = {
        "model": "DistMult",
        "dataset": "nations",
        "split": "test",
        "triples": len(test),
        "protocol": "standard",
        "filter": ["train", "valid", "test"],
        "candidates": "5 uniform (seed 0)",
        "leaks": {"triples": len(test), "repeated": 0, "swapped": 77},
    }
    kept, metrics = RankTable.from_parquet(folder), json.loads((folder / "metrics.json").read_text())
    assert table.provenance.to_dict() == kept.provenance.to_dict() == metrics["provenance"] == expected
    assert kept.data.equals(table.data)
    assert json.loads((folder / "pykeen_metrics.json").read_text()) == ours.to_flat_dict()
    assert metrics["metrics"]["both"]["mrr"] == pytest.approx(ours.get_metric("mrr"))
    raw = run(model, test, KGEvalEvaluator(filtered=False))[1].provenance
    assert (raw.filter, raw.candidates) == ((), "all 14 entities")
    among = run(model, test, restrict_entities_to=[0, 1, 2], pre_filtered_triples=False)[1].provenance
    assert among.candidates.endswith("those among 3 entities compete")
    whole = str(evaluate(model, graph).provenance)
    assert whole.startswith(f"DistMult on nations, {len(test)} test triples, protocol standard, filtered by train")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corupption": "all"}, "Did you mean 'corruption'"),
        ({"corruption": {"kind": "unifrom"}}, "Did you mean 'uniform'"),
        ({"metrics": ["ndgc@10"]}, "Did you mean"),
        ({"nan": "ignore"}, "nan"),
        ({"filtered": "no"}, "filtered is True or False, found 'no'"),
        ({"unseen": "drop"}, "no option 'unseen'"),
        ({"memory_limit": "lots"}, "expected bytes, such as 2000000000 or 2GB, found 'lots'"),
        *(({"batch_size": size}, "batch_size") for size in (-3, 0, "many", 2.5)),
    ],
)
def test_wrong_options_are_refused_at_once(options, message):
    with pytest.raises((InputError, MetricError), match=message):
        KGEvalEvaluator(**options)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"restrict_entities_to": [*range(10), 99]}, "ids from 0 to 99, and the model's are 0 to 13"),
        ({"restrict_entities_to": ["usa"]}, "not to 'usa'"),
        ({"restrict_entities_to": []}, "restrict_entities_to is empty"),
        ({"restrict_entities_to": [0, 1, 2], "pre_filtered_triples": True}, r"triple \d+, .* is not restricted"),
        ({"additional_filter_triples": np.array([[0, 77, 1]])}, "filter 0, triple 0 names relation id 77"),
        ({"batch_size": 0}, "batch_size: expected at least 1"),
        ({"targets": "tial"}, "Did you mean 'tail'"),
        ({"targets": ["relation"]}, "relation"),
        ({"triples": torch.empty((0, 3), dtype=torch.long)}, "no triples"),
        ({"triples": torch.tensor([[99, 0, 1]])}, "entity id 99"),
        ({"evaluator": KGEvalEvaluator(mode="testing")}, "DistMult has no entities for mode='testing'"),
    ],
)
def test_wrong_requests_are_refused(model, test, request_, message):
    with pytest.raises((InputError, DatasetError), match=message):
        run(model, **{"triples": test, "pre_filtered_triples": False, **request_})


def test_a_cut_off_of_nothing_is_no_metric():
    with pytest.raises(MetricError, match="whole number of at least 1"):
        KGEvalMetricResults.key_from_string("hits@0")


def test_hits_among_n_are_not_taken_for_pykeens_hits_at_k():
    assert KGEvalMetricResults.key_to_string("tail.hits@10_50") == "tail.realistic.hits@10_50"
    with pytest.raises(MetricError, match="found '10_'"):
        KGEvalMetricResults.key_from_string("hits@10_")


def test_the_mode_of_the_model_is_left_as_it_was(model, test):
    model.train()
    run(model, test)
    assert model.training


def test_nothing_of_one_evaluation_is_left_in_the_next(make, model, test, known):
    """Another model, with other entities, other candidates and another filter."""
    reused, other = KGEvalEvaluator(), make("TransD", embedding_dim=4)
    run(model, test, reused, additional_filter_triples=known, restrict_entities_to=range(14), batch_size=3)
    tables = [run(other, test[:20], evaluator, targets=["head"])[1].data for evaluator in (reused, None)]
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_evaluators_and_results_can_be_copied_and_pickled(model, test, twin):
    evaluator = KGEvalEvaluator(metrics=["ndcg@10"], corruption={"kind": "uniform", "count": 4})
    results, table = run(model, test, evaluator)
    assert twin(evaluator).table.data.equals(table.data)
    assert twin(results).to_flat_dict() == results.to_flat_dict()
    assert run(model, test, twin(evaluator))[1].data.equals(table.data)


def test_leaks_are_told_of_the_evaluated_triples_once_and_without_ids(graph, model, caplog):
    """Which split it is and what the ids are called, the evaluator does not know."""
    train = graph.training.mapped_triples
    valid = torch.cat([graph.validation.mapped_triples, train[:3], train[:40, [2, 1, 0]]])
    evaluator = KGEvalEvaluator()
    for _ in range(2):  # as early stopping does
        _, table = run(model, valid, evaluator, additional_filter_triples=[train])
    notes = [note for note in table.notes if "in train" in note]
    assert len(notes) == 1
    facts, count = set(map(tuple, train.tolist())), len(valid)
    repeated = sum(tuple(triple) in facts for triple in valid.tolist())
    assert (table.leaks.repeated, table.leaks.triples) == (repeated, count)
    assert table.leaks.swapped
    assert f"{repeated} of {count} evaluated triples (" in table.provenance.heads[1]
    assert not any("test" in note for note in table.notes)
    assert sorted(record.message for record in caplog.records if "in train" in record.message) == sorted(notes)
