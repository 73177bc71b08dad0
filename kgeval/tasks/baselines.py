"""Baselines: predictors that count and learn nothing. A model below one has learned less than that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.data.dataset import Dataset
from kgeval.data.labelled_triples import LabelledTriples, reverse
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.errors import DatasetError
from kgeval.tasks.labelled_split import LabelledSplit

Parts = Mapping[str, LabelledSplit]
"""the labelled triples by split, of which a baseline may look at validation"""

Rule = Callable[[Triples], Float64Array]
"""triples -> their scores, float64[triple]"""


@dataclass(frozen=True)
class Baseline:
    """A rule without parameters that scores triples as a model does."""

    name: str
    summary: str
    learn: Callable[[Dataset, Parts], Rule]
    threshold: float | None = None
    """the score from which on it calls a triple true; by default each relation's best of validation"""


def _relation_majority(dataset: Dataset, parts: Parts) -> Rule:
    rows = parts["valid"].rows
    relations = rows.triples.relations
    size = len(dataset.relations)
    totals = np.bincount(relations, minlength=size)
    true = np.bincount(relations, rows.labels, minlength=size)
    everywhere = float(rows.labels.mean())
    shares = np.divide(true, totals, out=np.full(size, everywhere), where=totals > 0)
    return lambda triples: shares[triples.relations]


def _tail_frequency(dataset: Dataset, parts: Parts) -> Rule:  # noqa: ARG001
    train = dataset.split("train")
    seen = Queries.of(train, "head")
    size = len(dataset.entities)
    keys = seen.relations * size + seen.anchors  # ascending: queries come in (relation, anchor) order
    counts = np.diff(seen.offsets)

    def count(triples: Triples) -> Float64Array:
        wanted = triples.relations * size + triples.tails
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, counts[place], 0).astype(np.float64)

    return count


def _same_or_reversed(dataset: Dataset, parts: Parts) -> Rule:  # noqa: ARG001
    train = confidences_of_train(dataset)
    size = len(dataset.relations)
    totals = np.bincount(train.triples.relations, minlength=size)
    sums = np.bincount(train.triples.relations, train.labels, minlength=size)
    means = np.divide(sums, totals, out=np.full(size, float(train.labels.mean())), where=totals > 0)
    both = LabelledTriples(
        Triples(np.concatenate([train.triples.ids, reverse(train.triples).ids])), np.tile(train.labels, 2)
    ).largest()

    def look_up(triples: Triples) -> Float64Array:
        found = both.of(triples)
        return np.where(np.isnan(found), means[triples.relations], found)

    return look_up


def confidences_of_train(dataset: Dataset) -> LabelledTriples:
    """Return the train triples of a weighted graph.

    Raises
    ------
    DatasetError
        if the graph is not weighted
    """
    if "train" not in dataset.confidences:
        raise DatasetError(f"dataset {dataset.name} has no confidences: its files have no fourth column.")
    return dataset.confidences["train"]


RELATION_MAJORITY = Baseline(
    name="relation majority",
    summary="the share of true triples among the relation's validation triples; true from one half on",
    learn=_relation_majority,
    threshold=0.5,
)

TAIL_FREQUENCY = Baseline(
    name="tail frequency",
    summary="how many train triples have this relation and tail",
    learn=_tail_frequency,
)

SAME_OR_REVERSED = Baseline(
    name="same or reversed",
    summary="the largest confidence of the same or the reversed train triple, else the mean of the relation in train",
    learn=_same_or_reversed,
)

CLASSIFICATION_BASELINES = (RELATION_MAJORITY, TAIL_FREQUENCY)
CONFIDENCE_BASELINES = (SAME_OR_REVERSED,)
