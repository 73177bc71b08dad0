"""Answers that train triples imply by a rule, each score 1; everything else scores 0."""

from __future__ import annotations

import numpy as np

from kgeval.data.dataset import Dataset
from kgeval.data.known import KnownAnswers
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Triples
from kgeval.scorers.sparse_scorer import SparseScorer, SparseScores


def scorer_of_implied(implied: Triples, dataset: Dataset) -> SparseScorer:
    """Make a scorer that lists, for each query, the answers that complete it to an implied triple."""
    answers = {side: KnownAnswers.of([implied], side) for side in SIDES}

    def listed(queries: Queries) -> SparseScores:
        rows = answers[queries.side].rows(queries)
        return SparseScores(rows, np.ones(len(rows.ids)), of_query=np.arange(len(queries)))

    return SparseScorer(len(dataset.entities), len(dataset.relations), listed)
