"""The scorer of a live model: vectors, if they reproduce its own scores on a sample; else its score functions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache, partial
from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.pykeen.affine import live_products
from kgeval.pykeen.live_family import live_family
from kgeval.pykeen.unmodified import has_unmodified_scoring
from kgeval.scorers.adapters.functions import evaluating
from kgeval.scorers.adapters.live_model import PyKEENScorer
from kgeval.scorers.scorer import Scorer, VectorScorer
from kgeval.scorers.wrappers.per_side import PerSideScorer

QUERIES = 16
"""queries of each side in the sample"""

CANDIDATES = 1024
"""candidates of each query in the sample"""

NOISE = 256
"""the largest difference by another order of sums, in units in the last place of the largest score"""


def scorer_of(model: Any, *, mode: str | None = None, sides: Collection[Side] = SIDES) -> Scorer | VectorScorer:
    """Make a scorer of a live PyKEEN model, the fastest that gives its scores.

    Parameters
    ----------
    model
        a ``pykeen.models.Model`` of any interaction
    mode
        for inductive models, the graph whose entities are scored: ``"training"``, ``"validation"`` or ``"testing"``
    sides
        the sides to predict; only these are compared

    Returns
    -------
    Scorer | VectorScorer
        for each side, vectors for the exact kernels, if they give the model's own scores of some queries up to rounding
        errors; otherwise the model's score functions
    """
    as_written = has_unmodified_scoring(model)
    live = PyKEENScorer(model, mode, as_written and mode is None)
    if mode is not None or model.predict_with_sigmoid or not as_written:
        return live
    with evaluating(model):
        family, products = live_family(model), cache(partial(live_products, model))
        scorers = {side: _for_side(side, family, products, live) for side in sides}
    tail, head = scorers.get("tail", live), scorers.get("head", live)
    return tail if tail is head else PerSideScorer(tail, head)


def _for_side(
    side: Side,
    family: Scorer | VectorScorer | None,
    products: Callable[[Side], Scorer | None],
    live: PyKEENScorer,
) -> Scorer | VectorScorer:
    """Return the first scorer with the model's own scores: its formula, products free in either side, or itself."""
    if family is not None and reproduces_scores(family, live, side):
        return family
    # Models of inverse triples predict tails only.
    free: tuple[Side, ...] = ("tail", "head") if side == "tail" or live.model.use_inverse_triples else ("head", "tail")
    for scorer in map(products, free):
        if scorer is not None and reproduces_scores(scorer, live, side):
            return scorer
    return live


def reproduces_scores(vectors: Scorer | VectorScorer, live: PyKEENScorer, side: Side) -> bool:
    """Whether vectors give the model's own scores of a sample of queries and candidates, up to rounding errors."""
    sizes = (vectors.num_entities, vectors.num_relations)
    if sizes != (live.num_entities, live.num_relations):
        return False
    queries, candidates = _sample_queries(side, *sizes), _evenly_spaced(CANDIDATES, sizes[0])
    expected = live.scores(queries, candidates)
    scores: Float64Array = np.asarray(vectors.scores(queries, candidates), np.float64)
    if not (np.isfinite(expected).all() and np.isfinite(scores).all()):
        return False
    noise = NOISE * _machine_epsilon(live.model) * float(np.abs(expected).max(initial=0.0))
    # Scores that are nearly all equal cannot show that two formulas are the same.
    return bool(np.abs(scores - expected).max(initial=0.0) <= noise < np.ptp(expected, axis=1).max(initial=0.0) / 8)


def _machine_epsilon(model: Any) -> float:
    """The machine epsilon of the coarsest dtype of the model's parameters."""
    import torch

    types = {parameter.dtype for parameter in model.parameters() if parameter.is_floating_point()}
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
