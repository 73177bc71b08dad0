"""Dot products for live interactions that are affine in the tail, with weights from the scores of unit vectors."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side
from kgeval.pykeen.live_family import live_parts
from kgeval.scorers.family import rows64
from kgeval.scorers.family_bases import RelationalFamily
from kgeval.scorers.numerics.similarity import Similarity
from kgeval.scorers.reciprocal import Reciprocal
from kgeval.threads import single_threaded_openmp

AFFINE = {"ConvE", "CrossE", "ERMLPE", "ProjE", "Transformer"}
"""PyKEEN's interactions that are affine in the tails; options may change this"""

MOST_PAIRS, MOST_CELLS = 64, 2**22
"""the most pairs in a batch, and numbers in the unit vectors that each of them is scored with"""

TOLERANCE = 1e-9
"""the largest relative difference, in float64, between the score of a combination and the combination of scores"""


def live_products(model: Any) -> LiveProducts | Reciprocal | None:
    """Make the scorer of a live model by dot products, where its interaction is affine in the tails.

    The model is a ``pykeen.models.ERModel`` in evaluation mode. The caller compares the scores with the model's.
    """
    if type(model.interaction).__name__.removesuffix("Interaction") not in AFFINE:
        return None
    with suppress(Exception):  # the interaction can be anything, and the model has its own functions
        family = LiveProducts.of(model)
        if family.is_affine():
            return Reciprocal(family) if model.use_inverse_triples else family
    return None


