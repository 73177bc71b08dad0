"""Counts of finished scores: by brute force, by the engine, by OGB's evaluator, and of what is no matrix of scores."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import kgeval
from kgeval.base.errors import InputError, ScoreError
from kgeval.ranking.count import Answers, count_on_device, rank_finished
from tests.conftest import random_dataset

TYPES = ["float16", "float32", "float64", "longdouble", "int8", "bool"]


def slow_counts(scores, targets, known, rows):
    """Greater, tied and candidates of each answer, by loops; NaN is the worst."""
    scores = np.asarray(scores, np.float64)
    scores = np.where(np.isnan(scores), -np.inf, scores)
    found = []
    for row, target in zip(rows, targets, strict=True):
        own, others = scores[row, target], [c for c in range(scores.shape[1]) if c != target and not known[row, c]]
        above = sum(bool(scores[row, c] > own) for c in others)
        level = sum(bool(scores[row, c] == own) for c in others)
        found.append((above, level, len(others) + 1))
    return np.array(found, int).reshape(-1, 3)


def arrangements(scores):
    """The same scores in other memory: transposed, every second column, backwards, read-only."""
    wide = np.zeros((scores.shape[0], 2 * scores.shape[1]), scores.dtype)
    wide[:, ::2] = scores
    locked = scores.copy()
    locked.flags.writeable = False
    return [scores, np.asfortranarray(scores), wide[:, ::2], scores[::-1].copy()[::-1], locked]


@st.composite
def matrices(draw):
    height, width = draw(st.integers(1, 5)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(TYPES))
    scores = rng.integers(-2, 3, (height, width)).astype(kind)
    if np.dtype(kind).kind == "f":
        for special in (np.nan, np.inf, -np.inf):
            scores[rng.random((height, width)) < draw(st.sampled_from([0, 0.2]))] = special
    rows = np.sort(rng.integers(0, height, draw(st.integers(0, 8))))
    rng.shuffle(rows)
    known = rng.random((height, width)) < 0.3
    return scores, rng.integers(0, width, len(rows)), known, rows


@given(matrices(), st.integers(0, 4))
def test_counts_are_those_of_loops(example, arrangement):
    scores, targets, known, rows = example
    expected = slow_counts(scores, targets, known, rows)
    offsets = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    placed = arrangements(scores)[arrangement]
    for given_known in (known, (offsets, np.nonzero(known)[1]), torch.from_numpy(known)):
        counts = kgeval.count(placed, targets, given_known, rows=rows, nan="worst")
        np.testing.assert_array_equal(np.stack(counts.columns, axis=1), expected)
        assert counts.greater.dtype == np.int64


@given(matrices())
def test_tensors_are_counted_as_arrays_and_give_tensors(example):
    scores, targets, known, rows = example
    if scores.dtype in ("float16", "float32", "float64"):
        expected = slow_counts(scores, targets, known, rows)
        kinds = [torch.bfloat16, torch.float16, torch.float32, torch.float64]
        for tensor in [torch.from_numpy(scores).to(kind) for kind in kinds]:
            for placed in (tensor, tensor.t().contiguous().t(), tensor.requires_grad_()):
                counts = kgeval.count(placed, torch.from_numpy(targets), known, rows=rows, nan="worst")
                assert counts.tied.dtype == torch.int64
                np.testing.assert_array_equal(torch.stack(counts.columns, dim=1).numpy(), expected)


@given(matrices())
def test_the_loops_of_a_device_count_the_same(example):
    """On tensors of the processor, since the code does not ask where they are."""
    scores, targets, known, rows = example
    order = np.argsort(rows, kind="stable")
    rows, targets = rows[order], targets[order]
    offsets = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    answers = Answers(rows, targets, offsets[rows], offsets[rows + 1], np.nonzero(known)[1])
    found, own = np.zeros((len(rows), 7), np.int64), np.zeros(len(rows))
    count_on_device(torch.from_numpy(scores.astype(np.float64)), answers, found, own)
    above, level, known_above, known_level, hidden, undefined, own_undefined = found.T
    counts = np.stack([above - known_above, level - known_level, scores.shape[1] - hidden], axis=1)
    np.testing.assert_array_equal(counts, slow_counts(scores, targets, known, rows))
    holes = np.isnan(scores.astype(float))
    np.testing.assert_array_equal(undefined, holes[rows].sum(axis=1))
    np.testing.assert_array_equal(own_undefined, holes[rows, targets])
    ranked = rank_finished(scores.astype(np.float64), answers, nan="worst")
    np.testing.assert_array_equal(ranked.nan, np.stack([undefined - own_undefined, own_undefined], axis=1))


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_counts_are_the_engines(kind):
    """On a random graph, whose scores are rounded to ties."""
    data = random_dataset(3)
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((30, 4, 30)).round(1).astype(kind)
    table = kgeval.evaluate(lambda h, r, t: weights[h, r, t], data, entities=data.entities, relations=data.relations)
    heads, relations, tails = data.test.ids.T
    facts = {tuple(row) for name in ("train", "valid", "test") for row in data.split(name).ids.tolist()}
    for side, scores, targets in (
        ("head", weights[:, relations, tails].T, heads),
        ("tail", weights[heads, relations], tails),
    ):
        known = np.array(
            [
                [((e, r, t) if side == "head" else (h, r, e)) in facts for e in range(30)]
                for h, r, t in data.test.ids.tolist()
            ]
        )
        counts = kgeval.count(scores, targets, known)
        rows = table.column("side").astype(str) == side
        for name in ("greater", "tied", "candidates"):
            np.testing.assert_array_equal(getattr(counts, name), table.column(name)[rows])


def test_counts_and_lists_are_ogbs(shared):
    folder = shared / "lists" / "ogb-evaluator"
    positive, negative = (np.load(folder / f"y_pred_{name}.npy") for name in ("pos", "neg"))
    expected = np.genfromtxt(folder / "expected_ranks.tsv", names=True)
    counts = kgeval.count(np.column_stack([positive, negative]), np.zeros(len(positive), int))
    np.testing.assert_array_equal(counts.greater, expected["greater"])
    np.testing.assert_array_equal(counts.tied, expected["tied"])
    assert json.loads((folder / "expected.json").read_text())


def test_a_nan_is_refused_by_its_place():
    scores = np.array([[0.5, 0.1], [0.2, np.nan]], np.float32)
    for matrix in (scores, torch.from_numpy(scores), torch.from_numpy(scores).half(), np.asfortranarray(scores)):
        with pytest.raises(ScoreError, match=r"scores\[1, 1\] is NaN: a rank is undefined\. Use nan='worst'"):
            kgeval.count(matrix, [0, 0])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1.0, 2.0], [0]), {}, r"expected float\[triple, candidate\], found shape \[2\]"),
        (("text", [0]), {}, "dtype <U4; expected real numbers"),
        ((np.zeros((2, 3)), [0]), {}, r"1 of them, and 2 rows of scores\. Give rows="),
        ((np.zeros((2, 3)), [0, 3]), {}, r"targets\[1\] is 3, and the scores have columns 0 to 2"),
        ((np.zeros((2, 3)), [0, -1]), {}, r"targets\[1\] is -1"),
        ((np.zeros((2, 3)), [0.5, 1]), {}, "expected whole numbers in one dimension, found float64"),
        ((np.zeros((2, 3)), [0, 1]), {"rows": [0]}, "targets: 2 of them, and 1 rows"),
        ((np.zeros((2, 3)), [0]), {"rows": [2]}, r"rows\[0\] is 2, and the scores have rows 0 to 1"),
        ((np.zeros((2, 3)), [0, 1], np.zeros((2, 2), bool)), {}, r"expected bool\[2, 3\] or a pair"),
        ((np.zeros((2, 3)), [0, 1], np.zeros((2, 3))), {}, r"expected bool\[2, 3\] or a pair"),
        ((np.zeros((2, 3)), [0, 1], ([0, 1], [2])), {}, "expected 3 ascending numbers from 0 to 1"),
        ((np.zeros((2, 3)), [0, 1], ([0, 1, 1], [3])), {}, r"known columns\[0\] is 3"),
        ((np.zeros((2, 3)), [0, 1]), {"nan": "last"}, "unknown value 'last'"),
        ((torch.zeros(2, 3).to_sparse(), [0, 1]), {}, "expected a dense tensor, found layout torch.sparse_coo"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(arguments, options, message):
    with pytest.raises((InputError, ScoreError), match=message):
        kgeval.count(*arguments, **options)


def test_nothing_is_counted_of_nothing():
    assert len(kgeval.count(np.zeros((0, 3)), []).greater) == 0
    assert len(kgeval.count(torch.zeros(4, 3), [], rows=[]).tied) == 0


def test_known_answers_that_are_listed_twice_count_once():
    counts = kgeval.count(np.array([[0.5, 0.7, 0.9]]), [0], ([0, 3], [2, 2, 0]))
    assert [int(column[0]) for column in counts.columns] == [1, 0, 2]
