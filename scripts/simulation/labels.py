"""Classified triples: how often 95 % intervals of AUC, AP and F1 hold the truth, and tests of equal models reject."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.intervals.selection_intervals import student_p
from kgeval.metrics.labels.fitted import LabelPredictions
from kgeval.metrics.labels.label_intervals import Scatter, added_by_units, label_interval
from kgeval.metrics.names import parse

CASES = ((400, 0.5, 1.0), (400, 0.5, 2.0), (1_000, 0.2, 1.5), (500, 0.1, 2.7))
"""the number of triples, the share of true ones, and how far their scores are apart; of the last the AUC is .97"""


def rows(draws: int) -> Iterator[str]:
    """The table, line by line, as it comes."""
    yield f"Percent of {draws:,} draws in which the interval holds the truth, and the test at 5 % rejects\n"
    yield "| metric | triples | true | apart | held | rejected |"
    yield "|---|---|---|---|---|---|"
    for name in METRICS:
        for case in CASES:
            shares = held(name, case, draws), rejected(name, case, draws)
            yield f"| {name} | {' | '.join(map(str, case))} | {' | '.join(f'{100 * share:.1f}' for share in shares)} |"


def made(rng: np.random.Generator, count: int, share: float, shift: float) -> LabelPredictions:
    """True triples come first; their scores are higher by ``shift`` on average."""
    truths = np.arange(count) < max(1, round(share * count))
    return predicted(truths, rng.normal(size=count) + shift * truths, rng.integers(0, 25, count), shift)


def predicted(truths: np.ndarray, scores: np.ndarray, relations: np.ndarray, shift: float) -> LabelPredictions:
    return LabelPredictions(truths, scores, relations, scores > shift / 2, 1 / (1 + np.exp(-scores)))


def plain_auc(data: LabelPredictions) -> float:
    """The Mann-Whitney statistic, where no scores tie."""
    truths = data.truths[np.argsort(data.scores)]
    return float(np.cumsum(~truths)[truths].mean() / (~truths).sum())


def plain_average_precision(data: LabelPredictions) -> float:
    places = np.flatnonzero(data.truths[np.argsort(-data.scores)]) + 1
    return float(np.mean(np.arange(1, len(places) + 1) / places))


def plain_f1(data: LabelPredictions) -> float:
    return float(2 * (data.decisions & data.truths).sum() / (data.decisions.sum() + data.truths.sum()))


METRICS: dict[str, Callable[[LabelPredictions], float]] = {
    "roc_auc": plain_auc,
    "average_precision": plain_average_precision,
    "f1": plain_f1,
}
"""the values that intervals are around, without scikit-learn's checks of every sample"""


def held(name: str, case: tuple[int, float, float], draws: int) -> float:
    """The share of intervals that hold the value of two million triples."""
    rng, metric = np.random.default_rng(17), parse(name, "classification")
    truth, inside = METRICS[name](made(np.random.default_rng(11), 2_000_000, *case[1:])), 0
    for _ in range(draws):
        data = made(rng, *case)
        interval = label_interval(metric, data, METRICS[name](data), Intervals())
        inside += interval.low <= truth <= interval.high
    return inside / draws


def rejected(name: str, case: tuple[int, float, float], draws: int) -> float:
    """The share of pairs of equally good models that differ significantly; triples are hard for both."""
    (count, share, shift), metric, significant = case, parse(name, "classification"), 0
    rng = np.random.default_rng(19)
    for _ in range(draws):
        data = made(rng, count, share, 0.0)
        scores = [0.7 * data.scores + np.sqrt(0.51) * rng.normal(size=count) + shift * data.truths for _ in range(2)]
        pair = [predicted(data.truths, one, data.relations, shift) for one in scores]
        (one, strata), (other, _) = (added_by_units(metric, of, "triple") for of in pair)
        difference = METRICS[name](pair[0]) - METRICS[name](pair[1])
        significant += student_p(difference, *Scatter.of(one - other, strata, "triple")[:2]) <= 0.05
    return significant / draws
