"""A live PyKEEN model as a scorer, through its own score functions, whatever its interaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray, IntArray
from kgeval.graph.queries import Queries
from kgeval.scorers.finished import as_float64

CELLS = 2**18
"""scores that a model is asked for at a time: many interactions make an array of query × entity × dimension of them"""


@dataclass(frozen=True, eq=False)
class PyKEENScorer:
    """Scores with ``model.predict_t`` and ``model.predict_h``: inverse triples and sigmoids are the model's own.

    The model is put into evaluation mode for each call and back into its mode afterwards.
    """

    model: Any
    """a ``pykeen.models.Model``"""

    @property
    def num_entities(self) -> int:
        """How many entities the model knows."""
        return int(self.model.num_entities)

    @property
    def num_relations(self) -> int:
        """How many relations the model knows, inverses not counted."""
        return int(self.model.num_relations) // (2 if self.model.use_inverse_triples else 1)

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Score all entities, and take the candidates."""
        import torch

        if queries.side == "tail":
            batch, predict = np.stack([queries.anchors, queries.relations], axis=1), self.model.predict_t
        else:
            batch, predict = np.stack([queries.relations, queries.anchors], axis=1), self.model.predict_h
        step = max(1, CELLS // max(self.num_entities, 1))
        with torch.inference_mode(), _evaluating(self.model):
            parts = [predict(torch.from_numpy(batch[i : i + step])).cpu() for i in range(0, len(batch), step)]
        rows = as_float64(torch.cat(parts), "the model")
        return rows[:, candidates] if candidates.ndim == 1 else np.take_along_axis(rows, candidates, axis=1)


def is_pykeen_model(candidate: object) -> bool:
    """Whether an object is a PyKEEN model, found out without importing PyKEEN."""
    return any(f"{base.__module__}.{base.__name__}" == "pykeen.models.base.Model" for base in type(candidate).__mro__)


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training
