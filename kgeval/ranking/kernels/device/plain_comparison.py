"""Comparison on a device: who is certainly above each answer, and which pairs are undecided, in plain torch.

Any device of torch can do it. The matrix of the screen's scores stands in its memory, for a block of answers at a time;
where Triton is there, ``fused_comparison`` keeps it in registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple

import torch

from kgeval.ranking.kernels.device.band import AnswerSide, CandidateSide
from kgeval.scorers.numerics.similarity import PRODUCTS, Similarity

BYTES_PER_PAIR = 48
"""of a pair in the blocks below: its score, its band, what was found, and both ids if it is undecided"""


class ScreenResult(NamedTuple):
    """What a screen decided, and what it did not."""

    above: Any
    """int64[answer], how many candidates are certainly above"""
    answers: Any
    """int64[pair], the answer of each undecided pair"""
    candidates: Any
    """int64[pair], its candidate"""


def compare(
    similarity: Similarity, queries: Any, entities: Any, answer_side: AnswerSide, candidate_side: CandidateSide
) -> ScreenResult:
    """Compare all candidates with a block of answers.

    Parameters
    ----------
    similarity
        of the vectors
    queries, entities
        the rounded vectors, [answer, dim] and [candidate, dim]
    answer_side, candidate_side
        the numbers of the band
    """
    scores = screen_scores(similarity, queries, entities, answer_side.scale, candidate_side.added)
    difference, width = scores.sub_(answer_side.middle[:, None]), half_widths(answer_side, candidate_side)
    above = (difference > width).sum(dim=1)
    # NaN is undecided.
    undecided = ~(difference.abs_() > width)
    return ScreenResult(above, *undecided.nonzero(as_tuple=True))


def screen_scores(similarity: Similarity, queries: Any, entities: Any, scale: Any, added: Any) -> Any:
    """Compute what the screen compares, v of ``band``; float32[query, candidate]."""
    scores = _products(queries, entities) if similarity in PRODUCTS else _distances(similarity, queries, entities)
    return scores.mul_(scale[:, None]).add_(added)


def half_widths(answer_side: AnswerSide, candidate_side: CandidateSide) -> Any:
    """Compute how far that may be off for each pair; float32[answer, candidate]."""
    _, _, constant, per_norm, per_error = (part[:, None] for part in answer_side)
    widths = per_norm * candidate_side.norms
    return widths.addcmul_(per_error, candidate_side.errors[None]).add_(candidate_side.slack).add_(constant)


def _products(queries: Any, entities: Any) -> Any:
    """Multiply; float32[answer, candidate]. TF32 holds numbers of float16 exactly, bfloat16 does not."""
    with _exact_factors():
        return torch.mm(queries.float(), entities.float().T)


def _distances(similarity: Similarity, queries: Any, entities: Any) -> Any:
    """Sum absolute differences or moduli, dimension by dimension; float32[answer, candidate]."""
    if similarity == "l1":
        return torch.cdist(queries, entities, p=1.0)
    total = queries.new_zeros((len(queries), len(entities)))
    half = queries.shape[1] // 2
    for k in range(half):
        real = queries[:, k, None] - entities[:, k]
        imaginary = queries[:, half + k, None] - entities[:, half + k]
        total.add_(real.square_().addcmul_(imaginary, imaginary).sqrt_())
    return total


@contextmanager
def _exact_factors() -> Iterator[None]:
    """Have torch multiply float32 as it is, whatever the process allows elsewhere; the last thread puts that back."""
    with _lock:
        _before.append(_before[0] if _before else torch.get_float32_matmul_precision())
        torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        with _lock:
            allowed = _before.pop()
            if not _before:
                torch.set_float32_matmul_precision(allowed)


_lock = Lock()
_before: list[str] = []
"""of each thread that multiplies, what was allowed before the first of them"""
