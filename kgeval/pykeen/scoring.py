"""The scorer of a live model: vectors, if they reproduce its own scores on a sample; else its score functions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Generic

from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Side
from kgeval.pykeen.live_family import live_family
from kgeval.scorers.adapters.functions import evaluating
from kgeval.scorers.adapters.live_models import PyKEENScorer
from kgeval.scorers.checks import reproduces_scores
from kgeval.scorers.scorer import PartitionedScorer, QueryPartition, Scorer, VectorScorer, views_of


def has_unmodified_scoring(model: Any) -> bool:
    """Whether the interaction is one of PyKEEN's, and neither a class nor an object overrides a method of scoring.

    >>> from pykeen.datasets import Nations
    >>> from pykeen.models import DistMult
    >>> class Clamped(DistMult):
    ...     def score_t(self, hr_batch, **kwargs):
    ...         return super().score_t(hr_batch, **kwargs).clamp(max=1)
    >>> graph = Nations().training
    >>> has_unmodified_scoring(DistMult(triples_factory=graph)), has_unmodified_scoring(Clamped(triples_factory=graph))
    (True, False)
    """
    interaction = getattr(model, "interaction", None)
    if interaction is None or not _is_pykeens(type(interaction)):
        return False
    if any(module._forward_hooks or module._forward_pre_hooks for module in (model, interaction)):
        return False
    classes = [base for base in type(model).__mro__ if not _is_pykeens(base)]
    return not any(map(_replaces, (model, interaction, *classes)))


def _is_pykeens(base: type) -> bool:
    # Not all of "abc" and "typing": a class that is made by calling a metaclass has one of them as its module.
    return base.__module__.partition(".")[0] in {"pykeen", "torch", "builtins"} or base in {ABC, Generic}


def _replaces(owner: Any) -> bool:
    """Whether a class or an object has methods of scoring of its own."""
    words = ("score", "predict", "forward", "representations", "prepare")
    return any(callable(value) and any(word in name for word in words) for name, value in vars(owner).items())


@dataclass(frozen=True, eq=False)
class PerSideScorer(PartitionedScorer):
    tail: Scorer | VectorScorer
    head: Scorer | VectorScorer

    @property
    def num_entities(self) -> int:
        return self.tail.num_entities

    @property
    def num_relations(self) -> int:
        return self.tail.num_relations

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        return views_of(self.tail if queries.side == "tail" else self.head, queries)


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
        # Relations are scored by their tails.
        tail = _fastest(family, live, "tail") if {"tail", "relation"} & {*sides} else live
        head = _fastest(family, live, "head") if "head" in sides else live
    return tail if tail is head else PerSideScorer(tail, head)


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


def _fastest(family: Scorer | VectorScorer | None, live: PyKEENScorer, side: Side) -> Scorer | VectorScorer:
    """Return the formula, if there is one and it gives the model's own scores of a side, or its score functions."""
    gives_them = family is not None and reproduces_scores(family, live, side, live.model)
    return family if family is not None and gives_them else live
