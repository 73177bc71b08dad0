"""Vocabularies, triples and datasets from values in memory: what is no label or id is refused, and never converted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from kgeval import Dataset, Triples, Vocabulary, evaluate, generate_negatives
from kgeval.base.errors import DatasetError, InputError
from kgeval.ranking.corruption import Uniform


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 2], r"entity label 0 is 1 of type int: labels are text. Give str\(label\) of each"),
        (["a", None], "entity label 1 is missing"),
        (pd.Series(["a", float("nan")], dtype=object), "entity label 1 is nan of type float"),
        (pa.array(["a", None]), "entity label 1 is missing"),
        (pa.array([1, 2]), "entity labels are text, not int64"),
        (np.array([0.5]), r"entity label 0 is .*0\.5.* of type float64"),
        ([b"a"], "of type bytes: labels are text"),
        ("abc", "expected entity labels as a list of text, not str"),
        (5, "expected entity labels as a list of text, not int"),
        (["a", "\ud800"], "is not Unicode text"),
        (["a", "b", "a"], "two ids carry the entity label 'a'"),
        ({"b", "a"}, "a set has no order"),  # in every process another one, and so other results
        (frozenset("ab"), "a set has no order"),
    ],
)
def test_labels_are_distinct_text(labels, message):
    for make in (Vocabulary, Vocabulary.of):
        with pytest.raises(InputError, match=message):
            make(labels)


@pytest.mark.parametrize(
    "labels",
    [
        ("a", "b"),
        np.array(["a", "b"]),
        pd.Series(["a", "b"]),
        pd.Series(["a", "b"], dtype="string"),
        (label for label in "ab"),
        {"a": 0, "b": 1},
        pa.chunked_array([["a"], ["b"]]),
        pa.array(["a", "b"], pa.large_string()),
        pa.array(["a", "b"]).dictionary_encode(),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_may_come_in_any_list_of_text(labels):
    assert list(Vocabulary(labels)) == ["a", "b"]


def test_what_is_no_label_is_no_known_label():
    with pytest.raises(InputError, match="entity label 0 is 1 of type int"):
        Vocabulary(["a"]).id(1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 0, 1), (1, 0)], "row 1 is not as long as row 0"),
        ([(0, 0), (1, 0)], r"not int64 of shape \(2, 2\)"),
        ([0, 0, 1], r"not int64 of shape \(3,\)"),
        ([[]], r"not float64 of shape \(1, 0\)"),
        (np.empty((0, 2), np.int64), r"not int64 of shape \(0, 2\)"),
        (np.zeros((2, 3)), "not float64 of shape"),
        (np.zeros((2, 3), np.bool_), "not bool of shape"),
        ([("a", "likes", "b")], "not <U5 of shape"),
        ([(0, None, 1)], "not object of shape"),
        (np.array([[0, 0, 2**63]], np.uint64), r"triple 0 is \(0, 0, 9223372036854775808\): ids .* end before 2\^63"),
        ([(0, 0, 1), (0, 0, 2**63)], "not float64 of shape"),
        ([(0, 0, 2**70)], "not object of shape"),
        ([(0, 0, 1), (0, -1, 0)], r"triple 1 is \(0, -1, 0\): ids start at 0"),
        (5, "not int"),
        (None, "not NoneType"),
        ([5, (0, 0, 1)], "row 1 is not as long as row 0"),
    ],
)
def test_triples_are_rows_of_three_ids(rows, message):
    with pytest.raises(DatasetError, match=message):
        Triples.of(rows)


@pytest.mark.parametrize("dtype", [np.uint64, np.int32, np.uint8])
def test_ids_of_any_integer_type_are_taken(dtype):
    ids = Triples.of(np.array([[0, 1, 2]], dtype)).ids
    assert (ids.dtype, ids.tolist()) == (np.dtype(np.int64), [[0, 1, 2]])


@pytest.mark.parametrize("rows", [[], (), np.empty((0, 3)), iter([])], ids=lambda rows: type(rows).__name__)
def test_there_may_be_no_triples(rows):
    assert Triples.of(rows).ids.shape == (0, 3)


LABELS = {"entities": Vocabulary(["a", "b"]), "relations": Vocabulary(["likes"], "relation")}


def test_splits_may_be_plain_rows():
    assert Dataset.build("tiny", {"test": [(0, 0, 1)]}, **LABELS).test.ids.tolist() == [[0, 0, 1]]


@pytest.mark.parametrize(
    ("splits", "labels", "message"),
    [
        ({"test": [("a", "likes", "b")]}, {}, "integer ids of shape"),
        ({}, {"relations": ["likes"]}, "tiny: relation labels are a Vocabulary, not list"),
        ({"tset": [(0, 0, 0)]}, {}, r"tiny: unknown split 'tset'. Did you mean 'test'\?"),
        (
            {"test": [(0, 0, 0), (0, 0, 0), (0, 0, 2)]},
            {},
            "tiny, split test: triple 2 names entity id 2, but there are 2",
        ),
    ],
)
def test_what_is_no_dataset_of_ids_is_refused(splits, labels, message):
    with pytest.raises(DatasetError, match=message):
        Dataset.build("tiny", splits, **{**LABELS, **labels})


def test_a_dataset_may_be_named(nations):
    def score(h, r, t):
        return (h * 5 + r * 3 + t * 11) % 7

    assert evaluate(score, "nations").to_pandas().equals(evaluate(score, nations).to_pandas())
    named, given = (next(generate_negatives(data, Uniform(count=2))) for data in ("nations", nations))
    assert named.equals(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nation", "Did you mean 'nations'"),
        ("", "a dataset is a folder or a PyKEEN name, not ''"),
        (None, "a dataset is a folder or a PyKEEN name, not None"),
        (5, "a dataset is a folder or a PyKEEN name, not 5"),
        ([(0, 0, 1)], r"a dataset is a folder or a PyKEEN name, not \[\(0, 0, 1\)\]"),
    ],
)
def test_what_is_no_dataset_is_refused(given, message):
    with pytest.raises(DatasetError, match=message):
        evaluate(lambda h, r, t: t, given)


@pytest.mark.parametrize(
    ("corruption", "options", "message"),
    [
        ("uniform", {}, r"such as .*, not 'uniform'"),
        (Uniform(count=2), {"sides": ("tale",)}, "unknown side 'tale'. Did you mean 'tail'"),
        (Uniform(count=2), {"filter": ("trian",)}, "unknown filter split 'trian'. Did you mean 'train'"),
        (Uniform(count=2), {"split": "tset"}, "there is no split and no file 'tset'. Did you mean 'test'"),
    ],
)
def test_negatives_of_nothing_known_are_refused(nations, corruption, options, message):
    with pytest.raises(InputError, match=message):
        next(generate_negatives(nations, corruption, **options))


def test_one_side_and_one_filter_split_may_stand_alone(nations):
    alone, listed = ({"sides": "tail", "filter": "train"}, {"sides": ("tail",), "filter": ("train",)})
    negatives, same = (list(generate_negatives(nations, Uniform(count=2), **options)) for options in (alone, listed))
    assert negatives == same
    ranks, same = (evaluate(lambda h, r, t: (h + t) % 5, nations, **options).data for options in (alone, listed))
    assert ranks.equals(same)


def test_triples_are_tuples_of_ids_one_by_one():
    rows = [(3, 0, 1), (0, 2, 2), (3, 0, 1)]
    triples = Triples.of(rows)
    assert [*triples] == rows
    assert [type(number) for number in next(iter(triples))] == [int] * 3
    assert (triples[1], triples[np.int64(-1)], len(triples)) == (rows[1], rows[-1], 3)
    assert [*triples[1:]] == [*triples[np.array([False, True, True])]] == rows[1:]
    assert np.asarray([*triples]).tolist() == triples.ids.tolist()
    assert [*Triples(triples.ids, np.array([7, 8, 9]))] == [(3, 0, 1, 7), (0, 2, 2, 8), (3, 0, 1, 9)]
    assert [*Triples.of([])] == []
    assert rows[0] in triples
    with pytest.raises(IndexError):
        triples[3]


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_a_place_may_be_an_array_or_a_tensor(make):
    triples = Triples.of([(3, 0, 1), (0, 2, 2), (5, 1, 4)])
    assert triples[make(1)] == (0, 2, 2)
    assert [*triples[make([1])]] == [*triples[[1]]] == [(0, 2, 2)]
    assert [*triples[make([2, 0])]] == [(5, 1, 4), (3, 0, 1)]
    assert [*triples[make([False, True, True])]] == [(0, 2, 2), (5, 1, 4)]
    assert len(triples[[]]) == 0
    with pytest.raises(IndexError):
        triples[None]
