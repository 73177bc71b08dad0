"""The float16 screen on a device: cheap scores with a proven error bound.

``compare`` counts the candidates certainly above each answer, and lists the undecided pairs of an answer and a
candidate. ``device_blocks`` calls it, and settles these pairs in float64, then by canonical scores. ``fused`` does the
same in Triton without a matrix in memory; here the matrix of the screen's scores stands in the device's memory, for a
block of answers at a time, so any device of torch can do it.

The screen computes v = w p + a and compares it with a number of the answer (right column; x is the answer's score
without the query's offset). p is the product of scaled float16 vectors (dot, l2, squared_l2) or the sum of float32
distances with a minus sign (l1, modulus); w undoes the scales, and a is a number of the candidate:

dot          q·e + bias             against  x
l2           q·e − ‖e‖²/2           against  (‖q‖² + x|x|)/2
squared_l2   q·e − (‖e‖² − bias)/2  against  (‖q‖² + x)/2
l1, modulus  bias − distance        against  x

Bound on the error of v
-----------------------
The products of rounded numbers q̂ = q − δq, ê = e − δe are exact in float32; their sum is taken in an unknown order, and
on tensor cores several at a time, cut off rather than rounded, with at least the bits of float32 (Fasi, Higham,
Mikaitis and Pranesh, 2021). One such step over k products loses at most (k + 2) 2⁻²³ of the sum of their sizes, so a
sum of n products, in whatever steps, loses less than 3 n 2⁻²³ of ‖q̂‖‖ê‖; G = 4 (n + 16) 2⁻²³ is taken, which is also
above γ(2n) of plain float32 (Higham, 2002, chapter 3):

|q·e − p| ≤ ‖q‖‖δe‖ + ‖δq‖‖ê‖ + G ‖q̂‖‖ê‖
|distance − p| ≤ ‖δq‖ + ‖δe‖ + R distance,  R = 2 (n + 16) 2⁻²⁴, since sums of numbers of one sign lose in proportion

A pair is undecided if v is no farther from the answer's number than the half width  D + α ‖ê‖ + β ‖δe‖ + z. Its parts
are three numbers of the answer and three of the candidate. They include the rounding of v and of the answer's number to
float32, underflow, and the canonical score's own rounding in float64. If a whole interval ties with the answer, x is
the middle of the interval, and D includes half of its width.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple

import torch

from kgeval.models.similarity import PRODUCTS, Similarity
from kgeval.ranking.kernels.device.device_vectors import DeviceVectors
from kgeval.ranking.kernels.rounding import U32, canonical_growth
from kgeval.ranking.kernels.screening.screens import SMALLEST, middle_of

BYTES_PER_PAIR = 48
"""the memory of a pair in a block of ``compare`` or of ``device_blocks``: its score, its half width, the result, and
both ids if it is undecided"""

BOUND_MARGIN = 1 + 2.0**-20
"""bounds are multiplied by this factor, because the float32 arithmetic on them rounds"""

LARGEST_RATIO = 2.0**20
"""the largest ratio κ of norms to errors in ``joined_widths``, if vectors lose next to nothing"""


def compare(
    similarity: Similarity, queries: Any, entities: Any, answers: AnswerBounds, candidates: CandidateBounds
) -> ScreenResult:
    """Compare all candidates with a block of answers.

    ``queries`` and ``entities`` are rounded vectors, [answer, dim] and [candidate, dim].
    """
    scores = screen_scores(similarity, queries, entities, answers.scale, candidates.added)
    difference, width = scores.sub_(answers.middle[:, None]), half_widths(answers, candidates)
    above = (difference > width).sum(dim=1)
    # NaN is undecided.
    undecided = ~(difference.abs_() > width)
    return ScreenResult(above, *undecided.nonzero(as_tuple=True))


class ScreenResult(NamedTuple):
    """The decided counts of a screen, and the undecided pairs."""

    above: Any
    """int64[answer], how many candidates are certainly above"""
    answers: Any
    """int64[pair], the answer of each undecided pair"""
    candidates: Any
    """int64[pair], the candidate of each undecided pair"""


def screen_scores(similarity: Similarity, queries: Any, entities: Any, scale: Any, added: Any) -> Any:
    """Compute the screen's scores, v; float32[query, candidate]."""
    scores = _products(queries, entities) if similarity in PRODUCTS else _distances(similarity, queries, entities)
    return scores.mul_(scale[:, None]).add_(added)


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
    """Have torch multiply in full float32, whatever the process allows elsewhere; the last thread restores that."""
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
"""an entry for each thread that multiplies now: the precision that was allowed before the first one began"""


def half_widths(answers: AnswerBounds, candidates: CandidateBounds) -> Any:
    """Bound how far v may be off for each pair; float32[answer, candidate]."""
    _, _, constant, per_norm, per_error = (part[:, None] for part in answers)
    widths = per_norm * candidates.norms
    return widths.addcmul_(per_error, candidates.errors[None]).add_(candidates.slack).add_(constant)


