"""Looking triples, queries and labels up: against Python's own dictionaries, and where ids are large."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgeval.data.known import known_answers
from kgeval.data.numbering import encode
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, LabelledTriples, TripleIndex, Triples, reverse
from tests.conftest import random_dataset

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4)), max_size=30)


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


@given(ROWS, ROWS, st.integers(0, 100))
def test_the_largest_label_is_that_of_a_dictionary(said, asked, seed):
    labels = np.random.default_rng(seed).random(len(said))
    best = {}
    for row, label in zip(said, labels, strict=True):
        best[row] = max(label, best.get(row, 0))
    found = LabelledTriples(Triples.of(said), labels).largest(Triples.of(asked))
    np.testing.assert_array_equal(found, [best.get(row, np.nan) for row in asked])


def test_large_ids_do_not_overflow():
    far = 2**40
    index = TripleIndex.of(Triples.of([(far, 3, far), (0, 0, 1)]))
    sought = Triples.of([(far, 3, far), (far, 3, far - 1), (0, 0, 1), (0, 2**20, 1)])
    assert index.find(sought).tolist() == [1, -1, 0, -1]


def test_reversing_swaps_head_and_tail():
    assert reverse(Triples.of([(1, 2, 3)])).ids.tolist() == [[3, 2, 1]]


def by_dictionary(triples, side):
    answers = defaultdict(set)
    for h, r, t in triples.ids.tolist():
        answers[(t, r) if side == "head" else (h, r)].add(h if side == "head" else t)
    return answers


@pytest.mark.parametrize("side", SIDES)
def test_queries_are_distinct_and_keep_every_task(side):
    test = random_dataset(1).test
    queries = Queries.of(test, side)
    keys = list(zip(queries.anchors.tolist(), queries.relations.tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    assert set(keys) == set(by_dictionary(test, side))
    asked = [(keys[query], answer) for query, answer in zip(queries.owners, queries.answers.tolist(), strict=True)]
    anchors, relations, answers = (column[queries.triples].tolist() for column in test.queries_of_side(side))
    assert asked == list(zip(zip(anchors, relations, strict=True), answers, strict=True))
    assert sorted(queries.triples) == list(range(len(test)))


def test_nothing_gives_nothing():
    assert known_answers(Queries.of(random_dataset(3).test, "tail"), []).lengths.sum() == 0
    assert len(Queries.of(Triples.of([]), "tail")) == 0


def test_slices_are_the_parts_of_the_whole():
    dataset = random_dataset(4)
    queries = Queries.of(dataset.test, "head")
    known = known_answers(queries, [dataset.train])
    part = slice(3, 9)
    assert queries[part].anchors.tolist() == queries.anchors[part].tolist()
    assert [known[part].row(i).tolist() for i in range(6)] == [known.row(i).tolist() for i in range(3, 9)]
    assert queries[part].answers.tolist() == queries.answers[queries.offsets[3] : queries.offsets[9]].tolist()


@pytest.mark.parametrize("apart", [1, 2**40])
def test_known_answers_are_sorted_whatever_the_size_of_ids(apart):
    rows = [(3, 1, 5), (3, 1, 2), (0, 0, 4), (3, 1, 5), (3, 0, 1)]
    facts = Triples.of([(head * apart, relation, tail * apart) for head, relation, tail in rows])
    queries = Queries.of(facts, "tail")
    known = known_answers(queries, [facts])
    assert [(known.row(i) // apart).tolist() for i in range(3)] == [[4], [1], [2, 5]]


TEXT = st.text(max_size=3) | st.sampled_from(["", "\0", "a", "a\0", "ü" * 30])


@given(st.lists(st.lists(st.lists(TEXT)), min_size=1))
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


@pytest.mark.parametrize("side", SIDES)
def test_known_answers_are_those_of_a_dictionary(side):
    dataset = random_dataset(2)
    queries = Queries.of(dataset.test, side)
    known = known_answers(queries, [dataset.train, dataset.valid, dataset.test])
    expected = by_dictionary(Triples(np.concatenate([dataset.train.ids, dataset.valid.ids, dataset.test.ids])), side)
    for query, key in enumerate(zip(queries.anchors.tolist(), queries.relations.tolist(), strict=True)):
        assert known.row(query).tolist() == sorted(expected[key])
