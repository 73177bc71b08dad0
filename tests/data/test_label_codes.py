"""Codes of labels: the table for millions of labels gives what Arrow's own dictionaries give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgeval import Triples, load_dataset
from kgeval.data.io import label_codes
from kgeval.data.io.label_codes import CodeTable, encode

LABELS = st.text(max_size=3) | st.sampled_from(
    ["", "\0", "a", "a\0", "ab" * 8, "ab" * 8 + "\0", "ab" * 8 + "c", "ü" * 30]
)


def by_arrow(columns):
    joined = pa.concat_arrays([chunk for column in columns for chunk in column.chunks]).dictionary_encode()
    return np.asarray(joined.indices).tolist(), joined.dictionary.to_pylist()


@given(st.lists(st.lists(st.lists(LABELS), min_size=1), min_size=1))
def test_codes_are_those_of_arrow(columns):
    chunked = [pa.chunked_array(chunks, pa.string()) for chunks in columns]
    table = CodeTable()
    codes = [code for column in chunked for code in table.encode(column).tolist()]
    assert (codes, table.labels.to_pylist()) == by_arrow(chunked)


@pytest.mark.parametrize("length", [1, 9, 40])
def test_more_labels_than_fit_at_first(monkeypatch, length):
    """The table grows, and labels differ only where one word or several hold their beginning."""
    monkeypatch.setattr(label_codes, "PIECE", 64)
    numbers = np.random.default_rng(length).integers(0, 3_000, 10_000)
    column = pa.chunked_array([[f"{'x' * length}{number}" for number in numbers]]).slice(7)
    table = CodeTable()
    assert (table.encode(column).tolist(), table.labels.to_pylist()) == by_arrow([column])


def test_long_labels_of_one_hash_are_told_apart():
    """A slot that says of another label that it has this one's length, first word and hash is passed over."""
    label, other = "q" * 40, "q" * 39 + "r"
    table, twin = CodeTable(), CodeTable()
    table.encode(pa.chunked_array([[label]]))
    twin.encode(pa.chunked_array([[other]]))
    table._slots[:] = twin._slots  # the slot of the other label, with the text of this one
    assert table.encode(pa.chunked_array([[other, other]])).tolist() == [1, 1]
    assert table.labels.to_pylist() == [label, other]


def test_a_large_graph_is_numbered_as_a_small_one(monkeypatch, nations, tmp_path):
    for split in ("train", "test"):
        ids = nations.split(split).ids
        columns = (
            nations.entities.take(ids[:, 0]),
            nations.relations.take(ids[:, 1]),
            nations.entities.take(ids[:, 2]),
        )
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        (tmp_path / f"{split}.txt").write_text("".join("\t".join(row) + "\n" for row in rows))
    small = load_dataset(tmp_path)
    monkeypatch.setattr(label_codes, "MANY", 0)
    assert load_dataset(tmp_path).sha256() == small.sha256()
    assert encode([pa.chunked_array([["a"]])]).columns[0].tolist() == [0]


def test_repeated_triples_of_ids_beyond_one_number():
    """Where head, relation and tail fit into no one number, repetitions are found all the same."""
    ids = np.array([[2**40, 2**20, 2**40], [0, 0, 0], [2**40, 2**20, 2**40], [-1, 0, 3], [-1, 0, 3], [2, 0, 3]])
    kept, times = Triples(ids).distinct()
    assert kept.ids.tolist() == ids[[0, 1, 3, 5]].tolist()
    assert times.tolist() == [2, 1, 2, 1]
