"""PyKEEN's interactions as model families: what each computes from its representations and attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.convolution import UNCHANGED, Affine, Network
from kgeval.checkpoints.pykeen_distances import DISTANCES, both, norm_of
from kgeval.checkpoints.pykeen_modules import Module, NoFormula, Parts
from kgeval.errors import CheckpointError
from kgeval.scorers.families.boxe import BoxE
from kgeval.scorers.families.clampeddistmult import ClampedDistMult
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.conve import ConvE
from kgeval.scorers.families.cp import CP
from kgeval.scorers.families.distma import DistMA
from kgeval.scorers.families.distmult import DistMult
from kgeval.scorers.families.hole import HolE
from kgeval.scorers.families.mure import MuRE
from kgeval.scorers.families.quate import QuatE
from kgeval.scorers.families.rescal import RESCAL
from kgeval.scorers.families.simple import SimplE
from kgeval.scorers.families.transf import TransF
from kgeval.scorers.families.tucker import TuckER
from kgeval.scorers.family import Family
from kgeval.scorers.halves import from_interleaved


def family_of(parts: Parts, name: str) -> Family:
    """Make the family of a model whose interaction has a name.

    Raises
    ------
    NoFormula
        if the scores cannot be computed from what is stored
    CheckpointError
        if arrays are missing or do not fit together
    """
    if name not in FAMILIES:
        model = parts.model.class_name
        asked = model if model == name else f"{model} ({name})"
        raise NoFormula(f"kgeval has no formula for PyKEEN's {asked} yet; it has {', '.join(sorted(FAMILIES))}.")
    return FAMILIES[name](parts)


def _boxe(parts: Parts) -> Family:
    """Boxes are stored as a base, a shape and a size, for heads and for tails."""
    mapped = parts.interaction.state.get("tanh_map", True)
    if not isinstance(mapped, bool):
        raise CheckpointError(f"its tanh_map is {mapped!r}, no truth value.")
    norm = norm_of(parts, 2)
    if norm == 2 and parts.interaction.state.get("power_norm"):
        raise NoFormula("its two distances are squared before they are added (power_norm).")
    bounds = [bound for first in (0, 3) for bound in _box(*(parts.relation(first + part) for part in range(3)))]
    relation = np.concatenate([np.tanh(bound) if mapped else bound for bound in bounds], axis=1)
    return BoxE(both(parts.entity), relation, norm=norm, tanh=mapped)


def _box(base: FloatArray, shape: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find the bounds of boxes whose shapes are scaled to a geometric mean of 1, and then by elu(size) + 1."""
    epsilon = np.finfo(shape.dtype).eps
    widths, sizes = np.asarray(shape, np.float64), np.asarray(size, np.float64)
    means = np.exp(np.log(np.maximum(np.abs(widths), epsilon)).mean(axis=1, keepdims=True))
    halves = 0.5 * np.where(sizes > 0, sizes + 1, np.exp(sizes)) * widths / np.maximum(means, epsilon)
    return np.minimum(base - halves, base + halves), np.maximum(base - halves, base + halves)


def _conve(parts: Parts) -> Family:
    shape = getattr(parts.interaction.state.get("shape_info"), "state", {})
    if shape.get("input_channels") != 1:
        raise NoFormula(f"its image has {shape.get('input_channels')} channels; kgeval's ConvE has one.")
    layers = {_kind(layer): layer for layer in _layers(parts.interaction, "hr2d")}
    after = {_kind(layer): layer for layer in _layers(parts.interaction, "hr1d")}
    norms = [layer for layer in _layers(parts.interaction, "hr2d") if _kind(layer) == "BatchNorm2d"]
    convolution, linear = layers.get("Conv2d"), after.get("Linear")
    if convolution is None or linear is None or len(norms) not in (0, 2):
        raise CheckpointError("its convolution or its linear layer is missing.")
    before, within = (_affine(norms[0]), _affine(norms[1])) if norms else (UNCHANGED, UNCHANGED)
    network = Network(
        _needed(convolution, "weight"),
        _needed(linear, "weight"),
        convolution.array("bias"),
        linear.array("bias"),
        before,
        within,
        _affine(after["BatchNorm1d"]) if "BatchNorm1d" in after else UNCHANGED,
    )
    bias = parts.entity(1)[:, 0]
    return ConvE(
        parts.entity(), parts.relation(), **network.arrays(), tail_bias=bias, height=int(shape["image_height"])
    )


def _layers(module: Module, name: str) -> list[Module]:
    sequence = module.child(name)
    return [] if sequence is None else [Module.of(layer, name) for layer in sequence.state["_modules"].values()]


