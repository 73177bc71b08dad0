"""The device's screen in Triton: comparison fused behind the product, and float64 sums of listed pairs.

``device_kernel`` takes ``compare_fused`` where Triton runs. It does what ``screen.compare`` does, but tile by tile,
without a matrix of scores in memory. It keeps the number of candidates that are certainly above each answer, and a bit
for each pair of an answer and a candidate: whether the pair is undecided. So a pair takes an eighth of a byte.
``sum_pairs`` settles the undecided pairs for ``device_blocks``, which bounds the sums: they are taken in some order,
with or without fused multiplications. A program is one instance of a Triton function on the GPU.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from kgeval.models.similarity import PRODUCTS, Similarity
from kgeval.ranking.kernels.device.device_vectors import DIM_MULTIPLE
from kgeval.ranking.kernels.device.screen import AnswerBounds, CandidateBounds, ScreenResult, joined_widths

FUSED_BYTES_PER_PAIR = 4
"""the bytes of a pair: its bit, and its indices and bounds if it is undecided, as at most one pair in a dozen is"""

ANSWERS, CANDIDATES = 64, 128
"""the sides of a tile of products: small enough that several tiles are at work, and one compares while another
multiplies"""

FEW_ANSWERS, FEW_CANDIDATES = 32, 32
"""the sides of a tile of distances, whose sums take no tensor cores, and of a tile for few answers"""

WORD, WORDS = 32, 128
"""the bits of a word, and the words that a program lists at a time"""

KINDS = {"dot": 0, "l2": 0, "squared_l2": 0, "l1": 1, "modulus": 2}
"""the code for what ``_compare_tile`` computes: products, sums of differences, or sums of moduli; Triton compares
numbers, not strings"""

TERMS = {"dot": 0, "l1": 1, "l2": 2, "squared_l2": 2, "modulus": 3}
"""the terms that are added up: products, differences, their squares, or moduli"""

PAIRS, DEPTH = 32, 16
"""the pairs of a program, and the dimensions that it fetches at a time"""


def compare_fused(
    similarity: Similarity, queries: Any, entities: Any, answers: AnswerBounds, candidates: CandidateBounds
) -> ScreenResult:
    """Compare all candidates with a block of answers, as ``screen.compare`` does."""
    number, width = len(queries), len(entities)
    above, undecided = torch.zeros((2, number), dtype=torch.int32, device=queries.device)
    words = torch.empty((number, -(-width // WORD)), dtype=torch.int32, device=queries.device)
    products = similarity in PRODUCTS
    large = products and number > FEW_ANSWERS
    rows, columns = (ANSWERS, CANDIDATES) if large else (FEW_ANSWERS, FEW_CANDIDATES)
    grid = (triton.cdiv(number, rows) * triton.cdiv(width, columns),)
    if number and width:
        # The rounding here, of the middle plus or minus D and of the joined widths, is within the margins of both.
        slopes, spans = joined_widths(answers, candidates)
        _compare_tile[grid](
            *((queries.contiguous(), entities) if products else (queries.T.contiguous(), entities.T.contiguous())),
            *(answers.middle - answers.constant, answers.middle + answers.constant, answers.scale, slopes),
            *(candidates.added, spans, candidates.slack),
            *(above, undecided, words),
            *(number, width, queries.shape[1], words.shape[1]),
            KIND=KINDS[similarity],
            ROWS=rows,
            COLUMNS=columns,
            DEPTH=DIM_MULTIPLE,
            num_warps=4,
            num_stages=4,
        )
    return ScreenResult(above.long(), *_pairs(words, undecided))


@triton.jit  # type: ignore[untyped-decorator]
def _compare_tile(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    queries,
    entities,
    lows,
    highs,
    scales,
    slopes,
    addeds,
    spans,
    slacks,
    above,
    unsure,
    words,
    number,
    width,
    dim,
    num_words,
    KIND: tl.constexpr,  # noqa: N803
    ROWS: tl.constexpr,  # noqa: N803
    COLUMNS: tl.constexpr,  # noqa: N803
    DEPTH: tl.constexpr,  # noqa: N803
):
    # Neighbouring programs share their candidates, which then are in cache.
    tiles = tl.cdiv(number, ROWS)
    row = (tl.program_id(0) % tiles) * ROWS + tl.arange(0, ROWS)
    first = (tl.program_id(0) // tiles) * COLUMNS
    column = first + tl.arange(0, COLUMNS)
    row_exists, column_exists = row < number, column < width
    # Rows and columns beyond the end repeat the last one, and are certainly below.
    clamped_row, clamped_column = tl.minimum(row, number - 1).to(tl.int64), tl.minimum(column, width - 1).to(tl.int64)
    scores = tl.zeros((ROWS, COLUMNS), tl.float32)
    if KIND == 0:
        scores = _add_products(scores, queries + clamped_row * dim, entities + clamped_column * dim, dim, DEPTH)
    elif KIND == 1:
        scores = _add_differences(scores, queries + clamped_row, entities + clamped_column, number, width, dim)
    else:
        scores = _add_moduli(scores, queries + clamped_row, entities + clamped_column, number, width, dim // 2)
    slack = tl.max(tl.load(slacks + column, mask=column_exists, other=0.0))
    low = tl.load(lows + row, mask=row_exists, other=float("inf"))[:, None] - slack
    high = tl.load(highs + row, mask=row_exists, other=float("inf"))[:, None] + slack
    scale = tl.load(scales + row, mask=row_exists, other=0.0)[:, None]
    slope = tl.load(slopes + row, mask=row_exists, other=0.0)[:, None]
    added = tl.load(addeds + column, mask=column_exists, other=float("-inf"))[None, :]
    width_of_band = slope * tl.load(spans + column, mask=column_exists, other=0.0)[None, :]
    scores = scores * scale + added
    certain = scores - width_of_band > high
    # NaN is undecided.
    undecided = ~(certain | (scores + width_of_band < low))
    tl.atomic_add(above + row, tl.sum(certain.to(tl.int32), axis=1), mask=row_exists)
    tl.atomic_add(unsure + row, tl.sum(undecided.to(tl.int32), axis=1), mask=row_exists)
    bits = tl.reshape(undecided.to(tl.int32), (ROWS, COLUMNS // 32, 32)) << tl.arange(0, 32)[None, None, :]
    place = first // 32 + tl.arange(0, COLUMNS // 32)
    target = words + row.to(tl.int64)[:, None] * num_words + place[None, :]
    tl.store(target, tl.sum(bits, axis=2), mask=row_exists[:, None] & (place < num_words)[None, :])


@triton.jit  # type: ignore[untyped-decorator]
def _add_products(scores, left, right, dim, DEPTH: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Add the dot products of rows: of float16, with sums in float32."""
    depth = tl.arange(0, DEPTH)
    for start in range(0, dim, DEPTH):
        query = tl.load(left[:, None] + (start + depth)[None, :])
        entity = tl.load(right[None, :] + (start + depth)[:, None])
        scores = tl.dot(query, entity, scores)
    return scores


