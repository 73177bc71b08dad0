"""The recorder: the table of an evaluation from batches in any order, of one process or two, in the model's own ids."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import kgeval
from kgeval import Recorder
from kgeval.base.errors import InputError, ScoreError
from tests.conftest import random_dataset
from tests.ranking.recorder.loops import batches, evaluated, score, scores_of


def stored(table, folder, name):
    table.to_parquet(folder / name)
    return (folder / name).read_bytes()


@pytest.mark.parametrize("sides", [("head", "tail"), "tail", ("head", "tail", "relation")])
def test_batches_in_any_order_give_the_table_of_an_evaluation_byte_for_byte(tmp_path, sides):
    data = random_dataset(5)
    recorder = Recorder(data, sides=sides, model="a model")
    table = evaluated(data, sides=sides)
    for side, rows in batches(len(data.test), table.provenance.sides, seed=1):
        recorder.update(data.test.ids[rows], scores_of(data, rows, side), side=side)
    assert stored(recorder.table(), tmp_path, "recorded") == stored(table, tmp_path, "evaluated")
    metrics = ["mrr", "hits@3"]
    assert recorder.compute(metrics).to_dict() == kgeval.summarize(table, metrics).to_dict()


@given(st.integers(0, 2**16), st.sampled_from([(), ("train",), ("train", "valid", "test")]))
@settings(max_examples=20)
def test_models_number_and_know_entities_as_they_like(seed, known):
    """The model's ids are in another order, and it knows entities that the graph does not have."""
    rng = np.random.default_rng(seed)
    data = random_dataset(seed % 7, entities=12, triples=60)
    own = rng.permutation([*range(12), -1, -2])[: 14 if seed % 2 else 12]
    own = rng.permutation(12) if len(set(own) & set(range(12))) < 12 else own
    labels = [data.entities[int(i)] if i >= 0 else f"foreign {i}" for i in own]
    relations = rng.permutation(len(data.relations))
    recorder = Recorder(
        data, filter=known, entities=labels, relations=[data.relations[int(i)] for i in relations], model="a model"
    )
    entity, relation = np.argsort(np.where(own < 0, 99, own)), np.argsort(relations)
    rows = np.arange(len(data.test))
    heads, kinds, tails = data.test.ids.T
    for side in ("head", "tail"):
        scores = np.where(own < 0, 99.0, scores_of(data, rows, side)[:, np.maximum(own, 0)])
        ids = np.stack([entity[heads], relation[kinds], entity[tails]], axis=1)
        recorder.update(torch.from_numpy(ids), torch.from_numpy(scores).half(), side=side)
    assert recorder.table().data.equals(evaluated(data, filter=known).data)


def test_entities_that_the_model_does_not_know_are_treated_as_an_evaluation_does():
    data = random_dataset(2, entities=12, triples=60)
    seen = np.unique(data.test.ids[:, [0, 2]])[1:]
    labels = [data.entities[int(i)] for i in seen]
    with pytest.raises(InputError, match="that the model does not know"):
        Recorder(data, entities=labels)
    recorder = Recorder(data, entities=labels, unseen="drop", model="a model")
    place = np.full(12, -1)
    place[seen] = np.arange(len(seen))
    rows = np.flatnonzero((place[data.test.ids[:, [0, 2]]] >= 0).all(axis=1))
    ids = data.test.ids[rows].copy()
    ids[:, [0, 2]] = place[ids[:, [0, 2]]]
    for side in ("head", "tail"):
        recorder.update(ids, scores_of(data, rows, side)[:, seen], side=side)

    def of_labels(h, r, t):
        return score(seen[h], r, seen[t])

    table = kgeval.evaluate(of_labels, data, entities=labels, relations=data.relations, unseen="drop")
    assert recorder.table().data.equals(table.data)
    assert recorder.table().competing == table.competing == len(seen)


def test_facts_at_a_time_are_told_apart_by_it():
    days = ["2014-01-01", "2014-01-02", "2014-01-03"]
    train = [("a", "r", "b", days[0]), ("a", "r", "c", days[0]), ("a", "r", "d", days[1])]
    test = [("a", "r", "b", days[1]), ("a", "r", "b", days[2])]
    data = kgeval.Dataset.from_labels(train=train, test=test)
    for times in ("time-aware", "static"):
        recorder = Recorder(data, sides="tail", times=times, model="a model")
        triples = np.column_stack([data.test.ids, data.test.contexts])
        recorder.update(triples[::-1], np.array([[0.1, 0.3, 0.7, 0.5], [0.5, 0.4, 0.7, 0.6]]), side="tail")

        def at_a_time(h, r, t, time):
            return np.where(time == 1, np.array([0.5, 0.4, 0.7, 0.6])[t], np.array([0.1, 0.3, 0.7, 0.5])[t])

        table = kgeval.evaluate(
            at_a_time, data, entities=data.entities, relations=data.relations, sides="tail", times=times
        )
        assert recorder.table().data.equals(table.data)
    with pytest.raises(InputError, match=r"expected int\[triple, 4\], head, relation, tail, time; found int64\[2, 3\]"):
        recorder.update(data.test.ids, np.zeros((2, 4)), side="tail")


