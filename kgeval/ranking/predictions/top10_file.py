"""The file of top-10 predictions that OGB-LSC takes for WikiKG90Mv2 (Hu et al., 2021)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import InputError
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.storage.atomic import replacing

PLACES = 10

NAMES = {15_000: "t_pred_wikikg90m-v2_test-dev.npz", 10_000: "t_pred_wikikg90m-v2_test-challenge.npz"}
"""how many triples each of OGB-LSC's two test sets has -> what its submission is called"""


def write_top10(table: PredictionTable, dataset: Dataset, path: str | Path) -> Path:
    """Write the ten best tails of every triple, in the order of the split or of the queries that were given.

    The file holds one array, ``t_pred_top10``: int32[triple, 10], the best first. Entities are written by their labels
    where all of these are whole numbers, as OGB's are, or else by their ids.

    Parameters
    ----------
    table
        at least ten predictions for the tail of each query
    dataset
        the graph that they are of
    path
        a file ``*.npz``, or the folder to write into under the name that OGB-LSC gives the file of so many triples

    Returns
    -------
    Path
        the file

    Raises
    ------
    InputError
        if a query has fewer predictions or is about a head, or there is no name for so many triples
    """
    tails = _tails(table)
    if table.split is not None:
        triples = dataset.split(table.split)
        queries = Queries.of(triples, "tail")
        rows = np.empty(len(triples), np.int64)
        rows[queries.triples] = queries.owners
        tails = tails[rows]
    path = Path(path)
    if path.suffix != ".npz":
        if len(tails) not in NAMES:
            sizes = " or ".join(f"{size:,}" for size in NAMES)
            raise InputError(
                f"{str(path)!r}: OGB-LSC names files of {sizes} triples, and these are {len(tails):,}. Name a file "
                "that ends in .npz."
            )
        path = path / NAMES[len(tails)]
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, t_pred_top10=numbers_of(dataset.entities)[tails].astype(np.int32))
    return path


def numbers_of(labels: Vocabulary) -> IntArray:
    """Return the number that each label is, or where one is no whole number the ids; int64[id].

    >>> numbers_of(Vocabulary(["20", "7"])), numbers_of(Vocabulary(["Q42", "7"]))
    (array([20,  7]), array([0, 1]))
    """
    texts = list(labels)
    if all(text.isascii() and text.isdigit() and len(text) < 10 for text in texts):
        return np.array(texts, np.int64)
    return np.arange(len(texts))


def _tails(table: PredictionTable) -> IntArray:
    """Take the ten best tails of each query; int64[query, 10]."""
    if (table.column("side") != "tail").any():
        raise InputError("OGB-LSC takes predictions of tails, and some of these are of heads. Set sides: tail.")
    best = table.where(table.column("place") <= PLACES)
    counts = np.bincount(best.column("query"), minlength=table.queries)
    if len(counts) != table.queries or (counts < PLACES).any():
        few = int((counts < PLACES).sum())
        raise InputError(
            f"OGB-LSC takes {PLACES} predictions for each of its triples, and {few} queries have fewer. Predict "
            f"{PLACES} with a model that knows all of them."
        )
    return np.asarray(best.column("entity").reshape(-1, PLACES))
