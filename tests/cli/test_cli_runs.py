"""Runs and ranks as arguments: folders of runs, a run in a checkpoint's place, and ranks that were made elsewhere."""

from __future__ import annotations

import json
import shutil

import pytest

from kgeval import RankTable, load_ranks, summarize
from tests.cli.conftest import CONFIG, ENTITIES, RELATIONS, SPLITS, invoke, spelled, write_config
from tests.contracts.frozen.commands import ROWS
from tests.data.folders import lines

SEVERAL = {"dataset": "./graph", "models": {"a": CONFIG["model"], "b": "baseline:types"}, "report": True}


@pytest.fixture
def folder(place):
    """The run of ``kgeval run``, and others written one by one, one of them deeper."""
    baseline = ("evaluate", "baseline:popularity", "--dataset", "graph", "-m", "mr")
    invoke(*baseline, "--out", "runs/graph/popularity")
    for seed in (0, 1):
        shutil.copytree("run", f"runs/graph/TransE/{seed}")
    (place / "runs/graph/notes.txt").write_text("mine")
    return place / "runs"


NAMES = ["TransE/0", "TransE/1", "popularity"]


def test_a_folder_of_runs_is_one_whoever_wrote_them(data, done, folder, place):
    told = data("compare", "runs/graph", "-m", "mrr")
    assert sorted(one["model"] for one in told["models"]) == NAMES
    assert sorted(one["model"] for one in data("compare", "runs", "-m", "mrr")["models"]) == NAMES
    expected = summarize(RankTable.from_parquet(folder / "graph/TransE/0"), ["mrr"])["mrr"]
    values = {(one["model"], one["metric"]): one["value"] for one in told["values"]}
    assert values["TransE/0", "mrr"] == expected
    summaries = data("summarize", "runs/graph")["models"]
    assert sorted(summaries) == NAMES
    assert {frozenset(model["metrics"]["both"]) for model in summaries.values()} == {
        frozenset(summaries["TransE/0"]["metrics"]["both"])
    }
    assert sorted(data("inspect", "runs/graph")["models"]) == NAMES
    done("report", "runs/graph", "--out", "page.html")
    assert "<title>2 models and 1 baseline on graph</title>" in (place / "page.html").read_text()
    done("plot", "runs", "--kind", "leaderboard", "--out", "plot.svg")


def test_interrupted_runs_inside_a_folder_are_told(done, refused, folder):
    (folder / "graph/TransE/1/manifest.json").unlink()
    (folder / "graph/RotatE/.kgeval.partial").mkdir(parents=True)
    result = invoke("compare", "runs/graph", "-m", "mrr")
    said = "left out of 'runs/graph': RotatE (it was interrupted); TransE/1 (manifest.json is missing)."
    assert said in result.stderr
    assert said in invoke("summarize", "runs/graph").stderr
    assert "interrupted" in done("inspect", "runs/graph/RotatE")
    assert "A run was interrupted there" in refused("evaluate", "runs/graph/RotatE")


def test_runs_of_different_kinds_make_no_table(refused, folder):
    invoke("classify", "baseline:types", "--dataset", "graph", "--out", "runs/graph/labels")
    assert "holds runs of classification (graph/labels) and of ranks (graph/popularity)" in refused(
        "summarize", "runs", code=2
    )


def test_classifications_of_different_metrics_show_the_usual_ones(data, place):
    for metric in ("accuracy", "f1"):
        invoke("classify", "baseline:types", "--dataset", "graph", "-m", metric, "--out", f"labels/{metric}")
    told = data("summarize", "labels")["models"]
    expected = data("classify", "baseline:types", "--dataset", "graph")
    assert {name: model["metrics"] for name, model in told.items()} == dict.fromkeys(
        ["accuracy", "f1"], expected["metrics"]
    )


def test_what_a_shell_matches_beside_runs_is_passed_over(data, refused, place):
    """``runs/*/*`` matches the common table and the page too."""
    write_config(place / "several.yaml", SEVERAL)
    invoke("run", "several.yaml", "--out", "runs/graph")
    matched = sorted(str(path.relative_to(place)) for path in place.glob("runs/*/*"))
    assert "runs/graph/metrics.json" in matched
    assert "runs/graph/report.html" in matched
    assert sorted(one["model"] for one in data("compare", *matched, "-m", "mrr")["models"]) == ["a", "b"]
    inside = [str(path) for path in (place / "run").iterdir()]
    assert sorted(one["model"] for one in data("compare", *inside, "runs/graph/b", "-m", "mrr")["models"]) == [
        "b",
        "run",
    ]
    (place / "runs/graph/notes.txt").write_text("mine")
    assert "notes.txt" in refused("compare", *matched, "runs/graph/notes.txt")


def test_a_run_in_a_checkpoints_place(data, place):
    """It tells model, options and dataset; what else is said replaces what the run was asked."""
    stored = json.loads((place / "run/metrics.json").read_text())
    assert data("evaluate", "run")["metrics"] == stored["metrics"]
    checkpoint = ["model", "--dataset", "graph", "--option", "model=TransE", "--option", "norm=1"]
    for options in (["--split", "valid", "-m", "mr"], ["--protocol", "libkge"], ["--ties", "pessimistic"]):
        assert data("evaluate", "run", *options)["metrics"] == data("evaluate", *checkpoint, *options)["metrics"]
    assert data("explain", "run", "--protocols", "libkge") == data("explain", *checkpoint, "--protocols", "libkge")
    assert data("evaluate", "run", "--set", "model.options.norm=2")["metrics"] != stored["metrics"]


