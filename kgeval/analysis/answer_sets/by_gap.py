"""Nonconformity by gap: how far a score is below the best one."""

from __future__ import annotations

import numpy as np

from kgeval.analysis.answer_sets.nonconformity import BelowReference, Nonconformity
from kgeval.analysis.answer_sets.scored_split import ScoredSplit


def measure(split: ScoredSplit) -> BelowReference:
    """Compare scores with that of each row's best candidate.

    >>> BelowReference(np.array([2.0, 5.0]), np.array([4.5, 5.0])).values
    array([2.5, 0. ])
    """
    return BelowReference(split.scores, np.maximum(split.best_others, split.scores))


GAP = Nonconformity("gap", "max s − s", measure)
