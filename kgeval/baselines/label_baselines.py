"""Baselines of labelled triples: rules that score triples, beside every model of a classification."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.baselines.baseline import Baseline, Task, baselines
from kgeval.data.dataset import Dataset
from kgeval.data.labelled_triples import LabelledTriples, reverse
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.errors import DatasetError

TripleRule = Callable[[Triples], Float64Array]
"""triples -> their scores, float64[triple]"""


class LabelBaseline(Baseline):
    """A baseline that scores triples, not the answers of queries."""

    threshold: ClassVar[float | None] = None
    """the score from which on it calls a triple true; by default each relation's best of validation"""

    @abstractmethod
    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        """Return the rule, which may look at train and at the labelled triples of validation."""


def label_baselines(task: Task) -> tuple[LabelBaseline, ...]:
    """List the baselines of a task on labelled triples.

    >>> [it.baseline for it in label_baselines("classification")]
    ['relation majority', 'tail frequency']
    """
    kinds = baselines().values()
    return tuple(kind() for kind in kinds if issubclass(kind, LabelBaseline) and task in kind.tasks)


class RelationMajority(LabelBaseline):
    """All triples of a relation have one score: the share of true ones in validation, true from one half on."""

    title = "the relation's share of true triples"
    rule = "share of true triples of the relation in validation; true from 1/2 on"
    source = "Safavi and Koutra, 2020"
    tasks = ("classification",)
    threshold = 0.5

    baseline: Literal["relation majority"] = "relation majority"
    """the majority of the relation's validation triples"""

    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        shares = _means_by_relation(valid, dataset)
        return lambda triples: shares[triples.relations]


class TailFrequency(LabelBaseline):
    """The count of ``popularity`` for the tail, whichever side a triple is scored on."""

    title = "how often train has relation and tail"
    rule = "count of train triples with this relation and tail"
    source = "Safavi and Koutra, 2020"
    tasks = ("classification",)

    baseline: Literal["tail frequency"] = "tail frequency"
    """counts of tails by relation"""

    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        seen = Queries.of(dataset.split("train"), "head")
        size = len(dataset.entities)
        keys = seen.relations * size + seen.anchors  # ascending: queries come in (relation, anchor) order
        counts = np.diff(seen.offsets)

        def count(triples: Triples) -> Float64Array:
            wanted = triples.relations * size + triples.tails
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            return np.where(keys[place] == wanted, counts[place], 0).astype(np.float64)

        return count


class SameOrReversed(LabelBaseline):
    """The largest confidence of the same or the reversed train triple, else the mean of the relation in train."""

    title = "the same or the reversed fact of train"
    rule = "largest confidence of (h, r, t) and (t, r, h) in train, else the relation's mean"
    source = "kgeval"
    tasks = ("confidences",)

    baseline: Literal["same or reversed"] = "same or reversed"
    """confidences of train, either way round"""

    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        train = confidences_of_train(dataset)
        means = _means_by_relation(train, dataset)
        both = LabelledTriples(
            Triples(np.concatenate([train.triples.ids, reverse(train.triples).ids])), np.tile(train.labels, 2)
        ).largest()

        def look_up(triples: Triples) -> Float64Array:
            found = both.of(triples)
            return np.where(np.isnan(found), means[triples.relations], found)

        return look_up


def _means_by_relation(labelled: LabelledTriples, dataset: Dataset) -> Float64Array:
    """The mean label of each relation, of all triples where it has none; float64[relation]."""
    relations, size = labelled.triples.relations, len(dataset.relations)
    totals = np.bincount(relations, minlength=size)
    sums = np.bincount(relations, labelled.labels, minlength=size)
    means: Float64Array = np.divide(sums, totals, out=np.full(size, float(labelled.labels.mean())), where=totals > 0)
    return means


def confidences_of_train(dataset: Dataset) -> LabelledTriples:
    if "train" not in dataset.confidences:
        raise DatasetError(f"dataset {dataset.name} has no confidences: its files have no fourth column.")
    return dataset.confidences["train"]
