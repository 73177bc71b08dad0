"""Vectors on a device: as they are stored, and rounded for a screen, with what the rounding loses.

``device_kernel`` makes ``DeviceVectors`` of each block of queries and each chunk of entities; ``screen`` and
``device_blocks`` read them. A screen decides most comparisons by cheap scores with a proven error bound.

A screen of products takes float16, scaled by powers of two so that no number overflows: each query has its own scale,
and all entities of a chunk have the same. Float16 has eleven significant bits, bfloat16 only eight, at the same rate. A
screen of distances takes float32. The losses are measured in float64, in the norm of the similarity, so the bounds hold
however a number was rounded; numbers too small for float16 are lost, and measured as lost.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from kgeval.models.similarity import PRODUCTS
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors

TOP_EXPONENT = 10
"""scaled numbers stay below two to this power: sums of their products stay far from the end of float32"""

LARGEST_EXPONENT = 62
"""the largest exponent of a scale, a power of two: the product of two scales stays within float32"""

DIM_MULTIPLE = 32
"""the dimensions of products are filled up with zeros to a multiple of this number"""

NUMBERS_AT_ONCE = (2**20, 2**22)
"""the least and the most numbers that are widened to float64 at a time to measure them; between these, a sixteenth of
all"""

NORM_MARGIN = 1 + 2.0**-30
"""measured norms are multiplied by this factor: a sum of 2²² squares in float64 may lose that much"""


@dataclass(frozen=True, eq=False)
class DeviceVectors:
    """Rows of numbers on a device."""

    exact: Any
    """float32 or float64[row, dim], as they are stored"""
    added: Any
    """float64[row], the number that is added to scores: the biases of entities, the offsets of queries"""
    rounded: Any
    """float16[row, dim, filled up with zeros], scaled; float32[row, dim] for distances"""
    scales: Any
    """float64[row], the powers of two that rows were multiplied with; ones for distances"""
    norms: Any
    """float64[row], no less than the norm of each row"""
    errors: Any
    """float64[row], no less than the norm of each row's rounding error"""

    @classmethod
    def of_queries(cls, queries: QueryVectors, part: slice, device: Any) -> DeviceVectors:
        """Copy some queries to a device, and round them."""
        arrays = queries.vectors[part], queries.offsets[part]
        return cls._of(arrays, device, products=queries.similarity in PRODUCTS, one_scale=False)

    @classmethod
    def of_entities(cls, entities: EntityVectors, device: Any, *, products: bool) -> DeviceVectors:
        return cls._of((entities.vectors, entities.biases), device, products=products, one_scale=True)

    @classmethod
    def _of(cls, arrays: tuple[Any, Any], device: Any, *, products: bool, one_scale: bool) -> DeviceVectors:
        exact, added = (to_device(array, device) for array in arrays)
        rows, dim = exact.shape
        shape = (rows, -(-dim // DIM_MULTIPLE) * DIM_MULTIPLE if products else dim)
        rounded = exact.new_zeros(shape, dtype=torch.float16 if products else torch.float32)
        scales, norms, errors = (torch.ones(rows, dtype=torch.float64, device=device) for _ in range(3))
        if products and rows:
            # The absolute values of all numbers would be a copy of them in memory.
            largest = torch.maximum(exact.amax(dim=1), -exact.amin(dim=1)).double() if dim else scales * 0
            scales = _powers(largest.amax().expand(rows) if one_scale else largest)
        order = 2 if products else 1
        least, most = NUMBERS_AT_ONCE
        step = max(1, min(max(rows * dim // 16, least), most) // max(dim, 1))
        for start in range(0, rows, step):
            part = slice(start, start + step)
            wide, scale = exact[part].double(), scales[part, None]
            rounded[part, :dim] = (wide * scale).to(rounded.dtype)
            norms[part] = torch.linalg.vector_norm(wide, ord=order, dim=1)
            errors[part] = torch.linalg.vector_norm(wide - rounded[part, :dim].double() / scale, ord=order, dim=1)
        return cls(exact, added, rounded, scales, norms * NORM_MARGIN, errors * NORM_MARGIN)

    def largest(self) -> float:
        """The largest norm or added number; NaN if one of these is NaN."""
        sizes = torch.cat([self.norms, self.added.abs()])
        return float(sizes.amax()) if len(sizes) else 0.0


def to_device(array: np.ndarray[Any, Any], device: Any) -> Any:
    """Copy an array to a device; a read-only array is copied on the host first, since torch wants writable ones."""
    plain = np.ascontiguousarray(array)
    return torch.from_numpy(plain if plain.flags.writeable else plain.copy()).to(device)


def _powers(largest: Any) -> Any:
    """Return the powers of two that bring numbers to just below two to ``TOP_EXPONENT``; float64, exactly."""
    exponents = torch.where(torch.isfinite(largest), TOP_EXPONENT - torch.frexp(largest).exponent, 0)
    exponents = torch.where(largest > 0, exponents, 0).long().clamp(-LARGEST_EXPONENT, LARGEST_EXPONENT)
    return ((exponents + 1023) << 52).view(torch.float64)


def triton_runs(device: Any) -> bool:
    """Whether Triton's programs run on a device: on a GPU, if it is installed.

    Triton's interpreter (``TRITON_INTERPRET=1``) takes the place of a GPU.
    """
    there = device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    return there and importlib.util.find_spec("triton") is not None
