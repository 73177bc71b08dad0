"""A live PyKEEN model as a vector scorer: its interaction's formula over the representations that it computes with."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.checkpoints.pykeen_families import family_of
from kgeval.checkpoints.pykeen_modules import Module, NoFormula, Parts
from kgeval.scorers.base import VectorScorer
from kgeval.scorers.families.conve import ConvE
from kgeval.scorers.family import Family, rows64
from kgeval.scorers.reciprocal import Reciprocal

ROWS = 256
"""pairs that pass a network at a time"""


def live_vectors(model: Any) -> VectorScorer | None:
    """Make the vector scorer of a live model, where kgeval has one for its interaction.

    The representations are taken as the model computes with them, after normalisers, message passing and the like.
    Nothing is proved here: that it scores as the model does is for the caller to try out.

    Parameters
    ----------
    model
        a ``pykeen.models.ERModel`` in evaluation mode
    """
    interaction = getattr(model, "interaction", None)
    if interaction is None:
        return None
    name, inverse = type(interaction).__name__.removesuffix("Interaction"), bool(model.use_inverse_triples)
    bare = Module(type(model).__name__, {"_modules": {}})
    try:
        family = family_of(LiveParts(bare, _frozen(interaction), inverse, model), name)
    except Exception:  # an interaction of that name can be anything, and the model has its own functions
        return None
    if isinstance(family, ConvE):
        family = TorchConvE.build(family.arrays, {**family.options, "layers": interaction})
    whole: Family | Reciprocal = Reciprocal(family) if inverse else family
    return whole if isinstance(whole, VectorScorer) else None


@dataclass(frozen=True)
class LiveParts(Parts):
    """The parts of a live model: its own representations instead of stored tables."""

    live: Any
    """the model"""

    def _table(self, kind: str, index: int, old: tuple[str, str]) -> FloatArray:
        """Return vectors as the model computes with them; complex ones as re, im, re, im and so on."""
        import torch

        representations = getattr(self.live, f"{kind}_representations", ())
        if index >= len(representations):
            raise NoFormula(f"it has no {kind} representation number {index}.")
        with torch.inference_mode():
            vectors = representations[index](indices=None)
            vectors = torch.view_as_real(vectors) if vectors.is_complex() else vectors
        size = self.live.num_entities if kind == "entity" else self.live.num_relations
        return _array(vectors[:size].reshape(size, -1))


@dataclass(frozen=True, eq=False)
class TorchConvE(ConvE):
    """A ConvE whose network is run by torch, in float64: a network is what torch is best at."""

    layers: Any
    """the live interaction"""

    def _network(self, heads: IntArray, relations: IntArray) -> Float64Array:
        import copy

        import torch

        layers, device = copy.deepcopy(self.layers).double().eval(), next(self.layers.parameters()).device
        parts = [np.empty((0, self.entity.shape[1]))]
        with torch.inference_mode():
            for start in range(0, len(heads), ROWS):
                rows = slice(start, start + ROWS)
                pair = np.concatenate(
                    [rows64(self.entity, heads[rows]), rows64(self.relation, relations[rows])], axis=1
                )
                image = torch.from_numpy(pair).to(device).reshape(len(pair), 1, 2 * self.height, -1)
                parts.append(layers.hr1d(layers.hr2d(image).flatten(start_dim=1)).cpu().numpy())
        return np.concatenate(parts)


def _frozen(module: Any) -> Module:
    """Take a live module as the tree that its pickle would be."""
    children = {name: _frozen(child) for name, child in module._modules.items() if child is not None}
    arrays = {
        part: {name: _array(tensor) for name, tensor in vars(module)[part].items() if tensor is not None}
        for part in ("_parameters", "_buffers")
    }
    state = {name: _Inert(vars(value)) if is_dataclass(value) else value for name, value in vars(module).items()}
    return Module(type(module).__name__, {**state, **arrays, "_modules": children})


class _Inert(NamedTuple):
    """The attributes of an object, as a pickle holds them."""

    state: dict[str, Any]


def _array(tensor: Any) -> FloatArray:
    """Take a tensor as an array of its own; numpy has no bfloat16, whose values float32 holds exactly."""
    import torch

    plain = tensor.detach().cpu()
    array: FloatArray = (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
    return array.copy()
