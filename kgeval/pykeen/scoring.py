"""The scorer of a live PyKEEN model: kgeval's formula, if it gives the model's own scores; else the model's functions.

The evaluator calls ``scorer_of`` before it ranks. The formula is fast and exact, but a subclass, a hook or an option
may change the scores of a model; so the scores of some queries are compared first.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Iterator
from dataclasses import dataclass, is_dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, Generic, cast

from kgeval.base.arrays import FloatArray, detached
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Side
from kgeval.models.adapters.calling import evaluating
from kgeval.models.adapters.live_models import PyKEENScorer
from kgeval.models.checkpoints.readers.pykeen_interactions import family_of
from kgeval.models.checkpoints.readers.pykeen_modules import Module, NoFormula, PyKEENModel
from kgeval.models.checks import reproduces_scores
from kgeval.models.families.bilinear import ClampedDistMult
from kgeval.models.families.networks import NTN
from kgeval.models.family import ScoredFamily, TailNetwork
from kgeval.models.mapped import MappedScorer, Reciprocal, RemappedVectors
from kgeval.models.scorer import MadeOf, PartitionedScorer, QueryPartition, Scorer, VectorScorer, views_of
from kgeval.models.similarity import Similarity


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
        if family is None:
            return live
        # Relations are scored by their tails.
        tails = "tail" in sides or "relation" in sides
        tail = family if tails and reproduces_scores(family, live, "tail", model) else live
        head = family if "head" in sides and reproduces_scores(family, live, "head", model) else live
    return tail if tail is head else PerSideScorer(tail, head)


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
    """Whether a class or an object overrides scoring methods."""
    words = ("score", "predict", "forward", "representations", "prepare")
    return any(callable(value) and any(word in name for word in words) for name, value in vars(owner).items())


def live_family(model: Any, mode: str | None = None) -> Scorer | VectorScorer | None:
    """Make the scorer of a live ``ERModel`` by the formula of its interaction, where kgeval's is the faster one.

    The representations are those that the model computes in evaluation mode, after normalisers, message passing and
    the like; ``mode`` is the graph of an inductive model. The caller compares the scores with the model's.
    """
    try:
        bare = Module(type(model).__name__, {"_modules": {}, "num_relations": model.num_relations})
        parts = LiveParts(bare, _module_tree(model.interaction), bool(model.use_inverse_triples), model, mode)
        family = family_of(parts, type(model.interaction).__name__.removesuffix("Interaction"))
    except Exception:  # an interaction of that name can be anything, and the model has its own functions
        return None
    if isinstance(family, NTN):
        return None  # its tanh saturates, and the ties are those of the model's own precision
    of_processor = isinstance(family, ScoredFamily | TailNetwork) and model.device.type != "cpu"
    if isinstance(family, ClampedDistMult) or of_processor:  # torch is faster
        return None
    scorer = Reciprocal(family) if model.use_inverse_triples else family
    is_squared = getattr(family, "similarity", None) == "l2" and getattr(model.interaction, "power_norm", False) is True
    return Squared(scorer) if is_squared else scorer


@dataclass(frozen=True)
class LiveParts(PyKEENModel):
    """The parts of a live model: its own representations instead of stored tables."""

    live: Any
    """the model"""
    mode: str | None = None
    """PyKEEN's mode of an inductive model: the graph whose entities are scored"""

    def _table(self, kind: str, index: int, old: tuple[str, str]) -> FloatArray:
        import torch

        with torch.inference_mode():
            vectors = self._vectors(kind, index)
            vectors = torch.view_as_real(vectors) if vectors.is_complex() else vectors
        sizes = {"relation": self.live.num_relations, "entity": self.live._get_entity_len(mode=self.mode)}
        return _array(vectors[: sizes[kind]].reshape(sizes[kind], -1))

    def _vectors(self, kind: str, index: int) -> Any:
        representations = getattr(self.live, f"{kind}_representations", ())
        if index >= len(representations):
            raise NoFormula(f"it has no {kind} representation number {index}.")
        if self.mode is None:
            return representations[index](indices=None)
        if len(representations) > 1:
            raise NoFormula(f"it has several {kind} representations, of one of its graphs.")
        heads, relations, _ = self.live._get_representations(h=None, r=None, t=None, mode=self.mode)
        return heads if kind == "entity" else relations


def _module_tree(module: Any) -> Module:
    """Copy a live module and its submodules to the tree that kgeval reads from a pickle of it."""
    children = {name: _module_tree(child) for name, child in module._modules.items() if child is not None}
    arrays = {
        part: {name: None if tensor is None else _array(tensor) for name, tensor in stored.items()}
        for part, stored in (("_parameters", module._parameters), ("_buffers", module._buffers))
    }
    settings = {name: SimpleNamespace(state=vars(value)) for name, value in vars(module).items() if is_dataclass(value)}
    return Module(type(module).__name__, {**vars(module), **settings, **arrays, "_modules": children})


def _array(tensor: Any) -> FloatArray:
    """Copy a tensor, which training may change, to an array."""
    return cast("FloatArray", detached(tensor).numpy().copy())


@dataclass(frozen=True, eq=False)
class Squared(MadeOf[Scorer | VectorScorer], MappedScorer):
    """A scorer whose score is −d², where that of another scorer is −d, a Euclidean distance (``l2``)."""

    def map_queries(self, queries: Queries) -> Queries:
        return queries

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        for part, view in views_of(self.scorer, queries):
            if not isinstance(view, VectorScorer) or view.similarity != "l2":
                raise TypeError("only Euclidean distances of vectors can be squared")
            yield QueryPartition(part, SquaredVectors(self, view))


class SquaredVectors(RemappedVectors):
    """The vectors of another scorer, compared by their squared distance."""

    similarity: ClassVar[Similarity] = "squared_l2"


@dataclass(frozen=True, eq=False)
class PerSideScorer(MadeOf[Scorer | VectorScorer], PartitionedScorer):
    """A scorer of tails (``scorer``), with another one of heads."""

    head: Scorer | VectorScorer

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        return views_of(self.scorer if queries.side == "tail" else self.head, queries)


def device_for(model: Any, *, device: str, kernel: str) -> str:
    """Choose the device: the GPU of the model, unless the user names another device.

    >>> import torch
    >>> device_for(torch.nn.Linear(1, 1), device="auto", kernel="auto")
    'auto'
    """
    if device != "auto" or kernel != "auto":
        return device
    places = {str(tensor.device) for tensor in model.parameters() if tensor.device.type == "cuda"}
    return places.pop() if len(places) == 1 else device
