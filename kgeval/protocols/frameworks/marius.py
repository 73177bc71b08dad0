"""Marius: all ties count; six decimals are printed. Unfiltered, an answer meets itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kgeval.data.triples import Side
from kgeval.protocols.framework_metric import hits, named
from kgeval.protocols.protocol import Protocol
from kgeval.ranking.rules import FrameworkQuirk
from kgeval.scorers.aligned import Aligned
from kgeval.scorers.mapped import Reciprocal


@dataclass(frozen=True)
class TailsOnly(FrameworkQuirk):
    """Heads are predicted as tails of the inverse relation, so a model without inverse relations predicts none."""

    cause: ClassVar[str] = "sides"
    note: ClassVar[str] = "Marius predicts tails only, with a model that has no inverse relations."

    def applies_to(self, scorer: Aligned) -> bool:
        return not isinstance(scorer.scorer, Reciprocal)

    def predicts_side(self, side: Side) -> bool:
        return side == "tail"


MARIUS = Protocol(
    name="marius",
    summary="pessimistic ranks; filtered: true, by all edges; models without inverse relations rank tails only",
    ties="pessimistic",
    repeats="each",
    self_counting="raw",
    quirks=(TailsOnly(),),
    framework_metrics=named(
        "{metric}", metric={"Mean Rank": "mr", "MRR": "mrr", **hits("Hits@{}", 1, 3, 5, 10, 50, 100)}
    ),
    text="{:f}".format,
    tie_note="Marius counts every tie against the answer",
)
