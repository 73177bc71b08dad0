"""The triples of a stored table in the ids of a dataset, found by label; a table of another dataset is refused.

``kgeval.rerank``, ``kgeval.annotate`` and runs call ``triples_in`` with a rank table or a label table.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import IntArray
from kgeval.base.errors import TableError
from kgeval.base.parquet_tables import StoredTable
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.ranking.rank_table import TIME


def triples_in(dataset: Dataset, table: StoredTable) -> Triples:
    """Take the triple of each row, with its time, if table and dataset have times."""
    vocabularies = {"head": dataset.entities, "relation": dataset.relations, "tail": dataset.entities}
    columns = [_ids(table, name, labels, dataset) for name, labels in vocabularies.items()]
    times = dataset.times.ids(table.data[TIME].cast(pa.string())) if dataset.times and TIME in table.columns else None
    return Triples(np.stack(columns, axis=1), times)


def _ids(table: StoredTable, name: str, labels: Vocabulary, dataset: Dataset) -> IntArray:
    """Find the ids that a dataset has for the labels of a column; int64[row]."""
    column = table.data.column(f"{name}_label").unify_dictionaries().combine_chunks()
    if column.null_count:
        raise TableError(f"row {int(np.argmax(column.is_null()))} has no label for its {name}.")
    codes = np.asarray(column.indices)
    ids = np.asarray(labels.ids(column.dictionary)[codes])
    if (strange := ids < 0).any():
        label, others = column[int(np.argmax(strange))].as_py(), len(np.unique(codes[strange])) - 1
        more = f", nor {others} more of the table" if others else ""
        raise not_of(dataset, f"it has no {labels.kind} {label!r}{more}")
    return ids


def not_of(dataset: Dataset, why: str) -> TableError:
    return TableError(f"the triples are not from dataset {dataset.name}: {why}. Give the dataset of the run.")
