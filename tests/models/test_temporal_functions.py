"""Functions and modules that score facts at a time: those of TComplEx's formula rank as TComplEx does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kgeval import CallableScorer, Dataset, QueryScorer, evaluate, explain, predict, summarize
from kgeval.base.errors import InputError, UsageError
from kgeval.models.families.complex import TComplEx

RNG = np.random.default_rng(0)
ROWS = [
    (f"e{a}", f"r{r}", f"e{b}", f"2014-01-{1 + t:02}") for a, r, b, t in RNG.integers(0, (9, 2, 9, 4), (90, 4)).tolist()
]
DATA = Dataset.from_labels(train=ROWS[:40], test=ROWS[40:])
STATIC = Dataset.from_labels(train=[row[:3] for row in ROWS[:40]], test=[("e0", "r0", "e1")])
# Small whole numbers: every order of a sum gives the same score, and there are ties.
ARRAYS = {
    name: RNG.integers(-2, 3, (rows, 6)).astype(float) for name, rows in (("entity", 9), ("relation", 2), ("time", 4))
}
MODEL = TComplEx(**ARRAYS)
KNOWN = (DATA.entities, DATA.relations, DATA.times)
COUNTS = ["side", "triple", "greater", "tied", "candidates", "time"]


def complexes(array):
    return array[..., :3] + 1j * array[..., 3:]


def score(heads, relations, tails, times):
    entity, relation, time = (complexes(ARRAYS[name]) for name in ("entity", "relation", "time"))
    return (entity[heads] * relation[relations] * time[times] * entity[tails].conj()).sum(-1).real


def of_queries(anchors, relations, side, times):
    everyone = np.arange(9)[None]
    pair = (anchors[:, None], everyone) if side == "tail" else (everyone, anchors[:, None])
    return score(pair[0], relations[:, None], pair[1], times[:, None])


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        tables = {name: torch.nn.Embedding.from_pretrained(torch.tensor(table)) for name, table in ARRAYS.items()}
        self.tables = torch.nn.ModuleDict(tables)

    def forward(self, heads, relations, tails, timestamp=None):
        names = ("entity", "relation", "entity", "time")
        looked_up = map(lambda name, ids: self.tables[name](ids), names, (heads, relations, tails, timestamp))
        h, r, t, time = (torch.complex(*rows.chunk(2, -1)) for rows in looked_up)
        return (h * r * time * t.conj()).sum(-1).real


@pytest.mark.parametrize("times", ["time-aware", "static"])
@pytest.mark.parametrize("model", [score, Module(), QueryScorer(of_queries), CallableScorer(score, 9, 2)])
def test_a_function_of_times_ranks_as_the_family_of_its_formula(model, times):
    expected = evaluate(MODEL, DATA, times=times)
    assert evaluate(model, DATA, times=times).to_pandas()[COUNTS].equals(expected.to_pandas()[COUNTS])


@pytest.mark.parametrize("kind", [CallableScorer, QueryScorer])
def test_times_may_have_labels_of_their_own_order(kind):
    order = RNG.permutation(4)
    function = score if kind is CallableScorer else of_queries
    model = kind(lambda a, r, b, t: function(a, r, b, order[t]), 9, 2, times=[DATA.times[int(i)] for i in order])
    assert evaluate(model, DATA).to_pandas()[COUNTS].equals(evaluate(MODEL, DATA).to_pandas()[COUNTS])
    unknown = kind(function, 9, 2, times=["2014-01-01", "1999-01-01"])
    with pytest.raises(InputError, match="that the model does not know"):
        evaluate(unknown, DATA)
    assert {*evaluate(unknown, DATA, unseen="drop").column("time")} == {"2014-01-01"}


def plain(function):
    return function


@pytest.mark.parametrize("wrap", [plain, CallableScorer, QueryScorer])
def test_own_times_are_labelled_or_told_of(wrap):
    """Own entity and relation ids with labels, own times without any: never in silence."""
    orders = {name: np.roll(np.arange(len(ARRAYS[name])), 1) for name in ARRAYS}  # a random order may be the own one
    entity, relation, time = orders.values()
    labels = [[known[int(row)] for row in order] for known, order in zip(KNOWN, orders.values(), strict=True)]
    entities, relations, times = labels
    if wrap is QueryScorer:

        def own(anchors, relations, side, times):
            return of_queries(entity[anchors], relation[relations], side, time[times])[:, entity]
    else:

        def own(heads, relations, tails, times):
            return score(entity[heads], relation[relations], entity[tails], time[times])

    model = wrap(own) if wrap is plain else wrap(own, 9, 2)
    named = {"entities": entities, "relations": {label: row for row, label in enumerate(relations)}}
    expected = evaluate(MODEL, DATA)
    table = evaluate(model, DATA, **named, time_labels={label: row for row, label in enumerate(times)})
    assert table.to_pandas()[COUNTS].equals(expected.to_pandas()[COUNTS])
    assert not any("taken as" in note for note in table.notes)
    found = predict(model, DATA, k=3, **named, time_labels=times).to_pandas()
    assert found[["entity", "score"]].equals(predict(MODEL, DATA, k=3).to_pandas()[["entity", "score"]])
    assert explain(model, DATA, ["libkge"], **named, time_labels=times).standard == summarize(expected)["mrr"]
    silent = evaluate(model, DATA, **named)
    assert "the model has no time labels; its time ids were taken as those of dataset labels." in silent.notes
    assert not silent.to_pandas()[COUNTS].equals(expected.to_pandas()[COUNTS])


def test_what_labels_no_time_is_refused():
    with pytest.raises(InputError, match=r"times: expected 'time-aware' or 'static'.*use time_labels"):
        evaluate(score, DATA, times={"2014-01-01": 0})
    with pytest.raises(InputError, match=r"time_labels: the model has no times"):
        evaluate(lambda h, r, t: h, DATA, time_labels=list(DATA.times))
    with pytest.raises(InputError, match=r"the model has its own time labels, and time_labels= has others"):
        evaluate(CallableScorer(score, 9, 2, times=list(DATA.times)), DATA, time_labels=["1", "2", "3", "4"])


def test_predictions_are_at_the_time_of_their_query():
    found, expected = (predict(model, DATA, k=3).to_pandas() for model in (score, MODEL))
    assert found.equals(expected)
    first = found[found["place"] == 1]
    assert len(first) == len({(row.side, row.anchor, row.relation, row.time) for row in first.itertuples()})
    assert len(first) > len({(row.side, row.anchor, row.relation) for row in first.itertuples()})


def test_queries_may_name_a_time():
    whole = predict(MODEL, DATA, k=2).to_pandas()
    first = whole[(whole["side"] == "tail") & (whole["place"] == 1)].iloc[:5]
    queries = [(row.anchor_label, row.relation_label, "?", row.time) for row in first.itertuples()]
    found = predict(MODEL, DATA, k=2, queries=queries).to_pandas()
    names = ["anchor", "relation", "place", "entity", "score", "greater", "tied", "candidates", "time"]
    expected = whole[whole["query"].isin(first["query"])]
    assert found[names].reset_index(drop=True).equals(expected[names].reset_index(drop=True))
    with pytest.raises(InputError, match="needs the time of each query"):
        predict(MODEL, DATA, queries=[query[:3] for query in queries])
    with pytest.raises(InputError, match=r"it has 3 parts, and the first query 4"):
        predict(MODEL, DATA, queries=[queries[0], queries[0][:3]])
    with pytest.raises(InputError, match=r"unknown time '1999'"):
        predict(MODEL, DATA, queries=[("e0", "r0", "?", "1999")])
    with pytest.raises(InputError, match="the queries have a time, and the facts of labels have none"):
        predict(lambda h, r, t: h + t, STATIC, queries=queries)


def test_a_graph_without_times_has_none_to_give():
    for model in (score, QueryScorer(of_queries)):
        with pytest.raises(InputError, match=r"the model needs the time of each query.*it is the fourth column"):
            evaluate(model, STATIC)
    with pytest.raises(UsageError, match=r"the model scores facts with a time, and the triples of dataset"):
        evaluate(CallableScorer(score, 9, 2, times=list(DATA.times)), STATIC)
    with pytest.raises(InputError, match=r"cannot be called as f\(heads, relations, tails, times\)"):
        evaluate(lambda h, r, t, time, more: h, DATA)


def test_a_fourth_parameter_of_another_name_is_left_alone():
    table = evaluate(lambda h, r, t, scale=1: (h + r + t) * scale, DATA)
    assert table.column("score").tolist() == DATA.test.ids.sum(axis=1).tolist() * 2


def test_a_time_with_a_default_is_left_out_where_facts_have_none():
    def of_three(heads, relations, tails, time=None):
        return heads + relations + tails if time is None else time

    def of_two(anchors, relations, side, time=None):
        known = anchors if time is None else time
        return np.broadcast_to(known[:, None], (len(anchors), len(STATIC.entities)))

    static = evaluate(lambda h, r, t: h + r + t, STATIC)
    assert evaluate(of_three, STATIC).data.equals(static.data)
    assert evaluate(of_three, DATA).column("score").tolist() == DATA.test.contexts.tolist() * 2
    at_no_time = evaluate(QueryScorer(of_two), STATIC)
    assert at_no_time.column("score").tolist() == [*STATIC.test.tails, *STATIC.test.heads]
