"""The slices by what the history has before the time of a query, against loops over the past."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval import Dataset, annotate, evaluate
from kgeval.base.errors import DatasetError
from tests.ranking.test_times import random_graph

HISTORIES = ("train", "train+valid", "observed")


def add(heads, relations, tails):
    return heads + tails


@pytest.mark.parametrize("history", HISTORIES)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**16), sides=st.sampled_from([("head", "tail"), ("tail", "relation")]))
def test_rows_are_divided_by_loops_over_the_past(history, seed, sides):
    data = random_graph(seed, times=12)
    table = annotate(evaluate(add, data, history=history, sides=sides), data, ["recurrence", "last-time"])
    names = data.splits if history == "observed" else history.split("+")
    facts = {tuple(fact) for name in names for fact in data.split(name)}
    names = ("head", "relation", "tail", "side", "recurrence", "last-time", "time")
    columns = (table.column(name).tolist() for name in names)
    for h, r, t, side, recurrence, last, label in zip(*columns, strict=True):
        now = data.times.labels.to_pylist().index(label)
        past = [fact for fact in facts if fact[3] < now]
        held = [k for *fact, k in past if fact == [h, r, t]]
        query = any((b, q) == (h, r) if side == "tail" else (q, p) == (r, t) for b, q, p, _ in past)
        expected = "fact" if held else "query only" if query else "neither"
        assert recurrence == (expected if side != "relation" else "relation side")
        age = now - max(held) if held else None
        assert last == ("never" if age is None else "1" if age == 1 else "2–7" if age < 8 else "8–30")


def test_ages_are_counted_in_snapshots():
    days = [f"day {day:03}" for day in range(150)]
    ages = (30, 31, 100, 101)
    train = [*(("x", "r", "y", day) for day in days), *(("a", "r", f"b{age}", days[149 - age]) for age in ages)]
    data = Dataset.from_labels(train=train, test=[("a", "r", f"b{age}", days[149]) for age in ages])
    table = annotate(evaluate(add, data, sides="tail"), data, "last-time")
    bins = dict(zip(table.column("tail_label").tolist(), table.column("last-time").tolist(), strict=True))
    assert bins == {"b30": "8–30", "b31": "31–100", "b100": "31–100", "b101": "over 100"}


def test_the_history_that_is_not_said_is_noted(nations):
    data = random_graph(0)
    unsaid = evaluate(add, data)
    table = annotate(unsaid, data, ["recurrence", "seen-time"])
    observed = annotate(evaluate(add, data, history="observed"), data, "recurrence")
    assert np.array_equal(table.column("recurrence"), observed.column("recurrence"))
    (note,) = set(table.notes) - set(unsaid.notes)
    assert note.startswith("recurrence: by all facts before a query's time, of any split: the ranks do not say")
    assert not any("any split" in note for note in observed.notes)
    with pytest.raises(DatasetError, match="slice 'last-time' needs times, and dataset nations has none"):
        annotate(evaluate(add, nations), nations, "last-time")
