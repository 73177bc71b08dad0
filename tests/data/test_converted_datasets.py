"""Converted datasets: ids, labels and ranks are those of the source; damaged and altered files are one clear error."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgeval import Dataset, Triples, Vocabulary, evaluate, load_dataset, save_dataset
from kgeval.base.errors import DatasetError, InputError
from kgeval.models.families.bilinear import DistMult
from tests.data.stored_layouts import rotate
from tests.data.test_inductive_graphs import grail


def written(place, splits):
    (place / "text").mkdir()
    for split, rows in splits.items():
        (place / f"text/{split}.txt").write_text(rows, encoding="utf-8")
    return place / "text"


def labelled(place):
    train = "b\tlikes\ta\na\tlikes\tc\na\tlikes\tc\n\x1b[2J\tlikes\tä\n"
    return written(place, {"train": train, "test": "z\tknows\tä\n", "entity2text": "z\tthe last\n"})


def weighted(place):
    return written(place, {"train": "a\tr\tb\t0.3\na\tr\tb\t1\n", "test": "b\tr\ta\t0.25\n"})


def temporal(place):
    train = "a\tr\tb\t2014-02-01\na\tr\tb\t2013-01-01\n"
    return written(place, {"train": train, "test": "b\tr\ta\t2014-02-01\n"})


def with_own_ids(place):
    rotate(place)
    return place


SOURCES = [labelled, weighted, temporal, with_own_ids, grail, lambda _: "nations"]


def facts(data):
    """Everything that a dataset says, but for the files that it was read from."""
    ids = {split: (triples.ids.tolist(), triples.contexts) for split, triples in data.splits.items()}
    ids = {split: (rows, None if times is None else times.tolist()) for split, (rows, times) in ids.items()}
    weights = {name: (rows.triples.ids.tolist(), rows.labels.tolist()) for name, rows in data.confidences.items()}
    learned = None if data.training_graph is None else facts(data.training_graph)
    said = (repr(data), data.sha256(), data.id_source, data.notes, data.repeated, dict(data.names))
    return (*said, ids, weights, learned)


@pytest.mark.parametrize("source", SOURCES)
def test_a_converted_dataset_is_the_same(tmp_path, source):
    before = load_dataset(source(tmp_path))
    save_dataset(before, tmp_path / "converted")
    after = load_dataset(tmp_path / "converted")
    assert facts(after) == facts(before)
    assert after.train.ids.dtype == before.train.ids.dtype == "int64"
    assert all(path.suffix == ".parquet" for path in after.files)
    rng = np.random.default_rng(0)
    model = DistMult(*(rng.normal(size=(len(labels), 4)) for labels in (before.entities, before.relations)))
    for name, data in (("before", before), ("after", after)):
        evaluate(model, data).to_parquet(tmp_path / f"{name}.parquet")
    assert (tmp_path / "before.parquet").read_bytes() == (tmp_path / "after.parquet").read_bytes()


def test_datasets_of_callers_and_without_triples_are_written_too(tmp_path):
    labels = {"entities": Vocabulary(["b", "a"]), "relations": Vocabulary(["r"], "relation")}
    data = Dataset.build("own\x1b[2J", {"test": Triples.of([(0, 0, 1), (1, 0, 0)])}, **labels)
    save_dataset(data, tmp_path / "one")
    found = load_dataset(tmp_path / "one")
    assert (found.name, list(found.entities), found.sha256()) == ("own\x1b[2J", ["b", "a"], data.sha256())
    assert repr(found).startswith("Dataset(own\\x1b[2J: 2 entities")


@pytest.fixture
def converted(tmp_path):
    save_dataset(load_dataset(temporal(tmp_path)), tmp_path / "converted")
    return tmp_path / "converted"


def test_what_is_there_is_not_overwritten(converted, tmp_path):
    data = load_dataset("nations")
    with pytest.raises(InputError, match="converted' already exists"):
        save_dataset(data, converted)
    with pytest.raises(InputError, match="text' exists, but is not a converted dataset"):
        save_dataset(data, tmp_path / "text", replace_folder=True)
    save_dataset(data, converted, replace_folder=True)
    assert load_dataset(converted).sha256() == data.sha256()


@pytest.mark.parametrize("inductive", [False, True])
def test_a_file_of_another_in_the_folder_of_the_training_graph_is_not_deleted(tmp_path, inductive):
    data = load_dataset("nations")
    save_dataset(replace(data, training_graph=data if inductive else None), tmp_path / "own")
    mine = tmp_path / "own/training/mine.txt"
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    with pytest.raises(InputError, match=r"own' also holds 'training.*which would be deleted"):
        save_dataset(data, tmp_path / "own", replace_folder=True)
    assert mine.read_text() == "mine"


def column(name, values, kind=None):
    """Replace a column of a file."""

    def change(path):
        table = pq.read_table(path)
        replaced = table.set_column(table.column_names.index(name), name, pa.array(values, kind))
        pq.write_table(replaced.replace_schema_metadata(table.schema.metadata), path)

    return change


def metadata(**changes):
    def change(path):
        table = pq.read_table(path)
        about = {**json.loads(table.schema.metadata[b"kgeval.dataset"]), **changes}
        pq.write_table(table.replace_schema_metadata({"kgeval.dataset": json.dumps(about)}), path)

    return change


def not_utf8(path):
    buffers = [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    column("label", pa.Array.from_buffers(pa.string(), 2, buffers))(path)


def twice(path):
    pq.write_table(pq.read_table(path).take([0, 1, 0]), path)


def repeated(path):
    pq.write_table(pq.read_table(path).append_column("multiplicity", [[1, 2**62]]), path)


def two_heads(path):
    pq.write_table(pa.table([[0], [0], [0]], ["head", "head", "tail"]), path)


def device(path):
    path.unlink()
    path.symlink_to("/dev/zero")


ALTERED = {
    "an id without a label": (
        "train",
        column("tail", [1, 2]),
        r"train\.parquet: triple 1 names entity id 2, but there",
    ),
    "a negative id": ("test", column("relation", [-1]), r"test\.parquet: triple 0 names relation id -1"),
    "a time without a label": ("train", column("time", [0, 7]), r"train\.parquet: triple 1 names time id 7"),
    "a triple twice": ("train", twice, "occurs twice"),
    "a triple repeated too often": ("train", repeated, r"train\.parquet: its multiplicities must be at least 1"),
    "an empty cell": ("train", column("head", [0, None], pa.int32()), r"train\.parquet: its column head has empty"),
    "ids that are text": ("train", column("head", ["a", "b"]), r"train\.parquet: it has no column head of int32"),
    "broken ids": ("train", column("head", [0.5, 1]), r"it has no column head of int32 or int64"),
    "a label twice": (
        "entities",
        column("label", ["a", "a"]),
        r"carry the entity label 'a'\. Labels must be unique: rename one of them\. Convert the dataset again\.$",
    ),
    "a label that is missing": ("relations", column("label", [None], pa.string()), "relation label 0 is missing"),
    "labels that are numbers": ("entities", column("label", [1, 2]), r"entities\.parquet: it has no column label of"),
    "labels that are no text": ("entities", not_utf8, r"entities\.parquet: .*UTF"),
    "no labels of times": ("times", Path.unlink, r"train\.parquet: triple 0 has a time, but the dataset"),
    "another version": ("entities", metadata(version=2), "its metadata kgeval.dataset are not of this version"),
    "no name": ("entities", metadata(name=3), "its metadata kgeval.dataset are not of this"),
    "no entities": ("entities", Path.unlink, r"entities\.parquet: it is missing\. Convert the dataset again"),
    "two columns of one name": ("test", two_heads, r"test\.parquet: two columns have one name\. Convert"),
    "no test": ("test", Path.unlink, r"test\.parquet: it is missing\. Convert the dataset again"),
    "a device": ("test", device, "it is a device, not a file"),
}


@pytest.mark.parametrize(("name", "change", "message"), ALTERED.values(), ids=ALTERED)
def test_altered_files_are_one_clear_error(converted, name, change, message):
    change(converted / f"{name}.parquet")
    with pytest.raises(DatasetError, match=message):
        load_dataset(converted)


@pytest.mark.parametrize("name", ["entities", "relations", "times", "train", "test"])
def test_damaged_files_are_read_or_one_clear_error(converted, name):
    """Cut anywhere, and with a byte of another value anywhere."""
    path = converted / f"{name}.parquet"
    whole = path.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 40)):
        flipped = bytearray(whole)
        flipped[position] ^= 0x55
        for damaged in (whole[:position], bytes(flipped)):
            path.write_bytes(damaged)
            with suppress(DatasetError):
                load_dataset(converted)


def test_files_of_others_are_not_deleted(converted):
    data = load_dataset(converted)
    save_dataset(data, converted, replace_folder=True)
    (converted / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"also holds 'thesis\.txt', which would be deleted"):
        save_dataset(data, converted, replace_folder=True)
    assert (converted / "thesis.txt").read_text() == "mine"
