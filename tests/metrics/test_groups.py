"""Metrics of many groups at once against those of each group's rows as a table of their own."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kgeval import summarize
from kgeval.metrics.metric import OfGroups
from kgeval.metrics.ranks.ties import tie_policies
from tests.metrics.example_ranks import CUTOFF, HASHED, METRICS, OF_LISTS, changed, of_key

TABLE = HASHED


def with_certain_ranks(table):
    """Many answers without a competitor, or with few: indices are undefined in some groups, lists in others."""
    rng = np.random.default_rng(5)
    some = rng.random(len(table)) < 0.7
    greater = np.where(some, 0, table.column("greater"))
    tied = np.where(some, 0, table.column("tied"))
    return changed(table, greater=greater, tied=tied, candidates=greater + tied + 1 + rng.integers(0, 2, len(table)))


TABLES = {"ordinary": TABLE, "certain": with_certain_ranks(TABLE), "tails": TABLE.where(TABLE.column("side") == "tail")}


def names():
    spelled = [f"{name}@{CUTOFF[name]}" if CUTOFF[name] else name for name in METRICS]
    averaged = [name for name in spelled if METRICS[name.partition("@")[0]].averaged]
    return [*spelled, *(f"{average}.{name}" for name in averaged for average in ("macro", "relation"))]


RULES = [*((ties, "exact") for ties in tie_policies()), ("realistic", "without-answer")]
"""how ties are broken, and what chance is"""

KEYS = [("relation",), ("tail",), ("head", "side")]

SQUARE = [
    (table, KEYS[(row + column) % 3], *RULES[row]) for row in range(len(RULES)) for column, table in enumerate(TABLES)
]
"""every two of table, keys and rules once at least"""


@pytest.mark.parametrize(("table", "by", "ties", "chance"), SQUARE)
def test_a_group_is_the_table_of_its_rows(table, by, ties, chance):
    table = TABLES[table]
    summary = summarize(table, names(), by=by, ties=ties, chance=chance, seed=3)
    assert len({tuple(group.key.values()) for group in summary.groups}) == len(summary.groups)
    for group in summary.groups[:: 1 + len(summary.groups) // 2]:
        (alone,) = summarize(table.where(of_key(table, group.key)), names(), ties=ties, chance=chance, seed=3).groups
        assert group.ties == alone.ties
        if "side" in by:  # the key says it: a group of one side has its metrics once, without a side
            named = {replace(name, side=None): value for name, value in alone.records.items()}
            alone = replace(alone, records={name: value._replace(metric=name) for name, value in named.items()})
            assert set(group.values) == set(alone.values)
        for name, value in alone.values.items():
            assert group.values[name] == (value if value is None else pytest.approx(value, rel=1e-12)), name
        there = set(map(str, alone.values))  # a group may lack a side that the table has
        assert {name: why for name, why in group.undefined.items() if name in there} == alone.undefined


def test_popularity_is_that_of_the_whole_table_in_every_group():
    frame = TABLE.to_pandas()
    entities, relations = Counter([*frame["head"], *frame["tail"]]), Counter(frame["relation"])
    answers = frame["tail"].where(frame["side"] == "tail", frame["head"])
    frame["weight"] = [entities[e] ** -0.5 / relations[r] ** 2 for e, r in zip(answers, frame["relation"], strict=True)]
    summary = summarize(TABLE, ["strat.mr"], by="tail", popularity=(0.5, 2))
    for group in summary.groups:
        mine = frame[frame["tail_label"] == group.key["tail"]]
        expected = np.average(1 + mine["greater"] + mine["tied"] / 2, weights=mine["weight"])
        assert next(iter(group.values.values())) == pytest.approx(expected, rel=1e-12)


def test_what_is_asked_for_most_is_computed_for_all_groups_at_once():
    fast = {name for name, metric in METRICS.items() if isinstance(metric.compute, OfGroups)}
    assert fast == {"count", "mr", "mrr", "hits", "amr", "amri", "amrr", "ahits", "imr", "hmr", *OF_LISTS}
