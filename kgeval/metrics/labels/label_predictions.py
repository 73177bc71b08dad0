"""Label predictions: predicted labels and probabilities of test triples, by functions fitted on validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from kgeval.arrays import BoolArray, Float64Array
from kgeval.metrics.labels.fitted import Calibration, Thresholds, calibrator
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.metrics.metric import Undefined


@dataclass(frozen=True, eq=False)
class LabelPredictions:
    """Test triples with their scores, predicted labels and probabilities."""

    truths: BoolArray
    """bool[triple]"""
    scores: Float64Array
    """float64[triple]"""
    relations: npt.NDArray[Any]
    """[triple]"""
    decisions: BoolArray | Undefined
    """bool[triple], the predicted labels; or why there are none"""
    probabilities: Float64Array | Undefined
    """float64[triple], of being true; or why there are none"""

    def __len__(self) -> int:
        return len(self.truths)

    def __getitem__(self, rows: BoolArray) -> LabelPredictions:
        def part(column: Any) -> Any:
            return column if isinstance(column, Undefined) else column[rows]

        columns = (self.truths, self.scores, self.relations, self.decisions, self.probabilities)
        return LabelPredictions(*map(part, columns))

    def of_relation(self, relation: Any) -> LabelPredictions:
        return self[self.relations == relation]

    def refuse_none(self) -> None:
        if len(self) == 0:
            raise Undefined("there are no triples")

    def predicted_labels(self) -> BoolArray:
        if isinstance(self.decisions, Undefined):
            raise self.decisions
        return self.decisions

    def predicted_probabilities(self) -> Float64Array:
        if isinstance(self.probabilities, Undefined):
            raise self.probabilities
        return self.probabilities


def predict_labels(
    valid: ScoredLabels, test: ScoredLabels, *, calibration: Calibration = "platt", threshold: float | None = None
) -> LabelPredictions:
    """Predict labels and probabilities of test triples, with thresholds and a calibration fitted on validation triples.

    ``threshold`` is one for all relations, instead of the best ones on validation.

    >>> valid = ScoredLabels([0.1, 0.9], [0, 1], ["r", "r"])
    >>> predict_labels(valid, valid, calibration="none").predicted_labels()
    array([False,  True])
    """
    return LabelPredictions(
        test.is_true,
        test.scores,
        test.relations,
        _or_reason(lambda: Thresholds.fit(valid).decide(test) if threshold is None else test.scores >= threshold),
        _or_reason(lambda: calibrator(valid, calibration)(test.scores)),
    )


def _or_reason(column: Callable[[], Any]) -> Any:
    """Compute a column, or return why it is undefined: metrics of other columns may still be defined."""
    try:
        return column()
    except Undefined as reason:
        return reason


def both_classes(predictions: LabelPredictions) -> None:
    predictions.refuse_none()
    true = int(predictions.truths.sum())
    if true in (0, len(predictions)):
        raise Undefined(f"the triples are all {'true' if true else 'false'}")
