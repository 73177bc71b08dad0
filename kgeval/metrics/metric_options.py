"""Options of a summary: what the metrics of ranks depend on beside the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.kinds import Chance
from kgeval.metrics.ranks.ties import Ties, tie_policy

_LARGEST = 10
"""an exponent: frequencies below 10¹⁵, each to its power, then multiply to a finite weight"""


@dataclass(frozen=True)
class MetricOptions:
    """The tie policy, and the conventions of adjusted and stratified metrics."""

    ties: Ties = "realistic"
    """of metrics that name none"""
    seed: int = 0
    """of random ties"""
    chance: Chance = "exact"
    """what adjusted metrics and z-scores compare with"""
    popularity: tuple[float, float] = (1.0, 1.0)
    """the exponents of the frequencies of answers and relations, for strat"""

    def __post_init__(self) -> None:
        tie_policy(self.ties)
        if self.chance not in get_args(Chance):
            raise MetricError(f"unknown chance {self.chance!r}. {did_you_mean(str(self.chance), get_args(Chance))}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer):
            raise MetricError(f"the seed of random ties must be a whole number, found {self.seed!r}.")
        object.__setattr__(self, "seed", int(self.seed))
        object.__setattr__(self, "popularity", checked_exponents(self.popularity))


def checked_exponents(exponents: Any) -> tuple[float, float]:
    pair = list(exponents) if isinstance(exponents, tuple | list | np.ndarray) else []
    numbers = [float(one) for one in pair if isinstance(one, int | float | np.number) and not isinstance(one, bool)]
    if len(pair) != 2 or len(numbers) != 2 or not all(abs(number) <= _LARGEST for number in numbers):
        raise MetricError(
            "the exponents of popularity are two numbers, of the frequencies of answer and relation, each from "
            f"-{_LARGEST} to {_LARGEST}, found {exponents!r}."
        )
    return numbers[0], numbers[1]


DEFAULT_OPTIONS = MetricOptions()
