"""PyKEEN's interactions as model families: what each computes from its representations and attributes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.readers.pykeen.distances import DISTANCES, norm_of, side_by_side
from kgeval.checkpoints.readers.pykeen.modules import NoFormula, PyKEENModel
from kgeval.checkpoints.readers.pykeen.networks import NETWORKS, affine
from kgeval.checkpoints.shared.layers import check_shape
from kgeval.errors import CheckpointError
from kgeval.scorers.families.bilinear import (
    CP,
    RESCAL,
    AutoSF,
    ClampedDistMult,
    DistMA,
    DistMult,
    HolE,
    MultiLinearTucker,
    SimplE,
    TuckER,
)
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.hypercomplex import QuatE
from kgeval.scorers.families.regions import BoxE
from kgeval.scorers.families.translations import MuRE, TransF
from kgeval.scorers.family import Family
from kgeval.scorers.ordered import from_interleaved


def family_of(parts: PyKEENModel, name: str) -> Family:
    if name not in FAMILIES:
        model = parts.model.class_name
        described = model if model == name else f"{model} ({name})"
        raise NoFormula(f"kgeval has no formula for PyKEEN's {described} yet; it has {', '.join(sorted(FAMILIES))}.")
    return FAMILIES[name](parts)


def _boxe(parts: PyKEENModel) -> Family:
    """Boxes are stored as a base, a shape and a size, for heads and for tails."""
    mapped = parts.interaction.state.get("tanh_map", True)
    if not isinstance(mapped, bool):
        raise CheckpointError(f"its tanh_map is {mapped!r}, no truth value.")
    norm = norm_of(parts, 2)
    if norm == 2 and parts.interaction.state.get("power_norm"):
        raise NoFormula("its two distances are squared before they are added (power_norm).")
    tables = [_finite(parts, index) for index in range(6)]
    bounds = [bound for first in (0, 3) for bound in _box(*tables[first : first + 3])]
    relation = np.concatenate([np.tanh(bound) if mapped else bound for bound in bounds], axis=1)
    return BoxE(side_by_side(parts.entity), relation, norm=norm, tanh=mapped)


def _finite(parts: PyKEENModel, index: int) -> FloatArray:
    """Take a relation representation whose infinite numbers would vanish in a tanh."""
    table = parts.relation(index)
    return check_shape(f"relation_representations.{index}", table, *table.shape, least=-np.inf)


def _box(base: FloatArray, shape: FloatArray, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find the bounds of boxes whose shapes are scaled to a geometric mean of 1, and then by elu(size) + 1."""
    epsilon = np.finfo(shape.dtype).eps
    widths, sizes = np.asarray(shape, np.float64), np.asarray(size, np.float64)
    means = np.exp(np.log(np.maximum(np.abs(widths), epsilon)).mean(axis=1, keepdims=True))
    halves = 0.5 * np.where(sizes > 0, sizes + 1, np.exp(sizes)) * widths / np.maximum(means, epsilon)
    return np.minimum(base - halves, base + halves), np.maximum(base - halves, base + halves)


