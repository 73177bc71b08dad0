"""The rules of ranking: what the evaluators of two frameworks may do differently while they rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kgeval.arrays import BoolArray
from kgeval.data.dataset import Dataset
from kgeval.ranking.quirks import FrameworkQuirk
from kgeval.ranking.tie_rules import TieRule, exact
from kgeval.scorers.alignment import Aligned


@dataclass(frozen=True)
class Rules:
    """How candidates are chosen and compared. The default is the standard: all entities, exact scores."""

    protocol: str = "standard"
    """the protocol whose rules they are"""
    tie_rule: TieRule = exact
    """which scores tie with an answer's"""
    competes: Callable[[Dataset], BoolArray] | None = None
    """the entities that compete, bool[entity]; by default all"""
    batch: int | None = None
    """triples are ranked in whole batches of so many, and the rest is not ranked; by default all are"""
    quirks: tuple[FrameworkQuirk, ...] = ()
    """what the framework does with some models only"""
    listed: bool = False
    """whether candidates that a model lists are ranked by their places in the list, whatever their scores"""
    with_test: bool = False
    """whether answers are counted a second time with the triples of test known, where the filter leaves them out"""

    def num_ranked(self, count: int) -> int:
        """How many of so many triples are ranked.

        >>> Rules(batch=128).num_ranked(661), Rules().num_ranked(661)
        (640, 661)
        """
        return count if self.batch is None else count // self.batch * self.batch

    def competing(self, dataset: Dataset) -> BoolArray:
        """Whether each entity competes; bool[entity]."""
        return np.ones(len(dataset.entities), np.bool_) if self.competes is None else self.competes(dataset)

    def applicable_to(self, scorer: Aligned) -> tuple[FrameworkQuirk, ...]:
        """Choose the quirks that concern a model."""
        return tuple(quirk for quirk in self.quirks if quirk.applies_to(scorer))


STANDARD = Rules()
