"""The band of each pair of an answer and a candidate: how far the screen's score may be from the answer's, undecided.

Screened is v = w p + a, where p is the product of scaled float16 vectors (dot, l2, squared_l2) or the sum of float32
distances with a minus sign (l1, modulus); w undoes the scales, and a is the candidate's:

dot          q·e + bias             against  x                  with x the answer's score without the query's offset
l2           q·e − ‖e‖²/2           against  (‖q‖² + x|x|)/2
squared_l2   q·e − (‖e‖² − bias)/2  against  (‖q‖² + x)/2
l1, modulus  bias − distance        against  x

The products of rounded numbers q̂ = q − δq, ê = e − δe are exact in float32; their sum is taken in an unknown order, and
on tensor cores several at a time, cut off rather than rounded, with at least the bits of float32 (Fasi, Higham,
Mikaitis and Pranesh, 2021). One such step over k products loses at most (k + 2) 2⁻²³ of the sum of their sizes, so n of
them, in whatever steps, lose less than 3 n 2⁻²³ of ‖q̂‖‖ê‖; G = 4 (n + 16) 2⁻²³ is taken, which is also above γ(2n) of
plain float32 (Higham, 2002, chapter 3):

|q·e − p| ≤ ‖q‖‖δe‖ + ‖δq‖‖ê‖ + G ‖q̂‖‖ê‖
|distance − p| ≤ ‖δq‖ + ‖δe‖ + R distance,  R = 2 (n + 16) 2⁻²⁴, since sums of numbers of one sign lose in proportion

So the half width is  D + α ‖ê‖ + β ‖δe‖ + z: three numbers of the answer, three of the candidate. It includes the
rounding of v and of the answer's number to float32, underflow, and the canonical score's own rounding in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from kgeval.ranking.kernels.device.device_vectors import DeviceVectors
from kgeval.ranking.kernels.rounding import U32, U64
from kgeval.ranking.kernels.screening.screens import SMALLEST
from kgeval.scorers.numerics.similarity import PRODUCTS, Similarity

BOUND_MARGIN = 1 + 2.0**-20
"""by this factor bounds are taken larger, as the float32 arithmetic on them needs"""


class AnswerSide(NamedTuple):
    """The numbers of each answer, float32[answer]."""

    middle: Any
    scale: Any
    """w"""
    constant: Any
    """D"""
    per_norm: Any
    """α"""
    per_error: Any
    """β"""


class CandidateSide(NamedTuple):
    """The numbers of each candidate, float32[candidate]."""

    added: Any
    """a"""
    norms: Any
    """no less than ‖ê‖"""
    errors: Any
    """‖δe‖"""
    slack: Any
    """z"""


def candidate_side(similarity: Similarity, entities: DeviceVectors) -> CandidateSide:
    """Compute the numbers of candidates."""
    added = entities.added
    if similarity in ("l2", "squared_l2"):
        added = 0.5 * (added - entities.norms * entities.norms)
    # What is added is rounded to float32, and half the square of a norm that is known to within 2⁻³⁰ of itself.
    slack = added.abs() * (2 * U32) if similarity == "dot" else (added.abs() + entities.added.abs()) * (4 * U32)
    if similarity not in PRODUCTS:
        slack = added.abs() * (_distance_growth(entities) + 4 * U32)
    norms = entities.norms + entities.errors
    return CandidateSide(added.float(), *(_upward(part) for part in (norms, entities.errors, slack)))


def answer_side(
    similarity: Similarity, queries: DeviceVectors, entities: DeviceVectors, thresholds: Any, owners: Any
) -> AnswerSide:
    """Compute the numbers of answers: their scores are float64[answer], their queries int64[answer]."""
    offsets, norms, errors = queries.added[owners], queries.norms[owners], queries.errors[owners]
    dim = entities.rounded.shape[1]
    scores, sizes = thresholds - offsets, thresholds.abs() + offsets.abs() + entities.added.abs().amax()
    farthest = (norms + entities.norms.amax()) ** 2
    own = (2 * dim + 64) * U64
    if similarity in PRODUCTS:
        if similarity == "dot":
            middle, rounding = scores, own * (sizes + farthest)
        elif similarity == "l2":
            # A positive score (of an answer with a bias) is beyond every distance, so the square keeps the sign.
            middle, rounding = 0.5 * (norms * norms + scores * scores.abs()), own * (sizes * sizes + farthest)
        else:
            middle, rounding = 0.5 * (norms * norms + scores), own * (sizes + farthest)
        if similarity != "dot":
            rounding = rounding + 2.0**-29 * norms * norms
        growth = 8 * (dim + 16) * U32 * BOUND_MARGIN
        per_norm, per_error = errors + growth * (norms + errors), norms
    else:
        growth = _distance_growth(entities)
        middle, rounding = scores, (errors + own * sizes) * (1 + growth) + growth * scores.abs()
        per_norm, per_error = torch.zeros_like(norms), torch.full_like(norms, 1 + growth)
    constant = rounding + 8 * U32 * middle.abs() + 4 * SMALLEST * (dim + 4)
    scale = unscaling(similarity, queries.scales[owners], entities)
    return AnswerSide(middle.float(), scale, *(_upward(part) for part in (constant, per_norm, per_error)))


def unscaling(similarity: Similarity, scales: Any, entities: DeviceVectors) -> Any:
    """Compute what undoes the scales of queries (float64[query]) and of the entities, w; float32[query]."""
    return (1 / (scales * entities.scales[0]) if similarity in PRODUCTS else -torch.ones_like(scales)).float()


def _distance_growth(entities: DeviceVectors) -> float:
    return 2 * (int(entities.rounded.shape[1]) + 16) * U32


def _upward(bounds: Any) -> Any:
    return (bounds * BOUND_MARGIN).float()