def _autosf(parts: PyKEENModel) -> Family:
    """Each block is a representation; coefficients are whole numbers."""
    stored = parts.interaction.state["coefficients"]
    coefficients = tuple((int(head), int(relation), int(tail), int(sign)) for head, relation, tail, sign in stored)
    entities, relations = (
        1 + max(product[at] for product in coefficients for at in places) for places in ((0, 2), (1,))
    )
    entity, relation = side_by_side(parts.entity, entities), side_by_side(parts.relation, relations)
    return AutoSF(entity, relation, coefficients=coefficients, width=entity.shape[1] // entities)


def _complex(parts: PyKEENModel) -> Family:
    if parts.interaction.class_name == "ComplEx":
        raise NoFormula("it is a ComplEx from before PyKEEN's interaction modules, whose layout kgeval does not read.")
    return ComplEx(from_interleaved(parts.entity()), from_interleaved(parts.relation()))


def _multilinear_tucker(parts: PyKEENModel) -> Family:
    heads, tails = parts.entity(0), parts.entity(1)
    core = parts.interaction.take("core_tensor", heads.shape[1], None, tails.shape[1])
    return MultiLinearTucker(np.concatenate([heads, tails], axis=1), parts.relation(), core=core)


def _mure(parts: PyKEENModel) -> Family:
    if parts.interaction.state.get("p") != 2 or parts.interaction.state.get("power_norm") is not True:
        raise NoFormula("its distance is not the squared Euclidean one.")
    return MuRE(
        parts.entity(),
        parts.relation(),
        diagonal=parts.relation(1),
        head_bias=parts.bias(1),
        tail_bias=parts.bias(2),
    )


def _quate(parts: PyKEENModel) -> Family:
    """Quaternions lie one after the other, and PyKEEN's score is negative."""
    return QuatE(_quarters(parts.entity()), -_quarters(parts.relation()))


def _quarters(array: FloatArray) -> FloatArray:
    return np.concatenate([array[:, part::4] for part in range(4)], axis=1)


def _simple(parts: PyKEENModel) -> Family:
    """Since version 1.8 it is the mean of two DistMults, before that it followed the paper."""
    if parts.model.child("tail_entity_embeddings") is not None:
        if parts.interaction.state.get("clamp_score") is not None:
            raise NoFormula("its scores are clamped, in a layout from before PyKEEN's interaction modules.")
        return SimplE(side_by_side(parts.entity), side_by_side(parts.relation))
    return DistMult(side_by_side(parts.entity), np.asarray(side_by_side(parts.relation), np.float64) / 2)


def _clamped(parts: PyKEENModel) -> Family:
    base = parts.interaction.child("base")
    limits = parts.interaction.state.get("clamp_score")
    if base is None or base.class_name != "SimplEInteraction":
        raise NoFormula("it clamps the scores of another interaction than SimplE.")
    if limits is None:
        return _simple(parts)
    low, high = (end if limit is None else float(limit) for end, limit in zip((-np.inf, np.inf), limits, strict=True))
    return ClampedDistMult(
        side_by_side(parts.entity), np.asarray(side_by_side(parts.relation), np.float64) / 2, low=low, high=high
    )


def _tucker(parts: PyKEENModel) -> Family:
    entity, relation = parts.entity(), parts.relation()
    width = entity.shape[1]
    core = parts.interaction.take("core_tensor", width, relation.shape[1], width)
    before = parts.interaction.child("head_batch_norm", "bn_0")
    after = parts.interaction.child("head_relation_batch_norm", "bn_1")
    if before is None and after is None:
        return TuckER(entity, relation, core)
    if before is None or after is None:
        raise CheckpointError("one of its two batch normalisations is missing.")
    return TuckER(entity, relation, core, *affine(before, width), *affine(after, width))


FAMILIES: dict[str, Callable[[PyKEENModel], Family]] = {
    "AutoSF": _autosf,
    "BoxE": _boxe,
    "CP": lambda parts: CP(side_by_side(parts.entity), parts.relation()),
    "Clamped": _clamped,
    "ComplEx": _complex,
    "DistMA": lambda parts: DistMA(parts.entity(), parts.relation()),
    "DistMult": lambda parts: DistMult(parts.entity(), parts.relation()),
    "HolE": lambda parts: HolE(parts.entity(), parts.relation()),
    "MuRE": _mure,
    "MultiLinearTucker": _multilinear_tucker,
    "QuatE": _quate,
    "RESCAL": lambda parts: RESCAL(parts.entity(), parts.relation()),
    "SimplE": _simple,
    "TransF": lambda parts: TransF(parts.entity(), parts.relation()),
    "TuckER": _tucker,
    **DISTANCES,
    **NETWORKS,
}
