"""Scored labels: what every metric of labelled triples is a function of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from kgeval.arrays import BoolArray, Float64Array
from kgeval.errors import MetricError


@dataclass(frozen=True, eq=False)
class ScoredLabels:
    """Triples as a model sees them and as they are: a score, and a label or confidence.

    Examples
    --------
    >>> ScoredLabels(np.array([0.3, np.nan]), np.array([1.0, 0.0]), np.array(["likes", "likes"]))
    Traceback (most recent call last):
    kgeval.errors.MetricError: score 1 is nan: labelled triples need finite scores.
    """

    scores: Float64Array
    """float64[triple], higher is more plausible; finite"""
    labels: Float64Array
    """float64[triple]: 1 and 0, or confidences from 0 to 1"""
    relations: npt.NDArray[Any]
    """[triple], the relation of each, as ids or labels"""

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together, and what is no score or label."""
        if not len(self.scores) == len(self.labels) == len(self.relations):
            lengths = f"{len(self.scores)} scores, {len(self.labels)} labels and {len(self.relations)} relations"
            raise MetricError(f"{lengths}: expected one of each for every triple.")
        for name, values, wrong in (
            ("score", self.scores, ~np.isfinite(self.scores)),
            ("label", self.labels, ~((self.labels >= 0) & (self.labels <= 1))),
        ):
            if wrong.any():
                row = int(np.argmax(wrong))
                wanted = "labelled triples need finite scores" if name == "score" else "labels go from 0 to 1"
                raise MetricError(f"{name} {row} is {values[row]}: {wanted}.")

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, rows: BoolArray) -> ScoredLabels:
        return ScoredLabels(self.scores[rows], self.labels[rows], self.relations[rows])

    @property
    def truths(self) -> BoolArray:
        """Whether each triple is true; bool[triple].

        Raises
        ------
        MetricError
            if a label is a confidence, neither 0 nor 1
        """
        between = (self.labels != 0) & (self.labels != 1)
        if between.any():
            row = int(np.argmax(between))
            raise MetricError(f"label {row} is {self.labels[row]}: triples are classified by labels 0 and 1.")
        return np.asarray(self.labels == 1)


Computed = TypeVar("Computed", bound=object)


def without_cutoff(function: Callable[[Computed], float]) -> Callable[[Computed, int], float]:
    """Make what a metric declares of a function that knows no cut-off."""
    return lambda data, _: function(data)
