"""Metrics of confidences: errors of predicted confidences, and ranks weighted by the true confidences.

Each metric reads :class:`ConfidencePredictions`, which ``labels/label_summary.py`` makes of a table of confidences.
Chen et al.: Embedding Uncertain Knowledge Graphs, AAAI 2019 (UKGE).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.errors import MetricError
from kgeval.metrics.array_inputs import Row, as_number_row
from kgeval.metrics.lists.gain import normalised_gains, with_discounts
from kgeval.metrics.lists.ranked_lists import PerList, RankedLists, answer_lists, places_of
from kgeval.metrics.metric import Metric, Undefined, declared, defined
from kgeval.metrics.ranks.rank_metrics import MR, MRR
from kgeval.metrics.ranks.ranks import Ranks


@dataclass(frozen=True, eq=False)
class ConfidencePredictions:
    """Facts with their true and predicted confidences, and with their ranks."""

    confidences: Float64Array
    """float64[fact], the confidences in the dataset; a fact may be repeated"""
    predicted: Float64Array | Undefined
    """float64[fact], the predicted confidences; or the reason why there are none"""
    relations: npt.NDArray[Any]
    """[fact], the relation of each fact"""
    ranked: RankedFacts | None = None
    """the ranks of the facts; ``None`` if some facts are negatives, which have no rank"""

    def of_relation(self, relation: Any) -> ConfidencePredictions:
        return self.where(self.relations == relation, lambda ranked: ranked.relations == relation)

    def with_confidence_at_least(self, confidence: float) -> ConfidencePredictions:
        return self.where(self.confidences >= confidence, lambda ranked: ranked.confidences >= confidence)

    def where(self, facts: BoolArray, rows: Callable[[RankedFacts], BoolArray]) -> ConfidencePredictions:
        """Keep the chosen facts (bool[fact]), and the ranks that ``rows`` chooses (bool[row])."""
        return replace(
            self,
            confidences=self.confidences[facts],
            predicted=self.predicted if isinstance(self.predicted, Undefined) else self.predicted[facts],
            relations=self.relations[facts],
            ranked=self.ranked and self.ranked[rows(self.ranked)],
        )

    def predictions(self) -> Float64Array:
        """Return the predicted confidences; float64[fact]."""
        if len(self.confidences) == 0:
            raise Undefined("there are no facts")
        return defined(self.predicted)

    def ranked_facts(self) -> RankedFacts:
        if self.ranked is None:
            raise Undefined("nothing was ranked")
        if len(self.ranked.queries) == 0:
            raise Undefined("there are no facts")
        return self.ranked


@dataclass(frozen=True, eq=False)
class RankedFacts:
    """The ranks of facts, one row per fact and side, each with the confidence of its fact."""

    ranks: Ranks
    """the filtered ranks, weighted by the confidences; for random ties, with their draws"""
    confidences: Float64Array
    """float64[row]"""
    scores: Float64Array
    """float64[row], the score of the answer"""
    queries: IntArray
    """int64[row], the id of the query (h, r, ?); negative where the answer is the head of a fact"""
    relations: npt.NDArray[Any]
    """[row], the relation of the fact"""

    def __getitem__(self, kept: BoolArray) -> RankedFacts:
        columns = (self.confidences[kept], self.scores[kept], self.queries[kept], self.relations[kept])
        return RankedFacts(self.ranks.at(np.flatnonzero(kept)), *columns)

    def lists(self) -> RankedLists:
        """Return the ranked list of each query (h, r, ?), with the confidences of its answers as grades."""
        tails = self[self.queries >= 0]
        if len(tails.queries) == 0:
            raise Undefined("no tails were ranked")
        lists = answer_lists(tails.queries, tails.scores, tails.ranks)
        return replace(lists, grades=tails.confidences[places_of(tails.queries, tails.scores)[0]])


def rmse(y_true: Row, y_pred: Row) -> float:
    """Compute the root mean squared error, √(Σ (y − ŷ)² / n).

    Parameters
    ----------
    y_true, y_pred
        the true and the predicted values; shape (value,) each

    Raises
    ------
    MetricError
        if there are no values, or different numbers of true and predicted values
    Undefined
        if the error is larger than any number in float64

    Examples
    --------
    >>> rmse([1, 2, 3], [1, 2, 5])
    1.1547005383792515
    """
    return _mean_error(lambda errors: np.sqrt(np.mean(errors**2)), 1, y_true, y_pred)


def mse(y_true: Row, y_pred: Row) -> float:
    """Compute the mean squared error, Σ (y − ŷ)² / n; see :func:`rmse`.

    >>> mse([1, 2, 3], [1, 2, 5])
    1.3333333333333333
    """
    return _mean_error(lambda errors: np.mean(errors**2), 2, y_true, y_pred)


def mae(y_true: Row, y_pred: Row) -> float:
    """Compute the mean absolute error, Σ |y − ŷ| / n; see :func:`rmse`.

    >>> mae([1, 2, 3], [1, 2, 5])
    0.6666666666666666
    """
    return _mean_error(lambda errors: np.mean(np.abs(errors)), 1, y_true, y_pred)


def _mean_error(mean: Callable[[Float64Array], Any], degree: int, y_true: Row, y_pred: Row) -> float:
    """Compute a mean of the errors without overflow; ``mean`` has mean(c · errors) = c^degree · mean(errors)."""
    true, predicted = as_number_row(y_true, "y_true"), as_number_row(y_pred, "y_pred")
    if len(true) != len(predicted):
        raise MetricError(f"{len(true)} true but {len(predicted)} predicted values: expected as many.")
    # The difference of halves is finite; scaling it by a power of two keeps its square finite, without rounding.
    halves = np.ldexp(true, -1) - np.ldexp(predicted, -1)
    exponent = np.frexp(np.abs(halves).max())[1]
    with np.errstate(over="ignore"):
        error = float(np.ldexp(mean(np.ldexp(halves, -exponent)), degree * (exponent + 1)))
    if np.isinf(error):
        raise Undefined("the error is larger than any number in float64")
    return error


def _error(names: str, text: str, of: Callable[[Row, Row], float]) -> Metric:
    about: dict[str, Any] = {"source": "Chen et al., 2019 (MSE, MAE)", "highest": np.inf, "increasing": False}
    about |= {"needs": "confidences", "undefined": "no facts; no mapping to confidences; beyond float64"}
    return declared(names, text, lambda data, _: of(data.confidences, data.predictions()), **about)


RMSE = _error("rmse root_mean_squared_error", "root mean squared error of confidences: √(Σ (ŵ − w)² / n)", rmse)
MSE = _error("mse mean_squared_error", "mean squared error of confidences: Σ (ŵ − w)² / n", mse)
MAE = _error("mae mean_absolute_error", "mean absolute error of confidences: Σ |ŵ − w| / n", mae)

_weighted = partial(
    declared, source="Chen et al., 2021", needs="confidences", undefined="no facts, or all of confidence 0"
)

WMR = _weighted(
    "wmr weighted_mean_rank",
    "mean rank, weighted by confidence: Σ w r / Σ w",
    lambda data, _: MR(data.ranked_facts().ranks),
    lowest=1,
    highest=np.inf,
    increasing=False,
)

WMRR = _weighted(
    "wmrr weighted_mean_reciprocal_rank",
    "mean reciprocal rank, weighted by confidence: Σ (w / r) / Σ w",
    lambda data, _: MRR(data.ranked_facts().ranks),
)


def _graded(names: str, text: str, values: Callable[..., Float64Array], **further: Any) -> Metric:
    about: dict[str, Any] = {"cutoff": "optional", "needs": "confidences"}
    about |= {"undefined": "no query has an answer of positive confidence", **further}
    return declared(names, text, lambda data, k: PerList(values)(data.ranked_facts().lists(), k), **about)


_graded_gain = partial(with_discounts, _graded, source="Chen et al., 2019")
GRADED_NDCG = _graded_gain(
    "graded-ndcg graded_ndcg",
    "nDCG per (h, r, ?), graded by confidence: DCG / DCG of the best order, DCG = Σ w / {}",
    normalised_gains,
)

GRADED_NDCG_EXPONENTIAL = _graded_gain(
    "graded-ndcg-exp graded_ndcg_exp",
    "nDCG per (h, r, ?), graded by confidence, exponential: DCG / DCG of the best order, DCG = Σ (2^w − 1) / {}",
    partial(normalised_gains, gain="exponential"),
)
