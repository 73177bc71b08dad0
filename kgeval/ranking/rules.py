"""The rules of ranking in which the evaluators of frameworks differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kgeval.base.arrays import BoolArray
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Side
from kgeval.models.aligned import Aligned
from kgeval.ranking.engine import Ranked
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tie_rules import TieRule, exact


class FrameworkQuirk:
    """Something that a framework's evaluator does with some models, and that no reader of its numbers would expect."""

    cause: ClassVar[str]
    """the rule of the evaluation that it changes, in a word or two"""
    note: ClassVar[str] = ""
    """what results say where it applies: a sentence that begins with the framework; nothing if ties alone show it"""

    compares_queries: ClassVar[bool] = False
    """whether it compares queries with each other, so that all must be ranked together"""

    def applies_to(self, scorer: Aligned) -> bool:
        raise NotImplementedError

    def predicts_side(self, side: Side) -> bool:
        return True

    def tie_rule(self, rule: TieRule) -> TieRule:
        """Return the rule by which scores then tie with an answer's, given the protocol's."""
        return rule

    def adjust(self, ranked: Ranked, task: RankingTask, scorer: Aligned, tie_rule: TieRule) -> Ranked:
        """Return the counts that the framework finds, given the right ones."""
        return ranked


@dataclass(frozen=True)
class Rules:
    """How candidates are chosen and compared; the fields are those of ``Protocol``. By default, as the standard one."""

    protocol: str = "standard"
    """the name of the protocol"""
    tie_rule: TieRule = exact
    """the tie interval: which scores tie with an answer's"""
    competes: Callable[[Dataset], BoolArray] | None = None
    """the entities that compete, bool[entity]; by default all"""
    batch: int | None = None
    """the size of batches, if triples of an incomplete last batch are not ranked"""
    quirks: tuple[FrameworkQuirk, ...] = ()
    """rules for some models only"""
    listed: bool = False
    """whether candidates in a model's prediction list are ranked by their positions there instead of their scores"""
    with_test: bool = False
    """whether there are also counts with test in the filter, where the filter lacks it"""
    predicts_relations: bool = True
    """whether relations are ranked too"""

    def num_ranked(self, count: int) -> int:
        """Return how many of ``count`` triples are ranked.

        >>> Rules(batch=128).num_ranked(661), Rules().num_ranked(661)
        (640, 661)
        """
        return count if self.batch is None else count // self.batch * self.batch

    def competing(self, dataset: Dataset) -> BoolArray:
        """Whether each entity competes; bool[entity]."""
        return np.ones(len(dataset.entities), np.bool_) if self.competes is None else self.competes(dataset)

    def applicable_to(self, scorer: Aligned) -> tuple[FrameworkQuirk, ...]:
        return tuple(quirk for quirk in self.quirks if quirk.applies_to(scorer))


STANDARD = Rules()