def test_the_run_that_is_evaluated_again_stays(data, place):
    before = (place / "run/manifest.json").read_bytes()
    data("evaluate", "run", "--split", "valid")
    assert (place / "run/manifest.json").read_bytes() == before
    data("evaluate", "run", "--out", "other")
    assert (place / "other/ranks.parquet").is_file()


def test_a_run_whose_checkpoint_has_moved_is_run_again(data, refused, place):
    shutil.copytree("run", "colleague/run")
    shutil.move("model", "elsewhere")
    message = refused("run", "colleague/run/config.yaml", "--out", "again")
    assert "model.path: no such file or folder 'model'" in message
    assert "relative to the folder in which the run was made" in message
    assert message.endswith("Call kgeval there, or add --set model.path=PATH.\n")
    for wrong in (["--set", "model.path=nowhere"], ["--set", "model={path: nowhere}"]):
        assert "relative to" not in refused("evaluate", "colleague/run", *wrong)
    assert refused("evaluate", "colleague/run").endswith("Call kgeval there, or add --set model.path=PATH.\n")
    data("run", "colleague/run/config.yaml", "--set", "model.path=elsewhere", "--out", "again")
    again, first = (json.loads((place / name / "metrics.json").read_text()) for name in ("again", "run"))
    assert again["metrics"] == first["metrics"]
    assert data("evaluate", "colleague/run", "--set", "model.path=elsewhere")["metrics"] == first["metrics"]
    shutil.move("graph", "graphs")
    assert "--set dataset.path=PATH" in refused("evaluate", "run")


RANKED = [(*triple, n % 3 + 1, 1) for n, triple in enumerate(spelled(SPLITS["test"]))]
"""the test triples with two ranks each"""


def test_metrics_of_a_file_of_ranks(done, place):
    (place / "ranks.txt").write_text(lines([("h", "r", "t", "frank_left", "frank_right"), *RANKED]))
    told = json.loads(done("summarize", "ranks.txt", "--dataset", "graph", "-m", "mrr", "-m", "head.mrr", "--json"))
    assert told["metrics"]["head"]["mrr"] == (1 + 1 / 2 + 1 / 3) / 3
    assert told["metrics"]["both"]["mrr"] == (3 + 1 + 1 / 2 + 1 / 3) / 6


def test_predictions_of_rules_are_evaluated(done, place):
    """Each answer is listed above another entity, but for those of the last triple, which are not listed."""
    listed = []
    for n, (h, r, t) in enumerate(SPLITS["test"]):
        other = next(entity for entity in range(8) if entity not in (h, t) and (h, r, entity) not in ROWS)
        listed.append(f"{ENTITIES[h]} {RELATIONS[r]} {ENTITIES[t]}")
        for mark, answer in (("Heads:", h), ("Tails:", t)):
            mine = f"{ENTITIES[answer]}\t0.5\t" if n < 5 else ""
            listed.append(f"{mark} {mine}{ENTITIES[other]}\t0.25\t")
    (place / "predictions.txt").write_text("\n".join(listed))
    told = json.loads(
        done("evaluate", "predictions.txt", "--dataset", "graph", "-m", "tail.pessimistic.hits@1", "--json")
    )
    assert told["metrics"]["tail"]["pessimistic.hits@1"] == 5 / 6


def test_the_options_of_ranks_are_those_of_python(done, refused, place):
    """Without a header, between semicolons, and with a triple that is not in test."""
    (place / "ranks.csv").write_text(lines([("ant", "eats", "ant", 1, 1), *RANKED], separator=";"))
    options = ("--dataset", "graph", "--columns", "h,r,t,head_rank,tail_rank", "-m", "mrr", "--json")
    assert "line 1: the triple (ant, eats, ant) is not in the test split" in refused("summarize", "ranks.csv", *options)
    dropped = (*options, "--unmatched", "drop")
    told = json.loads(done("summarize", "ranks.csv", *dropped))
    assert told["metrics"]["both"]["mrr"] == (3 + 1 + 1 / 2 + 1 / 3) / 6
    for further in (("--setting", "raw"), ("--filter", "train"), ("--separator", "semicolon")):
        again = json.loads(done("summarize", "ranks.csv", *dropped, *further))
        assert again["metrics"] == told["metrics"]


def test_a_stored_run_has_its_raw_ranks_too(data, done, refused, place):
    done("evaluate", "baseline:popularity", "--dataset", "nations", "--ties", "realistic", "--out", "nations-run")
    table = RankTable.from_parquet("nations-run/ranks.parquet")
    told = data("summarize", "nations-run", "--filter", "none", "-m", "mrr")
    ranks = 1 + table.column("raw_greater") + table.column("raw_tied") / 2
    assert told["metrics"]["both"]["mrr"] == pytest.approx((1 / ranks).mean(), rel=1e-12)
    assert told["metrics"]["both"]["mrr"] < data("summarize", "nations-run", "-m", "mrr")["metrics"]["both"]["mrr"]
    assert ", unfiltered, " in done("summarize", "run", "--filter", "none")
    (place / "ranks.csv").write_text(lines([("head", "relation", "tail", "tail_rank"), RANKED[0][:4]], separator=","))
    load_ranks("ranks.csv", "graph").to_parquet(place / "filtered.parquet")
    assert "the raw ranks are not known" in refused("summarize", "filtered.parquet", "--filter", "none")
