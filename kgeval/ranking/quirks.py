"""Quirks: what a framework's evaluator does with some models only, and which changes their ranks."""

from __future__ import annotations

from typing import ClassVar

from kgeval.data.triples import Side
from kgeval.ranking.engine import Ranked
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tie_rules import TieRule
from kgeval.scorers.aligned import Aligned


class FrameworkQuirk:
    """Something that a framework's evaluator does with some models, and that no reader of its numbers would expect."""

    cause: ClassVar[str]
    """the rule of the evaluation that it changes, in a word or two"""
    note: ClassVar[str] = ""
    """what results say where it applies: a sentence that begins with the framework; nothing if ties alone show it"""

    compares_queries: ClassVar[bool] = False
    """whether it compares queries with each other, so that all must be ranked together"""

    def applies_to(self, scorer: Aligned) -> bool:
        """Whether it concerns this model."""
        raise NotImplementedError

    def predicts_side(self, side: Side) -> bool:
        """Whether that side is then predicted at all."""
        return True

    def tie_rule(self, rule: TieRule) -> TieRule:
        """Return the rule by which scores then tie with an answer's, given the protocol's."""
        return rule

    def adjust(self, ranked: Ranked, task: RankingTask, scorer: Aligned, tie_rule: TieRule) -> Ranked:
        """Return the counts that the framework finds, given the right ones."""
        return ranked