@triton.jit
def _add_differences(scores, left, right, number, width, dim):  # type: ignore[no-untyped-def]
    """Add the absolute differences, one dimension after the other: a dimension is a row of the transposed vectors."""
    for _ in range(dim):
        scores += tl.abs(tl.load(left)[:, None] - tl.load(right)[None, :])
        left += number
        right += width
    return scores


@triton.jit
def _add_moduli(scores, left, right, number, width, half):  # type: ignore[no-untyped-def]
    """Add the moduli of differences of complex columns; imaginary parts follow all real ones."""
    all_real = tl.full((1,), half, tl.int64)
    for _ in range(half):
        real = tl.load(left)[:, None] - tl.load(right)[None, :]
        imaginary = tl.load(left + all_real * number)[:, None] - tl.load(right + all_real * width)[None, :]
        scores += tl.sqrt(real * real + imaginary * imaginary)
        left += number
        right += width
    return scores


def _pairs(words: Any, sizes: Any) -> tuple[Any, Any]:
    """Find the row and the column of each bit that is set, int64[pair] each; ``sizes`` (int32[row]) is their number."""
    ends = sizes.cumsum(0)
    rows, columns = torch.empty((2, int(ends[-1]) if len(ends) else 0), dtype=torch.int64, device=words.device)
    if len(rows):
        _list_bits[(len(words),)](words, ends - sizes, rows, columns, words.shape[1], WORDS=WORDS)
    return rows, columns


@triton.jit  # type: ignore[untyped-decorator]
def _list_bits(words, starts, rows, columns, num_words, WORDS: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    row = tl.program_id(0).to(tl.int64)
    start = tl.load(starts + row)
    for first in range(0, num_words, WORDS):
        place = first + tl.arange(0, WORDS)
        word = tl.load(words + row * num_words + place, mask=place < num_words, other=0)
        size = tl.zeros((WORDS,), tl.int64)
        for bit in range(32):
            size += (word >> bit) & 1
        target = start + tl.cumsum(size, 0) - size
        for bit in range(32):
            is_set = (word >> bit) & 1
            tl.store(rows + target, row, mask=is_set != 0)
            tl.store(columns + target, place.to(tl.int64) * 32 + bit, mask=is_set != 0)
            target += is_set
        start += tl.sum(size, 0)


def sum_pairs(similarity: Similarity, queries: Any, entities: Any, owners: Any, candidates: Any) -> Any:
    """Add up the terms of pairs of a query (float64) and an entity; float64[pair]. No root of squares is taken."""
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
        # Numbers beyond the end are zero on both sides, and add nothing.
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
