"""A tie policy: the geometric mean of the best and the worst of the tied places."""

import numpy as np

from kgeval.metrics.ranks.ties import TiePolicy

GEOMETRIC = TiePolicy(
    name="geometric",
    title="the geometric mean of the tied places' ends",
    formula="√(a b)",
    source="kgeval-foreign",
    rank=lambda optimistic, pessimistic, draws: np.sqrt(optimistic * pessimistic),
)