def test_several_splits_are_recorded_as_one():
    data = random_dataset(5)
    recorder = Recorder(data, split=["valid", "test"], sides="tail", model="a model")
    for split in ("test", "valid"):
        h, r, _ = data.split(split).ids.T
        recorder.update(data.split(split).ids, score(h[:, None], r[:, None], np.arange(30)), side="tail")
    assert recorder.table().data.equals(evaluated(data, split=["valid", "test"], sides="tail").data)


def test_what_is_missing_is_named_and_what_comes_again_is_refused():
    data = random_dataset(5)
    recorder = Recorder(data)
    with pytest.raises(InputError, match="nothing was recorded"):
        recorder.table()
    first, rows = data.test.ids[:7], np.arange(7)
    recorder.update(first, scores_of(data, rows, "tail"), side="tail")
    table = recorder.table()
    expected = 2 * len(data.test)
    assert (len(table), table.missing) == (7, expected - 7)
    assert f"not recorded: {expected - 7} ranks of {expected}." in table.notes
    assert repr(recorder) == f"Recorder(7 of {expected} ranks)"
    for again in (first[3:4], np.concatenate([data.test.ids[7:9], data.test.ids[8:9]])):
        with pytest.raises(InputError, match=r"the tail of \(e\d+, r\d+, e\d+\) was already recorded"):
            recorder.update(again, np.zeros((len(again), 30)), side="tail")
    assert len(recorder.table()) == 7
    recorder.reset()
    recorder.update(first, scores_of(data, rows, "tail"), side="tail")
    assert len(recorder.table()) == 7


def test_a_triple_that_the_split_repeats_may_come_as_often():
    data = kgeval.Dataset.from_labels(train=[("a", "r", "b")], test=[("b", "r", "a"), ("b", "r", "a"), ("a", "r", "a")])
    recorder = Recorder(data, sides="tail")
    ids = data.test.ids[[0, 1, 0]]
    recorder.update(ids, np.array([[0.5, 0.1], [0.5, 0.1], [0.5, 0.1]]), side="tail")
    assert len(recorder.table()) == 2
    assert recorder.table().column("multiplicity").tolist() == [2, 1]
    with pytest.raises(InputError, match="was already recorded"):
        recorder.update(ids[:1], np.zeros((1, 2)), side="tail")


@pytest.mark.parametrize(
    ("triples", "scores", "side", "message"),
    [
        ([[0, 0, 99]], np.zeros((1, 30)), "tail", r"triples\[0\] names entity 99, and the model's ids are 0 to 29"),
        ([[0, 9, 1]], np.zeros((1, 30)), "tail", r"triples\[0\] names relation 9, and the model's ids are 0 to 3"),
        ([[0, 0]], np.zeros((1, 30)), "tail", r"expected int\[triple, 3\], head, relation, tail; found int64\[1, 2\]"),
        ([[0.5, 0, 1]], np.zeros((1, 30)), "tail", r"found float64\[1, 3\]"),
        (None, np.zeros((1, 29)), "tail", r"scores: expected float\[triple, 30\], found shape \[1, 29\]"),
        (None, np.zeros((2, 30)), "tail", "1 triples, but 2 rows of scores"),
        (None, np.zeros(30), "tail", r"expected float\[triple, 30\], found shape \[30\]"),
        (None, np.zeros((1, 30)), "tails", "side: 'tails' is not recorded. Did you mean 'tail'"),
        (None, np.zeros((1, 30)), "relation", "side: 'relation' is not recorded"),
    ],
)
def test_a_batch_that_does_not_fit_is_one_clear_error(triples, scores, side, message):
    data = random_dataset(5)
    recorder = Recorder(data)
    with pytest.raises((InputError, ScoreError), match=message):
        recorder.update(np.array(data.test.ids[:1] if triples is None else triples), scores, side=side)
    assert repr(recorder).startswith("Recorder(0 of")


def test_triples_of_another_split_and_nan_are_named():
    data = random_dataset(5)
    recorder = Recorder(data)
    with pytest.raises(InputError, match=r"triples\[1\], \(e\d+, r\d+, e\d+\), is not a test triple of dataset random"):
        recorder.update(np.stack([data.test.ids[0], data.train.ids[0]]), np.zeros((2, 30)), side="tail")
    scores = np.zeros((1, 30), np.float32)
    scores[0, 17] = np.nan
    with pytest.raises(ScoreError, match=r"the model's score is NaN for \(e\d+, r\d+, \?\), candidate e0017"):
        recorder.update(data.test.ids[:1], scores, side="tail")
    worst = Recorder(data, nan="worst")
    worst.update(data.test.ids[:1], scores, side="tail")
    assert len(worst.table()) == 1


def test_arguments_are_checked_as_those_of_an_evaluation():
    with pytest.raises(InputError, match=r"(?s)split.*tset"):
        Recorder("nations", split="tset")
    with pytest.raises(InputError, match="two ids carry the entity label 'a'"):
        Recorder("nations", entities=["a", "a"])
