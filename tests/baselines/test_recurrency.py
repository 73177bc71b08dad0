"""Recurrency against plain loops over the past, and the slice of times that train has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgeval import Baseline, Dataset, annotate, evaluate, summarize
from kgeval.data.queries import Queries
from kgeval.errors import DatasetError
from tests.ranking.test_times import random_graph


@given(st.integers(0, 2**32 - 1), st.sampled_from(["head", "tail"]))
def test_scores_are_the_latest_earlier_times(seed, side):
    data = random_graph(seed, times=5)
    queries = Queries.of(data.test, side)
    scores = Baseline("recurrency").fit(data).scores(queries, np.arange(len(data.entities)))
    facts = list(zip(*data.train.ids.T.tolist(), data.train.contexts.tolist(), strict=True))
    for a, r, time, row in zip(queries.anchors, queries.relations, queries.contexts, scores, strict=True):
        for entity, score in enumerate(row):
            triple = (a, r, entity) if side == "tail" else (entity, r, a)
            assert score == max((1 + past for *fact, past in facts if tuple(fact) == triple and past < time), default=0)


def test_its_ranks_are_those_of_its_scores():
    data = random_graph(0, times=5)
    fitted = Baseline("recurrency").fit(data)
    table = evaluate(Baseline("recurrency"), data, filter=(), sides="tail")
    queries = Queries.per_triple(data.test, "tail")
    scores = fitted.scores(queries, np.arange(7))[np.argsort(queries.triples)]
    own = scores[np.arange(len(data.test)), data.test.tails][:, None]
    assert table.column("greater").tolist() == (scores > own).sum(axis=1).tolist()
    assert table.provenance.model == "baseline recurrency"


def test_a_graph_without_times_has_no_past(nations):
    with pytest.raises(DatasetError, match="dataset nations has no times, which baseline recurrency looks back in"):
        evaluate(Baseline("recurrency"), nations)
    table = evaluate(lambda h, r, t: h, nations)
    with pytest.raises(DatasetError, match="slice 'seen-time' needs times, and dataset nations has none"):
        annotate(table, nations, "seen-time")


def test_rows_are_divided_by_whether_train_has_their_time():
    train = [("a", "r", "b", "2014-01-01"), ("b", "r", "c", "2014-01-03")]
    test = [("c", "r", "b", "2014-01-04"), ("c", "r", "a", "2014-01-03"), ("a", "r", "c", "2014-01-02")]
    data = Dataset.from_labels(train=train, test=test)
    table = annotate(evaluate(lambda h, r, t: h + t, data), data, "seen-time")
    seen = dict(zip(table.column("time").tolist(), table.column("seen-time").tolist(), strict=True))
    assert seen == {"2014-01-02": "no", "2014-01-03": "yes", "2014-01-04": "no"}
    counts = summarize(table, ["count"], by="seen-time").to_frame()
    assert dict(zip(counts["seen-time"], counts["both.count"], strict=True)) == {"yes": 2, "no": 4}
    days = summarize(table, ["count"], by="time").to_frame()
    assert days["time"].tolist() == ["2014-01-02", "2014-01-03", "2014-01-04"]
