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
        ("", "graph/test.txt: no triples in it"),
        ("\n\n", "graph/test.txt"),
        (ROWS + "ant\teats\n", "graph/test.txt, line 3: 2 columns where 3 columns (head, relation, tail) are expected"),
        (ROWS + "ant\teats\tbee\t1\n", "graph/test.txt, line 3: 4 columns where 3 columns"),
        (ROWS + "ant eats bee\n", "graph/test.txt, line 3: 1 column where 3 columns"),
        ("head\trelation\ttail\n", "graph/test.txt: no triples in it"),
        ("ant,eats,bee\n", "(head, relation, tail) are expected. Commas separate columns in .csv files only: rename"),
        ("ant,eats,bee,P1,x\n", "rename the file. Statements with qualifiers, as in WD50K, are not supported: keep"),
        (ROWS + "ant\teats\tbee\tP1\tx\n", "Statements with qualifiers, as in WD50K, are not supported: keep head"),
    ],
)
def test_text_that_does_not_fit_is_named_with_its_line(refused, place, content, message):
    (place / "graph/test.txt").write_text(content)
    assert message in refused("inspect", "graph/")


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("junk", [b"\xff\n", ROWS.encode() + b"\xff\teats\tbee\n", bytes(1000), bytes(range(256)) * 4])
def test_junk_is_no_text(refused, place, junk):
    (place / "graph/test.txt").write_bytes(junk)
    assert "graph/test.txt" in refused("inspect", "graph/")


def compressed():
    return gzip.compress("".join(f"e{index}\teats\te{index + 1}\n" for index in range(500)).encode())


@pytest.mark.parametrize(
    "damaged",
    [
        b"junk",
        compressed()[:-10],
        compressed()[:12],
        compressed()[:3],
        compressed()[:10] + bytes(range(100)),
        compressed()[:40] + b"\xff\x00\xff" + compressed()[43:],
        compressed()[:-8] + b"12345678",
    ],
    ids=["junk", "cut", "cut early", "cut in the header", "junk after the header", "altered", "wrong checksum"],
)
def test_damaged_compression_is_refused(refused, place, damaged):
    (place / "graph/test.txt").unlink()
    (place / "graph/test.txt.gz").write_bytes(damaged)
    assert "graph/test.txt.gz" in refused("inspect", "graph/")


@pytest.mark.parametrize(
    "column", [[["ant"]], [{"x": 1}], [b"\xff"], [None], pa.nulls(1)], ids=["list", "struct", "bytes", "empty", "null"]
)
def test_parquet_columns_that_are_no_text_are_refused(refused, place, column):
    (place / "graph/test.txt").unlink()
    pq.write_table(pa.table({"head": column, "relation": ["eats"], "tail": ["bee"]}), place / "graph/test.parquet")
    assert "graph/test.parquet" in refused("inspect", "graph/")


@pytest.mark.parametrize("content", [b"", b"junk", b"PAR1" + bytes(20) + b"PAR1"])
def test_parquet_that_is_none_is_refused(refused, place, content):
    (place / "graph/test.txt").unlink()
    (place / "graph/test.parquet").write_bytes(content)
    assert "graph/test.parquet" in refused("inspect", "graph/")


@pytest.fixture
def numbered(place):
    """A folder in OpenKE's layout."""
    folder = place / "numbered"
    folder.mkdir()
    files = {
        "entity2id": "2\nant\t0\nbee\t1\n",
        "relation2id": "1\neats\t0\n",
        "train2id": "1\n0 1 0\n",
        "test2id": "1\n1 0 0\n",
    }
    for name, content in files.items():
        (folder / f"{name}.txt").write_text(content)
    return folder


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("test2id", "2\n1 0 0\n", "line 1 announces 2 rows, 1 follow"),
        ("test2id", "1\n-1 0 0\n", "ids start at 0"),
        ("test2id", "1\n5 0 0\n", "names entity id 5"),
        ("test2id", "1\n0 0 5\n", "names relation id 5"),
        ("test2id", "1\n0.5 0 0\n", "'0.5'"),
        ("test2id", "1\n99999999999999999999 0 0\n", "'99999999999999999999'"),
        ("test2id", "1\nant bee eats\n", "'ant'"),
        ("test2id", "1\n0 1\n", "line 2: 2 columns where 3 columns"),
        ("test2id", "0\n", "no triples in it"),
        ("test2id", "", "line 1: expected the number of rows, found ''"),
        ("test2id", "0 1\n", "line 1: 2 columns where 3 columns"),
        ("test2id", "0 1 eats\n", "line 1: expected the number of rows, found '0 1 eats'"),
        ("test2id", "-1\n1 0 0\n", "line 1: expected the number of rows, found '-1'"),
        ("test2id", "²\n1 0 0\n", "line 1"),
        ("test2id", "9" * 5000 + "\n1 0 0\n", "line 1"),
        ("entity2id", "2\nant\t0\nbee\t0\n", "its 2 ids are not 0 to 1, each once"),
        ("entity2id", "2\nant\t0\nant\t1\n", "two ids carry the entity label 'ant'"),
        ("entity2id", "2\nant\t0\nbee\tone\n", "an id is not a whole number"),
        ("entity2id", "", "line 1: expected the number of rows, found ''"),
        ("relation2id", None, "no such file"),
        ("test2id", None, "has no test2id.txt"),
    ],
)
def test_numbered_graphs_that_do_not_fit_are_refused(refused, numbered, name, content, message):
    path = numbered / f"{name}.txt"
    path.unlink()
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert message in refused("inspect", "numbered/")


@pytest.mark.parametrize("name", ["train.txt", "test.txt"])
def test_a_folder_where_a_file_should_be_is_no_split(refused, place, name):
    (place / "graph" / name).unlink()
    (place / "graph" / name).mkdir()
    assert "in no known layout" in refused("inspect", "graph/")


def test_two_files_for_one_split_are_refused(refused, place):
    (place / "graph/test.tsv").write_text(ROWS)
    assert "two files for the test split: test.txt and test.tsv" in refused("inspect", "graph/")
