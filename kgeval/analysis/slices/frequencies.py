"""Frequencies: how often train names the answer, the anchor or the relation of a row, in bins of a quarter each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgeval.analysis.slices.bins import quantile_bins
from kgeval.analysis.slices.occurrences import count_answers, degrees
from kgeval.analysis.slices.slice import EvaluatedRows, Slice
from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset

BINS = "in bins at the quartiles of all rows of the evaluated split that have any; 0 apart"


def _answer_degree(rows: EvaluatedRows, dataset: Dataset) -> IntArray:
    return degrees(dataset.train, len(dataset.entities))[rows.answers]


def _anchor_degree(rows: EvaluatedRows, dataset: Dataset) -> IntArray:
    return degrees(dataset.train, len(dataset.entities))[rows.anchors]


def _relation_frequency(rows: EvaluatedRows, dataset: Dataset) -> IntArray:
    return np.bincount(dataset.train.relations, minlength=len(dataset.relations))[rows.relations]


def _in_quarters(
    name: str,
    title: str,
    counted: str,
    count: Callable[[EvaluatedRows, Dataset], IntArray],
    *,
    of_triples: bool = False,
) -> Slice:
    return Slice(
        name=name,
        title=title,
        rule=f"{counted}, {BINS}",
        source="kgeval",
        assign=lambda rows, dataset: quantile_bins(count(rows, dataset), count(rows.of_whole_split(), dataset)),
        of_triples=of_triples,
    )


ANSWER_DEGREE = _in_quarters(
    "answer-degree",
    "the degree of the answer",
    "how many train triples name the answer, on either side",
    _answer_degree,
)

ANCHOR_DEGREE = _in_quarters(
    "anchor-degree",
    "the degree of the anchor",
    "how many train triples name the anchor, on either side",
    _anchor_degree,
)

ANSWER_POPULARITY = _in_quarters(
    "answer-popularity",
    "how popular the answer is in its relation and side",
    "how many train triples have the answer on that side of that relation",
    lambda rows, dataset: count_answers(rows, dataset.train),
)

RELATION_FREQUENCY = _in_quarters(
    "relation-frequency",
    "how frequent the relation is",
    "how many train triples the relation has",
    _relation_frequency,
    of_triples=True,
)
