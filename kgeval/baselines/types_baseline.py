"""Types: the entities that train has in this relation and on this side come before all others."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from kgeval.baselines.baseline import Baseline
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES
from kgeval.data.type_constraints import observed_types
from kgeval.scorers.sparse_scorer import SparseScorer, SparseScores


class TypesBaseline(Baseline):
    """The entities that the relation ever takes on the predicted side come first, all alike."""

    title: ClassVar[str] = "whether train has it"
    rule: ClassVar[str] = "1 for entities in this relation and side of train, else 0"
    source: ClassVar[str] = "Krompaß et al., 2015"

    baseline: Literal["types"] = "types"
    """entities of the relation's type, as train shows it"""

    def learn(self, dataset: Dataset) -> SparseScorer:
        """Collect the entities of each relation and side."""
        types = {side: observed_types([dataset.train], side, dataset) for side in SIDES}

        def listed(queries: Queries) -> SparseScores:
            rows = types[queries.side]
            return SparseScores(rows, np.ones(len(rows.ids)), of_query=queries.relations)

        return SparseScorer(len(dataset.entities), len(dataset.relations), listed)
