"""Relation majority: a triple is as true as the validation triples of its relation are."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from kgeval.baselines.baseline import Task
from kgeval.baselines.label_baseline import LabelBaseline, TripleRule
from kgeval.data.dataset import Dataset
from kgeval.data.labelled_triples import LabelledTriples


class RelationMajority(LabelBaseline):
    """All triples of a relation have one score: the share of true ones in validation, true from one half on."""

    title: ClassVar[str] = "the relation's share of true triples"
    rule: ClassVar[str] = "share of true triples of the relation in validation; true from 1/2 on"
    source: ClassVar[str] = "Safavi and Koutra, 2020"
    tasks: ClassVar[tuple[Task, ...]] = ("classification",)
    threshold: ClassVar[float | None] = 0.5

    baseline: Literal["relation majority"] = "relation majority"
    """the majority of the relation's validation triples"""

    def triple_rule(self, dataset: Dataset, valid: LabelledTriples) -> TripleRule:
        """Take the share of true triples of each relation; of all of them, where a relation has none."""
        relations = valid.triples.relations
        size = len(dataset.relations)
        totals = np.bincount(relations, minlength=size)
        true = np.bincount(relations, valid.labels, minlength=size)
        everywhere = float(valid.labels.mean())
        shares = np.divide(true, totals, out=np.full(size, everywhere), where=totals > 0)
        return lambda triples: shares[triples.relations]
