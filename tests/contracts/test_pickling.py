"""Results go to other processes by pickle, and a model that has a recorder or a protocol is copied with it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import kgeval
from kgeval.metrics.metric import metrics
from kgeval.metrics.names import parse
from tests.conftest import random_dataset
from tests.ranking.recorder.loops import score, scores_of


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("again", [pickled, copy.deepcopy], ids=["pickled", "copied"])
def test_a_summary_is_the_same_elsewhere(again):
    table = kgeval.evaluate(score, random_dataset())
    names = ["mrr", "hits@3", "hits@3_10", "macro.mr", "head.amri", "ndcg@5"]
    for summary in (kgeval.summarize(table, names, intervals="triple"), kgeval.summarize(table)):
        there = again(summary)
        assert (str(there), there.flat()) == (str(summary), summary.flat())
    labels = kgeval.summarize(kgeval.classify(score, random_dataset()))
    assert str(again(labels)) == str(labels)


@pytest.mark.parametrize("needs", ["ranks", "lists", "labels", "confidences"])
def test_a_metric_of_the_registry_stays_itself(needs):
    every = metrics(needs)
    assert all(pickled(metric) is copy.deepcopy(metric) is metric for metric in every.values())
    if "hits" in every:
        for name in ("hits@3_10", "ndcg-original", "dcg-exp-log1.5@4", "iprec@0.10"):
            metric = parse(name).metric
            assert pickled(metric) is copy.deepcopy(metric) is metric


def test_a_metric_of_ones_own_is_pickled_by_its_function():
    mine = kgeval.Metric("mine", "mine", "n", "—", lowest=0, highest=9, increasing=None, compute=max)
    there = pickled(mine)
    assert (there.name, there.compute) == (mine.name, max)
    named_alike = kgeval.Metric("mrr", "mine", "n", "—", lowest=0, highest=9, increasing=None, compute=max)
    assert pickled(named_alike).compute is max


@pytest.mark.parametrize("again", [pickled, copy.deepcopy], ids=["pickled", "copied"])
def test_a_recorder_goes_on_elsewhere(again):
    data, rows = random_dataset(), np.arange(7)
    here = kgeval.Recorder(data, sides="tail")
    here.update(data.test.ids[rows], scores_of(data, rows, "tail"), side="tail")
    there = again(here)
    rest = np.arange(7, len(data.test))
    there.update(data.test.ids[rest], scores_of(data, rest, "tail"), side="tail")
    assert (len(here.table()), there.table().missing) == (7, 0)
    assert there.compute("mrr")["mrr"] == kgeval.summarize(kgeval.evaluate(score, data, sides="tail"), "mrr")["mrr"]


def test_a_protocol_is_pickled():
    strict = kgeval.Protocol(name="strict", summary="ties count against the answer", ties="pessimistic")
    assert pickled(strict) == copy.deepcopy(strict) == strict
