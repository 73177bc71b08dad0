"""Groups that the user names, in configurations and commands: a run keeps them, and runs that differ are refused."""

from __future__ import annotations

import json
import shutil

import yaml

from tests.cli.conftest import write_config

GROUPS = {"first": ["~^e"], "rest": None}


def config(place, **content):
    write_config(place / "own.yaml", {"dataset": "./graph", "model": "baseline:types", "metrics": ["mrr"], **content})
    return "own.yaml"


def keys(groups):
    return [tuple(group["key"].values()) for group in groups]


def test_a_run_keeps_its_groups(data, done, refused, place):
    done("run", config(place, groups=GROUPS, output="a"))
    done("run", config(place, groups=GROUPS, output="b"))
    other = {"first": None}
    done("run", config(place, groups=other, by=["side"], output="c"))
    kept = json.loads((place / "a/metrics.json").read_text())
    assert kept["by"] == ["groups"]
    assert yaml.safe_load((place / "a/config.yaml").read_text())["groups"] == GROUPS
    again = data("summarize", "a", "--by", "groups")
    assert [group["metrics"] for group in again["groups"]] == [group["metrics"] for group in kept["groups"]]
    done("compare", "a", "b", "--by", "groups")
    assert "define the groups 'groups'" in refused("compare", "a", "c", "--by", "groups")
    done("compare", "a", "c", "--by", "side")
    (place / "mine.yaml").write_text(yaml.safe_dump(GROUPS))
    assert keys(data("summarize", "c", "--by", "mine.yaml")["groups"]) == keys(kept["groups"])
    done("compare", "a", "c", "--by", "mine.yaml")


def test_groups_of_the_command_are_kept_too(data, done, refused, place):
    (place / "mine.yaml").write_text(yaml.safe_dump({"kind": {"types": "types.tsv"}, "mine": GROUPS}))
    rows = [line.split("\t") for line in (place / "graph/train.txt").read_text().splitlines()]
    (place / "types.tsv").write_text("".join(f"{one}\tx\n" for one in sorted({row[0] for row in rows})))
    done("evaluate", "baseline:types", "--dataset", "graph", "--by", "mine.yaml", "-m", "mrr", "--out", "a")
    assert json.loads((place / "a/metrics.json").read_text())["by"] == ["kind", "mine"]
    assert "types.tsv" in json.loads((place / "a/manifest.json").read_text())["sha256"]
    assert data("summarize", "a", "--by", "kind")["by"] == ["kind"]
    (place / "types.tsv").write_text("nobody\tx\n")
    assert "'types.tsv' has changed" in refused("summarize", "a", "--by", "kind")


def test_another_graph_is_kept_with_a_run(data, done, refused, place):
    shutil.copytree(place / "graph", place / "other")
    by = "side,overlap:other, graph"
    done("evaluate", "baseline:types", "--dataset", "graph", "--by", by, "-m", "mrr", "--out", "a")
    kept = json.loads((place / "a/metrics.json").read_text())
    assert kept["by"] == ["side", "overlap:other, graph"]
    assert {key[1] for key in keys(kept["groups"])} == {"in valid or test"}
    assert "other/test.txt" in json.loads((place / "a/manifest.json").read_text())["sha256"]
    assert keys(data("summarize", "a", "--by", by)["groups"]) == keys(kept["groups"])
    found = data("audit", "graph", "--against", "other,umls")
    assert {one["partner"] for one in found["counts"] if "partner" in one} > {"other train", "umls test"}
    (place / "other/test.txt").write_text("nobody\tlikes\tnobody\n")
    assert "'other/test.txt' has changed" in refused("summarize", "a", "--by", by)
    assert "by.0: no folder and no PyKEEN dataset is called 'no'" in refused("run", config(place, by="overlap:no"))


def test_malformed_groups_are_refused_at_their_place(refused, place):
    for groups, message in [
        ({"a": ["nothing"]}, "unknown relation 'nothing'"),
        ({"a": 3}, "'a' needs a list of relations"),
        ({"cardinality": {"by": "(.)"}}, "a slice has the name 'cardinality' already"),
        ([1], "expected groups by their names"),
    ]:
        said = refused("run", config(place, groups=groups, output="x"))
        assert message in said
        assert said.count("\n") == 2  # one problem, not that of the groups and another of what they were to group
        assert "by" in said or "groups" in said


def test_a_pattern_of_the_command_has_commas(data, place):
    found = data("evaluate", "baseline:types", "--dataset", "graph", "--by", "side,relation~(.{1,1})$")
    assert found["by"] == ["side", "relation~(.{1,1})$"]
