"""Symmetric: the reversed train triples of the very relation come first."""

from __future__ import annotations

from typing import ClassVar, Literal

from kgeval.baselines.baseline import Baseline
from kgeval.baselines.implied_answers import scorer_of_implied
from kgeval.data.dataset import Dataset
from kgeval.data.labelled_triples import reverse
from kgeval.scorers.sparse_scorer import SparseScorer


class SymmetricBaseline(Baseline):
    """An answer comes first if train has the triple turned round, (t, r, h), whatever its relation is like."""

    title: ClassVar[str] = "the triple turned round in train"
    rule: ClassVar[str] = "1 if (t, r, h) is in train, else 0"
    source: ClassVar[str] = "Akrami et al., 2020"

    baseline: Literal["symmetric"] = "symmetric"
    """every relation is taken to be symmetric"""

    def learn(self, dataset: Dataset) -> SparseScorer:
        """Turn all train triples round."""
        return scorer_of_implied(reverse(dataset.train), dataset)
