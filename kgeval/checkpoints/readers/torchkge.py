"""TorchKGE's models: a ``state_dict``, saved with torch or as a plain pickle. It holds tensors, no labels and no name.

Entities and relations have the ids of their sorted labels. TorchKGE evaluates with the stored rows as they are; only
its training normalises them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgeval.arrays import FloatArray
from kgeval.checkpoints.shared.state_dict_format import Model, Option, StateDictFormat, Take, halves, holds, named
from kgeval.checkpoints.shared.tensors import Tensors, check_same_rows
from kgeval.scorers.families.bilinear import RESCAL, DistMult, HolE
from kgeval.scorers.families.complex import ComplEx
from kgeval.scorers.families.projections import TransD, TransH, TransR
from kgeval.scorers.families.translations import TransE

TABLES: dict[str, Any] = {"entity": named("ent_emb.weight"), "relation": named("rel_emb.weight")}
PROJECTED = TABLES | {"norm": 2, "normalization": "none"}
TRANSFERS = {f"{kind}_transfer": named(f"{kind[:3]}_proj_vect.weight") for kind in ("entity", "relation")}


def _analogy(kind: str) -> Take:
    """Take Analogy's vectors: the real dimensions are complex ones whose imaginary parts are zero."""
    scalars, pairs = named(f"sc_{kind}_emb.weight"), _complex(kind)

    def make(tensors: Tensors) -> FloatArray:
        both, first = pairs(tensors), scalars(tensors)
        check_same_rows(tensors.path, [both, first])
        real, imaginary = np.split(both, 2, axis=1)
        return np.concatenate([first, real, np.zeros_like(first), imaginary], axis=1)

    return Take(f"{scalars.text} | {pairs.text}", make)


def _complex(kind: str) -> Take:
    return halves(f"re_{kind}_emb.weight", f"im_{kind}_emb.weight")


def _projection(tensors: Tensors) -> FloatArray:
    """Take TransR's matrices, which are stored as relation width × entity width."""
    entity, relation = (take(tensors) for take in TABLES.values())
    stored = tensors.take("proj_mat.weight", len(relation), relation.shape[1] * entity.shape[1])
    return stored.reshape(len(stored), relation.shape[1], -1).transpose(0, 2, 1).reshape(len(stored), -1)


READER = StateDictFormat(
    name="torchkge",
    framework="TorchKGE",
    summary="a state_dict of a TorchKGE model (.pt, .pth, or a plain pickle)",
    what="state_dict of a TorchKGE model",
    files=tuple(holds({suffix}, {"ent_emb.weight"}, {"re_ent_emb.weight"}) for suffix in (".pt", ".pth", ".pkl")),
    # L2 is the squared distance, which ranks as the distance does.
    models={
        "TransE": Model(TransE, TABLES | {"norm": Option("dissimilarity_type", {"L1": 1, "L2": 2})}),
        "DistMult": Model(DistMult, TABLES),
        "HolE": Model(HolE, TABLES),
        "TransH": Model(TransH, PROJECTED | {"normal": named("norm_vect.weight")}, "norm_vect.weight"),
        "TransR": Model(
            TransR, PROJECTED | {"projection": Take("proj_mat.weight, transposed", _projection)}, "proj_mat.weight"
        ),
        "TransD": Model(TransD, PROJECTED | TRANSFERS, "ent_proj_vect.weight"),
        "RESCAL": Model(RESCAL, TABLES | {"relation": named("rel_mat.weight")}, "rel_mat.weight"),
        "Analogy": Model(ComplEx, {"entity": _analogy("ent"), "relation": _analogy("rel")}, "sc_ent_emb.weight"),
        "ComplEx": Model(ComplEx, {"entity": _complex("ent"), "relation": _complex("rel")}, "re_ent_emb.weight"),
    },
    tables=TABLES,
    ignored=("projected_entities",),
    numbering="sorted",
    known_by=(frozenset({"ent_emb.weight", "rel_emb.weight"}),),
).reader()
