"""The scorer of a live model: vectors, if they reproduce its own scores on a sample; else its score functions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache, partial
from typing import Any

from kgeval.data.triples import SIDES, Side
from kgeval.pykeen.affine import live_products
from kgeval.pykeen.live_family import live_family
from kgeval.pykeen.unmodified import has_unmodified_scoring
from kgeval.scorers.adapters.functions import evaluating
from kgeval.scorers.adapters.live_model import PyKEENScorer
from kgeval.scorers.checks.reproduction import reproduces_scores
from kgeval.scorers.scorer import Scorer, VectorScorer
from kgeval.scorers.wrappers.per_side import PerSideScorer


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
    if model.predict_with_sigmoid or not as_written:
        return live
    with evaluating(model):
        family = live_family(model, mode)
        products = cache(partial(live_products, model)) if mode is None else _no_products
        # Relations are scored by their tails.
        scored: set[Side] = {"tail" if side == "relation" else side for side in sides}
        scorers = {side: _for_side(side, family, products, live) for side in scored}
    tail, head = scorers.get("tail", live), scorers.get("head", live)
    return tail if tail is head else PerSideScorer(tail, head)


def _no_products(_side: Side) -> None:
    """Make no products of an inductive model's vectors: those of its own tables are the training graph's."""


def device_for(model: Any, *, device: str, kernel: str) -> str:
    """Choose where to count: on the GPU that a model is on, unless something else is said.

    >>> import torch
    >>> device_for(torch.nn.Linear(1, 1), device="auto", kernel="auto")
    'auto'
    """
    if device != "auto" or kernel != "auto":
        return device
    places = {str(tensor.device) for tensor in model.parameters() if tensor.device.type == "cuda"}
    return places.pop() if len(places) == 1 else device


def _for_side(
    side: Side,
    family: Scorer | VectorScorer | None,
    products: Callable[[Side], Scorer | None],
    live: PyKEENScorer,
) -> Scorer | VectorScorer:
    """Return the first scorer with the model's own scores: its formula, products free in either side, or itself."""
    if family is not None and reproduces_scores(family, live, side, live.model):
        return family
    # Models of inverse triples predict tails only.
    free: tuple[Side, ...] = ("tail", "head") if side == "tail" or live.model.use_inverse_triples else ("head", "tail")
    for scorer in map(products, free):
        if scorer is not None and reproduces_scores(scorer, live, side, live.model):
            return scorer
    return live
