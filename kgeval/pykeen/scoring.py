"""The scorer of a live model: by vectors where a probe shows that they give its own scores, else in blocks."""

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
"""queries of each side that are probed"""

CANDIDATES = 1024
"""candidates of each probed query"""

NOISE = 256
"""how many units in the last place of the largest score a sum in another order may move a score"""


def scorer_of(model: Any, *, mode: str | None = None, sides: Collection[Side] = SIDES) -> Scorer | VectorScorer:
    """Make a scorer of a live PyKEEN model, the fastest that gives its scores.

    Parameters
    ----------
    model
        a ``pykeen.models.Model`` of any interaction
    mode
        for inductive models, the graph whose entities are scored: ``"training"``, ``"validation"`` or ``"testing"``
    sides
        those that will be predicted; no other is probed

    Returns
    -------
    Scorer | VectorScorer
        for each side, vectors for the exact kernels, where a probe of queries shows the model's own scores up to the
        noise of its precision; otherwise the model's score functions
    """
    as_written = has_unmodified_scoring(model)
    live = PyKEENScorer(model, mode, as_written and mode is None)
    if mode is not None or model.predict_with_sigmoid or not as_written:
        return live
    with evaluating(model):
        family, products = live_family(model), cache(partial(live_products, model))
        found = {side: _for_side(side, family, products, live) for side in sides}
    tail, head = found.get("tail", live), found.get("head", live)
    return tail if tail is head else PerSideScorer(tail, head)


def _for_side(
    side: Side,
    family: Scorer | VectorScorer | None,
    products: Callable[[Side], Scorer | None],
    live: PyKEENScorer,
) -> Scorer | VectorScorer:
    """Take what first gives the model's own scores of one side: its formula, or products of either side's entities."""
    if family is not None and gives_the_scores_of(family, live, side):
        return family
    # Models of inverse triples predict tails only.
    free: tuple[Side, ...] = ("tail", "head") if side == "tail" or live.model.use_inverse_triples else ("head", "tail")
    for found in map(products, free):
        if found is not None and gives_the_scores_of(found, live, side):
            return found
    return live


def gives_the_scores_of(vectors: Scorer | VectorScorer, live: PyKEENScorer, side: Side) -> bool:
    """Probe whether vectors give the model's own scores, on queries and candidates from all over the graph."""
    sizes = (vectors.num_entities, vectors.num_relations)
    if sizes != (live.num_entities, live.num_relations):
        return False
    return _agree(vectors, live, _probe(side, *sizes), _spread(CANDIDATES, sizes[0]))


def _agree(vectors: Scorer | VectorScorer, live: PyKEENScorer, queries: Queries, candidates: IntArray) -> bool:
    theirs, precision = live.scores(queries, candidates), _precision(live.model)
    ours: Float64Array = np.asarray(vectors.scores(queries, candidates), np.float64)
    if not (np.isfinite(theirs).all() and np.isfinite(ours).all()):
        return False
    noise = NOISE * precision * float(np.abs(theirs).max(initial=0.0))
    # Scores that hardly differ at all cannot show that two formulas are the same.
    return bool(np.abs(ours - theirs).max(initial=0.0) <= noise < np.ptp(theirs, axis=1).max(initial=0.0) / 8)


def _precision(model: Any) -> float:
    """Find the distance from 1 to the next number in the coarsest type of the model's parameters."""
    import torch

    types = {parameter.dtype for parameter in model.parameters() if parameter.is_floating_point()}
    return max((float(torch.finfo(dtype).eps) for dtype in types), default=0.0)


def _probe(side: Side, num_entities: int, num_relations: int) -> Queries:
    anchors, relations = _spread(QUERIES, num_entities), _spread(QUERIES, num_relations)
    count = max(len(anchors), len(relations))
    anchors, relations = np.resize(anchors, count), np.resize(relations, count)
    return Queries.of(Triples(np.stack([anchors, relations, anchors], axis=1)), side)


def _spread(count: int, size: int) -> IntArray:
    """Choose numbers below a size at equal distances.

    >>> _spread(3, 10), _spread(3, 2)
    (array([0, 4, 9]), array([0, 1]))
    """
    return np.unique(np.linspace(0, size - 1, count).astype(np.int64))
