"""Folders of other benchmarks beside train, valid and test: read right, refused, or noted; never passed over."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgeval
from kgeval import load_dataset
from kgeval.base.errors import DatasetError
from tests.brute_force import as_counts, brute_force
from tests.data.folders import lines, write
from tests.data.test_inductive_graphs import WHOLE, counts_by_sets

SPLITS = {
    "train": [("ant", "likes", "bee"), ("bee", "eats", "cat")],
    "valid": [("ant", "eats", "cat")],
    "test": [("bee", "likes", "cat")],
}
FACTS = [("cat", "likes", "ant"), ("bee", "likes", "dog")]


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path, SPLITS)


def test_facts_of_red_gnn_are_train_triples(folder):
    """Its code makes the graph of test queries of both files, and filters by both; entities.txt lists labels."""
    (folder / "facts.txt").write_text(lines(FACTS))
    (folder / "entities.txt").write_text("ant\nbee\ncat\ndog\n")
    (folder / "relations.txt").write_text("likes\neats\n")
    data = load_dataset(folder)
    train = {data.triple(*row) for row in data.train.ids.tolist()}
    assert train == {f"({h}, {r}, {t})" for h, r, t in SPLITS["train"] + FACTS}
    assert data.notes[0].startswith(
        "facts.txt and train.txt together are read as train, as in RED-GNN's code. To read train.txt alone, "
    )
    assert len(load_dataset(folder, layout="labels").train) == 2
    assert "facts.txt" in {file.name for file in data.files}
    scores = lambda h, r, t: (3 * h + r + 5 * t) % 4  # noqa: E731
    table = kgeval.evaluate(scores, data, entities=data.entities)
    assert as_counts(table) == brute_force(scores, data)
    # bee likes dog is a fact, so that dog does not compete with cat.
    assert table.column("candidates")[table.column("side").astype(str) == "tail"].tolist() == [3]


def test_facts_with_other_columns_than_train_are_refused(folder):
    (folder / "facts.txt").write_text("cat\tlikes\tant\t0.5\n")
    with pytest.raises(DatasetError, match=r"facts\.txt and .*train\.txt are both train .* different columns"):
        load_dataset(folder, layout="red-gnn")


@pytest.mark.parametrize("missing", ["entities.txt", "relations.txt", "valid.txt"])
def test_facts_without_all_of_red_gnns_files_may_be_anything(folder, missing):
    for name, rows in (("facts", FACTS), ("entities", [("ant",)]), ("relations", [("likes",)])):
        (folder / f"{name}.txt").write_text(lines(rows))
    (folder / missing).unlink()
    with pytest.raises(DatasetError, match=r"fits the layouts labels, red-gnn\. Name one: --layout labels"):
        load_dataset(folder)
    assert (len(load_dataset(folder, layout="labels").train), len(load_dataset(folder, layout="red-gnn").train)) == (
        2,
        4,
    )


DACKGR = {"train": "train", "valid": "dev", "test": "test"}


def test_relations_of_dackgr_stand_last(folder, tmp_path):
    """The files that its code and MultiHopKG write lie beside the splits; ULTRA predicts tails alone."""
    last = {split: [(h, t, r) for h, r, t in rows] for split, rows in SPLITS.items()}
    sparse = write(tmp_path / "sparse", last, DACKGR, ending=".triples")
    (sparse / "raw.kb").write_text(lines(last["train"]))
    (sparse / "entity2id.txt").write_text("DUMMY_ENTITY\t0\nant\t2\n")
    (sparse / "relation2id.txt").write_text("DUMMY_RELATION\t0\nlikes\t2\n")
    (sparse / "train.large.triples").write_text(lines([("dog", "ant", "likes"), *last["train"]]))
    (sparse / "train.dev.triples").write_text(lines([*last["train"], *last["valid"]]))
    data = load_dataset(sparse)
    assert (data.layout, data.notes, data.sha256()) == ("dackgr", (), load_dataset(folder).sha256())
    score = lambda h, r, t: (3 * h + r + 5 * t) % 4  # noqa: E731
    sides = {name: kgeval.evaluate(score, data, protocol=name).provenance.sides for name in ("standard", "ultra")}
    assert sides == {"standard": ("head", "tail"), "ultra": ("tail",)}
    assert kgeval.evaluate(score, data, protocol="ultra", sides="head").provenance.sides == ("head",)


def red_gnn(folder, splits):
    half = len(splits["train"]) // 2
    write(folder, {**splits, "facts": splits["train"][:half], "train": splits["train"][half:]})
    rows = [row for part in splits.values() for row in part]
    (folder / "entities.txt").write_text(lines({(end,) for h, _, t in rows for end in (h, t)}))
    (folder / "relations.txt").write_text(lines({(r,) for _, r, _ in rows}))
    return folder


def dackgr(folder, splits):
    last = {split: [(h, t, r) for h, r, t in rows] for split, rows in splits.items()}
    write(folder, last, DACKGR, ending=".triples")
    (folder / "raw.kb").write_text(lines(last["train"]))
    return folder


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    write_folder=st.sampled_from([red_gnn, dackgr]),
    split=st.sampled_from(["valid", "test"]),
    protocol=st.sampled_from(["standard", "ultra", "nbfnet", "ingram"]),
)
def test_all_splits_filter_a_graph_without_a_training_graph(tmp_path_factory, seed, write_folder, split, protocol):
    rng = np.random.default_rng(seed)
    sizes = {"train": 14, "valid": 4, "test": 4}
    splits = {
        name: [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rng.integers(0, (8, 3, 8), (size, 3)).tolist()]
        for name, size in sizes.items()
    }
    data = load_dataset(write_folder(tmp_path_factory.mktemp("random"), splits))
    scores = {(h, r, t): int(rng.integers(4)) for h in data.entities for r in data.relations for t in data.entities}

    def score(heads, relations, tails):
        rows = zip(heads, relations, tails, strict=True)
        return np.array([scores[data.entities[h], data.relations[r], data.entities[t]] for h, r, t in rows])

    table = kgeval.evaluate(score, data, entities=data.entities, protocol=protocol, split=split)
    expected = counts_by_sets(splits, split, WHOLE, scores)
    only_tails = protocol == "ultra" and write_folder is dackgr
    kept = {
        (data.entities[h], data.relations[r], data.entities[t], side): tuple(counts[:3])
        for (h, r, t, side), counts in as_counts(table).items()
    }
    assert kept == {key: counts for key, counts in expected.items() if key[3] == "tail" or not only_tails}


def test_files_called_as_dackgrs_are_read_by_what_they_hold(folder, tmp_path):
    """Labels tell the order of their columns; where heads are never tails, they do not, and the folder is refused."""
    ordinary = write(tmp_path / "ordinary", SPLITS, DACKGR, ending=".triples")
    data = load_dataset(ordinary)
    assert (data.layout, data.sha256()) == ("labels", load_dataset(folder).sha256())
    rows = {split: [("ant", "zoo", "in"), ("bee", "hive", "in")] for split in SPLITS}
    apart = write(tmp_path / "apart", rows, DACKGR, ending=".triples")
    with pytest.raises(DatasetError, match=r"fits the layouts (dackgr, labels|labels, dackgr)\. Name one"):
        load_dataset(apart)
    (apart / "raw.kb").touch()
    assert list(load_dataset(apart).relations) == ["in"]


@pytest.mark.parametrize("name", ["train-queries.pkl", "test_ans_2c.pkl"])
def test_complex_queries_are_refused_by_name(folder, name):
    (folder / name).write_bytes(b"\x80")
    with pytest.raises(DatasetError, match=f"holds complex queries .{name}.* single triples.*--layout labels"):
        load_dataset(folder)
    assert load_dataset(folder, layout="labels").sha256() is not None
    for split in SPLITS:
        (folder / f"{split}.txt").unlink()
    with pytest.raises(DatasetError, match=r"complex queries .* For those beside them: --layout labels"):
        load_dataset(folder)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("support.txt", FACTS),
        ("aux.tsv", [*SPLITS["train"], ("cat", "eats", "bee")]),
        ("graph.txt", [("new", "likes", "newer")]),
        ("extra.txt", [("ant", "hunts", "cat")]),
        ("weighted.txt", [("cat", "likes", "ant", "0.5")]),
    ],
)
def test_other_triples_beside_the_splits_are_noted(folder, name, rows):
    (folder / name).write_text(lines(rows))
    (note,) = load_dataset(folder).notes
    example = ", ".join(rows[-1 if name == "aux.tsv" else 0][:3])
    assert note.startswith(f"{name} beside the splits was not read. It has triples that are in no split, such as")
    assert f"({example})" in note


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("README.txt", "ant likes bee\n"),
        ("README.md", "ant\tlikes\tdog\n"),
        ("all.txt", lines(rows for split in SPLITS.values() for rows in split)),
        ("entities.txt", "ant\nbee\ncat\n"),
        ("entity2id.txt", "3\nant\t0\nbee\t1\ncat\t2\n"),
        ("relation2text.txt", "likes\tto like\n"),
        ("types.txt", "ant\ttype\tinsect\nbee\ttype\tinsect\n"),
        ("test_negatives.txt", "cat\tlikes\tant\n"),
        ("notes.txt", "\xff\x00\t\t\n"),
        ("empty.txt", ""),
    ],
)
def test_ordinary_files_beside_the_splits_are_not_noted(folder, name, content):
    (folder / name).write_text(content, encoding="latin-1")
    assert load_dataset(folder).notes == ()


def test_no_real_dataset_has_a_false_alarm(shared):
    for name in ("codex-s", "fb15k-237", "wn18rr", "grail-fb237-v1", "icews14"):
        assert not [note for note in load_dataset(shared / "data" / name).notes if "was not read" in note], name