class AnswerBounds(NamedTuple):
    """The numbers of each answer in the comparison and the half width, by letters as above; float32[answer]."""

    middle: Any
    """the number that v is compared with"""
    scale: Any
    """w, which undoes the scales"""
    constant: Any
    """D, the constant part of the half width"""
    per_norm: Any
    """α, the factor of ‖ê‖"""
    per_error: Any
    """β, the factor of ‖δe‖"""


class CandidateBounds(NamedTuple):
    """The numbers of each candidate in the comparison and the half width, by letters as above; float32[candidate]."""

    added: Any
    """a, which is added to the product"""
    norms: Any
    """no less than ‖ê‖, the norm of the rounded vector"""
    errors: Any
    """no less than ‖δe‖, the norm of the rounding error"""
    slack: Any
    """z, the candidate's own part of the half width"""


def bounds_of_answers(
    similarity: Similarity, queries: DeviceVectors, entities: DeviceVectors, intervals: tuple[Any, Any], owners: Any
) -> AnswerBounds:
    """Compute the ``AnswerBounds`` of answers.

    ``intervals`` are the lowest and the highest scores that tie with each answer, float64[answer]; ``owners`` are the
    queries of the answers, int64[answer].
    """
    offsets, norms, errors = queries.added[owners], queries.norms[owners], queries.errors[owners]
    dim = entities.rounded.shape[1]
    largest = torch.maximum(*(end.abs() for end in intervals))
    ends, sizes = [end - offsets for end in intervals], largest + offsets.abs() + entities.added.abs().amax()
    farthest = (norms + entities.norms.amax()) ** 2
    canonical_error = canonical_growth(dim)
    if similarity in PRODUCTS:
        (low, size), (high, _) = (middle_of(similarity, end, norms, sizes, farthest) for end in ends)
        rounding = canonical_error * size
        if similarity != "dot":
            rounding = rounding + 2.0**-29 * norms * norms
        growth = 8 * (dim + 16) * U32 * BOUND_MARGIN
        per_norm, per_error = errors + growth * (norms + errors), norms
    else:
        growth = _distance_growth(entities)
        (low, high), farther = ends, torch.maximum(*(end.abs() for end in ends))
        rounding = (errors + canonical_error * sizes) * (1 + growth) + growth * farther
        per_norm, per_error = torch.zeros_like(norms), torch.full_like(norms, 1 + growth)
    middle = (low + high) / 2
    constant = rounding + (high - low) / 2 + 8 * U32 * middle.abs() + 4 * SMALLEST * (dim + 4)
    scale = unscaling(similarity, queries.scales[owners], entities)
    return AnswerBounds(middle.float(), scale, *(_upward(part) for part in (constant, per_norm, per_error)))


def bounds_of_candidates(similarity: Similarity, entities: DeviceVectors) -> CandidateBounds:
    """Compute the ``CandidateBounds`` of all candidates of a chunk."""
    added = entities.added
    if similarity in ("l2", "squared_l2"):
        added = 0.5 * (added - entities.norms * entities.norms)
    # The added number is rounded to float32; half the square of a norm is in it, which is known to within 2⁻³⁰.
    slack = added.abs() * (2 * U32) if similarity == "dot" else (added.abs() + entities.added.abs()) * (4 * U32)
    if similarity not in PRODUCTS:
        slack = added.abs() * (_distance_growth(entities) + 4 * U32)
    norms = entities.norms + entities.errors
    return CandidateBounds(added.float(), *(_upward(part) for part in (norms, entities.errors, slack)))


def joined_widths(answers: AnswerBounds, candidates: CandidateBounds) -> tuple[Any, Any]:
    """Join α ‖ê‖ + β ‖δe‖ into one product that is no less: (α κ + β) max(‖ê‖ / κ, ‖δe‖) for any κ > 0.

    With κ the sum of the norms divided by the sum of the errors, it is hardly more, since all vectors lose about the
    same share. The two factors are float32[answer] and float32[candidate].
    """
    norms, errors = (part.double() for part in (candidates.norms, candidates.errors))
    ratio = (norms.sum() / errors.sum()).nan_to_num(1.0).clamp(max=LARGEST_RATIO)
    slopes = answers.per_norm.double() * ratio + answers.per_error.double()
    return _upward(slopes), _upward(torch.maximum(norms / ratio, errors))


def unscaling(similarity: Similarity, scales: Any, entities: DeviceVectors) -> Any:
    """Compute w, which undoes the scales of queries (float64[query]) and of the entities; float32[query]."""
    return (1 / (scales * entities.scales[0]) if similarity in PRODUCTS else -torch.ones_like(scales)).float()


def _distance_growth(entities: DeviceVectors) -> float:
    return 2 * (int(entities.rounded.shape[1]) + 16) * U32


def _upward(bounds: Any) -> Any:
    return (bounds * BOUND_MARGIN).float()
