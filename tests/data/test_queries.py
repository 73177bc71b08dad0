"""Queries and known answers: vectorised sorting against dictionaries of sets."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from kgeval.data.known import known_answers
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Triples
from tests.conftest import random_dataset


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


@pytest.mark.parametrize("side", SIDES)
def test_known_answers_are_those_of_a_dictionary(side):
    dataset = random_dataset(2)
    queries = Queries.of(dataset.test, side)
    known = known_answers(queries, [dataset.train, dataset.valid, dataset.test])
    expected = by_dictionary(Triples(np.concatenate([dataset.train.ids, dataset.valid.ids, dataset.test.ids])), side)
    for query, key in enumerate(zip(queries.anchors.tolist(), queries.relations.tolist(), strict=True)):
        assert known.row(query).tolist() == sorted(expected[key])


def test_no_filter_knows_nothing():
    queries = Queries.of(random_dataset(3).test, "tail")
    assert known_answers(queries, []).lengths.sum() == 0


def test_slices_are_the_parts_of_the_whole():
    dataset = random_dataset(4)
    queries = Queries.of(dataset.test, "head")
    known = known_answers(queries, [dataset.train])
    part = slice(3, 9)
    assert queries[part].anchors.tolist() == queries.anchors[part].tolist()
    assert [known[part].row(i).tolist() for i in range(6)] == [known.row(i).tolist() for i in range(3, 9)]
    assert queries[part].answers.tolist() == queries.answers[queries.offsets[3] : queries.offsets[9]].tolist()


def test_an_empty_split_has_no_queries():
    assert len(Queries.of(Triples.of([]), "tail")) == 0


@pytest.mark.parametrize("apart", [1, 2**40])
def test_known_answers_are_sorted_whatever_the_size_of_ids(apart):
    rows = [(3, 1, 5), (3, 1, 2), (0, 0, 4), (3, 1, 5), (3, 0, 1)]
    facts = Triples.of([(head * apart, relation, tail * apart) for head, relation, tail in rows])
    queries = Queries.of(facts, "tail")
    assert [known_answers(queries, [facts]).row(i).tolist() for i in range(3)] == [
        [4 * apart],
        [1 * apart],
        [2 * apart, 5 * apart],
    ]
