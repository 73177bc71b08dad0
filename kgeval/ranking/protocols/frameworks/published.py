"""The protocols of kgeval itself, of PyKEEN, and of publications and benchmarks, each a ``Protocol``.

``protocol.protocols()`` finds them. The functions here choose the candidates of the protocols of benchmarks.
"""

from __future__ import annotations

from kgeval.base.errors import DatasetError
from kgeval.data.dataset import Dataset
from kgeval.metrics.names import PARTS
from kgeval.ranking.corruption import OGBNegatives, TGBNegatives
from kgeval.ranking.corruption.generator import Corruption
from kgeval.ranking.protocols.framework_metric import FrameworkMetric, float32, hits, named
from kgeval.ranking.protocols.protocol import EVALUATED_SPLIT, NOTHING, Protocol

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

# PyKEEN keeps each triple once. Train is known wherever it evaluates; valid only where it is evaluated itself, or test
# is (``filter_validation_when_testing`` in its api.py); test only where test is.
PYKEEN = Protocol(
    name="pykeen",
    summary="filtered by train, the evaluated split and, for test, valid; realistic, optimistic and pessimistic ranks",
    filter={"train": ("train",), "valid": ("train", "valid"), "test": ("train", "valid", "test")},
    metrics=_HEADLINE,
    framework_metrics=tuple(
        FrameworkMetric(f"{side}.{ties}.{name}", f"{side}.{ties}.{name}", side)
        for side in PARTS
        if side != "relation"
        for ties in _TIES
        for name in _METRICS
    ),
    headline=tuple(f"both.realistic.{name}" for name in _HEADLINE),
)

STANDARD = Protocol(
    name="standard", summary="filtered by train, valid and test; realistic ranks; exact ties", predicts_relations=True
)

RAW = Protocol(
    name="bordes-raw",
    summary="not filtered; realistic ranks; mean rank and hits at 10 (Bordes et al., 2013)",
    filter=NOTHING,
    metrics=("mr", "hits@10", "count"),
)

FILTERED = Protocol(
    name="bordes-filtered",
    summary="filtered by train, valid and test; realistic ranks; mean rank and hits at 10 (Bordes et al., 2013)",
    metrics=("mr", "hits@10", "count"),
)

KB2E = Protocol(
    name="kb2e",
    summary="place in an unstable sort (ties: mean place); mean rank and hits at 10 per side, raw and filtered",
    repeats="each",
    metrics=("mr", "hits@10", "count"),
    framework_metrics=named(
        "{side} {metric}_{setting}",
        side={"left": "head", "right": "tail"},
        setting={"raw": "raw", "filtered": "filtered"},
        metric={"mean_rank": "mr", "hits@10": "hits@10"},
    ),
    text="{:g}".format,
    tie_note="KB2E leaves the order of ties to an unstable sort; kgeval takes the mean of their ranks",
)


def _own_file(dataset: Dataset, protocol: str, pattern: str) -> str:
    """Find the file of a dataset with the fixed negatives of a protocol."""
    files = [file for file in dataset.files if file.match(pattern)]
    if not files:
        named = f"{protocol.upper()}'s {pattern.replace('*', '<name>', 1)}"
        raise DatasetError(
            f"the protocol {protocol!r} ranks among the fixed negatives of {named}, and dataset {dataset.name} has no "
            "such file. Give the folder of a dataset that has it, or say which candidates compete: evaluation: "
            "{corruption: {kind: all}} in a configuration, corruption=AllEntities() in Python."
        )
    return str(files[0])


def fixed_negatives(corruption: Corruption | None, dataset: Dataset, split: str) -> Corruption:
    """Return the corruption of the evaluation, by default OGB's fixed negatives; OGB's lists are used as listed."""
    corruption = corruption or OGBNegatives(path=_own_file(dataset, "ogb", f"split/*/{split}.pt"))
    if isinstance(corruption, OGBNegatives) and "as_listed" not in corruption.model_fields_set:
        return corruption.model_copy(update={"as_listed": True})
    return corruption


OGB = Protocol(
    name="ogb",
    summary="realistic ranks of float32 scores among the listed negatives of the benchmark; not filtered",
    filter=NOTHING,
    corruption=fixed_negatives,
    repeats="once",  # a repeated triple has another list of negatives each time, of which the first is ranked
    mean=float32,
    framework_metrics=named("{metric}_list", metric={"mrr": "mrr", **hits("hits@{}", 1, 3, 10)}),
    text="{:f}".format,  # as its examples log them
)


def negatives_at_times(corruption: Corruption | None, dataset: Dataset, split: str) -> Corruption:
    """Return the corruption of the evaluation, by default TGB's fixed negatives."""
    pattern = f"*_{'val' if split == 'valid' else split}_ns*.pkl"
    return (corruption or TGBNegatives(path=_own_file(dataset, "tgb", pattern))).prepare(dataset)


# TGB asks for the heads of a relation as the tails of its inverse. Its examples average float32 values, edges first.
TGB = Protocol(
    name="tgb",
    summary="for temporal graphs: realistic ranks among TGB 2.0's negatives, a sample or all but facts of that time",
    filter=EVALUATED_SPLIT,
    corruption=negatives_at_times,
    repeats="each",
    mean=float32,
    metrics=("mrr", "hits@10", "count"),
    framework_metrics=named(metric={"mrr": "mrr", **hits("hits@{}", 10)}),
)


def only_scores(_corruption: Corruption | None, _dataset: Dataset, _split: str) -> Corruption:
    """Refuse to choose candidates: the benchmark's negatives are pairs, none of which belongs to a query."""
    raise DatasetError(
        "the protocol 'ogb-shared' compares scores of triples with those of one list of negatives for all. Give both "
        "to kgeval.ogb_eval."
    )


OGB_SHARED = Protocol(
    name="ogb-shared",
    summary="hits at K of one list of negatives for all triples, as kgeval.ogb_eval ranks them (ogbl-ddi and others)",
    ties="pessimistic",
    filter=NOTHING,
    corruption=only_scores,
    metrics=("hits@20", "hits@50", "hits@100", "count"),
    framework_metrics=named(metric=hits("hits@{}", 20, 50, 100)),
    text="{:f}".format,
)

RANDOM = Protocol(
    name="sun-random",
    summary="filtered by train, valid and test; ties are broken at random by a seed (Sun et al., 2020)",
    ties="random",
    metrics=("mrr", "mr", "hits@1", "hits@3", "hits@10", "count"),
)
