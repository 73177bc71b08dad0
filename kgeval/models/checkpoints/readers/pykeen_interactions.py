"""PyKEEN's interactions as model families: what each computes from its representations and attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray
from kgeval.base.errors import CheckpointError
from kgeval.models.checkpoints.options import truth_value
from kgeval.models.checkpoints.readers.pykeen_modules import NoFormula, PyKEENModel
from kgeval.models.checkpoints.readers.pykeen_networks import NETWORKS, affine
from kgeval.models.checkpoints.shared.layers import check_shape, joined
from kgeval.models.families.bilinear import (
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
from kgeval.models.families.complex import ComplEx, RotatE
from kgeval.models.families.hypercomplex import QuatE
from kgeval.models.families.projections import TransD, TransH, TransR
from kgeval.models.families.regions import KG2E, BoxE
from kgeval.models.families.translations import SE, LineaRE, MuRE, PairRE, TorusE, TransE, TransF
from kgeval.models.family import Family
from kgeval.models.ordered import from_interleaved


def _kg2e(parts: PyKEENModel) -> Family:
    """Its measure is a module without parameters or, for a state dictionary, an option of the user."""
    module = parts.interaction.child("similarity")
    kind: Any = parts.interaction.state.get("similarity") if module is None else module.class_name
    measure = MEASURES.get(kind, kind)
    if measure not in ("kl", "el"):
        raise NoFormula(f"it compares distributions by {kind}, which kgeval does not compute.")
    return KG2E(side_by_side(parts.entity), side_by_side(parts.relation), measure=measure)


MEASURES = {"NegativeKullbackLeiblerDivergence": "kl", "ExpectedLikelihood": "el"}
"""how distributions are compared: PyKEEN's classes, and its synonyms"""


def _triplere(parts: PyKEENModel) -> Family:
    """A number, u, is added to what stretches heads and tails."""
    added = parts.interaction.state.get("u")
    forward, between, backward = (np.asarray(parts.relation(index), np.float64) for index in range(3))
    stretch = 0.0 if added is None else float(added)
    thirds = np.concatenate([forward + stretch, between, backward + stretch], axis=1)
    return LineaRE(parts.entity(), thirds, norm=norm_of(parts, 1))


def _transd(parts: PyKEENModel) -> Family:
    """Projected entities longer than 1 are shortened to 1, by the Euclidean norm."""
    if norm_of(parts, 2) != 2:
        raise NoFormula("its distance is the norm of p = 1, and its projections are shortened by that of p = 2.")
    relations = parts.relations("relation", "relation_transfer")
    return TransD(parts.entity(), **relations, entity_transfer=parts.entity(1), norm=2, normalization="max_norm")


def _transh(parts: PyKEENModel) -> Family:
    return TransH(parts.entity(), **parts.relations("normal", "relation"), norm=norm_of(parts, 2), normalization="none")


def _transr(parts: PyKEENModel) -> Family:
    """Projected entities are shortened to norm 1 where theirs is larger, by the norm of the distance."""
    if parts.interaction.state.get("max_projection_norm") != 1.0:
        raise NoFormula("its projections are shortened to another norm than 1.")
    relations = parts.relations("relation", "projection")
    return TransR(parts.entity(), **relations, norm=norm_of(parts, 2), normalization="max_norm")


def _um(parts: PyKEENModel) -> Family:
    """A TransE whose relations move nothing."""
    entity = parts.entity()
    return TransE(entity, np.zeros((parts.num_relations, entity.shape[1]), entity.dtype), norm=norm_of(parts, 2))


def norm_of(parts: PyKEENModel, default: Any) -> Literal[1, 2]:
    """Tell the norm of a distance; its power (``power_norm``) ranks as the distance does."""
    truth_value("interaction", "power_norm", parts.interaction.state.get("power_norm"))
    norm = parts.interaction.state.get("p", default)
    if norm not in (1, 2) or isinstance(norm, bool):
        raise NoFormula(f"its distance is the norm of p = {norm}; kgeval has 1 and 2.")
    return 1 if norm == 1 else 2


