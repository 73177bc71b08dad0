"""Folders in no known layout: the message says what is there and what is missing, line by line."""

from __future__ import annotations

import pytest

from kgeval import load_dataset
from kgeval.data.layout import layouts
from kgeval.errors import DatasetError

ROW = "a\tlikes\tb\n"


@pytest.fixture
def told(tmp_path):
    """Refuse a folder with some files, and return the lines of the message."""

    def call(*files):
        for file in files:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(ROW)
        with pytest.raises(DatasetError) as caught:
            load_dataset(tmp_path)
        first, *lines = str(caught.value).splitlines()
        assert first == f"folder {str(tmp_path)!r} is in no known layout."
        assert all(len(line) <= 160 for line in lines)
        return [line.strip() for line in lines]

    return call


LIST = "'kgeval list datasets' shows the known layouts."


def test_what_is_there_and_where_the_list_of_layouts_is(told):
    assert told("notes.md") == ["It holds notes.md.", LIST]


def test_an_empty_folder_is_called_empty(told):
    assert told()[0] == "It is empty."


def test_many_files_are_not_all_named(told):
    assert told(*(f"{index}.md" for index in range(20)))[0] == (
        "It holds 0.md, 1.md, 10.md, 11.md, 12.md, 13.md, 14.md, 15.md, …."
    )


@pytest.mark.parametrize(
    ("files", "lines"),
    [
        (["train.txt"], ["The nearest layout is labels: train.txt is there; test.txt is missing."]),
        (
            ["training.tsv", "test.tsv"],
            [
                "The nearest layout is labels: test.tsv is there; train.txt is missing.",
                "training.tsv: did you mean train.tsv?",
            ],
        ),
        (
            ["umls_train.csv", "umls_test.csv"],
            [
                "The nearest layout is labels: train.txt, test.txt are missing.",
                "umls_train.csv: did you mean train.csv?",
                "umls_test.csv: did you mean test.csv?",
            ],
        ),
        (
            ["entity2id.txt", "relation2id.txt", "test2id.txt"],
            [
                "The nearest layout is openke: entity2id.txt, relation2id.txt, test2id.txt are there; "
                "train2id.txt is missing."
            ],
        ),
        (
            ["split/time/test.pt"],
            ["The nearest layout is ogb: split/time/test.pt is there; split/*/train.pt is missing."],
        ),
        (
            ["edges/test_edges.bin", "dataset.yaml"],
            [
                "The nearest layout is marius: dataset.yaml, edges/test_edges.bin are there; "
                "edges/train_edges.bin is missing."
            ],
        ),
    ],
    ids=lambda value: value[0],
)
def test_the_nearest_layout_and_what_it_misses_are_named(told, files, lines):
    assert told(*files)[1 : 1 + len(lines) + 1] == [*lines, LIST]


def test_folders_inside_that_are_datasets_are_offered(told):
    files = [f"{name}/{split}.txt" for name in ("umls", "nations") for split in ("train", "test")]
    assert told(*files, "notes/notes.md") == ["It holds 2 folders that are datasets: nations/, umls/. Choose one."]


def test_folders_that_a_layout_reads_miss_nothing_that_it_needs(shared):
    """What the message would call missing must not be missing where a folder is read."""
    for folder in (shared / "data").iterdir():
        for layout in layouts().values():
            if layout.recognises(folder):
                assert all(any(any(folder.glob(name)) for name in names) for names in layout.needs), (
                    folder,
                    layout.name,
                )


@pytest.mark.parametrize("ending", [".txt", ".tsv"])
def test_dictionaries_of_ids_are_read_whichever_the_ending(tmp_path, ending):
    (tmp_path / "entities.dict").write_text("0\tb\n1\ta\n")
    (tmp_path / "relations.dict").write_text("0\tlikes\n")
    for split in ("train", "test"):
        (tmp_path / f"{split}{ending}").write_text(ROW)
    dataset = load_dataset(tmp_path)
    assert (dataset.id_source, list(dataset.entities)) == ("rotate", ["b", "a"])


@pytest.mark.parametrize("split", ["train", "valid"])
def test_dictionaries_of_ids_beside_other_files_are_not_ignored(tmp_path, split):
    for name, content in {"entities.dict": "0\tb\n1\ta\n", "relations.dict": "0\tlikes\n"}.items():
        (tmp_path / name).write_text(content)
    for name in {"train", "valid", "test"} - {split}:
        (tmp_path / f"{name}.txt").write_text(ROW)
    (tmp_path / f"{split}.csv").write_text("a,likes,b\n")
    with pytest.raises(DatasetError, match=rf"{split}\.csv: .*entities\.dict .* reads \.txt and \.tsv.*layout labels"):
        load_dataset(tmp_path)
    assert list(load_dataset(tmp_path, layout="labels").entities) == ["a", "b"]
