"""The family of a live PyKEEN model: the formula of its interaction with the representations of the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, cast

from kgeval.arrays import FloatArray, detached
from kgeval.checkpoints.readers.pykeen_interactions import family_of
from kgeval.checkpoints.readers.pykeen_modules import Module, NoFormula, PyKEENModel
from kgeval.data.queries import Queries
from kgeval.scorers.families.bilinear import ClampedDistMult
from kgeval.scorers.families.networks import NTN
from kgeval.scorers.family_bases import ScoredFamily, TailNetwork
from kgeval.scorers.numerics.similarity import Similarity
from kgeval.scorers.reciprocal import MappedScorer, Reciprocal, RemappedVectors
from kgeval.scorers.scorer import QueryPartition, Scorer, VectorScorer, views_of


@dataclass(frozen=True, eq=False)
class Squared(MappedScorer):
    """A scorer whose score is −d², where that of another scorer is −d, a Euclidean distance (``l2``)."""

    distance: Scorer | VectorScorer

    @property
    def num_entities(self) -> int:
        return self.distance.num_entities

    @property
    def num_relations(self) -> int:
        return self.distance.num_relations

    def map_queries(self, queries: Queries) -> Queries:
        return queries

    def views(self, queries: Queries) -> Iterator[QueryPartition]:
        for part, view in views_of(self.distance, queries):
            if not isinstance(view, VectorScorer) or view.similarity != "l2":
                raise TypeError("only Euclidean distances of vectors can be squared")
            yield QueryPartition(part, SquaredVectors(self, view))


class SquaredVectors(RemappedVectors):
    similarity: ClassVar[Similarity] = "squared_l2"


def live_family(model: Any, mode: str | None = None) -> Scorer | VectorScorer | None:
    """Make the scorer of a live ``ERModel`` by the formula of its interaction, where kgeval's is the faster one.

    The representations are those that the model computes in evaluation mode, after normalisers, message passing and
    the like; ``mode`` is the graph of an inductive model. The caller compares the scores with the model's.
    """
    try:
        family = family_of(live_parts(model, mode), type(model.interaction).__name__.removesuffix("Interaction"))
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


def live_parts(model: Any, mode: str | None = None) -> LiveParts:
    bare = Module(type(model).__name__, {"_modules": {}, "num_relations": model.num_relations})
    return LiveParts(bare, _module_tree(model.interaction), bool(model.use_inverse_triples), model, mode)


@dataclass(frozen=True)
class LiveParts(PyKEENModel):
    """The parts of a live model: its own representations instead of stored tables."""

    live: Any
    """the model"""
    mode: str | None = None
    """of an inductive model, the graph whose entities are scored"""

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
    """Return the tree of a live module that its pickle would have."""
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