def side_by_side(table: Callable[[int], FloatArray], count: int = 2) -> FloatArray:
    return joined({f"representation {index}": table(index) for index in range(count)})


def family_of(parts: PyKEENModel, name: str) -> Family:
    if name not in FAMILIES:
        model = parts.model.class_name
        described = model if model == name else f"{model} ({name})"
        raise NoFormula(f"kgeval has no formula for PyKEEN's {described} yet; it has {', '.join(sorted(FAMILIES))}.")
    return FAMILIES[name](parts)


def _boxe(parts: PyKEENModel) -> Family:
    """Boxes are stored as a base, a shape and a size, for heads and for tails."""
    mapped = truth_value("interaction", "tanh_map", parts.interaction.state.get("tanh_map", True))
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
    entities = 1 + max(max(head, tail) for head, _, tail, _ in coefficients)
    relations = 1 + max(relation for _, relation, _, _ in coefficients)
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
    relations = parts.relations("relation", "diagonal")
    return MuRE(parts.entity(), **relations, head_bias=parts.bias(1), tail_bias=parts.bias(2))


def _quarters(array: FloatArray) -> FloatArray:
    return np.concatenate([array[:, part::4] for part in range(4)], axis=1)


def _simple(parts: PyKEENModel) -> Family:
    """Since version 1.8 it is the mean of two DistMults, before that it followed the paper."""
    if parts.model.child("tail_entity_embeddings") is not None:
        if parts.interaction.state.get("clamp_score") is not None:
            raise NoFormula("its scores are clamped, in a layout from before PyKEEN's interaction modules.")
        return SimplE(side_by_side(parts.entity), side_by_side(parts.relation))
    return DistMult(side_by_side(parts.entity), _halved(parts))


def _halved(parts: PyKEENModel) -> Float64Array:
    return np.asarray(side_by_side(parts.relation), np.float64) / 2


def _clamped(parts: PyKEENModel) -> Family:
    base = parts.interaction.child("base")
    limits = parts.interaction.state.get("clamp_score")
    if base is None or base.class_name != "SimplEInteraction":
        raise NoFormula("it clamps the scores of another interaction than SimplE.")
    if limits is None:
        return _simple(parts)
    low, high = (end if limit is None else float(limit) for end, limit in zip((-np.inf, np.inf), limits, strict=True))
    return ClampedDistMult(side_by_side(parts.entity), _halved(parts), low=low, high=high)


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
    "KG2E": _kg2e,
    "LineaRE": lambda parts: LineaRE(parts.entity(), side_by_side(parts.relation, 3), norm=norm_of(parts, 1)),
    "MuRE": _mure,
    "MultiLinearTucker": _multilinear_tucker,
    "PairRE": lambda parts: PairRE(parts.entity(), side_by_side(parts.relation), norm=norm_of(parts, 1)),
    # Quaternions lie one after the other, and PyKEEN's score is negative.
    "QuatE": lambda parts: QuatE(_quarters(parts.entity()), -_quarters(parts.relation())),
    "RESCAL": lambda parts: RESCAL(parts.entity(), parts.relation()),
    # Relations that are no rotations are read too: PyKEEN turns back by conj(r) as well.
    # PyKEEN's interaction takes a p and a power_norm, and computes with neither.
    "RotatE": lambda parts: RotatE(from_interleaved(parts.entity()), from_interleaved(parts.relation()), norm=2),
    "SE": lambda parts: SE(parts.entity(), parts.relation(0), norm_of(parts, 2), parts.relation(1)),
    "SimplE": _simple,
    "TorusE": lambda parts: TorusE(parts.entity(), parts.relation(), norm=norm_of(parts, 2)),
    "TransD": _transd,
    "TransE": lambda parts: TransE(
        parts.entity(), parts.relation(), norm_of(parts, parts.interaction.state.get("scoring_fct_norm"))
    ),
    "TransF": lambda parts: TransF(parts.entity(), parts.relation()),
    "TransH": _transh,
    "TransR": _transr,
    "TripleRE": _triplere,
    "TuckER": _tucker,
    "UM": _um,
    **NETWORKS,
}
