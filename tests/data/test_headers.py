"""Headers: columns are told apart by their names, in any order, and names that cannot be told apart are refused."""

from __future__ import annotations

import gzip
import itertools
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgeval import CallableScorer, evaluate, load_dataset
from kgeval.base.assumptions import read_as
from kgeval.base.errors import DatasetError
from kgeval.data.tables import read_triples
from kgeval.ranking.corruption import FileNegatives, Uniform
from kgeval.ranking.corruption.export import generate_negatives
from tests.conftest import random_dataset
from tests.data.folders import write as write_splits

TRIPLE = ("head", "relation", "tail")
ROWS = [("a", "likes", "b"), ("b", "knows", "c"), ("c", "likes", "c")]
NAMES = [("head", "relation", "tail"), ("h", "r", "t"), ("Subject", "PREDICATE", "object"), ("head", "rel", "Tail")]


def write(path, header, rows):
    """Write rows of cells in the format of the path's ending."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table([list(column) for column in zip(*rows, strict=True)], names=list(header)), path)
    else:
        separator = "," if path.suffix == ".csv" else "\t"
        path.write_text("".join(separator.join(row) + "\n" for row in [header, *rows]), encoding="utf-8")
    return path


def read(path):
    table = read_triples(path)
    return list(zip(*(table[column].to_pylist() for column in TRIPLE), strict=True))


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".parquet"])
@pytest.mark.parametrize("names", NAMES, ids=" ".join)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_columns_may_stand_in_any_order(tmp_path, ending, names, order):
    rows = [[row[column] for column in order] for row in ROWS]
    assert read(write(tmp_path / f"triples{ending}", [names[column] for column in order], rows)) == ROWS


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_further_columns_are_kept_under_their_names(tmp_path, ending):
    rows = [("0.5", t, h, r) for h, r, t in ROWS]
    path = write(tmp_path / f"triples{ending}", ["Weight", "tail", "head", "relation"], rows)
    assert read(path) == ROWS
    assert read_triples(path)["confidence"].to_pylist() == ["0.5"] * 3


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("head relation relation", "several columns are the relation ('relation' and 'relation')"),
        ("head subject relation about", "several columns are the head ('head' and 'subject')"),
        ("head relation tail side Side", "several columns are the side ('side' and 'Side')"),
        ("head about tail", "no column is the relation; found the columns 'head', 'about', 'tail'"),
        ("cause relation tail", "no column is the head; found the columns 'cause', 'relation', 'tail'"),
        ("head tail", "no column is the relation; found the columns 'head', 'tail'"),
    ],
)
def test_names_that_cannot_be_told_apart_are_refused(tmp_path, ending, header, message):
    names = header.split()
    path = write(tmp_path / f"triples{ending}", names, [["a"] * len(names)])
    with pytest.raises(DatasetError) as caught:
        read_triples(path)
    assert f"{path}: {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("table", "found"), [({}, "found no columns"), ({name: ["a"] for name in "012"}, "found the columns '0', '1', '2'")]
)
def test_parquet_columns_without_meaning_are_refused(tmp_path, table, found):
    pq.write_table(pa.table(table), tmp_path / "triples.parquet")
    with pytest.raises(DatasetError, match=f"no column is the head or the relation or the tail; {found}"):
        read_triples(tmp_path / "triples.parquet")


@pytest.mark.parametrize(
    "row",
    [
        *(("h", "likes", "t"), ("head", "likes", "b"), ("r", "r", "r"), ("h", "t", "t"), ("e1", "type", "e2")),
        *(("e2", "likes", "e1"), ("e1", "r", "e2"), ("n1", "p", "n2"), ("start", "type", "end"), ("x", "r", "y")),
    ],
    ids=str,
)
def test_a_triple_that_looks_a_little_like_a_header_is_a_triple(tmp_path, row):
    assert read(write(tmp_path / "triples.tsv", row, ROWS)) == [row, *ROWS]


@pytest.mark.parametrize("before", ["", "\n", "\r\n\n", "\ufeff", "\ufeff\n"], ids=repr)
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_a_header_may_be_quoted_and_follow_blank_lines_or_a_byte_order_mark(tmp_path, before, ending):
    path = write(tmp_path / f"triples{ending}", ["tail", '"head"', "relation"], [(t, h, r) for h, r, t in ROWS])
    path.write_bytes(before.encode() + path.read_bytes())
    assert read(path) == ROWS


@pytest.mark.parametrize("ending", [".CSV", ".TSV", ".PARQUET"])
def test_endings_may_be_in_capitals(tmp_path, ending):
    path = write(tmp_path / f"triples{ending.lower()}", TRIPLE, ROWS)
    assert read(path.rename(tmp_path / f"TRIPLES{ending}")) == ROWS


def test_a_folder_that_is_called_like_a_column_is_no_column(tmp_path):
    folder = tmp_path / "relation=likes"
    folder.mkdir()
    assert read(write(folder / "triples.parquet", TRIPLE, ROWS)) == ROWS


@pytest.mark.parametrize("values", [[0.5], [True], [date(2020, 1, 1)]], ids=["float", "bool", "date"])
def test_parquet_columns_that_would_be_spelled_somehow_are_refused(tmp_path, values):
    pq.write_table(pa.table({"h": values, "r": ["likes"], "t": ["b"]}), tmp_path / "triples.parquet")
    with pytest.raises(DatasetError, match=r"the column head holds .*, not text"):
        read_triples(tmp_path / "triples.parquet")


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".parquet"])
def test_negatives_may_have_their_columns_in_any_order(tmp_path, ending):
    data = random_dataset(5)
    (table, *more) = [part.to_pylist() for part in generate_negatives(data, Uniform(count=4))]
    order = ("side", "tail", "relation", "head")
    rows = [[row[name] for name in order] for row in [*table, *itertools.chain(*more)]]
    path = write(tmp_path / f"negatives{ending}", ["SIDE", "object", "rel", "h"], rows)
    scorer = CallableScorer(lambda h, r, t: (h * 7 + r * 3 + t * 5) % 11, 30, 4)
    drawn = evaluate(scorer, data, corruption=Uniform(count=4)).to_pandas()
    assert drawn.equals(evaluate(scorer, data, corruption=FileNegatives(path=str(path))).to_pandas())


def test_a_misspelt_side_is_not_taken_as_none(tmp_path):
    path = write(tmp_path / "negatives.tsv", [*TRIPLE, "sied"], [("e0000", "r00", "e0001", "tail")])
    with pytest.raises(DatasetError, match=r"negatives\.tsv: unknown column 'sied'. Did you mean 'side'\?"):
        evaluate(lambda h, r, t: h, random_dataset(5), corruption=FileNegatives(path=str(path)))


@pytest.mark.parametrize("header", ["source,relation,target", "from,rel,to", "head_id,relation_id,tail_id"])
def test_what_graphs_call_their_columns_is_no_triple(tmp_path, header):
    for split in ("train", "test"):
        (tmp_path / f"{split}.csv").write_text(f"{header}\na,likes,b\n")
    dataset = load_dataset(tmp_path)
    assert len(dataset.test) == 1
    assert list(dataset.entities) == ["a", "b"]


SPLITS = {"train": [*ROWS, ("d", "knows", "a")], "valid": [("a", "knows", "b")], "test": [("c", "knows", "a")]}


@pytest.mark.parametrize("header", [("Drug", "interacts", "Gene"), ("x", "y", "x")], ids=str)
@pytest.mark.parametrize("splits", [("train", "test"), ("train", "valid", "test")], ids=len)
def test_a_first_row_of_all_splits_that_occurs_nowhere_else_is_a_header(tmp_path, header, splits):
    write_splits(tmp_path, {split: [header, *SPLITS[split]] for split in splits}, ending=".tsv")
    known = {"head": "x", "relation": "…", "tail": "y"} if "x" in header else dict.fromkeys(TRIPLE, "…")
    said = ",".join(f"{role}={name}" for role, name in known.items())
    with pytest.raises(DatasetError, match=f"begin with the row '{' '.join(header)}'.*--columns {said}, or"):
        load_dataset(tmp_path)
    for columns in ("head=1,relation=2,tail=3", "head,relation,tail"):
        dataset = load_dataset(tmp_path, columns=columns)
        assert header[0] not in dataset.entities
        assert f"read as: header: the first row {' '.join(header)!r}" in read_as(dataset.assumptions)
    assert header[0] in load_dataset(tmp_path, columns="header=none").entities
    if len({*header}) == 3:
        dataset = load_dataset(tmp_path, columns=dict(zip(TRIPLE, header, strict=True)))
        assert list(dataset.entities) == ["a", "b", "c", "d"]
        assert list(dataset.relations) == ["knows", "likes"]
        assert {name: len(part) for name, part in dataset.splits.items()} == {
            split: 4 if split == "train" else 1 for split in splits
        }


@pytest.mark.parametrize("row", [("S", "likes", "O"), ("a", "likes", "b")], ids=str)
def test_a_first_row_with_a_relation_of_the_graph_is_a_triple(tmp_path, row):
    write_splits(tmp_path, {split: [row, *rows] for split, rows in SPLITS.items()}, ending=".tsv")
    dataset = load_dataset(tmp_path)
    assert row[0] in dataset.entities
    assert dataset.notes == ()
    assert all(dataset.triple(*part.ids[0]) == f"({', '.join(row)})" for part in dataset.splits.values())


def test_a_header_that_one_split_lacks_is_none_in_words_of_its_own_and_is_refused_in_another_order(tmp_path):
    write_splits(
        tmp_path, {split: [("gene", "effect", "drug"), *rows] for split, rows in SPLITS.items()}, ending=".tsv"
    )
    (tmp_path / "valid.tsv").write_text("a\tknows\tb\n")
    with pytest.raises(DatasetError, match="2 splits begin with the row 'gene effect drug'"):
        load_dataset(tmp_path)
    swapped = [(tail, relation, head) for head, relation, tail in SPLITS["train"]]
    write_splits(tmp_path, {**SPLITS, "train": [("tail", "relation", "head"), *swapped]}, ending=".tsv")
    with pytest.raises(
        DatasetError, match=r"has no header, and by that of .*train.tsv the columns are tail,relation,head"
    ):
        load_dataset(tmp_path)
    write_splits(tmp_path, {**SPLITS, "train": [TRIPLE, *SPLITS["train"]]}, ending=".tsv")
    assert {split: len(part) for split, part in load_dataset(tmp_path).splits.items()} == {
        split: len(rows) for split, rows in SPLITS.items()
    }


def test_a_first_row_that_is_the_only_one_is_a_triple(tmp_path):
    write_splits(tmp_path, dict.fromkeys(SPLITS, ROWS[:1]), ending=".tsv")  # splits of a single row
    assert (len(load_dataset(tmp_path).test), load_dataset(tmp_path).notes) == (1, ())


@pytest.mark.parametrize(
    ("line", "triple"),
    [
        ("<http://a> <http://likes> <http://b> .", ("http://a", "http://likes", "http://b")),
        ("<http://a>\t<http://likes>\t<http://b> .", ("http://a", "http://likes", "http://b")),
        ("<http://a>\t<http://likes>\t<http://b>\t.", ("http://a", "http://likes", "http://b")),
        ("<http://a><http://likes>_:b.", ("http://a", "http://likes", "_:b")),
        ('<http://a> <http://named> "the . \\"b\\""@en .', ("http://a", "http://named", '"the . "b""@en')),
        (
            '_:a <http://aged> "7"^^<http://www.w3.org/2001/XMLSchema#int> . # years',
            ("_:a", "http://aged", '"7"^^<http://www.w3.org/2001/XMLSchema#int>'),
        ),
    ],
)
@pytest.mark.parametrize("ending", [".txt", ".tsv", ".nt"])
def test_n_triples_are_read(tmp_path, line, triple, ending):
    (tmp_path / f"triples{ending}").write_text(f"{line}\n\n# a comment\n{line}\n")
    assert read(tmp_path / f"triples{ending}") == [triple, triple]


def test_n_triples_may_begin_with_a_comment_and_be_compressed(tmp_path):
    (tmp_path / "triples.nt.gz").write_bytes(gzip.compress(b"# 2014\n<http://a> <http://likes> <http://b> .\n"))
    assert read(tmp_path / "triples.nt.gz") == [("http://a", "http://likes", "http://b")]


def test_a_line_that_is_no_n_triple_is_named(tmp_path):
    (tmp_path / "triples.nt").write_text("<http://a> <http://likes> <http://b> .\n# c\n<http://a> likes <http://b> .\n")
    with pytest.raises(DatasetError, match=r"line 3: expected a line of N-Triples, '<subject> <predicate> <object> "):
        read_triples(tmp_path / "triples.nt")


def test_labels_in_angle_brackets_alone_are_no_n_triples(tmp_path):
    row = ("<http://a>", "<http://likes>", "<http://b>")
    (tmp_path / "triples.tsv").write_text("\t".join(row) + "\n")
    assert read(tmp_path / "triples.tsv") == [row]


def test_numbered_words_that_occur_below_are_labels(tmp_path):
    rows = [("node1", "type", "node2"), ("node2", "type", "node1"), ("node3", "label", "node1")]
    (tmp_path / "triples.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    assert read(tmp_path / "triples.tsv") == rows
    (tmp_path / "kgtk.tsv").write_text("node1\tlabel\tnode2\nQ1\tP1\tQ2\n")
    assert read(tmp_path / "kgtk.tsv") == [("Q1", "P1", "Q2")]
