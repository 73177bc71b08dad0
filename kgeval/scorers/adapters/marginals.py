"""PyKEEN's baselines without parameters: scores by the marginal distributions of the training triples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.triples import Side


@dataclass(frozen=True, eq=False)
class MarginalDistributionScorer:
    """score(h, r, t) = P(t | h) P(t | r) / Σ_t′ P(t′ | h) P(t′ | r), and likewise for heads; many entities tie at 0.

    What is computed is what PyKEEN computes, in its precision: float32 products, scaled by their sum in float64.
    Without one of the tables a score is the other's entry, without both 1/n.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from kgeval.data.triples import Triples
    >>> table = csr_matrix(np.array([[0.25, 0.75, 0]], np.float32))
    >>> scorer = MarginalDistributionScorer(3, 1, {}, {"tail": table})
    >>> scorer.scores(Queries.of(Triples.of([(0, 0, 2)]), "tail"), np.arange(3))
    array([[0.25, 0.75, 0.  ]], dtype=float32)
    """

    num_entities: int
    num_relations: int
    per_anchor: Mapping[Side, Any]
    """the predicted side -> P(answer | anchor); sparse float[entity, entity]"""
    per_relation: Mapping[Side, Any]
    """the predicted side -> P(answer | relation); sparse float[relation, entity]"""

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Return the scores of candidates, each query's scaled by those of all entities."""
        rows = self._rows(queries)
        chosen = rows[:, candidates] if candidates.ndim == 1 else np.take_along_axis(rows, candidates, axis=1)
        return np.asarray(chosen)

    def _rows(self, queries: Queries) -> FloatArray:
        anchors: Any = self.per_anchor.get(queries.side)
        relations: Any = self.per_relation.get(queries.side)
        if anchors is None and relations is None:
            return np.full((len(queries), self.num_entities), 1 / self.num_entities, np.float32)
        if anchors is None or relations is None:
            alone = relations[queries.relations] if anchors is None else anchors[queries.anchors]
            return np.asarray(alone.toarray())
        products = anchors[queries.anchors].multiply(relations[queries.relations]).toarray()
        sums = np.add.accumulate(products, axis=1, dtype=np.float64)[:, -1:]
        return np.asarray(products / np.where(sums == 0, 1, sums), products.dtype)
