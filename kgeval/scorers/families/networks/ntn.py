"""NTN, neural tensor network: each relation has a tensor, and a layer, for pairs of entities (Socher et al., 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import BoolArray, Float64Array, FloatArray
from kgeval.data.queries import Queries
from kgeval.scorers.block import ScoredFamily
from kgeval.scorers.family import by_relation, rows64
from kgeval.scorers.numerics.activations import ACTIVATIONS, Activation
from kgeval.scorers.numerics.ordered import matmul_ordered, weighted_sum


@dataclass(frozen=True, eq=False)
class NTN(ScoredFamily):
    """score(h, r, t) = Σ_s u_s f(h W_s t + v_s · h + v'_s · t + b_s), all parameters the relation's.

    A row of ``relation`` has the matrices W_s one after the other, each row by row.
    Socher, Chen, Manning and Ng: Reasoning With Neural Tensor Networks for Knowledge Base Completion, NeurIPS 2013.
    """

    name: ClassVar[str] = "NTN"
    formula: ClassVar[str] = "Σ u f(h W t + v·h + v'·t + b), over slices of the relation"
    by_dimension: ClassVar[bool] = True
    batch_candidates: ClassVar[int] = 2**8

    head_weight: FloatArray
    """float[relation, slice × entity width], v"""
    tail_weight: FloatArray
    """float[relation, slice × entity width], v'"""
    slice_bias: FloatArray
    """float[relation, slice], b"""
    slice_output: FloatArray
    """float[relation, slice], u"""
    activation: Activation
    """the function f"""

    def __post_init__(self) -> None:
        super().__post_init__()
        width, rows = self.entity.shape[1], len(self.relation)
        self.require(
            self.slice_output.ndim == 2 and self.slice_output.shape == self.slice_bias.shape,
            "slice_bias and slice_output must fit",
        )
        slices = self.slice_output.shape[1]
        shapes = [self.relation.shape, self.head_weight.shape, self.tail_weight.shape, self.slice_output.shape]
        expected = [(rows, size) for size in (slices * width**2, slices * width, slices * width, slices)]
        self.require(shapes == expected, "relation and weights must have a matrix and vectors for each slice")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Lay what each slice multiplies a candidate with, what it adds, and its output side by side."""
        width, slices = self.entity.shape[1], self.slice_output.shape[1]
        anchors = rows64(self.entity, queries.anchors)
        tails = queries.side == "tail"
        near, far = (self.head_weight, self.tail_weight) if tails else (self.tail_weight, self.head_weight)

        def multiply(relation: int, part: BoolArray) -> Float64Array:
            """Multiply anchors with all slices at once."""
            matrices = rows64(self.relation, relation).reshape(slices, width, width)
            by_anchor = np.moveaxis(matrices, 1 if tails else 2, 0).reshape(width, -1)
            weights = matmul_ordered(anchors[part], by_anchor) + rows64(far, relation)
            added = matmul_ordered(anchors[part], rows64(near, relation).reshape(slices, width).T)
            added = added + rows64(self.slice_bias, relation)
            return np.concatenate(
                [weights, added, np.tile(rows64(self.slice_output, relation), (part.sum(), 1))], axis=1
            )

        return by_relation(queries.relations, slices * (width + 2), multiply)

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        """Multiply with every slice, and sum the outputs."""
        count, slices = len(queries), self.slice_output.shape[1]
        weights, added, outputs = np.split(queries, [-2 * slices, -slices], axis=1)
        products = matmul_ordered(weights.reshape(count * slices, -1), candidates).reshape(count, slices, -1)
        hidden = ACTIVATIONS[self.activation](products + added[:, :, None])
        return weighted_sum(outputs.T[:, :, None], np.moveaxis(hidden, 1, 0))
