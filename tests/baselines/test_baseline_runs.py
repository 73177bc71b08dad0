"""Baselines in Python, on the command line and in configurations: one table, one tie policy, and clear refusals."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import yaml

import kgeval
from kgeval import Baseline, Dataset, RankTable, evaluate, summarize
from kgeval.baselines.baseline import baselines
from kgeval.errors import ConfigError, DatasetError, InputError
from kgeval.runs.config.load import check_against_dataset, load_config
from tests.cli.conftest import invoke
from tests.data.folders import write

TRAIN = [(f"e{h}", "likes", f"e{(h * h + 1) % 9}") for h in range(9)] + [("e1", "likes", "e0"), ("e2", "knows", "e1")]
TEST = [("e2", "likes", "e1"), ("e4", "knows", "e1")]


@pytest.fixture
def graph(tmp_path, monkeypatch):
    """The name of a folder with a graph, and the graph."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "graph", {"train": TRAIN, "test": TEST})
    return kgeval.load_dataset("graph")


def call(*words, code=0):
    done = invoke(*words)
    assert done.exit_code == code, done.output
    return done


def configured(tmp_path, content, *words, code=0):
    (tmp_path / "runs.yaml").write_text(yaml.safe_dump({"dataset": "./graph", **content}, sort_keys=False))
    return call("run", "runs.yaml", *words, code=code)


RANKING = [name for name, kind in baselines().items() if "ranking" in kind.tasks and name != "recurrency"]
"""those of a graph without times"""


def check_run(folder, name, title, graph):
    expected, table = evaluate(Baseline(name), graph), RankTable.from_parquet(folder / "ranks.parquet")
    assert table.data.equals(expected.data)
    assert table.provenance.model == title
    metrics = json.loads((folder / "metrics.json").read_text())["metrics"]["both"]
    assert metrics["mrr"] == summarize(expected, ["mrr"], ties="expected")["mrr"]
    assert json.loads((folder / "manifest.json").read_text())["model"]["baseline"] == name
    return metrics


@pytest.mark.parametrize("name", RANKING)
def test_python_and_command_line_give_one_table(name, graph, tmp_path):
    call("evaluate", f"baseline:{name}", "--dataset", "graph/", "--out", "told")
    check_run(tmp_path / "told", name, f"baseline {name}", graph)


def test_configurations_give_the_same_table_and_keep_what_it_says(graph, tmp_path):
    configured(tmp_path, {"model": {"baseline": "types"}}, "--out", "said")
    metrics = check_run(tmp_path / "said", "types", "baseline types", graph)
    assert json.loads(call("summarize", "said", "--json", "--quiet").stdout)["metrics"]["both"] == metrics
    blocks = {name: {"baseline": name} if index % 2 else f"baseline:{name}" for index, name in enumerate(RANKING)}
    configured(tmp_path, {"models": blocks}, "--out", "several")
    for name in RANKING:
        check_run(tmp_path / "several" / name, name, name, graph)


def test_settings_reach_the_table_and_the_configuration_that_runs_again(graph, tmp_path):
    expected = evaluate(Baseline("inverse", threshold=0.05), graph)
    assert not expected.data.equals(evaluate(Baseline("inverse"), graph).data)
    call("evaluate", "baseline:inverse", "--dataset", "graph/", "--option", "threshold=0.05", "--out", "told")
    configured(tmp_path, {"model": {"kind": "baseline", "baseline": "inverse", "threshold": 0.05}}, "--out", "said")
    call("run", "said/config.yaml", "--out", "again")
    for folder in ("told", "said", "again"):
        assert RankTable.from_parquet(tmp_path / folder / "ranks.parquet").data.equals(expected.data)
        assert yaml.safe_load((tmp_path / folder / "config.yaml").read_text())["model"]["threshold"] == 0.05


def test_ties_are_expected_unless_somebody_says_otherwise(graph, tmp_path):
    """The closed form of random ranking; a user's policy and a framework's go before it."""

    def mrr(*words):
        line = ("evaluate", "baseline:random", "--dataset", "graph/", "-m", "mrr", "--json", "--quiet")
        return json.loads(call(*line, *words).stdout)["metrics"]["both"]["mrr"]

    sizes = evaluate(Baseline("random"), graph).column("candidates")
    assert mrr() == pytest.approx(np.mean([sum(1 / np.arange(1, n + 1)) / n for n in sizes]), rel=1e-15)
    assert mrr("--ties", "pessimistic") == pytest.approx(np.mean(1 / sizes))
    assert mrr("--protocol", "pykeen") == pytest.approx(np.mean(2 / (1 + sizes)))


def test_beside_a_baseline_a_model_keeps_its_own_ties(graph, tmp_path):
    from kgeval import Vocabulary, save_checkpoint
    from kgeval.scorers.families.bilinear import DistMult

    names = {"entities": graph.entities, "relations": Vocabulary(list(graph.relations), "relation")}
    save_checkpoint(DistMult(np.ones((9, 2)), np.ones((2, 2))), "same.safetensors", **names)
    models = {"model": "same.safetensors", "floor": {"baseline": "random"}}
    configured(tmp_path, {"models": models, "metrics": ["mrr"]}, "--out", "both")
    ties = {name: yaml.safe_load((tmp_path / "both" / name / "config.yaml").read_text())["ties"] for name in models}
    assert ties == {"model": "realistic", "floor": "expected"}
    own = [json.loads((tmp_path / "both" / name / "metrics.json").read_text())["metrics"]["both"] for name in models]
    assert own[0]["mrr"] < own[1]["mrr"]
    # In one table both are expected, and a model whose scores are all equal is as good as random.
    values = json.loads((tmp_path / "both/metrics.json").read_text())["models"]
    assert values["model"]["metrics"]["both"] == values["floor"]["metrics"]["both"] == own[1]


