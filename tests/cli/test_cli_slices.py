"""Slices on the command line and in configurations: groups beside the whole, and where the dataset is found."""

from __future__ import annotations

import json
import shutil

import pytest

from kgeval import Dataset, RankTable, annotate, load_dataset, summarize
from kgeval.base.errors import ConfigError
from kgeval.runs.config.load import check_against_dataset, load_config
from tests.cli.conftest import CONFIG, RELATIONS, below_head, write_config

SLICED = {**CONFIG, "metrics": ["mrr", "hits@3"], "by": ["side", "cardinality"]}


@pytest.fixture
def expected(place):
    """The groups of the stored run by the library, as ``metrics.json`` has them."""

    def groups(*by, metrics=("mrr", "hits@3")):
        data = load_dataset(place / "graph")
        table = RankTable.from_parquet(place / "run/ranks.parquet")
        wanted = [name for name in by if name not in table.columns]
        return summarize(annotate(table, data, wanted), metrics, by=by).to_dict()

    return groups


def test_a_configuration_has_groups_beside_the_whole(data, place, expected):
    write_config(place / "whole.yaml", {**SLICED, "by": None})
    write_config(place / "sliced.yaml", SLICED)
    whole, sliced = data("run", "whole.yaml", "--out", "whole"), data("run", "sliced.yaml", "--out", "sliced")
    groups = expected("side", "cardinality")
    assert sliced == {**whole, "by": groups["by"], "groups": groups["groups"], "notes": sliced["notes"]}
    assert [note for note in sliced["notes"] if note in whole["notes"]] == whole["notes"]
    assert json.loads((place / "sliced/metrics.json").read_text()) == sliced
    assert (place / "sliced/ranks.parquet").read_bytes() == (place / "whole/ranks.parquet").read_bytes()


@pytest.mark.parametrize("spelled", ["side,cardinality", "side, cardinality", ["side", "cardinality"]])
def test_names_are_a_list_or_have_commas_between_them(data, place, spelled):
    write_config(place / "sliced.yaml", {**SLICED, "by": spelled})
    assert data("run", "sliced.yaml", "--out", "sliced")["by"] == ["side", "cardinality"]


def test_a_stored_run_gives_its_groups_again(data, done, place):
    write_config(place / "sliced.yaml", SLICED)
    printed = done("run", "sliced.yaml", "--out", "sliced")
    assert data("summarize", "sliced") == json.loads((place / "sliced/metrics.json").read_text())
    assert done("summarize", "sliced") == printed
    assert data("run", "sliced/config.yaml", "--out", "again") == data("summarize", "sliced")


@pytest.mark.parametrize(
    "by", [["--by", "side,cardinality"], ["--by", "side", "--by", "cardinality"], ["--by", "side, cardinality"]]
)
def test_a_stored_run_is_grouped_by_columns_and_slices(data, expected, by):
    told = data("summarize", "run", *by, "-m", "mrr,hits@3")
    assert told == expected("side", "cardinality")
    assert "metrics" not in told


def test_evaluate_has_groups_too(data, done, expected):
    words = ["evaluate", "model", "--dataset", "graph", "--option", "model=TransE", "-m", "mrr,hits@3"]
    words += ["--option", "norm=1", "--by", "seen"]
    assert data(*words)["groups"] == expected("seen")["groups"]
    _, whole, groups = done(*words).split("\n\n")
    assert whole.splitlines()[0].split() == ["both", "head", "tail"]
    assert groups.split()[0] == "seen"
    assert len(groups.splitlines()) == 2 + len(expected("seen")["groups"])


def test_groups_are_printed_in_their_order_with_counts(done):
    lines = below_head(done("summarize", "run", "--by", "known-answers", "-m", "mrr"))
    assert lines[0].split()[:3] == ["known-answers", "both.mrr", "both.count"]
    names = [line.split()[0] for line in lines[2:] if line]
    assert names == sorted(names, key=["0", "1", "2–10"].index)


