"""What the tests of metrics share: ranks by value, random ranks, and the metrics by what they need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from kgeval.metrics.metric import metrics
from kgeval.metrics.ranks.ranks import Ranks

METRICS = metrics()
OF_RANKS = [name for name, metric in METRICS.items() if metric.needs == "ranks"]
OF_LISTS = [name for name, metric in METRICS.items() if metric.needs == "lists"]
CUTOFF = {name: 0 if metric.cutoff == "none" else 3 for name, metric in METRICS.items()}


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
