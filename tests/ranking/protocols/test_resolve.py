"""One decision, once: an evaluation means the same wherever it is asked for, and protocols are taken as objects."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest

import kgeval
from kgeval import evaluate, explain, framework_metrics
from kgeval.base.errors import ConfigError, InputError
from kgeval.models.alignment import align
from kgeval.ranking.corruption import AllEntities, Uniform
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.protocols.protocol import find_protocol
from kgeval.runs.config.load import check
from kgeval.runs.config.yaml_document import Document
from tests.brute_force import as_counts, brute_force
from tests.conftest import random_dataset

DATA = random_dataset(8)
MINE = replace(find_protocol("pykeen"), name="mine", ties="pessimistic", framework_metrics=())


def score(h, r, t):
    return (h * 5 + r * 3 + t * 11) % 17


def pykeen_model():
    pytest.importorskip("pykeen")
    from pykeen.datasets import Nations
    from pykeen.models import TransE

    return Nations(), TransE(triples_factory=Nations().training, random_seed=0)


# Keywords


def keywords(function):
    parameters = inspect.signature(function).parameters.values()
    return {it.name: it.default for it in parameters if it.kind is it.KEYWORD_ONLY}


def test_every_evaluation_takes_the_same_keywords():
    import kgeval.pykeen

    expected = keywords(evaluate)
    without_times = {name: it for name, it in expected.items() if name != "time_labels"}  # PyKEEN's models have none
    assert keywords(kgeval.pykeen.evaluate) == without_times
    others = {name: it for name, it in expected.items() if name not in ("protocol", "estimate")}
    assert keywords(explain) == {"metric": "mrr"} | others


def test_explain_refuses_a_wrong_setting_as_evaluate_does():
    refusals = []
    for call in (evaluate, lambda *given, **settings: explain(*given, ["openke"], **settings)):
        with pytest.raises(InputError, match=r"unseen: unknown value 'worts'. Did you mean 'worst'") as refusal:
            call(score, DATA, unseen="worts")
        refusals.append(str(refusal.value))
    assert refusals[0] == refusals[1]


def test_explain_follows_the_settings():
    settings = {"split": "valid", "sides": "tail", "corruption": Uniform(count=5), "filter": ["train"]}
    explanation = explain(score, DATA, "libkge", metric="tail.mrr", **settings)["libkge"]
    table = evaluate(score, DATA, protocol="libkge", **settings)
    printed = framework_metrics(table)["mean_reciprocal_rank_filtered_tail"]
    assert explanation.value == pytest.approx(printed, rel=1e-7)
    assert explanation.causes["filter"] == 0  # it was given, so it is that of every protocol
    assert explanation.provenance.candidates == table.candidates == "5 uniform (seed 0)"


def test_kgeval_pykeen_evaluate_takes_a_protocol_and_reports_progress():
    import kgeval.pykeen

    graph, model = pykeen_model()
    answers = []
    fast = kgeval.pykeen.evaluate(model, graph, protocol="LibKGE", split="valid", progress=answers.append)
    slow = evaluate(model, graph, protocol="libkge", split="valid")
    assert fast.protocol == "libkge"
    assert fast.filter == slow.filter == ("train", "valid")
    assert framework_metrics(fast).values.keys() == framework_metrics(slow).values.keys()
    assert "with_test_greater" in fast.columns
    assert sum(answers) == len(fast)


# Objects and names


@pytest.mark.parametrize("name", ["OpenKE", "openke", find_protocol("openke")])
def test_a_protocol_is_taken_by_name_in_any_case_or_as_it_is(name):
    expected = evaluate(score, DATA, protocol="openke")
    assert evaluate(score, DATA, protocol=name).data.equals(expected.data)
    assert explain(score, DATA, [name])["openke"] == explain(score, DATA, "openke")["openke"]
    assert find_protocol("DGL-KE") is find_protocol("dglke")


def test_a_protocol_of_ones_own_ranks_is_explained_and_reports():
    table = evaluate(score, DATA, protocol=MINE, split="valid")
    assert (table.protocol, table.filter) == ("mine", ("train", "valid"))
    printed = framework_metrics(table, protocol=MINE)
    assert printed.protocol == "mine"
    explanation = explain(score, DATA, MINE, split="valid")
    assert explanation["mine"].value == pytest.approx(printed.values["inverse_harmonic_mean_rank"], abs=1e-15)
    assert explanation["mine"].causes["ties"] < 0


def test_ranks_by_a_protocol_that_is_not_registered_say_what_to_do():
    table = evaluate(score, DATA, protocol=MINE)
    with pytest.raises(
        ConfigError, match=r"'mine', which no installed package has.*framework_metrics\(table, protocol="
    ):
        framework_metrics(table)


def test_an_unknown_protocol_is_refused_with_the_nearest_name():
    for call in (
        lambda: evaluate(score, DATA, protocol="libkg"),
        lambda: explain(score, DATA, ["libkg"]),
        lambda: framework_metrics(evaluate(score, DATA), protocol="libkg"),
    ):
        with pytest.raises(ConfigError, match=r"unknown protocol 'libkg'. Did you mean 'libkge'\?"):
            call()


# What is decided


@pytest.mark.parametrize("split", ["train", "valid", "test"])
@pytest.mark.parametrize("name", ["standard", "pykeen", "bordes-raw"])
def test_what_is_left_open_is_the_protocols(name, split):
    protocol = find_protocol(name)
    resolved = protocol.resolve(Evaluation(split=split, sides="tail"), DATA)
    assert resolved.evaluation.filter == protocol.filter[split]
    assert (resolved.evaluation.split, resolved.evaluation.sides) == (split, ("tail",))
    assert resolved.evaluation.corruption == AllEntities()
    assert (resolved.ties, resolved.metrics) == (protocol.ties, protocol.metrics)


def test_what_is_given_goes_before_the_protocol():
    evaluation = Evaluation(filter=[], corruption=Uniform(count=3))
    resolved = find_protocol("openke").resolve(evaluation, DATA, ties="expected", metrics=["map"])
    assert resolved.evaluation == evaluation
    assert (resolved.ties, resolved.metrics) == ("expected", ("map",))


def test_a_resolved_evaluation_resolves_to_itself():
    protocol = find_protocol("pykeen")
    once = protocol.resolve(Evaluation(split="valid"), DATA)
    assert protocol.resolve(once.evaluation, DATA) == once


def test_the_filter_is_of_the_splits_that_there_are():
    bare = kgeval.Dataset.build("bare", {"test": DATA.test}, entities=DATA.entities, relations=DATA.relations)
    table = evaluate(score, bare)
    assert table.filter == ("test",)
    assert as_counts(table) == brute_force(score, bare)


def test_a_configuration_means_what_evaluate_does():
    content = {"dataset": "nations", "model": {"path": "."}, "protocol": "LibKGE", "evaluation": {"split": "valid"}}
    config = check(Document("here", content))
    data = kgeval.load_dataset("nations")
    resolved = config.with_decided(config.resolved_evaluation(data))
    table = evaluate(score, data, split="valid", protocol="libkge")
    assert config.protocol == table.protocol == "libkge"
    assert resolved.evaluation.filter == table.filter == ("train", "valid")
    assert resolved.ties == find_protocol("libkge").ties
    again = config.resolved_evaluation(data).rank(align(score, data), data)
    assert again.data.equals(table.data)
    assert np.array_equal(again.column("with_test_greater"), table.column("with_test_greater"))


@pytest.mark.parametrize(
    "wrong",
    [("train",), "train", None, 5, {"test": ("train",)}, {**dict.fromkeys(("train", "valid"), ()), "test": "train"}],
)
def test_a_filter_of_another_type_is_one_clear_error(wrong):
    with pytest.raises(
        ConfigError, match=r"protocol 'mine', filter: expected the splits that each of train, valid and"
    ):
        kgeval.Protocol("mine", "", filter=wrong)


def test_protocols_and_numbers_of_another_type_are_one_clear_error():
    for protocols in (5, None, [5], [None]):
        with pytest.raises(ConfigError, match="protocol: expected a name, found"):
            explain(score, DATA, protocols)
    table = evaluate(score, DATA)
    with pytest.raises(InputError, match="numbers: expected them by their metric"):
        kgeval.check_numbers(table, [0.3])
    with pytest.raises(InputError, match="ranks: expected a rank table"):
        kgeval.check_numbers([1, 2], {"mrr": 0.3})
