"""Tie policies: where an answer stands that ties with others. Each is one declaration and one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.metrics.metric import Undefined

if TYPE_CHECKING:
    from kgeval.metrics.ranks.ranks import Ranks

Ties = Literal["optimistic", "realistic", "rounded", "pessimistic", "expected", "random"]


@dataclass(frozen=True)
class TiePolicy:
    """A tie policy: the facts that ``kgeval list metrics`` prints, and the function."""

    name: Ties
    title: str
    formula: str
    """of a rank anywhere from a to b"""
    source: str
    rank: Callable[[Ranks], Float64Array]
    """the ranks with their ties broken"""
    undefined: str = "never"


def _mean(ranks: Ranks) -> Float64Array:
    return np.asarray((ranks.optimistic + ranks.pessimistic) / 2, np.float64)


def _untied(ranks: Ranks) -> Float64Array:
    if ranks.tied.any():
        raise Undefined("its expectation over ties has no closed form; choose another tie policy")
    return ranks.optimistic.astype(np.float64)


POLICIES = (
    TiePolicy(
        name="optimistic",
        title="the best of the tied places",
        formula="a = 1 + greater",
        source="Berrendorf et al., 2020",
        rank=lambda ranks: ranks.optimistic.astype(np.float64),
    ),
    TiePolicy(
        name="realistic",
        title="the mean of the tied places, which may be x.5",
        formula="(a + b) / 2",
        source="Berrendorf et al., 2020",
        rank=_mean,
    ),
    TiePolicy(
        name="rounded",
        title="the mean of the tied places, rounded up",
        formula="⌈(a + b) / 2⌉",
        source="Broscheit et al., 2020 (LibKGE)",
        rank=lambda ranks: np.ceil(_mean(ranks)),
    ),
    TiePolicy(
        name="pessimistic",
        title="the worst of the tied places",
        formula="b = 1 + greater + tied",
        source="Berrendorf et al., 2020",
        rank=lambda ranks: ranks.pessimistic.astype(np.float64),
    ),
    TiePolicy(
        name="expected",
        title="the exact mean of the metric, not of the rank, over all orders of the tied",
        formula="Σ metric(r) / (b − a + 1) over r = a … b",
        source="Sun et al., 2020",
        rank=_untied,
        undefined="a tie, where there is no closed form: median, inverse-median, std, mad, imr, hmr",
    ),
    TiePolicy(
        name="random",
        title="one of the tied places, keyed by the seed and the triple",
        formula="a + ⌊u (b − a + 1)⌋, u uniform on [0, 1)",
        source="Sun et al., 2020",
        rank=lambda ranks: np.asarray(ranks.optimistic + np.floor(ranks.random_draws * (ranks.tied + 1)), np.float64),
    ),
)

TIE_POLICIES: dict[Ties, TiePolicy] = {policy.name: policy for policy in POLICIES}
TIES: tuple[Ties, ...] = tuple(TIE_POLICIES)
