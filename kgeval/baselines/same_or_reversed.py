"""Same or reversed: a fact is as sure as the same train fact, or the reversed one, whichever is surer."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.baselines.baseline import Task
from kgeval.baselines.label_baseline import LabelBaseline, TripleRule
from kgeval.data.dataset import Dataset
from kgeval.data.labelled_triples import LabelledTriples, reverse
from kgeval.data.triples import Triples
from kgeval.errors import DatasetError


class SameOrReversed(LabelBaseline):
    """The largest confidence of the same or the reversed train triple, else the mean of the relation in train."""

    title: ClassVar[str] = "the same or the reversed fact of train"
    rule: ClassVar[str] = "largest confidence of (h, r, t) and (t, r, h) in train, else the relation's mean"
    source: ClassVar[str] = "kgeval"
    tasks: ClassVar[tuple[Task, ...]] = ("confidences",)

    baseline: Literal["same or reversed"] = "same or reversed"
    """confidences of train, either way round"""

    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        """Collect the confidences of train.

        Raises
        ------
        DatasetError
            if the graph is not weighted
        """
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
