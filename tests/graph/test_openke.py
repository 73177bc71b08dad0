"""OpenKE's folders: what is wrong with an id is told with its file and line."""

from __future__ import annotations

import pytest

from kgeval import load_dataset
from kgeval.errors import DatasetError

FILES = {
    "entity2id.txt": "3\na\t2\nb\t0\nc\t1\n",
    "relation2id.txt": "2\r\nlikes\t0\r\nknows\t1\r\n",
    "train2id.txt": "2\n0 0 0\n2 1 1\n",
    "test2id.txt": "1\n0 1 1\n",
}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train2id.txt", "2\n0 0 0\n\n0 9 0\n", "train2id.txt, line 4: the triple names entity id 9, but there are 3"),
        ("train2id.txt", "2\n0 0 0\n9 0 0\n", "train2id.txt, line 3: the triple names entity id 9, but there are 3"),
        ("train2id.txt", "2\n0 0 7\n0 1 0\n", "train2id.txt, line 2: the triple names relation id 7, but there are 2"),
        ("test2id.txt", "1\n0 -1 0\n", "test2id.txt, line 2: the triple names entity id -1"),
        ("train2id.txt", "2\n0 0 0\n0 x 0\n", "train2id.txt, line 3: the tail 'x' is not a whole number"),
        ("train2id.txt", "2\n0 0 0\n0.0 1 0\n", "train2id.txt, line 3: the head '0.0' is not a whole number"),
        ("train2id.txt", f"2\n0 0 0\n0 1 {10**30}\n", "train2id.txt, line 3: the relation '1000"),
        ("train2id.txt", "2\n0 0 0\n0 1\n", "train2id.txt, line 3: 2 columns where 3 columns"),
        ("train2id.txt", "3\n0 0 0\n0 1 0\n", "train2id.txt: line 1 announces 3 rows, 2 follow"),
        ("train2id.txt", "1\n0 0 0\n0 1 0\n", "train2id.txt: line 1 announces 1 rows, 2 follow"),
        ("train2id.txt", "two\n0 0 0\n", "train2id.txt, line 1: expected the number of rows, found 'two'"),
        (
            "entity2id.txt",
            "3\na\t0\nb\t1\nc\t1\n",
            "line 4: the id 1 is out of place: its 3 ids are not 0 to 2, each once",
        ),
        ("entity2id.txt", "3\na\t0\nb\t7\nc\t1\n", "entity2id.txt, line 3: the id 7 is out of place"),
        ("entity2id.txt", "3\na\t0\nb\t-1\nc\t1\n", "entity2id.txt, line 3: the id -1 is out of place"),
        ("entity2id.txt", "3\na\t0\nb\tx\nc\t1\n", "entity2id.txt, line 3: an id is not a whole number"),
        ("entity2id.txt", f"3\na\t0\nb\t{10**30}\nc\t1\n", "entity2id.txt, line 3: an id is not a whole number"),
        ("entity2id.txt", "3\na\t0\na\t1\nc\t2\n", "entity2id.txt: two ids carry the entity label 'a'"),
    ],
)
def test_a_wrong_id_is_told_with_file_and_line(tmp_path, name, content, message):
    for file, right in {**FILES, name: content}.items():
        (tmp_path / file).write_text(right, newline="")
    with pytest.raises(DatasetError) as caught:
        load_dataset(tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)