def test_several_models_have_a_table_and_groups_each(done, data, place):
    models = dict.fromkeys(("one", "two"), CONFIG["model"])
    write_config(place / "both.yaml", {**{k: v for k, v in SLICED.items() if k != "model"}, "models": models})
    printed = done("run", "both.yaml", "--out", "both")
    rows = [line.split() for line in printed.splitlines()]
    of_groups = rows.index(["side", "cardinality", "model", "mrr", "hits@3", "count"]) + 2
    groups = {}
    for name in ("one", "two"):
        content = json.loads((place / f"both/{name}/metrics.json").read_text())
        assert content["by"] == ["side", "cardinality"]
        for group in content["groups"]:
            metrics = group["metrics"][group["key"]["side"]]
            numbers = [f"{metrics['mrr']:.6f}", f"{metrics['hits@3']:.6f}", str(metrics["count"])]
            groups[tuple(group["key"].values()), name] = [*group["key"].values(), name, *numbers]
    assert rows[of_groups : of_groups + len(groups)] == [groups[key] for key in sorted(groups)]
    assert done("summarize", "both") == printed
    grouped = data("summarize", "both", "--by", "seen")
    assert grouped["models"]["one"]["by"] == ["seen"]


# Where the dataset is


def test_a_moved_dataset_is_asked_for_and_taken(data, refused, place, expected):
    groups = expected("seen")
    (place / "graph").rename(place / "moved")
    message = refused("summarize", "run", "--by", "seen")
    assert "the dataset in its config.yaml cannot be read" in message
    assert "Add --dataset" in message
    assert data("summarize", "run", "--by", "seen", "--dataset", "moved", "-m", "mrr,hits@3") == groups


def test_ranks_alone_are_sliced_by_the_dataset_that_is_given(data, expected):
    told = data("summarize", "run/ranks.parquet", "--by", "seen", "--dataset", "graph", "-m", "mrr,hits@3")
    assert told == expected("seen")


def test_a_dataset_that_has_changed_is_refused(refused, place):
    with (place / "graph/train.txt").open("a") as file:
        file.write("ant\teats\tant\n")
    assert "'graph' has changed since it was ranked" not in (message := refused("summarize", "run", "--by", "seen"))
    assert "dataset graph has changed since it was ranked in 'run': labels or triples differ" in message
    assert "--dataset" in message


def test_another_dataset_is_taken_with_a_note_if_it_has_the_triples(data, place):
    shutil.copytree(place / "graph", place / "other")
    with (place / "other/train.txt").open("a") as file:
        file.write("ant\teats\tant\n")
    notes = data("summarize", "run", "--by", "seen", "--dataset", "other")["notes"]
    assert notes[0].startswith("dataset other has changed since it was ranked in 'run'")
    assert notes[0].endswith("The slices use the given dataset.")


def test_a_dataset_without_the_triples_is_refused(refused, place):
    shutil.copytree(place / "graph", place / "other")
    lines = (place / "graph/test.txt").read_text().splitlines()
    (place / "other/test.txt").write_text("\n".join(lines[1:]))
    message = refused("summarize", "run", "--by", "seen", "--dataset", "other")
    assert "the triples are not from dataset other: it lacks 1 of the 6 ranked triples, such as (gnu" in message


def test_ranks_from_elsewhere_are_sliced(data, place):
    rows = [line.split("\t") for line in (place / "graph/test.txt").read_text().splitlines()]
    text = "".join(f"{h}\t{r}\t{t}\t1\t2\n" for h, r, t in rows)
    (place / "ranks.txt").write_text("head\trelation\ttail\thead_rank\ttail_rank\n" + text)
    told = data("summarize", "ranks.txt", "--dataset", "graph", "--by", "side,pattern-loop", "-m", "mrr")
    values = {
        group["key"]["side"]: {side: of["mrr"] for side, of in group["metrics"].items()} for group in told["groups"]
    }
    assert values == {"head": {"head": 1.0}, "tail": {"tail": 0.5}}


# Tasks

TASK = {**CONFIG, "task": {"kind": "classification"}}


def test_a_classification_is_grouped_by_relation_in_its_configuration(data, place):
    write_config(place / "task.yaml", {**TASK, "by": "relation"})
    told = data("run", "task.yaml", "--out", "task")
    assert {group["key"]["relation"] for group in told["groups"]} <= {*RELATIONS}
    assert data("summarize", "task") == told
    assert data("summarize", "task", "--by", "relation") == told


# What is refused


def test_a_slice_that_the_dataset_cannot_give_is_refused_with_its_line(place):
    graph = load_dataset(place / "graph")
    nothing = Dataset.build("none", {"test": graph.test}, entities=graph.entities, relations=graph.relations)
    write_config(place / "sliced.yaml", "dataset: ./graph\nmodel: model\nby:\n- edge-cardinality\n- seen\n")
    with pytest.raises(
        ConfigError, match=r"by.1: slice 'seen' needs train triples, and dataset none has none \(con.* 5"
    ):
        check_against_dataset(load_config(place / "sliced.yaml"), nothing)
