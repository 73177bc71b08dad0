"""Rules: what the evaluators of frameworks do differently while they rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.arrays import BoolArray
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Side
from kgeval.ranking.engine import Ranked
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tie_rules import TieRule, exact
from kgeval.scorers.alignment import Aligned


class FrameworkQuirk:
    """Something that a framework's evaluator does with some models, and that no reader of its numbers would expect."""

    cause: ClassVar[str]
    """which rule of the evaluation it breaks, in a word or two"""
    note: ClassVar[str] = ""
    """what is said where it bites: a sentence that begins with the framework; nothing if ties alone show it"""

    def applies_to(self, scorer: Aligned) -> bool:
        """Whether it concerns this model."""
        raise NotImplementedError

    def predicts_side(self, side: Side) -> bool:
        """Whether that side is then predicted at all."""
        return True

    def level(self, level: TieRule) -> TieRule:
        """Say which scores are then level with an answer's."""
        return level

    def adjust(self, ranked: Ranked, contest: RankingTask, scorer: Aligned, level: TieRule) -> Ranked:
        """Turn what a contest ends with into what it ends with there."""
        return ranked


@dataclass(frozen=True)
class Rules:
    """How candidates are chosen and compared. The default is the standard: all entities, exactly."""

    protocol: str = "standard"
    """whose rules they are"""
    tie_rule: TieRule = exact
    """which scores are level with an answer's"""
    competes: Callable[[Dataset], BoolArray] | None = None
    """the entities that compete, bool[entity]; by default all"""
    batch: int | None = None
    """triples are ranked in whole batches of so many, and what is left over is not ranked; by default all are"""
    quirks: tuple[FrameworkQuirk, ...] = ()
    listed: bool = False
    """whether candidates that a model lists are ranked by their places in the list, whatever their scores"""
    with_test: bool = False
    """whether answers are counted a second time with the triples of test known, where the filter leaves them out"""

    def num_ranked(self, count: int) -> int:
        """How many of so many triples are ranked.

        >>> Rules(batch=128).kept(661), Rules().kept(661)
        (640, 661)
        """
        return count if self.batch is None else count // self.batch * self.batch

    def competing(self, dataset: Dataset) -> BoolArray:
        """Whether each entity competes; bool[entity]."""
        return np.ones(len(dataset.entities), np.bool_) if self.competes is None else self.competes(dataset)

    def applicable_to(self, scorer: Aligned) -> list[FrameworkQuirk]:
        """List the faults that concern a model."""
        return [fault for fault in self.quirks if fault.applies_to(scorer)]


STANDARD = Rules()
