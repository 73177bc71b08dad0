"""Simulations: how often intervals hold the value of the population that the triples or relations came from.

The population is made: 20,000 triples of 1,000 relations, with effects of relations and triples on both sides' ranks.
Runs are simulated in ``tests/analysis/test_seed_simulations.py``.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from kgeval.metrics.names import parse
from kgeval.metrics.selection import RowSelection, TableView
from scripts.simulation.made import CANDIDATES, RELATIONS, Made, effects, intervals_of, ranked, value_of
from tests.simulated import draws, error

TRIPLES, DRAWS = 20_000, draws(400)


made = partial(Made, candidates=CANDIDATES)


@pytest.fixture(scope="module")
def population():
    rng = np.random.default_rng(11)
    relations, hardness = effects(rng, TRIPLES)
    return relations, ranked(rng, hardness)


def share_held(name, population, draws, unit, naive=False, asymptotic=0.85):
    """How many of the draws have an interval that holds the truth; draws are (triple, unit) of each, by draw."""
    ranks = population[1]
    triples, units, groups = draws
    rows = np.arange(2 * len(triples))
    # Naive: each row is a unit of its own.
    further = {"triple": rows} if naive else {}
    table = made(np.arange(len(triples)), units, ranks[triples], further=further)
    of_rows = np.repeat(groups, 2)
    if name.side:
        of_side = table.column("side") == name.side
        rows, of_rows = rows[of_side], of_rows[of_side]
    selection = RowSelection(TableView(table), rows, of_rows)
    _, intervals, held = intervals_of(name, selection, value_of(name, made(np.arange(TRIPLES), *population)), unit)
    assert np.mean([interval.method != "bounded mean" for interval in intervals]) > asymptotic
    return held


@pytest.fixture(scope="module")
def drawn_relations(population):
    """Draws of 50 relations, of 1,000 triples on average."""
    rng = np.random.default_rng(6)
    relations = population[0]
    order, sizes = np.argsort(relations, kind="stable"), np.bincount(relations, minlength=RELATIONS)
    chosen = rng.integers(0, RELATIONS, DRAWS * 50)
    starts = (np.cumsum(sizes) - sizes)[chosen]
    counts = sizes[chosen]
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    units = np.repeat(np.arange(len(chosen)), counts)
    return order[np.repeat(starts, counts) + places], units, units // 50


@pytest.mark.parametrize("metric", ["mrr", "hits@10", "tail.hits@3"])
def test_intervals_hold_the_truth_when_relations_are_resampled(metric, population, drawn_relations):
    name = parse(metric)
    # Where few of the fifty relations carry a metric, its interval is that of a bounded mean: rather wide than narrow.
    held = share_held(name, population, drawn_relations, "relation")
    assert held == pytest.approx(0.95, abs=error(0.95, DRAWS))
    assert share_held(name, population, drawn_relations, "triple") < 0.8
    assert share_held(name, population, drawn_relations, "triple", naive=True) < 0.7


@pytest.mark.parametrize("unit", ["triple", "relation"])
def test_a_mean_over_relations_has_a_wide_interval_if_triples_are_drawn(unit):
    """Its weights are taken as they are, so that the interval has the scatter of the relations too (the guide says)."""
    rng, name = np.random.default_rng(11), parse("relation.mrr")
    relations = rng.choice(30, TRIPLES, p=np.arange(30, 0, -1) / 465)
    ranks = ranked(rng, 1.2 * rng.normal(size=30)[relations] + rng.normal(size=TRIPLES))
    true = value_of(name, made(np.arange(TRIPLES), relations, ranks), "relation")
    chosen, draws = rng.integers(0, TRIPLES, (400, 1_000)), np.repeat(np.arange(400), 2_000)
    table = made(np.arange(chosen.size), relations[chosen.ravel()], ranks[chosen.ravel()])
    selection = RowSelection(TableView(table), np.arange(2 * chosen.size), draws)
    values, intervals, held = intervals_of(name, selection, true, unit, "relation")
    errors = np.mean([interval.standard_error for interval in intervals])
    assert held == pytest.approx(0.98, abs=0.02) if unit == "triple" else held == 1  # the relations are always the same
    assert errors > (1.2 if unit == "triple" else 3) * values.std()


def test_mean_ranks_of_fifty_relations_are_held_too(population, drawn_relations):
    """A few relations with very long ranks make the mean: Student's interval, which takes no notice, holds .92."""
    assert share_held(parse("amri"), population, drawn_relations, "relation", asymptotic=0) > 0.95 - error(0.95, DRAWS)
