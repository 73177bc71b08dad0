"""Layouts: the message for a folder in none says what is missing; the layout that is named is the one that is read."""

from __future__ import annotations

import pytest

from kgeval import load_dataset
from kgeval.base.errors import DatasetError
from kgeval.data.layouts import layouts

ROW = "a\tlikes\tb\n"
DICTIONARIES = {"entities.dict": "0\tb\n1\ta\n", "relations.dict": "0\tlikes\n"}


def write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


@pytest.fixture
def told(tmp_path):
    """Refuse a folder with some files, and return the lines of the message."""

    def call(*files):
        write(tmp_path, dict.fromkeys(files, ROW))
        with pytest.raises(DatasetError) as caught:
            load_dataset(tmp_path)
        first, *lines = str(caught.value).splitlines()
        assert first.startswith(f"folder {str(tmp_path)!r} is in no known layout")
        assert all(len(line) <= 100 for line in (first.replace(str(tmp_path), ""), *lines))
        return [first.partition(": ")[2], *lines]

    return call


LIST = "'kgeval list datasets' shows all layouts."


def test_what_is_there_is_listed(told):
    assert told() == ["it is empty.", LIST]
    assert told("notes.md") == ["it holds notes.md.", LIST]
    many = told(*(f"{index}.md" for index in range(20)))
    assert many[0] == "it holds 0.md, 1.md, 10.md, 11.md, 12.md, 13.md, …."


@pytest.mark.parametrize(
    ("files", "nearest"),
    [
        (["train.txt"], "labels; missing: test.txt"),
        (["trained.tsv", "test.tsv"], "labels; missing: train.txt"),
        (["entity2id.txt", "relation2id.txt", "test2id.txt"], "openke; missing: train2id.txt"),
        (["entity2id.txt", "relation2id.txt"], "openke; missing: train2id.txt, test2id.txt"),
        (["split/time/test.pt"], "ogb; missing: split/*/train.pt"),
        (["edges/test_edges.bin", "dataset.yaml"], "marius; missing: edges/train_edges.bin"),
    ],
)
def test_the_nearest_layout_and_what_it_misses_are_named(told, files, nearest):
    assert told(*files)[1:] == [f"The nearest layout is {nearest}.", LIST]


def test_folders_inside_that_are_datasets_are_offered(told):
    files = [f"{name}/{split}.txt" for name in ("umls", "nations") for split in ("train", "test")]
    assert told(*files, "notes/notes.md")[1:] == ["It holds 2 datasets: nations/, umls/. Choose one."]


@pytest.mark.parametrize("ending", [".txt", ".tsv"])
def test_dictionaries_of_ids_are_read_whichever_the_ending(tmp_path, ending):
    write(tmp_path, {**DICTIONARIES, **dict.fromkeys((f"train{ending}", f"test{ending}"), ROW)})
    dataset = load_dataset(tmp_path)
    assert (dataset.id_source, list(dataset.entities)) == ("rotate", ["b", "a"])


@pytest.mark.parametrize("split", ["train", "valid"])
def test_dictionaries_of_ids_beside_other_files_are_not_ignored(tmp_path, split):
    others = {"train", "valid", "test"} - {split}
    write(tmp_path, {**DICTIONARIES, **{f"{name}.txt": ROW for name in others}, f"{split}.csv": "a,likes,b\n"})
    with pytest.raises(DatasetError, match=rf"{split}\.csv: .*entities\.dict .* reads \.txt and \.tsv.*layout labels"):
        load_dataset(tmp_path)
    assert list(load_dataset(tmp_path, layout="labels").entities) == ["a", "b"]


def test_the_pykeen_layout_tells_a_name_from_a_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"nations/train.txt": ROW, "nations/test.txt": ROW})
    assert len(load_dataset("nations").entities) == 2
    assert len(load_dataset("nations", layout="pykeen").entities) == 14


@pytest.mark.parametrize("layout", ["labels", "openke"])
def test_a_layout_of_folders_is_not_ignored_for_a_name(layout):
    with pytest.raises(DatasetError, match=rf"no such folder 'nations' \(layout '{layout}' is for folders.*'pykeen'"):
        load_dataset("nations", layout=layout)


def test_the_pykeen_layout_is_none_of_folders(tmp_path):
    with pytest.raises(DatasetError, match="layout 'pykeen' takes a PyKEEN name"):
        load_dataset(tmp_path, layout="pykeen")


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("label", "'label'. Did you mean 'labels'"),
        ("open-ke", "'open-ke'. Did you mean 'openke'"),
        ("PyKEEN", "'PyKEEN'. Did you mean 'pykeen'"),
        *((layout, "") for layout in (None, 5, "", ["labels"])),
    ],
)
def test_an_unknown_layout_names_the_nearest(layout, message):
    with pytest.raises(DatasetError, match=f"unknown dataset layout {message}"):
        load_dataset("nations", layout=layout)


def test_folders_that_a_layout_reads_miss_nothing_that_it_needs(shared):
    """What the message would call missing must not be missing where a folder is read."""
    for folder in (shared / "data").iterdir():
        for layout in layouts().values():
            if layout.recognises(folder):
                assert all(any(any(folder.glob(name)) for name in names) for names in layout.needs), (
                    folder,
                    layout.name,
                )
