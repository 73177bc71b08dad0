"""Popularity: an answer's score is how many train triples of the relation have it on that side."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.baselines.baseline import Baseline
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows
from kgeval.data.triples import SIDES, Side
from kgeval.scorers.sparse_scorer import SparseScorer, SparseScores


class PopularityBaseline(Baseline):
    """The entities that the relation takes most often on the predicted side come first.

    Examples
    --------
    >>> from kgeval import Dataset, Triples, Vocabulary
    >>> train, test = Triples.of([(0, 0, 1), (2, 0, 1), (1, 0, 2)]), Triples.of([(1, 0, 1)])
    >>> names = {"entities": Vocabulary(["a", "b", "c"]), "relations": Vocabulary(["likes"], "relation")}
    >>> fitted = Baseline("popularity").fit(Dataset.build("d", {"train": train, "test": test}, **names))
    >>> fitted.scores(Queries.of(test, "tail"), np.arange(3))
    array([[0., 2., 1.]])
    """

    title: ClassVar[str] = "how often train has it"
    rule: ClassVar[str] = "count of the answer in this relation and side of train"
    source: ClassVar[str] = "Safavi and Koutra, 2020"

    baseline: Literal["popularity"] = "popularity"
    """counts of answers, by relation and side"""

    def learn(self, dataset: Dataset) -> SparseScorer:
        """Count the train triples of each relation, side and entity."""
        counts = {side: _counts(dataset, side) for side in SIDES}

        def listed(queries: Queries) -> SparseScores:
            return SparseScores(*counts[queries.side], of_query=queries.relations)

        return SparseScorer(len(dataset.entities), len(dataset.relations), listed)


def _counts(dataset: Dataset, side: Side) -> tuple[Rows, Float64Array]:
    """Count the entities of each relation on one side: a row a relation."""
    size = len(dataset.entities)
    _, relations, answers = dataset.train.queries_of_side(side)
    keys, counts = np.unique(relations * size + answers, return_counts=True)
    rows = Rows.sized(np.bincount(keys // size, minlength=len(dataset.relations)), keys % size)
    return rows, counts.astype(np.float64)
