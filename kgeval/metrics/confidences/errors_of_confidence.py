"""Errors of confidences: distances between the predicted and the stated confidences of facts.

Chen et al.: Embedding Uncertain Knowledge Graphs, AAAI 2019 (UKGE).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from kgeval.metrics.confidences.facts import ConfidencePredictions
from kgeval.metrics.confidences.rmse import rmse
from kgeval.metrics.labels.scored_labels import without_cutoff
from kgeval.metrics.metric import Metric


def root_mean_squared_error(data: ConfidencePredictions) -> float:
    """√(Σ (ŵ − w)² / n)."""
    return rmse(data.confidences, data.predictions())


def mean_squared_error(data: ConfidencePredictions) -> float:
    """Σ (ŵ − w)² / n."""
    with np.errstate(over="ignore"):
        return float(np.mean((data.confidences - data.predictions()) ** 2))


def mean_absolute_error(data: ConfidencePredictions) -> float:
    """Σ |ŵ − w| / n."""
    with np.errstate(over="ignore"):
        return float(np.mean(np.abs(data.confidences - data.predictions())))


_error = partial(
    Metric,
    source="Chen et al., 2019",
    lowest=0,
    highest=np.inf,
    increasing=False,
    needs="confidences",
    undefined="no facts; no mapping to confidences; beyond float64",
)

RMSE = _error(
    name="rmse",
    title="root mean squared error of confidences",
    formula="√(Σ (ŵ − w)² / n)",
    compute=without_cutoff(root_mean_squared_error),
    synonyms=("root_mean_squared_error",),
)

MSE = _error(
    name="mse",
    title="mean squared error of confidences",
    formula="Σ (ŵ − w)² / n",
    compute=without_cutoff(mean_squared_error),
    synonyms=("mean_squared_error",),
)

MAE = _error(
    name="mae",
    title="mean absolute error of confidences",
    formula="Σ |ŵ − w| / n",
    compute=without_cutoff(mean_absolute_error),
    synonyms=("mean_absolute_error",),
)
