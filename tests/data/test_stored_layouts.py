"""Stored layouts: each is recognised from its files, gives the labels their own ids, and tells what is damaged."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from kgeval import load_dataset
from kgeval.base.errors import DatasetError
from kgeval.data.layouts import layouts
from tests.data import stored_layouts
from tests.data.stored_layouts import ENTITIES, LAYOUTS, RELATIONS, SPLITS

pytest.importorskip("h5py")


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


@pytest.fixture
def folder(tmp_path, layout):
    LAYOUTS[layout](tmp_path)
    return tmp_path


def facts(data, split):
    triples = data.split(split).ids.tolist()
    return {(data.entities[h], data.relations[r], data.entities[t]) for h, r, t in triples}


def test_a_folder_is_recognised_and_read_with_its_own_ids(folder, layout):
    assert [name for name, found in layouts().items() if found.recognises(folder) and not found.general] == [layout]
    assert all(any(any(folder.glob(name)) for name in names) for names in layouts()[layout].needs)
    data = load_dataset(folder)
    assert (list(data.entities), list(data.relations)) == (ENTITIES, RELATIONS)
    assert {split: sorted(map(tuple, part.ids.tolist())) for split, part in data.splits.items()} == {
        split: sorted(rows) for split, rows in SPLITS.items()
    }
    assert all(file.is_file() for file in data.files)


def test_the_valid_split_may_be_missing(folder):
    for file in [*folder.rglob("*")]:
        if file.is_file() and "valid" in str(file.relative_to(folder)):
            file.unlink()
    assert list(load_dataset(folder).splits) == ["train", "test"]


def test_a_missing_test_split_is_named(folder):
    for file in folder.rglob("*"):
        if file.is_file() and ("test" in str(file.relative_to(folder)) or file.name == "held-out.del"):
            file.unlink()
    with pytest.raises(DatasetError, match=r"test|held-out"):
        load_dataset(folder)


@pytest.mark.parametrize("size", [0, 1, 10, -3])
def test_files_that_are_cut_short_are_refused_with_their_name(folder, size):
    binary = {".pickle", ".pt", ".bin", ".h5", ".json", ".gz"}
    for file in [path for path in folder.rglob("*") if path.suffix in binary and path.name != "to_skip.pickle"]:
        content = file.read_bytes()
        file.write_bytes(content[:size])
        with pytest.raises(DatasetError) as caught:
            load_dataset(folder)
        assert str(folder) in str(caught.value)
        file.write_bytes(content)


def test_marius_ids_may_be_wide(tmp_path):
    stored_layouts.marius(tmp_path, np.int64)
    assert list(map(tuple, load_dataset(tmp_path).train.ids.tolist())) == SPLITS["train"]


WRONG = [
    ("libkge", "train.del", "0\t0\t1\n0\t0\t9\n", "train.del, line 2: the triple names entity id 9, but there are 5"),
    ("libkge", "train.del", "0\t0\n", "train.del, line 1: 2 columns where 3 columns (subject, predicate, object)"),
    ("libkge", "train.del", "a\t0\t1\n", "train.del, line 1: the subject 'a' is not a whole number"),
    ("libkge", "entity_ids.del", "0\ta\n", "1 entity labels, but dataset.yaml says num_entities: 5"),
    ("libkge", "entity_ids.del", "0\ta\n0\tb\n", "entity_ids.del, line 2: the id 0 is wrong"),
    ("libkge", "dataset.yaml", "{", "dataset.yaml: cannot be read as YAML"),
    ("libkge", "dataset.yaml", "model: complex\n", "dataset.yaml: no block 'dataset' in it"),
    ("libkge", "dataset.yaml", "[1]", "dataset.yaml: expected the settings of a dataset"),
    ("rotate", "train.txt", "ant\tlikes\tbee\nant\tlikes\tfox\n", "line 2: the tail 'fox' is no entity of the dataset"),
    (
        "rotate",
        "train.txt",
        "ant\thates\tbee\n",
        "train.txt, line 1: the relation 'hates' is no relation of the dataset",
    ),
    ("rotate", "train.txt", "", "train.txt: no triples in it"),
    ("rotate", "relations.dict", "0\tlikes\n2\teats\n", "relations.dict, line 2: the id 2 is wrong"),
    ("kbc", "ent_id", "ant\t0\nbee\tx\n", "ent_id, line 2: the id 'x' is not a whole number"),
    ("kbc", "rel_id", "likes\t0\n", "row 2: the triple names relation id 1, but there are 1 of them"),
    ("marius", "dataset.yaml", "num_train: 5\n", "train_edges.bin: 48 bytes are not the num_train: 5 edges"),
    (
        "marius",
        "nodes/node_mapping.txt",
        "ant,0\nbee 1\n",
        "node_mapping.txt, line 2: expected a label, a comma and its id",
    ),
    ("marius", "nodes/node_mapping.txt", "ant,0\n", "row 1: the triple names entity id 1, but there are 1 of them"),
    ("pbg", "entity_names_all_0.json", "{}", "entity_names_all_0.json: expected a list of labels"),
    ("pbg", "entity_names_all_0.json", "[", "entity_names_all_0.json: cannot be read as a list of labels"),
    ("pbg", "entity_names_all_1.json", '["dog"]', "names an id that partition 1 has no label for"),
    ("pbg", "entity_names_user_0.json", '["dog"]', "found 2 types (all, user)"),
    ("pbg", "dynamic_rel_names.json", '["likes"]', "names relation id 1, but there are 1 of them"),
    ("pbg", "small-train_partitioned/edges_0_0.h5", "hello", "edges_0_0.h5: missing, or not a readable HDF5 file"),
]


@pytest.mark.parametrize(("name", "file", "content", "message"), WRONG)
def test_what_is_wrong_is_told_with_its_file(tmp_path, name, file, content, message):
    LAYOUTS[name](tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(DatasetError) as caught:
        load_dataset(tmp_path, layout=name)
    assert message in str(caught.value)


def test_a_file_that_announces_more_than_it_holds_is_refused(tmp_path):
    import h5py

    stored_layouts.pbg(tmp_path)
    path = tmp_path / "small-train_partitioned/edges_0_0.h5"
    with h5py.File(path, "w") as file:
        for name in ("lhs", "rel", "rhs"):
            file.create_dataset(name, (10**12,), np.int64)
    with pytest.raises(DatasetError, match=r"edges_0_0\.h5: it unpacks to more than [0-9]+ bytes"):
        load_dataset(tmp_path)


class Attack:
    def __reduce__(self):
        return (exec, ("raise SystemExit",))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (Attack(), "asks for builtins.exec, which no model needs. Nothing"),
        ({"a": 1}, "expected rows of three ids"),
        (np.zeros((2, 2), np.int64), r"found int64 of shape \[2, 2\]"),
        (np.zeros((2, 3)), r"found float64 of shape \[2, 3\]"),
        (np.array([[0, 0, 7]], np.uint64), "row 1: the triple names entity id 7"),
        (
            np.array([[0, 0, 2**64 - 1]], np.uint64),
            r"triple 0 is \(0, 0, 18446744073709551615\): ids start at 0 and end before",
        ),
        (np.array([[0, 0, -1]]), r"triple 0 is \(0, 0, -1\): ids start at 0"),
        (np.array([object()]), "asks for builtins.object"),
    ],
)
def test_a_pickle_that_is_no_graph_is_refused(tmp_path, content, message):
    stored_layouts.kbc(tmp_path)
    (tmp_path / "train.pickle").write_bytes(pickle.dumps(content))
    with pytest.raises(DatasetError, match=f"train.pickle.*{message}"):
        load_dataset(tmp_path)


def test_ids_without_labels_are_their_own_labels(tmp_path):
    stored_layouts.kbc(tmp_path)
    (tmp_path / "ent_id").unlink()
    assert list(load_dataset(tmp_path).entities) == ["0", "1", "2", "3", "4"]
    (tmp_path / "train.pickle").write_bytes(pickle.dumps(np.array([[0, 0, 10**9]], np.uint64)))
    with pytest.raises(DatasetError, match="names entity id 1000000000, but there are only 8"):
        load_dataset(tmp_path)


def test_several_ways_of_splitting_are_told(tmp_path):
    stored_layouts.ogb(tmp_path)
    (tmp_path / "split/random").mkdir()
    (tmp_path / "split/random/train.pt").touch()
    with pytest.raises(DatasetError, match=r"expected one way of splitting .*found random, time"):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    ("place", "other"),
    [
        ("checkpoints/libkge/_data/umls", "checkpoints/pykeen/_data/umls"),
        ("checkpoints/rotate/_data/umls", "checkpoints/pykeen/_data/umls"),
        ("checkpoints/openke/_data/umls", "checkpoints/pykeen/_data/umls"),
        ("data/openke/WN18RR", "data/wn18rr"),
    ],
)
def test_the_same_graph_in_each_layout_holds_the_same_facts(shared, place, other):
    data, same = load_dataset(shared / place), load_dataset(shared / other)
    for split in ("train", "valid", "test"):
        assert facts(data, split) == facts(same, split)
    assert set(data.entities) == set(same.entities)
