"""Graphs whose files can be read in several ways: each is read rightly, asked about, or read with a line that says how.

The values are by plain Python, from the true columns of the files (``tried-5/guesses/*/README.md``).
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from kgeval import Baseline, Dataset, evaluate, load_dataset, summarize
from kgeval.base.assumptions import read_as
from kgeval.base.errors import InputError

THREE = "head={},relation={},tail={}".format

GRAPHS = [
    # folder, columns, MRR of popularity or what is asked, what the line says
    ("column-numbers/triples", THREE(1, 2, 3), 0.176261, ""),
    ("column-numbers/user-item", THREE(1, "'likes'", 2), 0.112195, ""),
    ("column-numbers/item-user", THREE(1, "'likes'", 2), 0.103563, ""),
    ("pandas-default-header", None, "begin with the row '0 1 2': it names the columns", ""),
    ("pandas-default-header", "head,relation,tail", 0.213875, "header: the first row '0 1 2'"),
    ("pandas-default-header", THREE(0, 1, 2), 0.213875, ""),
    ("pandas-default-header", "head,relation,tail,header=none", 0.208794, ""),
    ("row-index/header", "_,head,relation,tail", 0.213875, "header: the first row '0 1 2'"),
    ("row-index/plain", "_,head,relation,tail", 0.213875, ""),
    ("header-of-classes", None, "begin with the row 'Drug Link Gene': it names the columns", ""),
    ("header-of-classes", THREE("Drug", "Link", "Gene"), 0.213562, ""),
    ("validity-columns/start-end", THREE("person", "relation", "company"), 0.213875, ""),
    ("validity-columns/from-to", THREE("person", "relation", "company"), 0.213875, ""),
    ("date-of-record", THREE("subject", "predicate", "object"), 0.213875, ""),
    ("date-of-record", THREE(1, 2, 3), 0.213875, ""),
]


@pytest.mark.parametrize(("folder", "columns", "expected", "line"), GRAPHS)
def test_a_graph_is_read_rightly_or_asked_about(shared, folder, columns, expected, line):
    path = shared / "tried-5" / "guesses" / folder
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            load_dataset(path, columns=columns)
        return
    dataset = load_dataset(path, columns=columns)
    mrr = summarize(evaluate(Baseline("popularity"), dataset), ["mrr"], ties="expected")["mrr"]
    assert round(mrr, 6) == expected
    assert line in read_as(dataset.assumptions)
    assert line or not dataset.assumptions


ROWS = [("3", "1", "2"), ("2", "1", "3"), ("3", "2", "1"), ("1", "2", "2")]
SPLITS = {"train": ROWS, "test": [("1", "1", "2"), ("3", "2", "2")]}


def write(folder, splits, header=None, ending="tsv", separator="\t"):
    folder.mkdir(exist_ok=True)
    for split, rows in splits.items():
        lines = [*([header] if header else []), *rows]
        (folder / f"{split}.{ending}").write_text("".join(separator.join(map(str, line)) + "\n" for line in lines))
    return folder


def triples(dataset):
    return {
        split: [
            (dataset.entities[h], dataset.relations[r], dataset.entities[t]) for h, r, t in sorted(part.ids.tolist())
        ]
        for split, part in dataset.splits.items()
    }


def test_numbers_are_places_whatever_the_first_row_holds(tmp_path):
    expected = triples(Dataset.from_labels(**SPLITS))
    folder = write(tmp_path, SPLITS)
    assert triples(load_dataset(folder, columns="head=1,relation=2,tail=3")) == expected
    exchanged = {split: [(t, r, h) for h, r, t in rows] for split, rows in SPLITS.items()}
    assert triples(load_dataset(folder, columns="tail=1,relation=2,head=3")) == triples(
        Dataset.from_labels(**exchanged)
    )


@pytest.mark.parametrize("header", [("subj", "verb", "obj"), ("head", "relation", "tail"), ("3", "9", "2")], ids=str)
def test_places_name_columns_under_a_header_too(tmp_path, header):
    dataset = load_dataset(write(tmp_path, SPLITS, header), columns="head=1,relation=2,tail=3")
    assert triples(dataset) == triples(Dataset.from_labels(**SPLITS))
    with_it = load_dataset(tmp_path, columns="head,relation,tail,header=none")
    assert len(with_it.train) == len(dataset.train) + 1


def test_a_header_of_one_split_is_said_and_read_on_request(tmp_path):
    words = {split: [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rows] for split, rows in SPLITS.items()}
    write(tmp_path, words)
    (tmp_path / "train.tsv").write_text("Drug\tLink\tGene\n" + (tmp_path / "train.tsv").read_text())
    dataset = load_dataset(tmp_path)
    assert len(dataset.train) == len(ROWS) + 1
    assert "header: none in train.tsv, whose first row 'Drug Link Gene' is a triple" in read_as(dataset.assumptions)
    said = "head=Drug,relation=Link,tail=Gene,header=train"
    with pytest.raises(InputError, match="no column is the head or the tail; found the columns 'Drug', 'Link', 'Gene'"):
        load_dataset(tmp_path, columns="header=train")
    for columns in ("head=1,relation=2,tail=3,header=train", "head,relation,tail,header=train"):
        assert triples(load_dataset(tmp_path, columns=columns)) == triples(Dataset.from_labels(**words))
    with pytest.raises(InputError, match="no column 'Drug' for the head"):
        load_dataset(tmp_path, columns=said)
    with pytest.raises(InputError, match=r"header=dev\. Expected all, none, or splits"):
        load_dataset(tmp_path, columns="header=dev")


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolon"), (",", "','"), ("|", "bar"), ("\t", "tab")])
def test_a_separator_is_said(tmp_path, separator, name):
    words = {split: [(f"e,{h};", f"r|{r}", f"e\t{t}") for h, r, t in rows] for split, rows in SPLITS.items()}
    words = {
        split: [tuple(cell.replace(separator, " ") for cell in row) for row in rows] for split, rows in words.items()
    }
    dataset = load_dataset(write(tmp_path, words, separator=separator), columns=f"separator={name}")
    assert triples(dataset) == triples(Dataset.from_labels(**words))


def test_three_named_columns_are_all_that_is_read(tmp_path):
    further = {
        split: [(*row, 2010 + place, place % 2, 0.5) for place, row in enumerate(rows)]
        for split, rows in SPLITS.items()
    }
    write(tmp_path, further, ("a", "b", "c", "time", "label", "weight"))
    dataset = load_dataset(tmp_path, columns="head=a,relation=b,tail=c")
    assert triples(dataset) == triples(Dataset.from_labels(**SPLITS))
    assert (dataset.times, dataset.negatives, dataset.confidences) == (None, {}, {})
    assert "columns not used: time, label, weight" in str(dataset.notes[0])
    timed = load_dataset(tmp_path, columns="head=a,relation=b,tail=c,time=time")
    assert len(timed.times) == len(ROWS)


Edge = namedtuple("Edge", "source target relation")
FIELDS = np.dtype([("head", "U8"), ("tail", "U8"), ("relation", "U8")])
WAYS = {
    "dictionaries": lambda rows: [{"tail": t, "relation": r, "head": h} for h, r, t in rows],
    "named tuples": lambda rows: [Edge(h, t, r) for h, r, t in rows],
    "structured array": lambda rows: np.array([(h, t, r) for h, r, t in rows], FIELDS),
}


@pytest.mark.parametrize("way", WAYS)
def test_names_of_the_parts_of_rows_in_memory_count(way):
    dataset = Dataset.from_labels(**{split: WAYS[way](rows) for split, rows in SPLITS.items()})
    assert triples(dataset) == triples(Dataset.from_labels(**SPLITS))


def test_rows_of_other_names_are_asked_about_or_refused():
    rows = [{"a": "x", "b": "r", "c": "y"}, {"a": "y", "b": "r", "c": "x"}]
    with pytest.raises(InputError, match="no column is the head or the relation or the tail"):
        Dataset.from_labels(train=rows)
    dataset = Dataset.from_labels(train=rows, columns="head=a,relation=b,tail=c")
    assert triples(dataset) == {"train": [("x", "r", "y"), ("y", "r", "x")]}
    with pytest.raises(InputError, match="row 2: its keys are not those of row 1, a, b, c"):
        Dataset.from_labels(train=[rows[0], {"a": "x", "b": "r"}], columns="head=a,relation=b,tail=c")
