"""``kgeval negatives``, and corruptions in a configuration, with which files and which seed they took."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from kgeval import RankTable, evaluate, load_dataset
from kgeval.ranking.corruption import Uniform
from tests.data import stored_layouts

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
    assert told == {"written": 36, "path": "n.tsv", "corruption": corruption, "notes": [], "note_kinds": []}
    assert len(rows(place / "n.tsv")) == 36


def test_draws_that_fall_short_are_told_as_a_run_tells_them(place):
    from kgeval.cli import main

    asked = ["negatives", "graph", "--corruption", "uniform:count=100", "--out", "n.tsv", "--json"]
    drawn = CliRunner().invoke(main, asked)
    table = evaluate(lambda h, r, t: h + r + t, "graph", corruption=Uniform(count=100))
    told = [note for note in table.notes if "possible negatives" in note]
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


def test_another_split_can_be_corrupted(data):
    assert data(*UNIFORM, "n.tsv", "--split", "valid")["written"] == 2 * 3 * 4


def test_labels_that_hold_tabs_are_written_to_parquet_alone(refused, done, place):
    for split in ("train", "test"):
        (place / "graph" / f"{split}.txt").unlink()
        (place / "graph" / f"{split}.csv").write_text('ant,eats,"b\tee"\nbee,eats,cat\n')
    told = refused("negatives", "graph/", "--corruption", "all", "--out", "n.tsv")
    assert "the label 'b\\tee' has a tab or a line end" in told
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
    """What is wrong is named with its line or row: tests/ranking/corruption/test_generators.py."""
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


def write_types(folder):
    data = load_dataset(folder.parent / "graph")
    for name, labels in (("entity2id", data.entities), ("relation2id", data.relations)):
        rows = "".join(f"{label}\t{index}\n" for index, label in enumerate(labels))
        (folder / f"{name}.txt").write_text(f"{len(labels)}\n{rows}")
    every = "\t".join(map(str, range(len(data.entities))))
    lists = "".join(2 * f"{relation}\t{len(data.entities)}\t{every}\n" for relation in range(len(data.relations)))
    (folder / "type_constrain.txt").write_text(f"{len(data.relations)}\n{lists}")


def metrics(folder):
    return json.loads((folder / "metrics.json").read_text())["metrics"]


def test_types_of_all_entities_are_no_constraint(done, place):
    (place / "types").mkdir()
    write_types(place / "types")
    typed = "evaluation.corruption={kind: typed, path: types/type_constrain.txt}"
    done("run", "config.yaml", "--out", "typed", "--set", typed)
    assert metrics(place / "typed") == metrics(place / "run")
    manifest = json.loads((place / "typed/manifest.json").read_text())
    assert "types/type_constrain.txt" in manifest["sha256"]


@pytest.mark.parametrize("kind", ["{kind: popular, count: 3, seed: 7}", "{kind: degree, count: 3, seed: 7}"])
def test_the_seed_of_a_draw_is_told(done, place, kind):
    done("run", "config.yaml", "--out", "drawn", "--set", f"evaluation.corruption={kind}")
    assert json.loads((place / "drawn/manifest.json").read_text())["seeds"] == {"corruption": 7}


def test_a_run_of_typed_candidates_can_be_run_again(done, place):
    done("run", "config.yaml", "--out", "typed", "--set", "evaluation.corruption={kind: typed, splits: [train, test]}")
    done("run", "typed/config.yaml", "--out", "again")
    assert metrics(place / "typed") == metrics(place / "again")


def test_typed_negatives_are_written(done, place):
    told = done("negatives", "graph", "--corruption", "typed:splits=[train,test]", "--out", "n.tsv")
    assert "negatives written to n.tsv" in told


def write_candidates(folder):
    """Write a list of entities, types of entities, and candidates of relations, each with labels of no entity."""
    graph = load_dataset(folder / "graph")
    few = [*list(graph.entities)[:3], "unicorn"]
    (folder / "few.txt").write_text("".join(f"{label}\n" for label in few))
    (folder / "types.tsv").write_text("".join(f"{label}\tanimal\n" for label in few))
    (folder / "candidates.json").write_text(json.dumps(dict.fromkeys(graph.relations, few)))
    return few[:3]


NEW = {
    "few.txt": "{kind: entities, path: few.txt}",
    "types.tsv": "{kind: typed, types: types.tsv, splits: [train, valid, test]}",
    "candidates.json": "{kind: typed, path: candidates.json}",
}


@pytest.mark.parametrize("name", NEW)
def test_lists_and_types_of_entities_are_run_and_kept_by_their_content(done, refused, place, name):
    write_candidates(place)
    chosen = ["--set", f"evaluation.corruption={NEW[name]}", "--set", "evaluation.sides=[tail]"]
    done("run", "config.yaml", "--out", "new", *chosen)
    table = RankTable.from_parquet(place / "new/ranks.parquet")
    assert max(table.column("raw_candidates")) == 4
    assert any("1 label in" in note or "1 entity in" in note for note in table.notes)
    assert name in json.loads((place / "new/manifest.json").read_text())["sha256"]
    (place / name).write_text("")
    assert f"evaluation.corruption.{'types' if 'types:' in NEW[name] else 'path'}" in refused(
        "run", "config.yaml", "--out", "other", *chosen
    )


def test_unions_are_run_and_exported(done, data, place):
    write_candidates(place)
    union = "union:of=[{kind: uniform, count: 2}, {kind: entities, path: few.txt}]"
    told = done("negatives", "graph", "--corruption", union, "--out", "n.tsv")
    assert "union, (uniform, count 2, seed 0), (entities, path few.txt)" in told
    written = data("negatives", "graph", "--corruption", union, "--sides", "tail", "--out", "tails.tsv")
    assert written["written"] == len(rows(place / "tails.tsv"))
    assert set(rows(place / "tails.tsv")) == {row for row in rows(place / "n.tsv") if row[3] == "tail"}
    block = "{kind: union, of: [{kind: degree, count: 2}, {kind: entities, path: few.txt}]}"
    done("run", "config.yaml", "--out", "new", "--set", f"evaluation.corruption={block}")
    done("run", "new/config.yaml", "--out", "again")
    assert metrics(place / "new") == metrics(place / "again")
    assert "few.txt" in json.loads((place / "new/manifest.json").read_text())["sha256"]
    assert set(RankTable.from_parquet(place / "new/ranks.parquet").column("raw_candidates")) <= {3, 4, 5, 6}


def test_tails_of_json_are_exported_and_heads_are_refused(done, refused, place):
    few = write_candidates(place)
    chosen = ["negatives", "graph", "--corruption", "typed:path=candidates.json", "--out", "n.tsv"]
    assert "lists candidates of tails only, none of heads" in refused(*chosen)
    done(*chosen, "--sides", "tail")
    assert {row[2] for row in rows(place / "n.tsv")} <= set(few)


OGB = ["m.npz", "--dataset", "ogb", "--option", "model=DistMult"]


@pytest.fixture
def listed(place):
    """An OGB folder, a model of it, and the MRR that OGB's formula gives among the negatives as they are listed."""
    pytest.importorskip("torch")
    stored_layouts.ogb(place / "ogb")
    rng = np.random.default_rng(0)
    entities, relations = rng.integers(-2, 3, (5, 3)).astype(float), rng.integers(-2, 3, (2, 3)).astype(float)
    np.savez(place / "m.npz", entity=entities, relation=relations)
    ranks = []
    for row, (h, r, t) in enumerate(stored_layouts.SPLITS["test"]):
        for side, asked, answer in (("head", t, h), ("tail", h, t)):
            scores = entities @ (entities[asked] * relations[r])
            negatives = scores[stored_layouts.NEGATIVES["test"][f"{side}_neg"][row]]
            ranks.append(1 + 0.5 * ((negatives > scores[answer]).sum() + (negatives >= scores[answer]).sum()))
    return float(np.mean(1 / np.array(ranks)))


