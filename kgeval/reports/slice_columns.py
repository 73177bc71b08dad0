"""The slices of a page: columns that its dataset gives the rows of its models, each computed once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kgeval.analysis.slices.annotation import annotate
from kgeval.analysis.slices.slice import slices
from kgeval.data.dataset import Dataset
from kgeval.errors import KgevalError
from kgeval.ranking.rank_table import RankTable

SHOWN = ("side", "cardinality", "leak", "pattern", "seen", "answer-popularity", "known-answers", "relation-frequency")
"""the slices of the page, of those that the dataset gives, and the side, which every table has"""


def with_slices(tables: Mapping[str, RankTable], dataset: Dataset | None, names: Iterable[str]) -> dict[str, RankTable]:
    """Add slices to tables of the same rows in the same order, as far as the dataset gives them."""
    found = dict(tables)
    for name in names:
        if dataset is None or name not in slices() or any(name in table.columns for table in found.values()):
            continue
        first = next(iter(found.values()))
        try:
            column = annotate(first, dataset, [name]).data.column(name)
        except KgevalError:  # the dataset lacks a split, or has other labels: the page goes without this slice
            continue
        found = {model: replace(table, data=table.data.append_column(name, column)) for model, table in found.items()}
    return found
