"""What the tests of metrics share: a table, ranks by value, random ranks, and the metrics by what they need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from kgeval import CallableScorer, evaluate
from kgeval.metrics.metric import metrics
from kgeval.metrics.ranks.ranks import Ranks
from tests.conftest import random_dataset

METRICS = metrics()
OF_RANKS = [name for name, metric in METRICS.items() if metric.needs == "ranks"]
OF_LISTS = [name for name, metric in METRICS.items() if metric.needs == "lists"]
CUTOFF = {name: 0 if metric.cutoff == "none" else 3 for name, metric in METRICS.items()}


HASHED = evaluate(CallableScorer(lambda h, r, t: (h * 5 + r * 3 + t * 11) % 7, 30, 4), random_dataset(13))


def near(value):
    return pytest.approx(value, rel=1e-13, abs=1e-15)


def of_key(table, key):
    """Whether each row of a table is in the group with a key."""
    frame = table.to_pandas()
    columns = {name: name if name == "side" else f"{name}_label" for name in key}
    return np.all([np.ones(len(table), bool), *((frame[columns[n]] == v).to_numpy() for n, v in key.items())], axis=0)


def shuffled(table, seed=0):
    return replace(table, data=table.data.take(np.random.default_rng(seed).permutation(len(table))))


def changed(table, **columns):
    """The table with other values in some of its columns."""
    data = table.data
    for name, values in columns.items():
        data = data.set_column(data.column_names.index(name), name, [values])
    return replace(table, data=data)


def ranks(values, candidates=None, weights=None):
    """Ranks without ties."""
    greater = np.asarray(values, np.int64) - 1
    candidates = greater + 1 if candidates is None else np.asarray(candidates)
    return Ranks(greater, np.zeros_like(greater), candidates, weights=weights)


def tied_ranks(rng, count, *, tied=4, below=5):
    greater, level = rng.integers(0, 20, count), rng.integers(0, tied, count)
    return Ranks(greater, level, greater + level + 1 + rng.integers(0, below, count))


@st.composite
def some_ranks(draw, most=8):
    rows = st.tuples(st.integers(0, 12), st.integers(0, 5), st.integers(0, 9), st.floats(0.1, 5))
    greater, tied, below, weights = map(np.array, zip(*draw(st.lists(rows, min_size=1, max_size=most)), strict=True))
    weighted = weights if draw(st.booleans()) else None
    return Ranks(greater, tied, greater + tied + below + 1, weights=weighted)
