"""Sums of listed pairs, gathered and added up at once, by Triton: no array of pair × dimension is ever made.

The sums are taken in float64 in some order, with or without fused multiplications: ``device_pairs`` bounds them all.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from kgeval.scorers.numerics.similarity import Similarity

PAIRS, DEPTH = 32, 32
"""pairs of a program, and dimensions that it fetches at a time"""

TERMS = {"dot": 0, "l1": 1, "l2": 2, "squared_l2": 2, "modulus": 3}
"""what is added up: products, differences, their squares, or moduli"""


def sum_pairs(similarity: Similarity, queries: Any, entities: Any, owners: Any, candidates: Any) -> Any:
    """Add up the terms of each pair; float64[pair].

    Parameters
    ----------
    similarity
        of the vectors; no root is taken of squares
    queries, entities
        float64[query, dim], and float32 or float64[entity, dim]
    owners, candidates
        int64[pair], the query and the entity of each
    """
    found = torch.empty(len(owners), dtype=torch.float64, device=owners.device)
    width = queries.shape[1] // (2 if similarity == "modulus" else 1)
    if len(owners):
        _sum_pairs[(triton.cdiv(len(owners), PAIRS),)](
            *(queries, entities, owners, candidates, found),
            *(len(owners), queries.shape[1], width),
            KIND=TERMS[similarity],
            PAIRS=PAIRS,
            DEPTH=DEPTH,
        )
    return found


@triton.jit  # type: ignore[untyped-decorator]
def _sum_pairs(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    queries,
    entities,
    owners,
    candidates,
    found,
    number,
    dim,
    width,
    KIND: tl.constexpr,  # noqa: N803
    PAIRS: tl.constexpr,  # noqa: N803
    DEPTH: tl.constexpr,  # noqa: N803
):
    pair = tl.program_id(0).to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    exists = pair < number
    left = queries + tl.load(owners + pair, mask=exists, other=0) * dim
    right = entities + tl.load(candidates + pair, mask=exists, other=0) * dim
    total = tl.zeros((PAIRS,), tl.float64)
    for start in range(0, width, DEPTH):
        depth = start + tl.arange(0, DEPTH)
        # What is beyond the end is zero on both sides, and adds nothing.
        inside = exists[:, None] & (depth < width)[None, :]
        query = tl.load(left[:, None] + depth[None, :], mask=inside, other=0.0)
        entity = tl.load(right[:, None] + depth[None, :], mask=inside, other=0.0).to(tl.float64)
        if KIND == 0:
            terms = query * entity
        elif KIND == 1:
            terms = tl.abs(query - entity)
        elif KIND == 2:
            terms = (query - entity) * (query - entity)
        else:
            real = query - entity
            imaginary = tl.load(left[:, None] + (width + depth)[None, :], mask=inside, other=0.0)
            imaginary -= tl.load(right[:, None] + (width + depth)[None, :], mask=inside, other=0.0).to(tl.float64)
            terms = tl.sqrt(real * real + imaginary * imaginary)
        total += tl.sum(terms, axis=1)
    tl.store(found + pair, total, mask=exists)
