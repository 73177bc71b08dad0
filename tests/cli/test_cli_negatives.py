"""``kgeval negatives``: the synthetic negatives, written down and read back."""

from __future__ import annotations

import csv
import json

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from kgeval import RankTable, evaluate, load_dataset
from kgeval.corruption import Uniform

UNIFORM = ["negatives", "graph/", "--corruption", "uniform:count=3", "--out"]


def uniform(seed):
    return ["negatives", "graph/", "--corruption", f"uniform:count=3,seed={seed}", "--out"]


def rows(path):
    if path.suffix == ".parquet":
        return [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
    with path.open(encoding="utf-8") as lines:
        return [tuple(row.values()) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


@pytest.mark.parametrize("name", ["n.tsv", "n.txt", "n.parquet", "new/folder/n.tsv"])
def test_every_ending_holds_the_same_negatives(done, place, name):
    done(*UNIFORM, "reference.parquet")
    done(*UNIFORM, name)
    assert rows(place / name) == rows(place / "reference.parquet")


def test_they_are_false_triples_next_to_true_ones(done, place):
    done(*UNIFORM, "n.tsv")
    graph = load_dataset("graph/")
    spell = graph.entities.__getitem__, graph.relations.__getitem__, graph.entities.__getitem__
    facts = {
        tuple(name(index) for name, index in zip(spell, row, strict=True))
        for part in graph.splits.values()
        for row in part.ids.tolist()
    }
    tests = {tuple(name(index) for name, index in zip(spell, row, strict=True)) for row in graph.test.ids.tolist()}
    found = rows(place / "n.tsv")
    assert len(found) == 2 * 3 * len(tests)
    for *triple, side in found:
        kept = [1, 2] if side == "head" else [0, 1]
        assert tuple(triple) not in facts
        assert any([triple[index] for index in kept] == [true[index] for index in kept] for true in tests)


def test_a_summary_for_machines(data, place):
    told = data(*uniform(7), "n.tsv")
    corruption = {"kind": "uniform", "count": 3, "seed": 7, "allow_known": False}
    assert told == {"written": 36, "path": "n.tsv", "corruption": corruption, "notes": []}
    assert len(rows(place / "n.tsv")) == 36


def test_draws_that_fall_short_are_told_as_a_run_tells_them(place):
    from kgeval.cli import main

    asked = ["negatives", "graph", "--corruption", "uniform:count=100", "--out", "n.tsv", "--json"]
    drawn = CliRunner().invoke(main, asked)
    table = evaluate(lambda h, r, t: h + r + t, "graph", corruption=Uniform(count=100))
    told = [note for note in table.notes if "left to draw" in note]
    assert told == json.loads(drawn.stdout)["notes"] != []
    assert all(note in drawn.stderr for note in told)


def test_a_seed_is_always_the_same_draw(done, place):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        done(*uniform(seed), f"{name}.tsv")
    a, b, c = ((place / f"{name}.tsv").read_bytes() for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.parametrize("ending", ["tsv", "parquet"])
def test_read_back_they_give_the_ranks_of_the_draw(done, place, ending):
    done(*uniform(5), f"n.{ending}")
    done("run", "config.yaml", "--out", "drawn", "--set", "evaluation.corruption={kind: uniform, count: 3, seed: 5}")
    done("run", "config.yaml", "--out", "read", "--set", f"evaluation.corruption={{kind: file, path: n.{ending}}}")
    drawn, read = (RankTable.from_parquet(place / name / "ranks.parquet") for name in ("drawn", "read"))
    for column in ("greater", "tied", "candidates", "score"):
        assert read.column(column).tolist() == drawn.column(column).tolist()


def test_all_entities_can_be_written(done, place):
    done("negatives", "graph/", "--corruption", "all", "--out", "n.tsv")
    assert len(rows(place / "n.tsv")) > 36


def test_another_split_can_be_corrupted(data):
    assert data(*UNIFORM, "n.tsv", "--split", "valid")["written"] == 2 * 3 * 4


def test_a_refusal_leaves_the_file_alone(refused, place):
    (place / "n.tsv").write_text("mine")
    refused(*UNIFORM, "n.tsv", "--force", "--split", "tst")
    assert (place / "n.tsv").read_text() == "mine"
    assert [path.name for path in place.glob(".*")] == []


def test_labels_that_hold_tabs_are_written_to_parquet_alone(refused, done, place):
    for split in ("train", "test"):
        (place / "graph" / f"{split}.txt").unlink()
        (place / "graph" / f"{split}.csv").write_text('ant,eats,"b\tee"\nbee,eats,cat\n')
    told = refused("negatives", "graph/", "--corruption", "all", "--out", "n.tsv")
    assert "the label 'b\\tee' holds a tab or a line end" in told
    assert ".parquet" in told
    assert not (place / "n.tsv").exists()
    done("negatives", "graph/", "--corruption", "all", "--out", "n.parquet")
    assert any("b\tee" in row for row in rows(place / "n.parquet"))


def test_more_negatives_than_there_are_entities_are_all_of_them(done, place):
    for name, count in (("all.tsv", 8), ("more.tsv", 2**62)):
        done("negatives", "graph/", "--corruption", f"uniform:count={count}", "--out", name)
    assert sorted(rows(place / "more.tsv")) == sorted(rows(place / "all.tsv"))


def test_a_name_as_long_as_names_may_be_can_be_written(done, place):
    name = "x" * 251 + ".tsv"
    done(*UNIFORM, name)
    assert len(rows(place / name)) == 36


def test_a_folder_in_the_way_fails(refused, place):
    (place / "n.tsv").mkdir()
    refused(*UNIFORM, "n.tsv", "--force", code=1)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("content", [b"", b"ant\teats\n", b"ant\teats\tyak\n", b"\xff\xfe\x00\x01", bytes(range(256))])
def test_files_of_negatives_that_do_not_fit_are_refused(refused, place, content):
    """What is wrong is named with its line or row: tests/corruption/test_generators.py."""
    (place / "given.tsv").write_bytes(content)
    assert "given.tsv" in refused("negatives", "graph/", "--corruption", "file:path=given.tsv", "--out", "n.tsv")


@pytest.mark.parametrize("splits", [["train"], ["valid"], ["train", "valid"]], ids="+".join)
def test_only_the_filtered_splits_are_no_negatives(done, place, splits):
    """The evaluated triples never are; of the others, those that no --filter names may be drawn."""
    (place / "graph/test.txt").write_text("gnu\teats\tdog\n")
    others = {"train": ("gnu", "eats", "eel", "tail"), "valid": ("gnu", "eats", "fox", "tail")}
    for split, row in others.items():
        with (place / f"graph/{split}.txt").open("a") as file:
            file.write("\t".join(row[:3]) + "\n")
    filters = [part for split in splits for part in ("--filter", split)]
    done("negatives", "graph/", "--corruption", "all", "--out", "n.tsv", *filters)
    found = set(rows(place / "n.tsv"))
    assert {split for split, row in others.items() if row in found} == others.keys() - set(splits)
    assert not [row for row in found if row[:3] == ("gnu", "eats", "dog")]
