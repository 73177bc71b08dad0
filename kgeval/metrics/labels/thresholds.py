"""Thresholds: the least score of a triple that is predicted true, by relation, fitted on validation triples.

Socher et al.: Reasoning With Neural Tensor Networks for Knowledge Base Completion, NeurIPS 2013.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.arrays import BoolArray, Float64Array
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.metrics.metric import Undefined


@dataclass(frozen=True)
class Thresholds:
    """A triple is predicted true if its score is at least the threshold of its relation."""

    global_threshold: float
    """for relations without validation triples"""
    by_relation: Mapping[Any, float]

    @classmethod
    def fit(cls, valid: ScoredLabels) -> Thresholds:
        """Choose, for each relation and for all together, the threshold with the best validation accuracy.

        The candidates are the scores themselves, so at least one triple of each relation is predicted true; of several
        best ones the smallest is taken.

        Raises
        ------
        Undefined
            if there are no validation triples

        Examples
        --------
        >>> valid = ScoredLabels(np.array([0.1, 0.4, 0.4, 0.8]), np.array([0.0, 0, 1, 1]), np.array(["r"] * 4))
        >>> Thresholds.fit(valid).by_relation  # 0.4 and 0.8 classify 3 of 4 correctly
        {'r': 0.4}
        """
        if len(valid) == 0:
            raise Undefined("there are no validation triples to choose thresholds on")
        relations, codes = np.unique(valid.relations, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(codes))[:-1])
        truths = valid.is_true
        best = {_as_key(r): _best(valid.scores[rows], truths[rows]) for r, rows in zip(relations, parts, strict=True)}
        return cls(_best(valid.scores, truths), best)

    def of(self, relations: npt.NDArray[Any]) -> Float64Array:
        """Return the threshold of each triple's relation; float64[triple]."""
        known, codes = np.unique(relations, return_inverse=True)
        values = np.array([self.by_relation.get(_as_key(r), self.global_threshold) for r in known], np.float64)
        return values[codes]

    def decide(self, scored: ScoredLabels) -> BoolArray:
        """Predict the label of each triple; bool[triple]."""
        return np.asarray(scored.scores >= self.of(scored.relations))


def _best(scores: Float64Array, truths: BoolArray) -> float:
    """Return the threshold of the highest accuracy, the smallest of several."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    below = np.concatenate([[0], np.cumsum(truths[order])])[starts]
    correct = (starts - below) + (truths.sum() - below)
    return float(ordered[starts[np.argmax(correct)]])


def _as_key(relation: Any) -> Any:
    return relation.item() if isinstance(relation, np.generic) else relation
