"""ConvKB: filters over head, relation and tail, dimension by dimension, and a score of them (Nguyen et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.scorers.block import ScoredFamily
from kgeval.scorers.family import rows64
from kgeval.threads import slices

HELD_QUERIES = 64
"""queries whose vectors are held at a time"""


@dataclass(frozen=True, eq=False)
class ConvKB(ScoredFamily):
    """score(h, r, t) = Σ_k Σ_f W_fk relu(a_f h_k + b_f r_k + c_f t_k + d_f) + w.

    Nguyen, Nguyen, Nguyen and Phung: A Novel Embedding Model for Knowledge Base Completion Based on Convolutional
    Neural Network, NAACL 2018.
    """

    name: ClassVar[str] = "ConvKB"
    formula: ClassVar[str] = "Σ W relu(a h + b r + c t + d) + w, over dimensions and filters"
    equal_widths: ClassVar[bool] = True
    by_dimension: ClassVar[bool] = True

    kernel: FloatArray
    """float[filter, 3], the weights (a, b, c) of head, relation and tail"""
    kernel_bias: FloatArray
    """float[filter], d"""
    output: FloatArray
    """float[filter, width], W"""
    output_bias: FloatArray
    """float[1], w"""

    def __post_init__(self) -> None:
        super().__post_init__()
        count = self.kernel_bias.shape
        fits = len(count) == 1 and self.kernel.shape == (*count, 3)
        self.require(fits and self.output.shape == (*count, self.entity.shape[1]), "kernel and output must fit")
        self.require(self.output_bias.shape == (1,), "output_bias must be one number")

    def query_vectors(self, queries: Queries) -> Float64Array:
        """Lay the weights of candidates and what filters make of anchor and relation, a h + b r + d, side by side."""
        anchors, relations = rows64(self.entity, queries.anchors), rows64(self.relation, queries.relations)
        head, relation, tail = np.asarray(self.kernel, np.float64).T
        anchor, slopes = (head, tail) if queries.side == "tail" else (tail, head)
        responses = (
            anchors[:, :, None] * anchor + relations[:, :, None] * relation + np.asarray(self.kernel_bias, np.float64)
        )
        return np.concatenate([np.tile(slopes, (len(queries), 1)), responses.reshape(len(queries), -1)], axis=1)

    def compare(self, queries: Float64Array, candidates: Float64Array) -> Float64Array:
        """Apply the filters to candidates, and sum what is above zero."""
        # Numba is loaded when something is scored, not before.
        from kgeval.scorers.numerics.relu_kernel import sum_filters

        weights = np.ascontiguousarray(np.asarray(self.output, np.float64).T)
        slopes, responses = queries[:, : len(self.kernel)], queries[:, len(self.kernel) :]
        scores = np.empty((len(queries), candidates.shape[1]))
        sum_filters(responses, candidates, slopes[0], weights, scores)
        return scores + np.float64(self.output_bias[0])

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Score some queries at a time, since their vectors are as wide as the outputs of all filters."""
        own = candidates.ndim == 2
        parts = [
            super(ConvKB, self).scores(queries[part], candidates[part] if own else candidates)
            for part in slices(len(queries), HELD_QUERIES)
        ]
        return np.concatenate([np.empty((0, candidates.shape[-1])), *parts])
