"""Seen: what of a row train names, its answer, its anchor, and the anchor with the relation."""

from __future__ import annotations

import numpy as np

from kgeval.analysis.slices.occurrences import count_queries, degrees
from kgeval.analysis.slices.slice import Categories, EvaluatedRows, Slice
from kgeval.data.dataset import Dataset

NAMES = ("answer, anchor, pair", "answer, anchor", "answer", "anchor, pair", "anchor", "none")
"""what train names; the pair of anchor and relation is there only if the anchor is"""


def _assign(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    there = degrees(dataset.train, len(dataset.entities)) > 0
    pair = count_queries(rows, dataset.train) > 0
    codes = 3 * ~there[rows.answers] + np.where(pair, 0, np.where(there[rows.anchors], 1, 2))
    return Categories(codes, NAMES)


SEEN = Slice(
    name="seen",
    title="what train names: the answer, the anchor, the anchor with the relation",
    rule="those of the three that train names: the answer and the anchor in any triple, and the pair (h, r) or (r, t) "
    "that is the query; none where train names none of them",
    source="kgeval",
    assign=_assign,
)
