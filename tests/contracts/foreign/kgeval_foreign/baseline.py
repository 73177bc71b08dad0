"""A baseline: entities come first whose id and the anchor's add up to the largest rest."""

from typing import ClassVar, Literal

from kgeval.data.dataset import Dataset
from kgeval.models.adapters.functions import CallableScorer
from kgeval.models.baselines import Baseline


class Remainder(Baseline):
    """Score (h + t) mod ``modulus``."""

    title: ClassVar[str] = "the rest of a sum of ids"
    rule: ClassVar[str] = "(h + t) mod m"
    source: ClassVar[str] = "kgeval-foreign"

    baseline: Literal["remainder"] = "remainder"
    """the rest of the sum of head and tail"""
    modulus: int = 2
    """what the sum is divided by"""

    def learn(self, dataset: Dataset) -> CallableScorer:
        """Learn nothing but how many there are."""
        return CallableScorer(
            lambda heads, relations, tails: (heads + tails) % self.modulus,
            len(dataset.entities),
            len(dataset.relations),
        )
