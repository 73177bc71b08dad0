"""Files of triples that lie beside the splits and are not read: another graph perhaps, that an evaluation should have.

A file of labels, names, types or negatives is none of these; nor is one whose triples are all in the splits.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from kgeval.data.dataset import Dataset
from kgeval.data.io.text import rows
from kgeval.data.lookup import TripleIndex
from kgeval.data.triples import Triples
from kgeval.errors import InputError

ENDINGS = (".txt", ".tsv", ".csv", ".txt.gz", ".tsv.gz", ".csv.gz")

NEGATIVE = "neg"
"""what the names of files of false triples have in them"""

LOOKED_AT = 100
"""rows of a file that are looked at"""


def notes_on_unread_triples(folder: Path, dataset: Dataset) -> Iterator[str]:
    """Note the text files of a folder that hold triples of the dataset's labels which no split has."""
    read = {file.resolve() for file in dataset.files}
    for file in sorted(folder.iterdir()):
        ordinary = NEGATIVE in file.name.lower() or file.resolve() in read
        if ordinary or not file.name.lower().endswith(ENDINGS) or not file.is_file():
            continue
        if example := _unknown_triple(file, dataset):
            yield (
                f"{file.name} beside the splits was not read: it holds triples that no split has, such as ({example}). "
                "If models may know them when they are evaluated, add them to train."
            )


def _unknown_triple(file: Path, dataset: Dataset) -> str:
    """Find a triple in the first rows that has labels of the dataset, and is in no split."""
    try:
        cells = [row.cells[:3] for row in islice(rows(file), LOOKED_AT) if len(row.cells) in (3, 4)]
    except InputError:  # no text, or one of binary data: no triples
        return ""
    if not cells:
        return ""
    heads, relations, tails = zip(*cells, strict=True)
    columns = [dataset.entities.ids(heads), dataset.relations.ids(relations), dataset.entities.ids(tails)]
    ids = np.stack(columns, axis=1)
    missing = (ids[:, 1] >= 0) | ((ids[:, 0] >= 0) & (ids[:, 2] >= 0))
    for triples in dataset.splits.values():
        near = triples.ids[np.isin(triples.heads, ids[:, 0])]  # no index of a large split for a few rows
        missing &= ~TripleIndex.of(Triples(near)).contains(Triples(ids))
    return ", ".join(cells[int(np.argmax(missing))]) if missing.any() else ""