def test_explain_takes_a_baseline(graph):
    line = ("explain", "baseline:types", "--dataset", "graph/", "--protocols", "openke", "--json", "--quiet")
    found = json.loads(call(*line).stdout)
    assert found["provenance"]["model"] == "baseline types"
    assert found == kgeval.explain(Baseline("types"), graph, ["openke"]).to_dict()


def test_as_a_model_of_a_classification_popularity_is_the_tail_frequency():
    table = kgeval.classify(Baseline("popularity"), "nations")
    assert table.provenance.model == "baseline popularity"
    assert table.column("score").tolist() == table.column("tail frequency").tolist()


PROBLEMS = {
    "an unknown name": (
        {"model": {"baseline": "invers"}},
        r"model: unknown baseline 'invers' \(.*line 2\)\. Did you mean 'inverse'\?",
    ),
    "an unknown name, as text": ({"model": "baseline:invers"}, r"model: unknown baseline 'invers' .*'inverse'\?"),
    "no name": ({"model": {"kind": "baseline"}}, r"model: the key 'baseline' is missing .*Choose one of 'inverse'"),
    "an unknown setting": (
        {"models": {"a": {"baseline": "ppr", "dampin": 0.3}}},
        r"models.a.dampin: unknown key 'dampin' \(.*line 5\)\. Did you mean 'damping'\?",
    ),
    "a setting of another": (
        {"model": {"baseline": "types", "threshold": 0.3}},
        r"model.threshold: unknown key 'threshold' .*Choose one of 'baseline', 'kind'",
    ),
    "a setting out of range": (
        {"model": {"baseline": "inverse", "threshold": 2}},
        r"model.threshold: expected less than or equal to 1, found 2",
    ),
    "another kind": (
        {"model": {"kind": "checkpoint", "baseline": "inverse"}},
        r"model.kind: unknown value 'checkpoint' .*Choose one of 'baseline'",
    ),
    "a baseline of labels": (
        {"model": {"baseline": "tail frequency"}},
        r"model: the baseline 'tail frequency' ranks nothing: it stands .* in classification \(.*line 2",
    ),
}


@pytest.mark.parametrize(("content", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_configuration_is_refused_with_its_line(content, message, graph, tmp_path):
    done = configured(tmp_path, content, code=2)
    assert re.search(message, done.stderr), done.stderr


def test_a_dataset_without_train_is_refused_but_by_random(graph, tmp_path):
    bare = Dataset.from_labels(test=[("a", "r", "b")], name="bare")
    with pytest.raises(DatasetError, match="dataset bare has no train triples, which baseline types counts"):
        evaluate(Baseline("types"), bare)
    assert evaluate(Baseline("random"), bare).column("tied").tolist() == [1, 1]
    (tmp_path / "runs.yaml").write_text("dataset: ./graph\nmodels:\n  a: baseline:random\n  b: {baseline: types}\n")
    with pytest.raises(ConfigError) as refusal:
        check_against_dataset(load_config(tmp_path / "runs.yaml"), bare)
    (problem,) = str(refusal.value).splitlines()[1:]
    assert "models.b: dataset bare has no train triples, which baseline types counts (" in problem
    assert "line 4" in problem


WRONG = {
    "an unknown name": (lambda: Baseline("popular"), "unknown baseline 'popular'. Did you mean 'popularity'"),
    "no name": (Baseline, "a baseline goes by its name. Choose one of 'inverse', 'popularity'"),
    "two names": (lambda: Baseline("inverse", baseline="types"), "baseline: unknown value 'types'"),
    "a number": (lambda: Baseline(5), "unknown baseline 5. Choose one of"),
    "an unknown setting": (
        lambda: Baseline("ppr", step=3),
        "settings of the baseline:\n  step: unknown key 'step'. Choose one of 'baseline', 'damping', 'iterations'",
    ),
    "no steps": (lambda: Baseline("ppr", iterations=0), "iterations: expected at least 1, found 0"),
    "labels alone": (
        lambda: evaluate(Baseline("relation majority"), "nations"),
        "the baseline 'relation majority' ranks nothing: it stands beside every model in classification.",
    ),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_call_says_what_to_do(make, message):
    with pytest.raises(InputError) as refusal:
        make()
    assert message in str(refusal.value)


def test_a_baseline_is_a_value():
    one = Baseline("ppr", damping=0.5)
    assert one == Baseline(baseline="ppr", damping=0.5) != Baseline("ppr")
    assert repr(Baseline("inverse")) == "InverseBaseline(baseline='inverse', threshold=0.8)"
    assert hash(one) == hash(Baseline("ppr", damping=0.5))
