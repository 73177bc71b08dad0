"""Two phases: whether the rank among typed candidates pays, and of how many triples it should be known.

A regression leaves a = 1 − R² of the variance. With n′ = k n triples in the first phase, of cost c each where an exact
rank costs 1, the variance at a given cost is least for k = √(R² / (a c)) (Cochran, 1977, section 12.6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Phases:
    """What the first part of a sample says of a regression.

    >>> cheap, dear = Phases(explained=0.88, cost=0.02), Phases(explained=0.5, cost=0.6)
    >>> round(cheap.ratio, 1), cheap.pays(0.0002, of=600_000, first=1000), dear.pays(0.0002, of=600_000, first=1000)
    (19.1, True, False)
    """

    explained: float
    """R²"""
    cost: float
    """of a rank among typed candidates, where one among all entities costs 1"""

    @property
    def ratio(self) -> float:
        """k, how many triples are in the first phase for each of the sample."""
        left = max(1 - self.explained, 1e-6)
        return float(np.sqrt(max(self.explained, 0) / left / self.cost))

    def pays(self, variance: float, *, of: int, first: int) -> bool:
        """Whether it takes less work to reach a variance, in units of that of one triple, of ``of`` triples."""
        if self.ratio <= 1:
            return False
        alone = max(1 / (variance + 1 / of), first)
        left = 1 - self.explained
        drawn = max((left + self.explained / self.ratio) / (variance + 1 / of), first)
        if self.ratio * drawn >= of:
            drawn = max(left / (variance + left / of), first)  # all triples are in the first phase
        return bool(drawn + self.cost * min(self.ratio * drawn, of) < alone)
