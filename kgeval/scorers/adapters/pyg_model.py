"""PyTorch Geometric's models by their formulas: the tables that each has, and the vectors of a live one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray, detached
from kgeval.data.triples import SIDES
from kgeval.scorers.adapters.array_scorers import CallableScorer
from kgeval.scorers.checks.reproduction import reproduces_scores
from kgeval.scorers.families.distances.rotate import RotatE
from kgeval.scorers.families.distances.transe import TransE
from kgeval.scorers.families.products.complex import ComplEx
from kgeval.scorers.families.products.distmult import DistMult
from kgeval.scorers.family import Family
from kgeval.scorers.numerics.ordered import unit

CLASSES = {
    "torch_geometric.nn.kge.transe.TransE": "TransE",
    "torch_geometric.nn.kge.distmult.DistMult": "DistMult",
    "torch_geometric.nn.kge.complex.ComplEx": "ComplEx",
    "torch_geometric.nn.kge.rotate.RotatE": "RotatE",
}
"""the classes of its models, and the name of each"""

TABLES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "TransE": (("node_emb",), ("rel_emb",)),
    "DistMult": (("node_emb",), ("rel_emb",)),
    "ComplEx": (("node_emb", "node_emb_im"), ("rel_emb", "rel_emb_im")),
    "RotatE": (("node_emb", "node_emb_im"), ("rel_emb",)),
}
"""the embeddings of entities and of relations, real and imaginary; RotatE's relations are phases in radians"""

FORMULAS: Mapping[str, Callable[[FloatArray, FloatArray, Any], Family]] = {
    # Only entities are normalised, and by the norm that measures the distance.
    "TransE": lambda entity, relation, norm: TransE(unit(np.asarray(entity, np.float64), norm), relation, norm),
    "DistMult": lambda entity, relation, _: DistMult(entity, relation),
    "ComplEx": lambda entity, relation, _: ComplEx(entity, relation),
    "RotatE": lambda entity, relation, _: RotatE(entity, relation, 2),  # one norm of real and imaginary parts
}
"""(entities, relations, p of the norm) -> the model"""


def vectors_of_pyg(model: Any) -> Family | None:
    """Make the formula of a live model of PyTorch Geometric, where its class is exactly one of ``CLASSES``.

    ``None`` for any other object, and for a model that was changed so that it scores otherwise.
    """
    name = CLASSES.get(f"{type(model).__module__}.{type(model).__qualname__}")
    if name is None or any(map(_is_hooked, model.modules())):
        return None
    norm, margin = getattr(model, "p_norm", None), float(model.margin) if name == "RotatE" else 0.0
    if name == "TransE" and norm not in (1, 2):
        return None
    entity, relation = (np.concatenate([_rows(model, part) for part in parts], axis=1) for parts in TABLES[name])
    family = FORMULAS[name](entity, relation, norm and int(norm))
    live = CallableScorer(lambda h, r, t: model(h, r, t) - margin, model.num_nodes, model.num_relations)
    return family if all(reproduces_scores(family, live, side, model) for side in SIDES) else None


def _is_hooked(module: Any) -> bool:
    return bool("forward" in vars(module) or module._forward_hooks or module._forward_pre_hooks)


def _rows(model: Any, part: str) -> FloatArray:
    rows: FloatArray = detached(getattr(model, part).weight).numpy().copy()
    return rows
