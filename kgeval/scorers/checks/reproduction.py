"""Whether a formula gives the scores of a live model: compared on a sample of queries and candidates."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.scorers.scorer import Scorer, VectorScorer

QUERIES = 16
"""queries of each side in the sample"""

CANDIDATES = 1024
"""candidates of each query in the sample"""

NOISE = 256
"""the largest difference by another order of sums, in units in the last place of the largest score"""


def reproduces_scores(vectors: Scorer | VectorScorer, live: Scorer, side: Side, module: Any) -> bool:
    """Whether vectors give a live model's own scores of a sample of queries and candidates, up to rounding errors.

    Parameters
    ----------
    vectors
        the formula
    live
        the model's own functions
    side
        the side whose queries are compared
    module
        the ``torch.nn.Module``, whose parameters tell how precisely it computes
    """
    sizes = (vectors.num_entities, vectors.num_relations)
    if sizes != (live.num_entities, live.num_relations):
        return False
    queries, candidates = _sample_queries(side, *sizes), _evenly_spaced(CANDIDATES, sizes[0])
    expected = live.scores(queries, candidates)
    scores: Float64Array = np.asarray(vectors.scores(queries, candidates), np.float64)
    if not (np.isfinite(expected).all() and np.isfinite(scores).all()):
        return False
    noise = NOISE * _machine_epsilon(module) * float(np.abs(expected).max(initial=0.0))
    # Scores that are nearly all equal cannot show that two formulas are the same.
    return bool(np.abs(scores - expected).max(initial=0.0) <= noise < np.ptp(expected, axis=1).max(initial=0.0) / 8)


def _machine_epsilon(module: Any) -> float:
    """The machine epsilon of the coarsest dtype of a module's parameters."""
    import torch

    types = {parameter.dtype for parameter in module.parameters() if parameter.is_floating_point()}
    return max((float(torch.finfo(dtype).eps) for dtype in types), default=0.0)


def _sample_queries(side: Side, num_entities: int, num_relations: int) -> Queries:
    anchors, relations = _evenly_spaced(QUERIES, num_entities), _evenly_spaced(QUERIES, num_relations)
    count = max(len(anchors), len(relations))
    anchors, relations = np.resize(anchors, count), np.resize(relations, count)
    return Queries.of(Triples(np.stack([anchors, relations, anchors], axis=1)), side)


def _evenly_spaced(count: int, size: int) -> IntArray:
    """Choose at most ``count`` evenly spaced ids below ``size``.

    >>> _evenly_spaced(3, 10), _evenly_spaced(3, 2)
    (array([0, 4, 9]), array([0, 1]))
    """
    return np.unique(np.linspace(0, size - 1, count).astype(np.int64))