def _kind(layer: Module) -> str:
    return layer.class_name


def _needed(module: Module, name: str) -> FloatArray:
    array = module.array(name)
    if array is None:
        raise CheckpointError(f"the {name} of its {module.class_name} is missing.")
    return array


def _affine(module: Module) -> Affine:
    """Fold a trained batch normalisation into a scale and a shift, in float64."""
    mean, variance = module.array("running_mean"), module.array("running_var")
    if mean is None or variance is None:
        raise NoFormula("its batch normalisation keeps no running statistics, so its scores depend on the batch.")
    weight, bias = module.array("weight"), module.array("bias")
    scale = (1.0 if weight is None else weight.astype(np.float64)) / np.sqrt(
        variance.astype(np.float64) + module.state["eps"]
    )
    return scale, (0.0 if bias is None else bias.astype(np.float64)) - mean * scale


def _batch_norm(module: Module | None) -> tuple[Any, Any]:
    return (None, None) if module is None else _affine(module)


def _complex(parts: Parts) -> Family:
    if parts.interaction.class_name == "ComplEx":
        raise NoFormula("it is a ComplEx from before PyKEEN's interaction modules, whose layout kgeval does not read.")
    return ComplEx(from_interleaved(parts.entity()), from_interleaved(parts.relation()))


def _cp(parts: Parts) -> Family:
    return CP(np.concatenate([parts.entity(0), parts.entity(1)], axis=1), parts.relation())


def _mure(parts: Parts) -> Family:
    if parts.interaction.state.get("p") != 2 or parts.interaction.state.get("power_norm") is not True:
        raise NoFormula("its distance is not the squared Euclidean one.")
    biases = [parts.entity(index)[:, 0] for index in (1, 2)]
    return MuRE(
        parts.entity(),
        parts.relation(),
        diagonal=parts.relation(1),
        head_bias=biases[0],
        tail_bias=biases[1],
    )


def _quate(parts: Parts) -> Family:
    """Quaternions lie one after the other, and PyKEEN's score is negative."""
    return QuatE(_quarters(parts.entity()), -_quarters(parts.relation()))


def _quarters(array: FloatArray) -> FloatArray:
    return np.concatenate([array[:, part::4] for part in range(4)], axis=1)


def _simple(parts: Parts) -> Family:
    """Since version 1.8 it is the mean of two DistMults, before that it followed the paper."""
    if parts.model.child("tail_entity_embeddings") is not None:
        if parts.interaction.state.get("clamp_score") is not None:
            raise NoFormula("its scores are clamped, in a layout from before PyKEEN's interaction modules.")
        return SimplE(both(parts.entity), both(parts.relation))
    return DistMult(both(parts.entity), np.asarray(both(parts.relation), np.float64) / 2)


def _clamped(parts: Parts) -> Family:
    base = parts.interaction.child("base")
    limits = parts.interaction.state.get("clamp_score")
    if base is None or base.class_name != "SimplEInteraction":
        raise NoFormula("it clamps the scores of another interaction than SimplE.")
    if limits is None:
        return _simple(parts)
    low, high = (end if limit is None else float(limit) for end, limit in zip((-np.inf, np.inf), limits, strict=True))
    return ClampedDistMult(both(parts.entity), np.asarray(both(parts.relation), np.float64) / 2, low=low, high=high)


def _tucker(parts: Parts) -> Family:
    core = parts.interaction.array("core_tensor")
    if core is None:
        raise CheckpointError("its core tensor is missing.")
    head_scale, head_shift = _batch_norm(parts.interaction.child("head_batch_norm", "bn_0"))
    product_scale, product_shift = _batch_norm(parts.interaction.child("head_relation_batch_norm", "bn_1"))
    return TuckER(parts.entity(), parts.relation(), core, head_scale, head_shift, product_scale, product_shift)


FAMILIES: dict[str, Callable[[Parts], Family]] = {
    "BoxE": _boxe,
    "CP": _cp,
    "Clamped": _clamped,
    "ComplEx": _complex,
    "ConvE": _conve,
    "DistMA": lambda parts: DistMA(parts.entity(), parts.relation()),
    "DistMult": lambda parts: DistMult(parts.entity(), parts.relation()),
    "HolE": lambda parts: HolE(parts.entity(), parts.relation()),
    "MuRE": _mure,
    "QuatE": _quate,
    "RESCAL": lambda parts: RESCAL(parts.entity(), parts.relation()),
    "SimplE": _simple,
    "TransF": lambda parts: TransF(parts.entity(), parts.relation()),
    "TuckER": _tucker,
    **DISTANCES,
}
