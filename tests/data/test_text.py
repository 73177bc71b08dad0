"""Delimited text: the line that is blamed is the line that is wrong, quotes or not."""

from __future__ import annotations

import csv
import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgeval.base.errors import DatasetError
from kgeval.data.tables import read_triples
from kgeval.data.text import line_of, rows
from tests.models.checkpoints.memory import at_most

QUOTED = 'a,"likes, a lot",b\n"two\nlines",likes,b\n'
"""two rows in three lines"""


def triples(path):
    return [tuple(row.values()) for row in read_triples(path).data.to_pylist()]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (QUOTED + "a,b\n", "line 4: 2 columns where 3 columns"),
        (
            QUOTED + 'a,b,"c,d",e\n',
            "line 4: 4 columns where 3 columns (head, relation, tail) are expected. Say what each holds",
        ),
        ('a,"b,c"\n', "line 1: 2 columns where 3 columns"),
        (QUOTED + '"x\ny",b\n', "line 4: 2 columns where 3 columns"),
        (QUOTED + "a,b,\udcff\n", "line 4: not UTF-8 text. Convert it to UTF-8; unpack an archive"),
        (QUOTED + 'a,b,"c\nd,e,f\n', "line 4: not a row of a text file (unexpected end of data)"),
        (QUOTED + 'a,b,"c\nd,"e,f\ng,h,i\n', "line 4: not a row of a text file"),
        (QUOTED + 'a,b,"c', "line 4: not a row of a text file"),
        ("head,relation,tail\n" + QUOTED + "a,b\n", "line 5: 2 columns where 3 columns"),
        ('"he\nadd",relation,tail\na,b,c\n', "no column is the head; found the columns 'he\\nadd', 'relation', 'tail'"),
    ],
)
def test_the_line_of_a_bad_row_counts_what_quotes_hold(tmp_path, content, message):
    path = tmp_path / "triples.csv"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(DatasetError) as caught:
        read_triples(path)
    assert f"{path}" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", QUOTED, [("a", "likes, a lot", "b"), ("two\nlines", "likes", "b")]),
        ("a.tsv", "x" * 200_000 + "\tlikes\x00\tb", [("x" * 200_000, "likes\x00", "b")]),
    ],
)
def test_quoted_cells_may_hold_separators_and_labels_nul(tmp_path, name, content, expected):
    (tmp_path / name).write_text(content)
    assert triples(tmp_path / name) == expected


def test_quoted_line_ends_survive_arrows_blocks(tmp_path):
    expected = [("line\n" * 7 + str(index), "likes", "b" * 100) for index in range(20_000)]
    with (tmp_path / "triples.csv").open("w", newline="") as file:
        csv.writer(file).writerows(expected)
    assert triples(tmp_path / "triples.csv") == expected


def compressed(content):
    """The same bytes at any time, which a test's name needs."""
    return gzip.compress(content, mtime=0)


LABELS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=8)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(LABELS, LABELS, LABELS), min_size=1, max_size=6))
def test_what_pythons_csv_writes_is_read_to_the_letter(tmp_path, rows):
    path = tmp_path / "triples.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([("head", "relation", "tail"), *rows])
    assert triples(path) == rows


@pytest.mark.parametrize("ending", [".txt.gz", ".csv.gz"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a b c\n", "it unpacks to more than [0-9]+ bytes"),
        (b"\0", "a line has more than [0-9]+ characters"),
        (b"\n", "it has more than 10000 blank lines in a row"),
    ],
)
def test_a_compressed_file_that_would_fill_the_memory_is_refused(tmp_path, ending, content, message):
    path = tmp_path / f"triples{ending}"
    path.write_bytes(compressed(content * (2**27 // len(content))))
    with at_most(40), pytest.raises(DatasetError, match=f"triples{ending}: {message}"):
        triples(path)


def test_a_text_is_not_compressed_to_a_hundredth(tmp_path):
    """It takes minutes to read what little of it there is."""
    path = tmp_path / "triples.txt.gz"
    path.write_bytes(gzip.compress(b"a b c\n" * 10_000))
    assert len(triples(path)) == 10_000
    path.write_bytes(gzip.compress(b"a b c\n" * 12_000_000, 1))
    with pytest.raises(DatasetError, match="it unpacks to more than"):
        triples(path)


@pytest.mark.parametrize("ending", [".txt", ".txt.gz", ".csv", ".csv.gz"])
def test_rows_know_their_lines(tmp_path, ending):
    content = b"\xef\xbb\xbfskipped\r\n\r\na b c\r\n\n\nd e f".replace(b" ", b"," if ".csv" in ending else b" ")
    path = tmp_path / f"triples{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    assert [(row.line, row.cells) for row in rows(path, skip=1)] == [(3, ["a", "b", "c"]), (6, ["d", "e", "f"])]
    assert line_of(path, 1, skip=1) == 6


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("triples.txt", b""),
        ("triples.txt", b"\xef\xbb\xbf"),
        ("triples.txt", b"head\trelation\ttail\r\n\r\n"),
        ("triples.csv", b"\r\n\r\n"),
        ("triples.csv", b"tail,head,relation"),
        ("triples.txt.gz", compressed(b"")),
        ("triples.txt", b"\x00" * 100),
        ("triples.csv", b"\x00" * 100),
        ("triples.txt", "a\tb\tc\n".encode("utf-16")),
        ("triples.csv", b"caf\xe9,likes,b\n"),
        ("triples.csv", b'"caf\xe9","li\nkes",b\n'),
        ("triples.txt.gz", b""),
        ("triples.txt.gz", b"a\tb\tc\n"),
        ("triples.txt.gz", compressed(b"a\tb\tc\n" * 999)[:-9]),
        ("triples.csv.gz", compressed(b"a,b,c\n" * 999)[:40]),
        ("triples.parquet", b""),
        ("triples.parquet", b"a\tb\tc\n"),
    ],
)
def test_hostile_files_are_one_error_that_names_them(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetError, match=name):
        read_triples(tmp_path / name)


@pytest.mark.parametrize("name", ["triples.txt", "triples.csv", "triples.parquet", "triples.tsv.gz"])
def test_a_folder_is_no_file(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(DatasetError, match=f"{name}' is a folder; a file is expected"):
        read_triples(tmp_path / name)
