"""Inverse: the reversed train triples of partner relations come first, a relation's own where it is symmetric."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from kgeval.baselines.baseline import Baseline
from kgeval.baselines.implied_answers import scorer_of_implied
from kgeval.data.dataset import Dataset
from kgeval.data.relation_overlaps import PairedFacts
from kgeval.data.triples import Triples
from kgeval.errors import DatasetError
from kgeval.scorers.sparse_scorer import SparseScorer


class InverseBaseline(Baseline):
    """An answer comes first if train has the pair turned round, (t, r2, h), under a partner r2 of the relation.

    r1 and r2 are partners if the reverse of at least ``threshold`` of the train pairs of either is among those of the
    other. A relation may be its own partner, as symmetric ones are. Dettmers et al. take .99, less the share of
    validation and test in the dataset.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> train = [("Ada", "parent", "Bob"), ("Bob", "child", "Ada"), ("Eva", "parent", "Dan"), ("Zoe", "likes", "Dan")]
    >>> data = Dataset.from_labels(train=train, test=[("Dan", "child", "Eva")])
    >>> table = evaluate(Baseline("inverse"), data, sides="tail")
    >>> table.column("greater"), table.column("tied"), table.column("candidates")
    (array([0]), array([0]), array([5]))
    """

    title: ClassVar[str] = "the pair turned round in train, under a partner relation"
    rule: ClassVar[str] = "1 if (t, r2, h) is in train for a partner r2, else 0"
    source: ClassVar[str] = "Dettmers et al., 2018, section 5"

    baseline: Literal["inverse"] = "inverse"
    """rules r1(h, t) ⇒ r2(t, h), found in train"""
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.8
    """the share of one relation's pairs that the other has turned round, from which on they are partners"""

    def learn(self, dataset: Dataset) -> SparseScorer:
        """Find the partners, and the triples that their train triples imply.

        Raises
        ------
        DatasetError
            if there are too many pairs of relations to compare
        """
        train = dataset.train
        facts = PairedFacts.of([train], len(dataset.entities), len(dataset.relations))
        overlaps = None if facts is None else facts.turned(least=self.threshold)
        if overlaps is None:
            raise DatasetError(
                f"dataset {dataset.name} has too many pairs of relations to find inverse ones among them."
            )
        partners = overlaps.partners(train.relations)
        heads, _, tails = train.ids[partners.owners].T
        return scorer_of_implied(Triples(np.stack([tails, partners.ids, heads], axis=1)), dataset)
