"""``kgeval.annotate``: join slices to a rank table, as columns that group it.

A slice is a rule that divides rows (``slice.py``). The rows of the table are found in the dataset by their labels; each
``Slice`` gives them their categories. Users, runs, reports and answer sets call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.analysis.slices.slice import EvaluatedRows, Slice, find_slice, slices_among
from kgeval.base.errors import TableError
from kgeval.base.notes import Note
from kgeval.data.dataset import Dataset
from kgeval.data.loading import Source, as_dataset
from kgeval.data.provenance import UNKNOWN
from kgeval.data.triples import TripleIndex, Triples
from kgeval.ranking.rank_table import TIME, RankTable
from kgeval.ranking.table_triples import not_of, triples_in

LOOKS_AT_ALL = "by all facts before a query's time, of any split: the ranks do not say which history the model had."


def annotate(table: RankTable, dataset: Dataset | Source, slices: str | Slice | Sequence[str | Slice]) -> RankTable:
    """Add a column to a rank table for each slice.

    Rows are matched with the dataset by the labels of their triples. The category of a row depends on its triple and
    side and on the dataset, not on the other rows of the table.

    Parameters
    ----------
    table
        the ranks
    dataset
        the graph that was ranked, or the folder or PyKEEN name of one
    slices
        names, which ``kgeval list slices`` shows, or ``Slice`` objects, such as :meth:`Slice.of_relations` makes

    Returns
    -------
    RankTable
        the same rows with a column for each slice, whose categories are in the order of its groups

    Raises
    ------
    TableError
        if the table was not ranked on this dataset, with what differs; if a slice is unknown, or the table has a column
        of its name
    DatasetError
        if the dataset cannot give a slice, with the reason

    Examples
    --------
    >>> from kgeval import evaluate, load_dataset, summarize
    >>> data = load_dataset("nations")
    >>> table = annotate(evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, data), data, "cardinality")
    >>> print(summarize(table, ["both.mrr"], by="cardinality").to_frame().round(3).to_string(index=False))
    cardinality  both.mrr  both.count
            1-1     0.170           8
            1-N     0.260           6
            N-1     0.252          16
            N-N     0.390         372
    """
    if not isinstance(table, RankTable):
        raise TableError(f"expected a rank table, found {type(table).__name__}.")
    return annotated(table, as_dataset(dataset), slices)


def annotated(table: RankTable, dataset: Dataset, slices: str | Slice | Sequence[str | Slice]) -> RankTable:
    """Add the columns of slices, as :func:`annotate` does, for a dataset that is read already."""
    chosen = [find_slice(name) for name in ([slices] if isinstance(slices, str | Slice) else slices)]
    for rule in chosen:
        rule.refuse_unfit(dataset)
        if rule.needs_times and TIME not in table.columns:
            raise TableError(f"slice {rule.name!r} needs times, and these ranks have none. Leave it out.")
    rows, relations = _rows_in(dataset, table), np.asarray(table.column("side") == "relation")
    data = table.data
    for rule in dict.fromkeys(chosen):
        if rule.name in data.column_names:
            raise TableError(f"the table has a column {rule.name!r} already. Leave the slice out, or drop the column.")
        categories = rule.divide(rows, relations, dataset)
        codes, names = pa.array(categories.codes.astype(np.int32)), pa.array(categories.names, pa.string())
        data = data.append_column(rule.name, pa.DictionaryArray.from_arrays(codes, names, ordered=True))
    back = [] if table.history else [rule.name for rule in dict.fromkeys(chosen) if rule.looks_back]
    return replace(table, data=data, notes=(*table.notes, *(Note("times", f"{name}: {LOOKS_AT_ALL}") for name in back)))


def slices_to_add(table: RankTable, names: Iterable[str], groups: Mapping[str, Any] | None = None) -> list[Slice]:
    """List the slices among ``names`` that the table has no column of yet; ``groups`` are a configuration's own."""
    return slices_among([name for name in names if name not in table.columns], groups)


def _rows_in(dataset: Dataset, table: RankTable) -> EvaluatedRows:
    """Return a table's rows in the ids of a dataset, and refuse triples that the dataset's split does not have."""
    triples = triples_in(dataset, table)
    unknown = table.split == UNKNOWN
    split = Triples.concatenated([*dataset.splits.values()]) if unknown else dataset.split(table.split)
    strange = ~TripleIndex.of(split).contains(triples)
    if strange.any():
        count = len(np.unique(table.column("triple")[strange]))
        example = dataset.triple(*triples.ids[np.argmax(strange)])
        lacking = f"it lacks {count:,} of the {table.num_triples:,} ranked triples, such as {example}"
        raise not_of(dataset, lacking)
    return EvaluatedRows(triples, np.asarray(table.column("side") == "tail"), split, table.history or "observed")
