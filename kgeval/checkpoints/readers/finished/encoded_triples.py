"""The triples that the rows of stored arrays belong to: those of a file beside them, or those of a split."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from kgeval.arrays import IntArray
from kgeval.checkpoints.options import Options
from kgeval.checkpoints.readers.finished.prediction_file import needed_dataset
from kgeval.checkpoints.shared.locate import labels_in, place_of_labels
from kgeval.data.dataset import Dataset
from kgeval.data.io.text import read_columns
from kgeval.data.io.triple_files import read_triples
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import CheckpointError, InputError, UsageError

ENTITIES, QUERIES = "entities.txt", "queries.tsv"


@dataclass(frozen=True, eq=False)
class EncodedTriples:
    """The triples, in ids of the model's entities and of the dataset's relations, and the labels of these."""

    triples: Triples
    entities: Vocabulary | None
    """None where nothing labels the model's entities"""
    relations: Vocabulary
    files: tuple[Path, ...]
    """those that were read"""
    source: str
    """where the triples come from"""

    def refuse_other_rows(self, file: Path, rows: int) -> None:
        """Refuse an array that does not have one row for each triple.

        Raises
        ------
        CheckpointError
            with both numbers
        """
        if rows != len(self.triples):
            raise CheckpointError(
                f"{file}: {rows} rows, and {self.source} has {len(self.triples)} triples. Name the split with the "
                f"option split=, or put the triples of the rows beside it in {QUERIES} (head<TAB>relation<TAB>tail)."
            )


def encoded_triples(folder: Path, options: Options) -> EncodedTriples:
    """Find the triples of a folder's arrays, and the labels of its entities.

    The entities are labelled in ``entities.txt``, a label a line, or as checkpoints are, in the folder or in that of
    the option ``labels``; without labels their ids are
    taken as those of the dataset. The triples are in ``queries.tsv``, or those of the split that the option ``split``
    names, by default test, in its order.

    Raises
    ------
    CheckpointError
        if the dataset is not known, or a file is malformed
    """
    dataset = needed_dataset(folder, options, "its arrays do not name the queries")
    entities, label_files = _entities(folder, options)
    split = options.resolve("split", None, "")
    queries = folder / QUERIES
    if queries.is_file() and split is not None:
        raise UsageError(f"{folder}: {QUERIES} says what the rows are. Leave the option split out.")
    try:
        if queries.is_file():
            columns, source, files = _columns_of_file(queries, dataset), QUERIES, (*label_files, queries)
        else:
            name = str(split or "test")
            columns, source, files = _columns_of_split(dataset, name), f"split {name} of {dataset.name}", label_files
    except InputError as error:
        raise CheckpointError(str(error)) from error
    heads, relations, tails = columns
    if entities is not None:
        heads, tails = _own_ids(entities, dataset, heads), _own_ids(entities, dataset, tails)
    return EncodedTriples(
        Triples(np.stack([heads, relations, tails], axis=1)), entities, dataset.relations, files, source
    )


def _entities(folder: Path, options: Options) -> tuple[Vocabulary | None, tuple[Path, ...]]:
    place, named = place_of_labels(folder, options)
    file = place / ENTITIES
    if not file.is_file():
        found = labels_in(place, named=named)
        return found.entities, found.files
    try:
        labels = read_columns(file, ["label"], delimiter="\t")["label"].combine_chunks()
        return Vocabulary(labels), (file,)
    except InputError as error:
        raise CheckpointError(f"{file}: {error}".replace(f"{file}: {file}", str(file))) from error


def _columns_of_split(dataset: Dataset, name: str) -> tuple[IntArray, IntArray, IntArray]:
    triples = dataset.split(name)
    return triples.heads, triples.relations, triples.tails


def _columns_of_file(file: Path, dataset: Dataset) -> tuple[IntArray, IntArray, IntArray]:
    """Take the triples of a file in the ids of the dataset."""
    table = read_triples(file)
    heads, tails = (_known_ids(file, dataset.entities, table[name]) for name in ("head", "tail"))
    return heads, _known_ids(file, dataset.relations, table["relation"]), tails


def _known_ids(file: Path, labels: Vocabulary, column: pa.ChunkedArray) -> IntArray:
    ids = labels.ids(column)
    if (ids < 0).any():
        row = int(np.argmax(ids < 0))
        raise CheckpointError(
            f"{file}, triple {row + 1}: unknown {labels.kind} {column[row].as_py()[:60]!r}. Is it the right dataset?"
        )
    return ids


def _own_ids(labels: Vocabulary, dataset: Dataset, ids: IntArray) -> IntArray:
    """Find ids of the dataset in the model's own; what it does not know gets ids of its own, which nothing asks for."""
    own = labels.ids(dataset.entities.labels)[ids]
    return np.where(own < 0, len(labels) + ids, own)
