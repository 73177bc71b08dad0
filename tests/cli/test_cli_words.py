"""What all commands share: ``--json``, ``--quiet``, ``--fail-under``, and messages that speak of what was typed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kgeval import evaluate, load_checkpoint, summarize
from tests.cli.conftest import CONFIG, invoke, write_config, write_model

MODEL = ["model", "--dataset", "graph/", "--option", "model=TransE", "--option", "norm=1"]
EVALUATE = ["evaluate", *MODEL]
HOWS = [EVALUATE, ["run", "config.yaml"], ["summarize", "run"]]


# --quiet


@pytest.mark.parametrize(
    "arguments",
    [
        [*EVALUATE, "--out", "new"],
        [*EVALUATE, "--protocol", "pykeen"],
        ["run", "config.yaml"],
        ["summarize", "run", "--ties", "random"],
        ["classify", *MODEL, "--out", "new"],
        ["explain", *MODEL, "--protocols", "openke"],
        ["negatives", "graph/", "--corruption", "uniform:count=100", "--out", "n.tsv"],
        ["convert", "model", *MODEL[3:], "--out", "m.safetensors"],
    ],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.parametrize("quiet", ["--quiet", "-q"])
def test_quiet_leaves_the_results_alone(place, arguments, quiet):
    result = invoke(*arguments, quiet)
    assert result.exit_code == 0
    assert result.stderr == ""
    loud = invoke(*arguments, *(["--force"] if "--out" in arguments or arguments[0] == "run" else []))
    assert loud.exit_code == 0
    assert result.stdout == loud.stdout
    if arguments[0] in ("evaluate", "run", "negatives"):
        assert loud.stderr != ""


# --fail-under


@pytest.fixture
def mrr(place):
    return summarize(evaluate(load_checkpoint("model", model="TransE", norm=1), "graph/"))["mrr"]


@pytest.mark.parametrize("how", HOWS, ids=lambda how: how[0])
def test_a_metric_under_its_bound_fails_after_the_results(place, mrr, how):
    result = invoke(*how, "--fail-under", "mrr=1", "-q")
    assert result.exit_code == 1
    assert result.stderr == f"Error: --fail-under: mrr is {mrr!r}, below 1.0.\n"
    assert f"{mrr:.6f}" in result.stdout
    told = invoke(*how, "--fail-under", "mrr=1", "--json", *(["--force"] if how[0] == "run" else []))
    assert told.exit_code == 1
    assert json.loads(told.stdout)["metrics"]["both"]["mrr"] == mrr


@pytest.mark.parametrize("how", HOWS, ids=lambda how: how[0])
def test_a_bound_that_is_met_is_met_exactly(place, mrr, how):
    """Not by what is printed: six decimals would round it up or down."""
    force = ["--force"] if how[0] == "run" else []
    assert invoke(*how, "--fail-under", f"mrr={mrr!r}").exit_code == 0
    assert invoke(*how, "--fail-under", f"mrr={mrr + 1e-12!r}", *force).exit_code == 1


def test_several_bounds_are_told_at_once(place):
    result = invoke(
        "summarize", "run", "--fail-under", "mrr=1", "--fail-under", "hits@10=1", "--fail-under", "tail.h@1=2"
    )
    assert result.exit_code == 1
    first, *lines = (line for line in result.stderr.splitlines() if not line.startswith("Note: "))
    assert first == "Error: --fail-under: 2 metrics miss their bounds"
    assert [line.split()[0] for line in lines] == ["mrr", "tail.h@1"]


def test_a_metric_need_not_be_shown(place):
    result = invoke(*EVALUATE, "-m", "mr", "--fail-under", "ndcg@3=1")
    assert result.exit_code == 1
    assert "ndcg@3 is 0." in result.stderr
    assert "ndcg" not in result.stdout


def test_of_groups_the_whole_is_bounded(place, mrr):
    assert invoke("summarize", "run", "--by", "relation", "--fail-under", f"mrr={mrr!r}").exit_code == 0


def test_what_is_undefined_fails(place):
    """Of ranks that tie, a median has no expectation."""
    write_model(place / "flat", entity=np.zeros((8, 4)))
    result = invoke("evaluate", "flat", *MODEL[1:], "--ties", "expected", "--fail-under", "inverse-median=0")
    assert result.exit_code == 1
    assert "Error: --fail-under: inverse-median is undefined: " in result.stderr


@pytest.mark.parametrize("how", HOWS, ids=lambda how: how[0])
def test_a_wrong_bound_is_refused_before_the_work(refused, place, monkeypatch, how):
    monkeypatch.setattr("kgeval.ranking.engine.Engine.rank", lambda *_: pytest.fail("it was ranked"))
    assert "unknown metric 'mmr'. Did you mean" in refused(*how, "--fail-under", "mmr=.3")


@pytest.mark.parametrize("how", [[*EVALUATE, "--sides", "tail"], ["run", "config.yaml"]], ids=lambda how: how[0])
def test_a_bound_on_a_side_that_is_not_ranked_is_refused_before_the_work(refused, place, how):
    (place / "graph/test.txt").write_text("what no run could read")
    how = [*how, *(["--set", "evaluation.sides=tail"] if how[0] == "run" else [])]
    assert "--fail-under: both.mrr: only tails are ranked. Use mrr." in refused(*how, "--fail-under", "both.mrr=.3")


@pytest.mark.parametrize("run", ["run", "run/ranks.parquet"])
def test_a_bound_may_name_the_one_run_that_is_given(mrr, run):
    assert invoke("summarize", run, "--fail-under", f"run.mrr={mrr!r}").exit_code == 0
    assert invoke("summarize", run, "--fail-under", f"run.tail.mrr={mrr + 1}").exit_code == 1


@pytest.mark.parametrize("how", HOWS, ids=lambda how: how[0])
def test_a_metric_over_its_bound_fails_too(place, how):
    mr = summarize(evaluate(load_checkpoint("model", model="TransE", norm=1), "graph/"))["mr"]
    assert invoke(*how, "--fail-over", f"mr={mr!r}").exit_code == 0
    over = invoke(*how, "--fail-over", f"mr={mr - 1e-9!r}", "-q")
    assert (over.exit_code, over.stderr) == (1, f"Error: --fail-over: mr is {mr!r}, above {mr - 1e-9!r}.\n")
    both = invoke(*how, "--fail-over", "mr=1", "--fail-under", "mrr=1", "-q")
    assert both.stderr.startswith("Error: --fail-under and --fail-over: 2 metrics miss their bounds\n  mrr is ")


THREE = {"my.model": CONFIG["model"], "other": CONFIG["model"], "floor": {"baseline": "popularity"}}


@pytest.fixture
def three(place):
    """A configuration of two models and a baseline, and its folder of runs."""
    write_config(place / "three.yaml", {"dataset": "./graph", "models": THREE, "output": "three"})
    assert invoke("run", "three.yaml").exit_code == 0
    return {"run": "three.yaml", "summarize": "three"}


@pytest.mark.parametrize("command", ["run", "summarize"])
@pytest.mark.parametrize(
    ("bounds", "missed"),
    [
        (["mrr=1"], ["my.model: mrr", "other: mrr"]),  # no baseline has to reach it
        (["my.model.mrr=1"], ["my.model: mrr"]),
        (["my.model.tail.hits@3=2", "floor.mrr=1"], ["my.model: tail.hits@3", "floor: mrr"]),
        (["floor.mrr=0", "tail.mrr=0"], []),
    ],
)
def test_a_bound_is_for_one_model_or_for_all_that_learn(three, command, bounds, missed):
    options = [part for bound in bounds for part in ("--fail-under", bound)]
    result = invoke(command, three[command], *options)
    assert result.exit_code == (1 if missed else 0)
    found = [line.partition(" is ")[0].strip() for line in result.stderr.splitlines() if ", below " in line]
    assert [line.removeprefix("Error: --fail-under: ") for line in found] == missed


@pytest.mark.parametrize("command", ["run", "summarize"])
def test_a_bound_for_no_model_is_refused(refused, three, command):
    told = refused(command, three[command], "--fail-under", "mymodel.mrr=1")
    assert "--fail-under: metric 'mymodel.mrr': unexpected 'mymodel'. " in told
    assert told.rstrip().endswith("The models are my.model, other, floor.")
    told = refused(command, three[command], "--fail-under", "My.Model.tail.mrr=1")
    assert "The models are my.model, other, floor." in told
    told = refused(command, three[command], "--fail-under", "other.mmr=1")
    assert "unknown metric 'mmr'" in told
    told = refused(command, three[command], "--fail-under", "floor.mr=1")
    assert "mr is better if lower. Use --fail-over floor.mr=1." in told


def test_a_baseline_alone_is_bounded(place):
    assert invoke("evaluate", "baseline:random", "--dataset", "graph", "--fail-under", "mrr=1").exit_code == 1


def test_a_task_has_bounds_of_its_own_metrics(place):
    write_config(
        place / "task.yaml", {**CONFIG, "task": {"kind": "classification", "negatives": {"kind": "generated"}}}
    )
    assert invoke("run", "task.yaml", "--fail-under", "accuracy=0").exit_code == 0
    assert invoke("run", "task.yaml", "--force", "--fail-under", "accuracy=1.1").exit_code == 1
    assert invoke("summarize", "runs/task", "--fail-under", "accuracy=1.1").exit_code == 1
    for metric, message in (
        ("mrr", "mrr is computed from ranks, not from labels"),
        ("relation.recall", "relation.recall is not computed here"),
    ):
        result = invoke("run", "task.yaml", "--force", "--fail-under", f"{metric}=0")
        assert result.exit_code == 2
        assert message in result.stderr


# Words


@pytest.mark.parametrize("name", ["LibKGE", "LIBKGE", "libkge"])
def test_a_protocol_is_known_in_capitals_too(data, name):
    assert data(*EVALUATE, "--protocol", name)["protocol"]["name"] == "libkge"
    assert list(data("explain", *MODEL, "--protocols", name)["protocols"]) == ["libkge"]


@pytest.mark.parametrize("name", ["Native", "AUTO"])
def test_a_format_is_known_in_capitals_too(data, name):
    assert data(*EVALUATE, "--checkpoint-format", name) == data(*EVALUATE)


@pytest.mark.parametrize("how", [EVALUATE, ["summarize", "run"]], ids=lambda how: how[0])
def test_metrics_may_stand_between_commas(data, how):
    assert data(*how, "--metric", "hits@1, hits@10,head.mrr") == data(
        *how, *("-m", "hits@1", "-m", "hits@10", "-m", "head.mrr")
    )


def test_sides_filter_and_candidates_may_be_typed(data, place):
    given = ["--sides", "tail", "--filter", "train,valid", "--corruption", "uniform:count=3,seed=2"]
    block = {"sides": "tail", "filter": ["train", "valid"], "corruption": {"kind": "uniform", "count": 3, "seed": 2}}
    write_config(place / "same.yaml", {**CONFIG, "dataset": "graph/", "evaluation": block})
    assert data(*EVALUATE, *given) == data("run", "same.yaml")
    assert data(*EVALUATE, "--filter", "none")["provenance"]["filter"] == []
    assert data(*EVALUATE, "--sides", "head,tail") == data(*EVALUATE)


def test_a_split_that_the_dataset_lacks_is_that_of_the_option(refused, place):
    (place / "graph/valid.txt").unlink()
    assert refused(*EVALUATE, "--split", "valid").startswith("Error: --split: dataset graph: it has no valid triples")


WRITTEN = [
    ["answers", *MODEL, "--out", "sets.parquet"],
    ["audit", "graph", "--out", "audit.json"],
    ["convert", "model", *MODEL[3:], "--out", "m.safetensors"],
    ["negatives", "graph", "--corruption", "uniform:count=3", "--out", "n.tsv"],
    ["predict", *MODEL, "--out", "p.parquet"],
    ["report", "run", "--out", "page.html"],
    ["plot", "run", "--kind", "distribution", "--out", "ranks.svg"],
]


@pytest.mark.parametrize("command", WRITTEN, ids=lambda command: command[0])
def test_a_file_that_is_there_is_replaced_by_force_alone(done, refused, place, command):
    path = place / command[-1]
    path.write_text("mine")
    assert f"'{path.name}' already exists. Choose another name, or add --force" in refused(*command)
    assert path.read_text() == "mine"
    done(*command, "--force")
    assert path.read_bytes() != b"mine"
    assert [other.name for other in place.glob(".*")] == []


def test_json_tells_of_a_converted_file(data, place):
    told = data("convert", "model", *MODEL[3:], "--out", "m.safetensors")
    assert told == {"path": "m.safetensors", "model": "TransE", "entities": 8, "relations": 3}
    assert data("inspect", "m.safetensors")["model"] == "TransE"
