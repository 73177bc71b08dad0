"""OpenKE's folders: what is wrong with an id is told with its file and line."""

from __future__ import annotations

import pytest

from kgeval import load_dataset
from kgeval.base.errors import DatasetError

FILES = {
    "entity2id.txt": "3\na\t2\nb\t0\nc\t1\n",
    "relation2id.txt": "2\r\nlikes\t0\r\nknows\t1\r\n",
    "train2id.txt": "2\n0 0 1\n2 1 0\n",
    "test2id.txt": "1\n0 1 1\n",
}


def load(folder, files):
    for name, content in {**FILES, **files}.items():
        (folder / name).write_text(content, newline="")
    return load_dataset(folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train2id.txt", "2\n0 0 0\n\n0 9 0\n", "line 4: the triple names entity id 9, but there are 3"),
        ("train2id.txt", "2\n0 0 0\n9 0 0\n", "line 3: the triple names entity id 9, but there are 3"),
        ("train2id.txt", "2\n0 0 7\n0 1 0\n", "line 2: the triple names relation id 7, but there are 2"),
        ("test2id.txt", "1\n0 -1 0\n", "line 2: the triple names entity id -1"),
        ("train2id.txt", "2\n0 0 0\n0 x 0\n", "line 3: the tail 'x' is not a whole number"),
        ("train2id.txt", "2\n0 0 0\n0.0 1 0\n", "line 3: the head '0.0' is not a whole number"),
        ("train2id.txt", f"2\n0 0 0\n0 1 {10**30}\n", "line 3: the relation '1000"),
        ("train2id.txt", "2\n0 0 0\n0 1\n", "line 3: 2 columns where 3 columns"),
        ("train2id.txt", "3\n0 0 0\n0 1 0\n", "line 1 announces 3 rows, but 2 follow"),
        ("train2id.txt", "1\n0 0 0\n0 1 0\n", "line 1 announces 1 rows, but 2 follow"),
        ("train2id.txt", "two\n0 0 0\n", "line 1: expected the number of rows, found 'two'"),
        ("entity2id.txt", "3\na\t0\nb\t1\nc\t1\n", "line 4: the id 1 is wrong: the 3 ids must be 0 to 2, each"),
        ("entity2id.txt", "3\na\t0\nb\t7\nc\t1\n", "line 3: the id 7 is wrong"),
        ("entity2id.txt", "3\na\t0\nb\t-1\nc\t1\n", "line 3: the id -1 is wrong"),
        ("entity2id.txt", "3\na\t0\nb\tx\nc\t1\n", "is not a whole number"),
        ("entity2id.txt", f"3\na\t0\nb\t{10**30}\nc\t1\n", "is not a whole number"),
        ("entity2id.txt", "3\na\t0\na\t1\nc\t2\n", "two ids carry the entity label 'a'"),
        ("entity2id.txt", "3\na  2\nb\nc  1\n", "line 3: expected a label, spaces and its id"),
        ("entity2id.txt", "3\na  2\nb  x\nc  1\n", "is not a whole number"),
        ("entity2id.txt", "a  2\nb  0\nc  7\n", "line 3: the id 7 is wrong"),
        ("entity2id.txt", "4\na  2\nb  0\nc  1\n", "line 1 announces 4 rows, but 3 follow"),
    ],
)
def test_a_wrong_id_is_told_with_file_and_line(tmp_path, name, content, message):
    with pytest.raises(DatasetError) as caught:
        load(tmp_path, {name: content})
    assert message in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_columns_that_nobody_may_name_are_not_to_be_named(tmp_path):
    with pytest.raises(
        DatasetError, match=r"line 2: 4 columns where 3 columns \(head, tail, relation\) are expected\.$"
    ):
        load(tmp_path, {"train2id.txt": "2\n0 0 0 \n2 1 0 \n"})


@pytest.mark.parametrize(
    ("entities", "labels"),
    [
        ("3\na   2\nb 0\nc       1\n", ["b", "c", "a"]),
        ("3\na\t  2\nb\t 0 \nc\t1\n", ["b", "c", "a"]),
        ("3\r\na  2  \r\nb  0\r\nc  1\r\n", ["b", "c", "a"]),
        ("3\na 2\n\nb 0\nc 1\n", ["b", "c", "a"]),
        ("3\nbig  red dog    2\nthe cat  0\n7  1\n", ["the cat", "7", "big  red dog"]),
        ("3\na  \t2\n b\t0\nc d\t1\n", [" b", "c d", "a  "]),
    ],
)
def test_spaces_separate_labels_and_ids_where_no_tab_does(tmp_path, entities, labels):
    assert list(load(tmp_path, {"entity2id.txt": entities}).entities) == labels


@pytest.mark.parametrize("names", [["entity2id.txt"], ["relation2id.txt"], ["train2id.txt", "test2id.txt"], [*FILES]])
def test_the_count_may_be_missing_which_is_said(tmp_path, names):
    dataset = load(tmp_path, {name: FILES[name].split("\n", 1)[1] for name in names})
    assert (list(dataset.entities), list(dataset.relations)) == (["b", "c", "a"], ["likes", "knows"])
    assert (dataset.train.ids.tolist(), dataset.test.ids.tolist()) == ([[0, 1, 0], [2, 0, 1]], [[0, 1, 1]])
    assert dataset.notes == (
        f"the first line of {' and '.join(names)} is not the number of rows: a file that was cut short is not noticed.",
    )
