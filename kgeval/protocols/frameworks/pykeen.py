"""PyKEEN's protocol, and kgeval's own, which is nearest to it.

Train is known wherever they evaluate; valid only where it is evaluated itself, or test is (api.py,
``filter_validation_when_testing``); test only where test is. Its
factories keep each triple once.
"""

from __future__ import annotations

from kgeval.metrics.names import PARTS
from kgeval.protocols.framework_metric import FrameworkMetric
from kgeval.protocols.protocol import Protocol

_METRICS = (
    *("inverse_harmonic_mean_rank", "hits_at_1", "hits_at_3", "hits_at_5", "hits_at_10", "arithmetic_mean_rank"),
    *("adjusted_arithmetic_mean_rank", "adjusted_arithmetic_mean_rank_index", "adjusted_geometric_mean_rank_index"),
    *("adjusted_hits_at_k", "adjusted_inverse_harmonic_mean_rank", "count", "geometric_mean_rank"),
    *("harmonic_mean_rank", "inverse_arithmetic_mean_rank", "inverse_geometric_mean_rank", "inverse_median_rank"),
    *("median_absolute_deviation", "median_rank", "standard_deviation", "variance", "z_arithmetic_mean_rank"),
    *("z_geometric_mean_rank", "z_hits_at_k", "z_inverse_harmonic_mean_rank"),
)

_HEADLINE = (*_METRICS[:8], "count")
_TIES = ("optimistic", "realistic", "pessimistic")

PYKEEN = Protocol(
    name="pykeen",
    summary="filtered by train and, on test, valid, and by what is evaluated; realistic ranks, both others beside them",
    filter={"train": ("train",), "valid": ("train", "valid"), "test": ("train", "valid", "test")},
    metrics=_HEADLINE,
    framework_metrics=tuple(
        FrameworkMetric(f"{side}.{ties}.{name}", f"{side}.{ties}.{name}", side)
        for side in PARTS
        for ties in _TIES
        for name in _METRICS
    ),
    headline=tuple(f"both.realistic.{name}" for name in _HEADLINE),
)


STANDARD = Protocol(
    name="standard",
    summary="filtered by train, valid and test; realistic ranks; exact ties",
    predicts_relations=True,
)
