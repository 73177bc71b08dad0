"""Seen time: whether train has a fact of the row's time, or the time is beyond it."""

from __future__ import annotations

import numpy as np

from kgeval.analysis.slices.slice import Categories, EvaluatedRows, Slice
from kgeval.data.dataset import Dataset


def _assign(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    return Categories.of_flag(np.isin(np.asarray(rows.triples.contexts), np.asarray(dataset.train.contexts)))


SEEN_TIME = Slice(
    name="seen-time",
    title="whether train has facts of the row's time",
    rule="of temporal graphs: yes if a train triple has the time of the row, no if the model extrapolates to it",
    source="kgeval",
    assign=_assign,
    needs_times=True,
    of_triples=True,
)
