"""Kernels by themselves: candidates are counted above and inside any interval as their canonical scores are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgeval.data.queries import Rows
from kgeval.models.similarity import canonical
from kgeval.ranking.kernels import kernel
from kgeval.ranking.kernels.collectors import Spans
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from tests.ranking.test_kernels import COMPILED

torch = pytest.importorskip("torch")

from kgeval.ranking.kernels.device.device_kernel import DeviceKernel  # noqa: E402

KERNELS = {
    **{name: lambda name=name: kernel(name, block=3) for name in ("reference", "compiled", "float32", "bfloat16")},
    "device": lambda: DeviceKernel(torch.device("cpu"), 20_000),
}
QUERIES, ENTITIES, DIM = 7, 60, 6


def vectors(rng, shape, values):
    """Draw few values, so that many scores tie, or normal ones."""
    return rng.normal(size=shape) if values == 0 else rng.integers(-values, values + 1, shape).astype(float)


def drawn_intervals(rng, scores, widths):
    """Up to three intervals a query, around scores of its candidates; some are a point, some have no end."""
    offsets = np.r_[0, np.cumsum(rng.integers(0, 4, len(scores)))]
    owners = np.repeat(np.arange(len(scores)), np.diff(offsets))
    middles = scores[owners, rng.integers(0, scores.shape[1], len(owners))]
    below, above = (rng.choice(widths, len(owners)) for _ in range(2))
    return Spans(offsets, middles - below, middles + above)


def counts_of(rows, intervals):
    """Count by the definition; int64[answer, 2]."""
    pairs = zip(intervals.owners, intervals.lowest, intervals.highest, strict=True)
    found = [((row := rows[query]) > high, (row >= low) & (row <= high)) for query, low, high in pairs]
    return np.array([[above.sum(), inside.sum()] for above, inside in found], np.int64).reshape(-1, 2)


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=25, deadline=None)
@given(
    similarity=st.sampled_from(COMPILED),
    seed=st.integers(0, 2**16),
    values=st.sampled_from([0, 1, 3]),
    widths=st.sampled_from([[0.0], [0.0, 1e-12, 0.5], [3.0, np.inf]]),
    biased=st.booleans(),
)
def test_counts_are_those_of_canonical_scores(name, similarity, seed, values, widths, biased):
    rng = np.random.default_rng(seed)
    queries = QueryVectors(similarity, vectors(rng, (QUERIES, DIM), values), rng.integers(-1, 2, QUERIES) / 2)
    biases = biased * rng.integers(-1, 2, ENTITIES) / 4
    entities = EntityVectors(vectors(rng, (ENTITIES, DIM), values).astype(np.float32), biases)
    scores = canonical(similarity, queries.vectors[:, None], entities.vectors.astype(float))
    scores = scores + biases + queries.offsets[:, None]
    intervals, made = drawn_intervals(rng, scores, widths), KERNELS[name]()
    counted = made.count(queries, entities, intervals)
    assert (counted.counts == counts_of(scores, intervals)).all()
    assert not counted.undefined.any()

    lists = [rng.permutation(ENTITIES)[: rng.integers(0, 20)] for _ in range(QUERIES)]
    own, listed = Rows.of(lists), [scores[query, ids] for query, ids in enumerate(lists)]
    expected = counts_of(listed, intervals)
    for found in (
        made.count_own(queries, entities, own, intervals),
        made.count_known(queries, entities, own, intervals),
        made.count_scores(np.concatenate(listed), own.offsets[:-1], own.lengths, intervals),
    ):
        assert (found.counts == expected).all()
    assert made.scores(queries, entities, own).tobytes() == np.concatenate(listed).tobytes()
