"""Looking triples up: against Python's own dictionaries, and where ids are large."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval.data.labelled_triples import LabelledTriples, reverse
from kgeval.data.triples import TripleIndex, Triples

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4)), max_size=30)


@settings(deadline=None)
@given(ROWS, ROWS)
def test_an_index_finds_what_a_set_holds(facts, asked):
    index = TripleIndex.of(Triples.of(facts))
    found = index.find(Triples.of(asked))
    assert len(index) == len(set(facts))
    assert (found >= 0).tolist() == [row in set(facts) for row in asked]
    numbers = dict(zip(asked, found.tolist(), strict=True))
    there = {number for number in numbers.values() if number >= 0}
    assert len(there) == len(set(asked) & set(facts))
    assert there <= set(range(len(index)))


@settings(deadline=None)
@given(ROWS, ROWS, st.integers(0, 100))
def test_the_largest_label_is_that_of_a_dictionary(said, asked, seed):
    labels = np.random.default_rng(seed).random(len(said))
    best = {}
    for row, label in zip(said, labels, strict=True):
        best[row] = max(label, best.get(row, 0))
    found = LabelledTriples(Triples.of(said), labels).largest().of(Triples.of(asked))
    np.testing.assert_array_equal(found, [best.get(row, np.nan) for row in asked])


def test_large_ids_do_not_overflow():
    far = 2**40
    index = TripleIndex.of(Triples.of([(far, 3, far), (0, 0, 1)]))
    assert index.find(Triples.of([(far, 3, far), (far, 3, far - 1), (0, 0, 1), (0, 2**20, 1)])).tolist() == [
        1,
        -1,
        0,
        -1,
    ]


def test_reversing_swaps_head_and_tail():
    assert reverse(Triples.of([(1, 2, 3)])).ids.tolist() == [[3, 2, 1]]
