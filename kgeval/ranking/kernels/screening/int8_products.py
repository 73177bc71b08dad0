"""Screening by matrix products of two planes of eight bits: a narrow bound, for half as much again as bfloat16 takes.

A vector is rounded to v̂ = s (256 v₁ + v₂), with v₁ and v₂ in eight bits and a scale s of its own. Products of whole
numbers are exact, so what is lost is the rounding of the vectors, and the product of the lower planes, which is left
out:

|q·e − 256 s t (256 q₁·e₁ + q₁·e₂ + q₂·e₁)| ≤ ‖q‖‖δe‖ + ‖δq‖‖ê‖ + ‖s q₂‖‖t e₂‖

with the scales s of the query and t of the entity; all norms are known exactly. The planes are put together in float32,
in seven operations on terms of at most 3 (‖q̂‖ + ‖s q₂‖)(‖ê‖ + ‖t e₂‖).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.compiling import njit
from kgeval.ranking.kernels.planes import round_to_planes
from kgeval.ranking.kernels.rounding import U32
from kgeval.ranking.kernels.screening.products import Float32Products
from kgeval.ranking.kernels.screening.screens import SMALLEST, largest_in_groups
from kgeval.ranking.kernels.vectors import EntityVectors

LARGEST_DIM = 2**16
"""dimensions beyond this are not screened so: the products across, of 2 · 127 · 128 each, would leave 32 bits"""


class Int8Products(Float32Products):
    """Products of whole numbers in eight bits, which processors with such instructions add up exactly."""

    def _round(self, entities: EntityVectors) -> None:
        import torch

        queries, entity_planes = self._query_vectors.int8, round_to_planes(entities.vectors, self.order)
        self._planes = queries, entity_planes
        factors = (queries.upper, queries.lower), (entity_planes.lower, entity_planes.upper)
        self._factors = [torch.from_numpy(np.concatenate(planes, axis=1)) for planes in factors]
        self._single_added = self._added.astype(np.float32)

    def buffer(self, rows: int) -> np.ndarray[Any, Any]:
        """Make room; float32[3, query, column]: the product of the upper planes, those across, and the statistics."""
        return np.empty((3, rows, len(self.order)), np.float32)

    def statistics(self, block: slice, buffer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Multiply, and put the planes together; float32[query, column]."""
        import torch

        left, right, dim = self._factors[0][block], self._factors[1], self._factors[0].shape[1] // 2
        statistics = buffer[0, : len(left)]
        upper, across = (plane[: len(left)].view(np.int32) for plane in buffer[1:])
        with torch.inference_mode():
            torch._int_mm(left[:, :dim], right[:, dim:].T, out=torch.from_numpy(upper))
            torch._int_mm(left, right.T, out=torch.from_numpy(across))
        queries, entities = self._planes
        _combine_planes(upper, across, queries.scales[block], entities.scales, self._single_added, statistics)
        return statistics

    def _error(self, owners: IntArray) -> Float64Array:
        """Bound the error of the statistics of each answer's query; float64[answer, group]."""
        queries, entities = self._planes
        norms, query_norms = self._norms + entities.rounding_errors, self._query_vectors.norms
        growth = 24 * U32 * 1.01
        of_queries = [
            queries.rounding_errors,
            query_norms,
            queries.lower_norms,
            growth * (query_norms + queries.rounding_errors + queries.lower_norms),
        ]
        of_entities = [norms, entities.rounding_errors, entities.lower_norms, norms + entities.lower_norms]
        product = np.stack(of_queries, axis=1)[owners] @ np.stack([largest_in_groups(part) for part in of_entities])
        product += largest_in_groups(growth * np.abs(self._added)) + SMALLEST * self._query_vectors.vectors.shape[1]
        return np.asarray(product * (1 + 2.0**-20))


@njit(cache=True, nogil=True)
def _combine_planes(upper, across, query_scales, scales, added, statistics):  # type: ignore[no-untyped-def]
    for row in range(len(statistics)):
        scale = query_scales[row] * np.float32(256)
        for column in range(len(scales)):
            product = np.float32(upper[row, column]) * np.float32(256) + np.float32(across[row, column])
            statistics[row, column] = product * scales[column] * scale + added[column]
