"""Differences that are the same in all units, up to rounding, and those at the end of their range: no width of zero."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest

from kgeval import compare, evaluate, summarize
from tests.conftest import random_dataset
from tests.metrics.example_ranks import changed

DATA = random_dataset(3, entities=60, relations=30, triples=1400)
TABLE = evaluate(lambda h, r, t: (h * 5 + r * 3 + t * 11) % 13, DATA, entities=DATA.entities, relations=DATA.relations)
ROWS = len(TABLE)
TRIPLES = TABLE.num_triples


def ranked(greater):
    """The table with other ranks, none of them tied."""
    return changed(TABLE, greater=greater, tied=np.zeros(ROWS, np.int64))


FIRST, SECOND = ranked(np.zeros(ROWS, np.int64)), ranked(np.ones(ROWS, np.int64))


def test_all_against_none_has_the_interval_of_wilson_on_a_scale_from_minus_one_to_one():
    (pair,) = compare({"first": FIRST, "second": SECOND}, ["hits@1"]).pairs
    share = binomtest(TRIPLES, TRIPLES).proportion_ci(method="wilson").low
    assert (pair.interval.low, pair.interval.high) == pytest.approx((2 * share - 1, 1))
    assert (pair.interval.method, pair.detectable, pair.seen) == ("Wilson", None, "better")


@pytest.mark.parametrize("metric", ["mrr", "mr", "gmr"])
def test_a_difference_that_is_the_same_in_all_units_has_no_interval(metric):
    comparison = compare({"first": FIRST, "second": SECOND}, [metric])
    (pair,) = comparison.pairs
    assert (pair.interval, pair.detectable, pair.seen) == (None, None, "better")
    assert "the metric has the same value in " in pair.reason
    assert any(note.startswith(f"no interval: {metric}: ") for note in comparison.notes)
    assert metric in str(comparison)


def test_rounding_is_no_difference():
    """Within a relation, the same ranks in another order: their sums differ in the last digit."""
    relations = TABLE.column("relation")
    greater = np.random.default_rng(1).integers(0, 20, ROWS)
    turned = np.empty(ROWS, np.int64)
    turned[np.argsort(relations, kind="stable")] = greater[np.lexsort([-np.arange(ROWS), relations])]
    one, other = (np.bincount(relations, 1 / (1 + ranks)) for ranks in (greater, turned))
    assert 0 < np.abs(one - other).max() < 1e-14
    for pair in compare({"one": ranked(greater), "other": ranked(turned)}, ["mrr", "gmr"], intervals="relation").pairs:
        assert (pair.difference, pair.p, pair.interval) == (0, 1, None)
        assert "± 0.0000" not in pair.verdict


def test_rounding_is_no_scatter_of_a_bootstrap():
    """exp(mean of log 10) is 10 up to rounding, and so is the mean of 2,000 of them."""
    (group,) = summarize(ranked(np.full(ROWS, 9)), ["gmr"], intervals="triple").groups
    assert group.no_interval["both.gmr"].startswith("the metric has the same value in every bootstrap")


def test_an_interval_of_differences_ends_where_their_range_does():
    others = np.zeros(ROWS, np.int64)
    others[np.flatnonzero(TABLE.column("triple") == 0)] = 1
    comparison = compare({"none": SECOND, "nearly all": ranked(others)}, ["hits@1"])
    (pair,) = comparison.pairs
    assert (pair.interval.low, pair.interval.clipped) == (-1, True)


@pytest.mark.parametrize("factor", [1, 2**30, 2**57])
@pytest.mark.parametrize("unit", ["triple", "query", "relation"])
def test_rows_without_labels_are_joined_by_ids_however_large(factor, unit):
    def bare(table):
        for name in ("head", "relation", "tail"):
            labels = pa.nulls(len(table), table.data.schema.field(f"{name}_label").type)
            table = changed(table, **{name: table.column(name) * factor, f"{name}_label": labels})
        return table

    tables = {"first": TABLE, "other": ranked(np.random.default_rng(2).integers(0, 9, ROWS))}
    (pair,) = compare({name: bare(table) for name, table in tables.items()}, ["mrr"], intervals=unit, draws=99).pairs
    (labelled,) = compare(tables, ["mrr"], intervals=unit, draws=99).pairs
    assert (pair.units, pair.rows) == (labelled.units, labelled.rows)
    assert pair.interval.low == pytest.approx(labelled.interval.low)
