"""Random ranking: nothing is known, everything ties."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from kgeval.baselines.baseline import Baseline
from kgeval.data.dataset import Dataset, Split
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows
from kgeval.scorers.sparse_scorer import SparseScorer, SparseScores


class RandomBaseline(Baseline):
    """All candidates tie: under ``expected``, each metric is that of a random order, without a seed.

    Examples
    --------
    The expected reciprocal rank among N candidates is (1 + 1/2 + … + 1/N) / N.

    >>> from kgeval import evaluate, load_dataset, summarize
    >>> table = evaluate(Baseline("random"), load_dataset("nations"))
    >>> sizes = table.column("candidates")
    >>> bool((table.column("tied") == sizes - 1).all())
    True
    >>> found = summarize(table, ["mrr"], ties="expected")["mrr"]
    >>> round(found, 12) == round(float(np.mean([sum(1 / np.arange(1, n + 1)) / n for n in sizes])), 12)
    True
    """

    title: ClassVar[str] = "nothing"
    rule: ClassVar[str] = "0 for every entity"
    source: ClassVar[str] = "Hoyt et al., 2022"
    learns_from: ClassVar[tuple[Split, ...]] = ()

    baseline: Literal["random"] = "random"
    """a random order of the candidates"""

    def learn(self, dataset: Dataset) -> SparseScorer:
        """Learn nothing."""

        def listed(queries: Queries) -> SparseScores:
            return SparseScores(Rows.of([[]]), np.empty(0), of_query=np.zeros(len(queries), np.int64))

        return SparseScorer(len(dataset.entities), len(dataset.relations), listed)
