"""Codes of labels: each row's label is found again by its code, and codes are given by first occurrence."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kgeval import Triples
from kgeval.data.numbering import encode

LABELS = st.text(max_size=3) | st.sampled_from(["", "\0", "a", "a\0", "ü" * 30])


@given(st.lists(st.lists(st.lists(LABELS)), min_size=1))
def test_codes_are_given_by_first_occurrence(columns):
    codes, labels = encode([pa.chunked_array(chunks, pa.string()) for chunks in columns])
    rows = [[label for chunk in chunks for label in chunk] for chunks in columns]
    distinct = list(dict.fromkeys(label for column in rows for label in column))
    assert labels.to_pylist() == distinct
    assert [column.tolist() for column in codes] == [[distinct.index(label) for label in column] for column in rows]


def test_repeated_triples_of_ids_beyond_one_number():
    """Where head, relation and tail fit into no one number, repetitions are found all the same."""
    ids = np.array([[2**40, 2**20, 2**40], [0, 0, 0], [2**40, 2**20, 2**40], [-1, 0, 3], [-1, 0, 3], [2, 0, 3]])
    kept, times = Triples(ids).distinct()
    assert kept.ids.tolist() == ids[[0, 1, 3, 5]].tolist()
    assert times.tolist() == [2, 1, 2, 1]
