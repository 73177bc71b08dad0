"""Scored labels: triples with a score and a label (or confidence) each, from which label metrics are computed.

``kgeval.classify`` makes them of a model and ``kgeval.tasks.Confidences`` of a dataset's facts; users make
:class:`ScoredLabels` of their own arrays, and give ``summarize`` those of validation and test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import BoolArray, Float64Array, detached
from kgeval.base.errors import MetricError, counted, reason
from kgeval.base.tables.shown import Brief
from kgeval.data.provenance import UNKNOWN, LabelProvenance
from kgeval.metrics.array_inputs import floats, refuse_items


@dataclass(frozen=True, eq=False, repr=False)
class ScoredLabels(Brief):
    """Triples with a score, a label or confidence, and a relation each, as arrays, lists or tensors.

    Raises
    ------
    MetricError
        if the lengths differ, a score is not finite, or a label is negative or infinite

    Examples
    --------
    >>> ScoredLabels([0.3, np.nan], [1, 0], ["likes", "likes"])
    Traceback (most recent call last):
    kgeval.base.errors.MetricError: scores[1] is nan: labelled triples need finite scores.
    """

    scores: Float64Array
    """float64[triple], higher is more plausible; finite"""
    labels: Float64Array
    """float64[triple]: 1 and 0, confidences from 0 to 1, or grades from 0"""
    relations: npt.NDArray[Any]
    """[triple], the relation of each, as ids or labels"""

    if TYPE_CHECKING:  # what type checkers would read from the fields refuses lists and tensors

        def __init__(self, scores: Any, labels: Any, relations: Any) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", floats(self.scores, "scores"))
        object.__setattr__(self, "labels", floats(self.labels, "labels"))
        object.__setattr__(self, "relations", _relations(self.relations))
        if not len(self.scores) == len(self.labels) == len(self.relations):
            lengths = f"{len(self.scores)} scores, {len(self.labels)} labels and {len(self.relations)} relations"
            raise MetricError(f"{lengths}: expected one of each for every triple.")
        refuse_items("scores", self.scores, ~np.isfinite(self.scores), "labelled triples need finite scores")
        wrong = ~((self.labels >= 0) & (self.labels < np.inf))
        refuse_items("labels", self.labels, wrong, "labels are finite and not negative")

    def __len__(self) -> int:
        return len(self.scores)

    def _brief(self) -> str:
        return counted(len(self), "labelled triple")

    def __getitem__(self, rows: BoolArray) -> ScoredLabels:
        return ScoredLabels(self.scores[rows], self.labels[rows], self.relations[rows])

    @property
    def is_true(self) -> BoolArray:
        """Whether each triple is true; bool[triple].

        Raises
        ------
        MetricError
            if a label is a confidence, neither 0 nor 1
        """
        confidences = (self.labels != 0) & (self.labels != 1)
        refuse_items("labels", self.labels, confidences, "triples are classified by labels 0 and 1")
        return np.asarray(self.labels == 1)


@dataclass(frozen=True)
class ScoredSplits:
    """Labelled triples of validation and test that a user scored, without baselines."""

    splits: Mapping[str, ScoredLabels]
    baselines: ClassVar[Mapping[str, float | None]] = {}
    notes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        valid_types = all(isinstance(part, ScoredLabels) for part in self.splits.values())
        if set(self.splits) != {"valid", "test"} or not valid_types:
            types = ", ".join(f"{split!r}: {type(part).__name__}" for split, part in self.splits.items())
            raise MetricError(f"expected the ScoredLabels of 'valid' and of 'test', found {{{types}}}.")

    @property
    def provenance(self) -> LabelProvenance:
        test = self.splits["test"]
        negatives = f"{int((test.labels == 0).sum()):,} of unknown origin"
        return LabelProvenance(UNKNOWN, UNKNOWN, "test", len(test), negatives=negatives)

    def scored(self, split: str, scores: str = "score") -> ScoredLabels:
        return self.splits[split]


def _relations(relations: Any) -> npt.NDArray[Any]:
    try:
        row = np.asarray(detached(relations))
    except ValueError as error:  # unequal lists
        raise MetricError(f"relations: expected one id or label for each triple ({reason(error)}).") from error
    if row.ndim != 1:
        raise MetricError(f"relations: expected one id or label for each triple, found shape {row.shape}.")
    return row