@dataclass(frozen=True, eq=False)
class LiveProducts(RelationalFamily):
    """score(h, r, t) = w(h, r) · t + c(h, r) = [c | w] · [1 | t]; w and c are a function of the head and the relation.

    c is the interaction's score with the zero vector as tail, w + c its scores with the unit vectors.

    The interaction computes in float64. The last bits of a network's output depend on the size of the batch, on the
    position of a pair in it and on the number of threads: so all batches have one size, each pair has a fixed position
    (equal heads the same one), and there is one thread.
    """

    name: ClassVar[str] = "a live interaction"
    formula: ClassVar[str] = "w(h, r) · t + c(h, r)"
    similarity: ClassVar[Similarity] = "dot"

    heads: FloatArray
    """float[entity, width], the entities as heads; ``entity`` are those as tails"""
    interaction: Any
    """the interaction, in float64 and evaluation mode"""
    shapes: dict[str, list[tuple[int, ...]]]
    """the shapes of the representations that lie in a row of ``head``, ``relation`` and ``tail``"""

    @classmethod
    def of(cls, model: Any) -> LiveProducts:
        import copy

        parts, interaction = live_parts(model), copy.deepcopy(model.interaction).double().eval()
        entities, relations = model.entity_representations, model.relation_representations
        sources = {
            "head": (entities, parts.entity, interaction.head_indices),
            "relation": (relations, parts.relation, range(len(relations))),
            "tail": (entities, parts.entity, interaction.tail_indices),
        }
        rows, shapes = {}, {}
        for name, (representations, table, indices) in sources.items():
            shapes[name] = [tuple(representations[index].shape) for index in indices]
            rows[name] = np.concatenate([table(index) for index in indices], axis=1)
            if rows[name].shape[1] != sum(map(prod, shapes[name])):
                raise ValueError("complex vectors cannot be used in a dot product of real ones")
        return cls(rows["tail"], rows["relation"], rows["head"], interaction, shapes)

    @cached_property
    def row_ids(self) -> IntArray:
        """int64[entity], the same for equal rows of ``heads``."""
        return _number_rows(self.heads)

    def is_shared(self, side: Side) -> bool:
        return side == "tail"

    def query_vectors(self, queries: Queries) -> Float64Array:
        if queries.side == "tail":
            return self._products(queries.anchors, queries.relations)
        return self._with_ones(queries.anchors)

    def candidate_vectors(self, side: Side, relation: int, ids: IntArray) -> FloatArray:
        return self._with_ones(ids) if side == "tail" else self._products(ids, np.full(len(ids), relation))

    def _with_ones(self, ids: IntArray) -> Float64Array:
        return np.concatenate([np.ones((len(ids), 1)), rows64(self.entity, ids)], axis=1)

    def is_affine(self) -> bool:
        """Whether affine combinations of two tails score as the combinations of their scores, on random vectors.

        Tails of several scales, so that a function with a cut-off or saturation is not taken for an affine one.
        """
        mixtures = np.array([[1.0, 0.0], [0.0, 1.0], [0.25, 0.75], [3.0, -2.0]])
        rng = np.random.default_rng(0)
        sizes = ((8, self.heads.shape[1]), (8, self.relation.shape[1]), (2, self.entity.shape[1]))
        heads, relations, tails = (rng.normal(size=size) for size in sizes)
        scored = (self._score(heads, relations, mixtures @ (scale * tails)) for scale in (1e-6, 1.0, 1e6))
        return all(
            np.abs(scores - scores[:, :2] @ mixtures.T).max() <= TOLERANCE * np.abs(scores).max() for scores in scored
        )

    def _products(self, ids: IntArray, relations: IntArray) -> Float64Array:
        """Compute [c | w] of pairs, each at its position in a batch; empty positions are padded with another pair."""
        width = self.entity.shape[1]
        units = np.concatenate([np.zeros((1, width)), np.eye(width)])
        size = max(1, min(MOST_PAIRS, MOST_CELLS // (width * width)))
        weights = np.empty((len(ids), width + 1))
        with single_threaded_openmp():
            for batch in _batches((self.row_ids[ids] + relations) % size, size):
                pairs = np.where(batch < 0, batch.max(), batch)
                scores = self._score(rows64(self.heads, ids[pairs]), rows64(self.relation, relations[pairs]), units)
                weights[batch[batch >= 0]] = scores[batch >= 0]
        weights[:, 1:] -= weights[:, :1]
        return weights

    def _score(self, heads: Float64Array, relations: Float64Array, tails: Float64Array) -> Float64Array:
        """Score every pair of a head and its relation with every tail; float64[pair, tail]."""
        import torch

        device = next((tensor.device for tensor in self.interaction.parameters()), torch.device("cpu"))
        rows = {"head": heads[:, None], "relation": relations[:, None], "tail": tails[None]}
        h, r, t = (_split(torch.from_numpy(row).to(device), self.shapes[name]) for name, row in rows.items())
        with torch.inference_mode():
            scores = self.interaction(h=h, r=r, t=t)
        return np.asarray(scores.cpu().numpy().reshape(len(heads), len(tails)), np.float64)


def _batches(places: IntArray, size: int) -> IntArray:
    """Put items into batches, each at its position (below ``size``); int64[batch, position], −1 where empty.

    >>> _batches(np.array([1, 0, 1]), size=3)
    array([[ 1,  0, -1],
           [-1,  2, -1]])
    """
    order = np.argsort(places, kind="stable")
    counts = np.bincount(places, minlength=size)
    before = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    batches = np.full((counts.max(initial=0), size), -1)
    batches[before, places[order]] = order
    return batches


def _number_rows(rows: FloatArray) -> IntArray:
    """Number rows in the order in which they come, equal ones alike.

    >>> _number_rows(np.array([[3.0], [1.0], [3.0], [2.0]]))
    array([0, 1, 0, 2])
    """
    _, first, groups = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[groups.ravel()]


def _split(rows: Any, shapes: list[tuple[int, ...]]) -> Any:
    """Split rows (tensor[..., width]) into the representations that an interaction takes."""
    pieces = rows.split([*map(prod, shapes)], dim=-1)
    parts = [piece.reshape(*piece.shape[:-1], *shape) for piece, shape in zip(pieces, shapes, strict=True)]
    return parts[0] if len(parts) == 1 else tuple(parts)
