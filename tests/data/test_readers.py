"""Folders of triples: every layout gives the same graph, and every mistake is named with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgeval import load_dataset
from kgeval.base.errors import DatasetError
from tests.data.folders import lines

ROWS = {
    "train": [("b", "likes", "a"), ("a", "likes", "c"), ("c", "knows", "b")],
    "valid": [("a", "knows", "b")],
    "test": [("b", "likes", "c"), ("z", "knows", "a")],
}


def write(folder, ending, rows=ROWS):
    separator = "," if ".csv" in ending else "\t"
    for split, triples in rows.items():
        path = folder / f"{split}{ending}"
        if ending == ".parquet":
            columns = dict(zip(("head", "relation", "tail"), map(list, zip(*triples, strict=True)), strict=True))
            pq.write_table(pa.table(columns), path)
        elif ending.endswith(".gz"):
            path.write_bytes(gzip.compress(lines(triples, separator).encode()))
        else:
            path.write_text(lines(triples, separator), encoding="utf-8")


def labelled(dataset, split):
    triples = dataset.split(split)
    columns = (dataset.entities.take(triples.heads), dataset.relations.take(triples.relations))
    return list(zip(*(column.to_pylist() for column in (*columns, dataset.entities.take(triples.tails))), strict=True))


@pytest.mark.parametrize("ending", [".txt", ".tsv", ".csv", ".txt.gz", ".tsv.gz", ".csv.gz", ".parquet"])
def test_every_ending_gives_the_same_graph(tmp_path, ending):
    write(tmp_path, ending)
    dataset = load_dataset(tmp_path)
    assert {split: labelled(dataset, split) for split in ROWS} == ROWS


def test_ids_are_the_sorted_labels_of_train_then_the_further_ones(tmp_path):
    write(tmp_path, ".txt", {**ROWS, "test": [("Z", "likes", "a"), ("A", "likes", "b")]})
    assert list(load_dataset(tmp_path).entities) == ["a", "b", "c", "A", "Z"]


def test_ids_are_pykeens_own():
    from pykeen.datasets import get_dataset
    from pykeen.datasets.nations import NATIONS_TRAIN_PATH

    theirs = get_dataset(dataset="nations").training
    ours = load_dataset(Path(NATIONS_TRAIN_PATH).parent)  # PyKEEN's cache may name the folder of a former installation
    assert {label: index for index, label in enumerate(ours.entities)} == theirs.entity_to_id
    assert {label: index for index, label in enumerate(ours.relations)} == theirs.relation_to_id


def test_valid_is_optional(tmp_path):
    write(tmp_path, ".txt")
    (tmp_path / "valid.txt").unlink()
    dataset = load_dataset(tmp_path)
    assert set(dataset.splits) == {"train", "test"}
    with pytest.raises(DatasetError, match=r"no valid triples.*'train'"):
        dataset.split("valid")


@pytest.mark.parametrize("stem", ["val", "dev", "validation"])
def test_valid_has_many_names(tmp_path, stem):
    write(tmp_path, ".tsv")
    (tmp_path / "valid.tsv").rename(tmp_path / f"{stem}.tsv")
    assert len(load_dataset(tmp_path).valid) == 1


@pytest.mark.parametrize(
    ("before", "separator", "after"),
    [
        ("head\trelation\ttail\n", "\t", ""),
        ("\ufeff", "\t", "\n\n"),
        ("", " ", ""),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_headers_line_ends_blank_lines_byte_order_mark_and_spaces(tmp_path, before, separator, after, line_end):
    write(tmp_path, ".txt")
    text = before + lines(ROWS["test"], separator) + after
    (tmp_path / "test.txt").write_text(text, encoding="utf-8", newline=line_end)
    assert labelled(load_dataset(tmp_path), "test") == ROWS["test"]


def test_labels_are_taken_to_the_letter(tmp_path):
    odd = [('say "hi"', "NA", "null"), ("007", "", "naïve ☕"), ("#x", "NaN", "b")]
    write(tmp_path, ".tsv", {"train": odd, "test": odd[:1]})
    assert labelled(load_dataset(tmp_path), "train") == odd


def test_repeated_triples_count_once_in_each_split(tmp_path):
    write(tmp_path, ".txt", {**ROWS, "train": ROWS["train"] * 3})
    dataset = load_dataset(tmp_path)
    assert dict(dataset.repeated) == {"train": 6}
    assert labelled(dataset, "train") == ROWS["train"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tb\tc\na\tb\n", r"test.txt, line 2: 2 columns where 3 columns \(head, relation, tail\)"),
        ("a\tb\tc\n\na\tb\tc\td\n", r"test.txt, line 3: 4 columns"),
        ("a\tb\tc\na\tb\t\xff\n", r"test.txt, line 2: not UTF-8"),
        ("", r"test.txt: no triples"),
        ("\n\n", r"test.txt: no triples"),
    ],
)
def test_a_bad_line_is_named(tmp_path, content, message):
    write(tmp_path, ".txt")
    (tmp_path / "test.txt").write_bytes(content.encode("latin-1"))
    with pytest.raises(DatasetError, match=message):
        load_dataset(tmp_path)


def test_a_missing_folder_names_its_neighbours(tmp_path):
    (tmp_path / "fb15k-237").mkdir()
    with pytest.raises(DatasetError, match=r"no such folder '.*fb15k'. Nearby: '.*fb15k-237'."):
        load_dataset(tmp_path / "fb15k")
