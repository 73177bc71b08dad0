"""Nonconformity by softmax: how improbable a candidate is among all, had scores been logits."""

from __future__ import annotations

import numpy as np

from kgeval.analysis.answer_sets.nonconformity import BelowReference, Nonconformity
from kgeval.analysis.answer_sets.scored_split import ScoredSplit


def measure(split: ScoredSplit) -> BelowReference:
    """Compare scores with the log-sum of each row's candidates.

    1 − p, with p = exp(s) / Σ exp, is the nonconformity of Sadinle, Lei and Wasserman (2019), which Zhu et al. (2025)
    take for the answers of knowledge graphs. −log p = log Σ exp − s grows as it does, so the sets are the same, and it
    does not underflow.
    """
    others = split.log_sums_of_others
    with_answer = np.logaddexp(others, split.scores)
    return BelowReference(split.scores, np.where(split.answer_is_known, with_answer, others))


SOFTMAX = Nonconformity("softmax", "log Σ exp − s", measure)
