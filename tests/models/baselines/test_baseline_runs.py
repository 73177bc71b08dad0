"""Baselines in Python, on the command line and in configurations, and what they reach on real graphs.

The numbers are those of ``kgeval evaluate baseline:NAME --dataset FOLDER -m mrr -m hits@1 -m hits@10``, with expected
ties.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import yaml

import kgeval
from kgeval import Baseline, Dataset, RankTable, evaluate, load_dataset, summarize
from kgeval.base.errors import ConfigError, DatasetError, InputError
from kgeval.models.baselines import baselines
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


RANKING = [name for name, kind in baselines().items() if "ranking" in kind.tasks and not kind.needs_times]
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
    from kgeval.models.families.bilinear import DistMult

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
    "no name": ({"model": {"kind": "baseline"}}, r"model: the key 'baseline' is missing .*Choose one of .*'inverse'"),
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
        r"model: the baseline 'tail frequency' does not rank: it is part of .* classification \(.*line 2",
    ),
}


@pytest.mark.parametrize(("content", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_configuration_is_refused_with_its_line(content, message, graph, tmp_path):
    done = configured(tmp_path, content, code=2)
    assert re.search(message, done.stderr), done.stderr


def test_a_dataset_without_train_is_refused_but_by_random(graph, tmp_path):
    bare = Dataset.from_labels(test=[("a", "r", "b")], name="bare")
    with pytest.raises(DatasetError, match="bare has no train triples; baseline types counts them"):
        evaluate(Baseline("types"), bare)
    assert evaluate(Baseline("random"), bare).column("tied").tolist() == [1, 1]
    (tmp_path / "runs.yaml").write_text("dataset: ./graph\nmodels:\n  a: baseline:random\n  b: {baseline: types}\n")
    with pytest.raises(ConfigError) as refusal:
        check_against_dataset(load_config(tmp_path / "runs.yaml"), bare)
    (problem,) = str(refusal.value).splitlines()[1:]
    assert "models.b: bare has no train triples; baseline types counts them (" in problem
    assert "line 4" in problem


WRONG = {
    "an unknown name": (lambda: Baseline("popular"), "unknown baseline 'popular'. Did you mean 'popularity'"),
    "no name": (Baseline, "the name of the baseline is missing. 'kgeval list baselines' shows all."),
    "two names": (lambda: Baseline("inverse", baseline="types"), "baseline: unknown value 'types'"),
    "a number": (lambda: Baseline(5), "unknown baseline 5. 'kgeval list baselines' shows all."),
    "an unknown setting": (
        lambda: Baseline("ppr", step=3),
        "settings of the baseline:\n  step: unknown key 'step'. Choose one of 'baseline', 'damping', 'iterations'",
    ),
    "no steps": (lambda: Baseline("ppr", iterations=0), "iterations: expected at least 1, found 0"),
    "labels alone": (
        lambda: evaluate(Baseline("relation majority"), "nations"),
        "the baseline 'relation majority' does not rank: it is part of every classification.",
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
    assert repr(Baseline("inverse")) == "InverseBaseline(baseline='inverse', threshold=0.8, history='train')"
    assert hash(one) == hash(Baseline("ppr", damping=0.5))


METRICS = ("mrr", "hits@1", "hits@10")

FOUND = {
    ("umls", "popularity"): (0.668760, 0.535122, 0.882906),
    ("umls", "types"): (0.417554, 0.279718, 0.726185),
    ("umls", "symmetric"): (0.130259, 0.077011, 0.202827),
    ("umls", "inverse"): (0.069098, 0.027048, 0.116339),
    ("umls", "ppr"): (0.151370, 0.022693, 0.416036),
    ("umls", "random"): (0.058832, 0.017589, 0.103271),
    ("codex-s", "popularity"): (0.215813, 0.120041, 0.392730),
    ("codex-s", "types"): (0.055482, 0.014973, 0.128065),
    ("codex-s", "symmetric"): (0.121787, 0.101845, 0.142968),
    ("codex-s", "inverse"): (0.121795, 0.101850, 0.142986),
    ("codex-s", "ppr"): (0.054934, 0.020788, 0.101477),
    ("codex-s", "random"): (0.004239, 0.000521, 0.005213),
    ("fb15k-237", "popularity"): (0.234547, 0.172491, 0.356458),
    ("fb15k-237", "types"): (0.078836, 0.042082, 0.140426),
    ("fb15k-237", "symmetric"): (0.000706, 0.000067, 0.000692),
    ("fb15k-237", "inverse"): (0.000708, 0.000068, 0.000694),
    ("fb15k-237", "random"): (0.000711, 0.000070, 0.000701),
    ("wn18rr", "popularity"): (0.025629, 0.015475, 0.044469),
    ("wn18rr", "types"): (0.002162, 0.000373, 0.003733),
    ("wn18rr", "symmetric"): (0.346573, 0.346291, 0.346671),
    ("wn18rr", "inverse"): (0.335855, 0.335689, 0.335836),
    ("wn18rr", "random"): (0.000274, 0.000024, 0.000244),
}


@pytest.mark.parametrize(("name", "baseline"), FOUND, ids=" ".join)
def test_the_numbers_stand(name, baseline, request):
    path = "umls" if name == "umls" else request.getfixturevalue("shared") / "data" / name
    table = evaluate(Baseline(baseline), load_dataset(path))
    summary = summarize(table, METRICS, ties="expected")
    assert [summary[metric] for metric in METRICS] == pytest.approx(FOUND[name, baseline], abs=5e-7)


@pytest.mark.parametrize(("name", "metric", "value"), [("wn18rr", "mrr", 0.348615), ("fb15k-237", "hits@10", 0.014197)])
def test_with_valid_inverse_reaches_what_dettmers_and_others_report(name, metric, value, shared):
    """Dettmers et al. (2018): an MRR of .35 on WN18RR, hits@10 of .014 on FB15k-237."""
    table = evaluate(Baseline("inverse", history="train+valid"), load_dataset(shared / "data" / name))
    assert summarize(table, [metric], ties="expected")[metric] == pytest.approx(value, abs=5e-7)


def test_on_wn18rr_inverse_and_symmetric_explain_a_third(shared):
    data = load_dataset(shared / "data/wn18rr")
    train = {*map(tuple, data.train.ids.tolist())}
    turned = np.array([(t, r, h) in train for h, r, t in data.test.ids.tolist()])
    assert (int(turned.sum()), len(turned)) == (1086, 3134)
    tables = {name: evaluate(Baseline(name), data) for name in ("symmetric", "inverse")}
    first = {name: table.column("score") == 1 for name, table in tables.items()}
    # The rules list an answer in just these rows, each time first or nearly so.
    assert first["symmetric"].reshape(2, -1).tolist() == [turned.tolist(), turned.tolist()]
    assert (first["inverse"] <= first["symmetric"]).all()
    for name, table in tables.items():
        rest = table.where(~first[name])
        explained = first[name].mean()
        assert {"symmetric": 0.3465, "inverse": 0.3357}[name] == pytest.approx(explained, abs=5e-5)
        assert summarize(rest, ["mrr"], ties="expected")["mrr"] < 0.001
        assert summarize(table, ["mrr"], ties="expected")["mrr"] == pytest.approx(explained, abs=0.001)
