"""PyKEEN's interactions that are distances, as model families."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.readers.pykeen.modules import NoFormula, PyKEENModel
from kgeval.errors import CheckpointError
from kgeval.scorers.families.complex import RotatE
from kgeval.scorers.families.projections import TransD, TransH, TransR
from kgeval.scorers.families.regions import KG2E
from kgeval.scorers.families.translations import SE, LineaRE, PairRE, TorusE, TransE
from kgeval.scorers.family import Family
from kgeval.scorers.ordered import from_interleaved


def _kg2e(parts: PyKEENModel) -> Family:
    """Its measure is a module without parameters, or what was said of a state dictionary."""
    module = parts.interaction.child("similarity")
    kind = parts.interaction.state.get("similarity") if module is None else module.class_name
    if kind not in MEASURES:
        raise NoFormula(f"its distributions are compared by {kind}.")
    return KG2E(side_by_side(parts.entity), side_by_side(parts.relation), measure=MEASURES[kind])


MEASURES: dict[Any, Literal["kl", "el"]] = {
    "NegativeKullbackLeiblerDivergence": "kl",
    "ExpectedLikelihood": "el",
    "kl": "kl",
    "el": "el",
}
"""how distributions are compared, by PyKEEN's classes and by its synonyms"""


def _triplere(parts: PyKEENModel) -> Family:
    """A number, u, is added to what stretches heads and tails."""
    added = parts.interaction.state.get("u")
    forward, between, backward = (np.asarray(parts.relation(index), np.float64) for index in range(3))
    stretch = 0.0 if added is None else float(added)
    thirds = np.concatenate([forward + stretch, between, backward + stretch], axis=1)
    return LineaRE(parts.entity(), thirds, norm=norm_of(parts, 1))


def _rotate(parts: PyKEENModel) -> Family:
    # Relations that are no rotations are read too: PyKEEN turns back by conj(r) as well.
    # PyKEEN's interaction takes a p and a power_norm, and computes with neither.
    return RotatE(from_interleaved(parts.entity()), from_interleaved(parts.relation()), norm=2)


def _transd(parts: PyKEENModel) -> Family:
    """Projected entities longer than 1 are shortened to 1, by the Euclidean norm."""
    if norm_of(parts, 2) != 2:
        raise NoFormula("its distance is the norm of p = 1, and its projections are shortened by that of p = 2.")
    return TransD(
        parts.entity(),
        parts.relation(),
        entity_transfer=parts.entity(1),
        relation_transfer=parts.relation(1),
        norm=2,
        normalization="max_norm",
    )


def _transe(parts: PyKEENModel) -> Family:
    return TransE(parts.entity(), parts.relation(), norm_of(parts, parts.interaction.state.get("scoring_fct_norm")))


def _transh(parts: PyKEENModel) -> Family:
    normal = parts.relation(0)
    return TransH(parts.entity(), parts.relation(1), normal=normal, norm=norm_of(parts, 2), normalization="none")


def _transr(parts: PyKEENModel) -> Family:
    """Projected entities are shortened to norm 1 where theirs is larger, by the norm of the distance."""
    if parts.interaction.state.get("max_projection_norm") != 1.0:
        raise NoFormula("its projections are shortened to another norm than 1.")
    norm = norm_of(parts, 2)
    return TransR(parts.entity(), parts.relation(0), projection=parts.relation(1), norm=norm, normalization="max_norm")


def _um(parts: PyKEENModel) -> Family:
    """A TransE whose relations move nothing."""
    entity = parts.entity()
    return TransE(entity, np.zeros((parts.num_relations, entity.shape[1]), entity.dtype), norm=norm_of(parts, 2))


def norm_of(parts: PyKEENModel, default: Any) -> Literal[1, 2]:
    """Tell the norm of a distance; its power (``power_norm``) ranks as the distance does."""
    power = parts.interaction.state.get("power_norm")
    if power is not None and not isinstance(power, bool):
        raise CheckpointError(f"its power_norm is {power!r}, no truth value.")
    norm = parts.interaction.state.get("p", default)
    if norm not in (1, 2) or isinstance(norm, bool):
        raise NoFormula(f"its distance is the norm of p = {norm}; kgeval has 1 and 2.")
    return 1 if norm == 1 else 2


def side_by_side(table: Callable[[int], FloatArray], count: int = 2) -> FloatArray:
    tables = [table(index) for index in range(count)]
    if len({array.shape for array in tables}) > 1:
        found = ", ".join(str(array.shape) for array in tables)
        raise CheckpointError(f"its representations of the same rows have the shapes {found}.")
    return np.concatenate(tables, axis=1)


DISTANCES: dict[str, Callable[[PyKEENModel], Family]] = {
    "KG2E": _kg2e,
    "LineaRE": lambda parts: LineaRE(parts.entity(), side_by_side(parts.relation, 3), norm=norm_of(parts, 1)),
    "PairRE": lambda parts: PairRE(parts.entity(), side_by_side(parts.relation), norm=norm_of(parts, 1)),
    "RotatE": _rotate,
    "SE": lambda parts: SE(parts.entity(), parts.relation(0), norm_of(parts, 2), parts.relation(1)),
    "TorusE": lambda parts: TorusE(parts.entity(), parts.relation(), norm=norm_of(parts, 2)),
    "TransD": _transd,
    "TransE": _transe,
    "TransH": _transh,
    "TransR": _transr,
    "TripleRE": _triplere,
    "UM": _um,
}