def test_the_protocol_of_ogb_takes_the_negatives_of_the_dataset(data, done, place, listed):
    told = data("evaluate", *OGB, "--protocol", "ogb", "--out", "run-ogb")
    assert told["protocol"]["metrics"]["mrr_list"] == pytest.approx(listed, abs=1e-6)
    assert metrics(place / "run-ogb")["both"]["mrr"] == pytest.approx(listed, abs=1e-12)
    assert metrics(place / "run-ogb")["both"]["mrr"] != data("evaluate", *OGB)["metrics"]["both"]["mrr"]
    manifest = json.loads((place / "run-ogb/manifest.json").read_text())
    assert "ogb/split/time/test.pt" in manifest["sha256"]
    assert "as_listed: true" in (place / "run-ogb/config.yaml").read_text()
    done("run", "run-ogb/config.yaml", "--out", "again")
    assert metrics(place / "again") == metrics(place / "run-ogb")
    done("run", "run-ogb/config.yaml", "--out", "all", "--set", "evaluation.corruption={kind: all}")
    assert metrics(place / "all")["both"]["mrr"] != metrics(place / "run-ogb")["both"]["mrr"]


def test_the_explanation_finds_the_candidates_to_be_the_cause(data, listed):
    (told,) = data("explain", *OGB, "--protocols", "ogb")["protocols"].values()
    assert told["value"] == pytest.approx(listed, abs=1e-6)
    assert told["causes"]["candidates"] == pytest.approx(max(told["causes"].values(), key=abs))


def test_a_split_without_negatives_is_refused(refused, listed):
    assert "train.pt: no head_neg in it" in refused("evaluate", *OGB, "--protocol", "ogb", "--split", "train")
