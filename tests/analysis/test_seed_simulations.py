"""Simulations of seeds × triples: the size of the test and the intervals, naive ones beside them, and their formulas.

``scripts/simulate`` draws 10,000 times in 27 cells; here a few cells are drawn 600 times.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from kgeval import RankTable
from kgeval.metrics import interval_over_seeds
from kgeval.ranking.rank_table import SCHEMA
from scripts.simulation.__main__ import held, rejected
from scripts.simulation.design import ENTITIES, Cell
from scripts.simulation.methods import random_effects
from tests.analysis.over_seeds import seed_differences

DRAWS = 600

THREE = 3 / np.sqrt(DRAWS)
"""three standard errors of a share, but for √(p (1 − p))"""


def error_of(share):
    return THREE * np.sqrt(share * (1 - share))


@pytest.mark.parametrize("effect", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("runs", [3, 5])
def test_intervals_and_tests_over_seeds_hold_and_naive_ones_do_not(runs, effect):
    cell = Cell((runs, runs), (effect, effect), triples=200)
    inside, outside = held(cell, DRAWS), rejected(cell, DRAWS)
    assert inside["kgeval"] == pytest.approx(0.95, abs=0.015 + error_of(0.95))
    assert outside["kgeval"] == pytest.approx(0.05, abs=0.012 + error_of(0.05))
    assert inside["rows"] < 0.9 - error_of(0.9)
    if effect:
        assert outside["triples only"] > 0.1 + error_of(0.1)
    else:
        assert inside["seeds only"] < 0.8 - error_of(0.8)
        assert outside["seeds only"] > 0.08 + error_of(0.08)


def test_a_baseline_without_seeds_is_compared_too():
    assert rejected(Cell((3, 1), (3.0, 0.0), triples=200), DRAWS)["kgeval"] == pytest.approx(
        0.05, abs=0.012 + error_of(0.05)
    )


def table_of(ranks):
    """A rank table of int64[triple, side]."""
    triples = np.repeat(np.arange(len(ranks)), 2)
    label = pa.array(triples.astype(str)).dictionary_encode()
    greater, none = ranks.ravel() - 1, np.zeros(ranks.size, np.int64)
    columns = dict.fromkeys(("triple", "head", "relation", "tail"), triples)
    columns |= dict.fromkeys(("head_label", "relation_label", "tail_label"), label)
    columns |= {"side": pa.array(["head", "tail"] * len(ranks)).dictionary_encode(), "score": -1.0 * greater}
    for prefix in ("", "raw_"):
        columns |= {f"{prefix}greater": greater, f"{prefix}tied": none, f"{prefix}candidates": none + ENTITIES}
    return RankTable(pa.table([pa.array(columns[name]) for name in SCHEMA.names], names=SCHEMA.names).cast(SCHEMA))


@pytest.mark.parametrize("metric", ["mrr", "hits@10"])
@pytest.mark.parametrize("seeds", [(3, 3), (3, 5), (3, 1)])
def test_the_formulas_of_the_simulation_are_those_of_the_package(metric, seeds):
    cell = Cell(seeds, (1.0, 0.0), metric, triples=120)
    (ranks,), (means, covariance) = cell.draws(1), cell.statistics(1)
    runs, first = [table_of(own) for own in ranks], seeds[0]
    models = {"a": runs[:first], "b": runs[first:]}
    (pair,) = seed_differences(models, [metric], baselines=["b"] if seeds[1] == 1 else [])
    alone = interval_over_seeds(runs[:first], metric)
    assert pair.difference == pytest.approx(means[0, :first].mean() - means[0, first:].mean())
    for interval, *part in (
        (pair.interval, means, covariance, seeds),
        (alone.interval, means[:, :first], covariance[:, :first, :first], (first,)),
    ):
        (variance,), (degrees,) = random_effects(*part, cell.triples)
        assert interval.standard_error == pytest.approx(np.sqrt(variance))
        assert interval.high - interval.low == pytest.approx(2 * stats.t.ppf(0.975, degrees) * np.sqrt(variance))
