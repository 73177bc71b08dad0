"""Malformed graphs on the command line: one clear message each, with the file and the line."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = "ant\teats\tbee\nbee\teats\tant\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ROWS + "ant\teats\n", "graph/test.txt, line 3: 2 columns where 3 columns (head, relation, tail) are expected"),
        (ROWS + "ant eats bee\n", "graph/test.txt, line 3: 1 column where 3 columns"),
        ("head\trelation\ttail\n", "graph/test.txt: no triples in it"),
        ("ant,eats,bee,P1,x\n", "are expected. Say what each holds: --columns head,relation,tail,_,_ (time, weight"),
        (ROWS + "ant\teats\tbee\tP1\tx\n", "Statements with qualifiers, as in WD50K, are not supported."),
    ],
)
def test_text_that_does_not_fit_is_named_with_its_line(refused, place, content, message):
    """Empty files and other lines are in tests/data/test_readers.py."""
    (place / "graph/test.txt").write_text(content)
    assert message in refused("inspect", "graph/")


def compressed():
    return gzip.compress("".join(f"e{index}\teats\te{index + 1}\n" for index in range(500)).encode())


DAMAGED = {
    "no text": ("test.txt", b"\xff\n"),
    "text and junk": ("test.txt", ROWS.encode() + b"\xff\teats\tbee\n"),
    "zeros": ("test.txt", bytes(1000)),
    "all bytes": ("test.txt", bytes(range(256)) * 4),
    "not compressed": ("test.txt.gz", b"junk"),
    "cut": ("test.txt.gz", compressed()[:-10]),
    "cut early": ("test.txt.gz", compressed()[:12]),
    "cut in the header": ("test.txt.gz", compressed()[:3]),
    "junk after the header": ("test.txt.gz", compressed()[:10] + bytes(range(100))),
    "altered": ("test.txt.gz", compressed()[:40] + b"\xff\x00\xff" + compressed()[43:]),
    "wrong checksum": ("test.txt.gz", compressed()[:-8] + b"12345678"),
    "empty parquet": ("test.parquet", b""),
    "no parquet": ("test.parquet", b"junk"),
    "parquet of zeros": ("test.parquet", b"PAR1" + bytes(20) + b"PAR1"),
}


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_files_are_refused(refused, place, damage):
    name, content = DAMAGED[damage]
    (place / "graph/test.txt").unlink()
    (place / "graph" / name).write_bytes(content)
    assert f"graph/{name}" in refused("inspect", "graph/")


@pytest.mark.parametrize("column", [[["ant"]], [{"x": 1}], [b"\xff"], [None], pa.nulls(1)], ids=str)
def test_parquet_columns_that_are_no_text_are_refused(refused, place, column):
    (place / "graph/test.txt").unlink()
    pq.write_table(pa.table({"head": column, "relation": ["eats"], "tail": ["bee"]}), place / "graph/test.parquet")
    assert "graph/test.parquet" in refused("inspect", "graph/")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("test2id", "0\n", "no triples in it"),
        ("test2id", "0 1\n", "line 1: 2 columns where 3 columns"),
        ("test2id", "²\n1 0 0\n", "line 1"),
        ("test2id", "9" * 5000 + "\n1 0 0\n", "line 1"),
        ("entity2id", "", "line 1: expected the number of rows, found ''"),
        ("relation2id", None, "no such file"),
        ("test2id", None, "test2id.txt"),
    ],
)
def test_numbered_graphs_that_do_not_fit_are_refused(refused, place, name, content, message):
    """Wrong ids, each with its line, are in tests/data/test_openke.py."""
    files = {"entity2id": "2\nant\t0\nbee\t1\n", "relation2id": "1\neats\t0\n"}
    files |= {"train2id": "1\n0 1 0\n", "test2id": "1\n1 0 0\n", name: content}
    (place / "numbered").mkdir()
    for stem, text in files.items():
        if text is not None:
            (place / f"numbered/{stem}.txt").write_text(text, encoding="utf-8")
    assert message in refused("inspect", "numbered/")


@pytest.mark.parametrize("name", ["train.txt", "test.txt"])
def test_a_folder_where_a_file_should_be_is_no_split(refused, place, name):
    (place / "graph" / name).unlink()
    (place / "graph" / name).mkdir()
    assert "in no known layout" in refused("inspect", "graph/")


def test_two_files_for_one_split_are_refused(refused, place):
    (place / "graph/test.tsv").write_text(ROWS)
    assert "2 files for the test split: test.tsv and test.txt" in refused("inspect", "graph/")
