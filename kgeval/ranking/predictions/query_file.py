"""Files of queries: rows of text with a question mark, or OGB-LSC's array of heads and relations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.io.text import read_columns, rows
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import InputError, reason
from kgeval.files.opening import checked
from kgeval.paths import exists_safely, no_file
from kgeval.ranking.predictions.query_rows import read_queries
from kgeval.ranking.predictions.top10_file import numbers_of

COLUMNS = ("head", "relation", "tail", "time")


def read_query_file(path: str | Path, dataset: Dataset) -> IntArray:
    """Read queries from a file.

    Parameters
    ----------
    path
        text of rows head, relation and tail, by label, with ``?`` in the place of the entity that is sought, and in a
        temporal graph perhaps a time; or a
        ``.npy`` of int[query, 2], the head and the relation of queries about tails, by the numbers that the labels of
        the dataset are, or else by its ids
    dataset
        the graph

    Returns
    -------
    IntArray
        int64[query, 3], ids, −1 for what is sought; int64[query, 4] with times

    Raises
    ------
    InputError
        if the file is missing or malformed, or names what the dataset does not have
    """
    path = Path(path)
    if not exists_safely(path):
        raise InputError(no_file(path))
    if path.suffix == ".npy":
        return _from_array(path, dataset)
    first = next(rows(path), None)
    timed = first is not None and len(first.cells) == len(COLUMNS)
    table = read_columns(path, COLUMNS if timed else COLUMNS[:3])
    try:
        return read_queries(list(zip(*(column.to_pylist() for column in table.columns), strict=True)), dataset)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _from_array(path: Path, dataset: Dataset) -> IntArray:
    checked(path)
    try:
        pairs = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: not an array of numbers ({reason(error)}).") from error
    if not isinstance(pairs, np.ndarray) or pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        found = f"{pairs.dtype} of shape {pairs.shape}" if isinstance(pairs, np.ndarray) else "several arrays"
        raise InputError(f"{path}: expected heads and relations, int[query, 2], found {found}.")
    kinds = ((dataset.entities, 0), (dataset.relations, 1))
    heads, relations = (_ids_of(pairs[:, column], labels, path) for labels, column in kinds)
    return np.stack([heads, relations, np.full(len(pairs), -1)], axis=1)


def _ids_of(numbers: IntArray, labels: Vocabulary, path: Path) -> IntArray:
    """Find the ids of numbers; int64[query]."""
    known = numbers_of(labels)
    order = np.argsort(known)
    places = np.minimum(np.searchsorted(known[order], numbers), len(known) - 1)
    found = order[places]
    if (wrong := known[found] != numbers).any():
        row = int(np.argmax(wrong))
        raise InputError(f"{path}, row {row}: the dataset has no {labels.kind} {pa.scalar(numbers[row]).as_py()}.")
    return np.asarray(found)
