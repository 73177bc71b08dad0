"""Known answers: how many other answers the query of a row has in train."""

from __future__ import annotations

from kgeval.analysis.slices.bins import limited_bins
from kgeval.analysis.slices.occurrences import count_queries
from kgeval.analysis.slices.slice import Categories, EvaluatedRows, Slice
from kgeval.data.dataset import Dataset
from kgeval.data.lookup import TripleIndex

LIMITS = (0, 1, 10, 100, 1000)
"""the last number of each bin but one, in which all greater ones are"""


def _assign(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    others = count_queries(rows, dataset.train) - TripleIndex.of(dataset.train).contains(rows.triples)
    codes, names = limited_bins(others, LIMITS)
    return Categories(codes, (*names, f"over {LIMITS[-1]}"))


KNOWN_ANSWERS = Slice(
    name="known-answers",
    title="how many other answers of the query train has",
    rule="the entities beside the answer that complete (h, r, ?) or (?, r, t) to a train triple: 0, 1, 2–10, 11–100, "
    "101–1000, over 1000",
    source="kgeval",
    assign=_assign,
)
