"""Files of queries and predictions: rows with a question mark, OGB-LSC's arrays and top 10, TREC's run and qrels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from kgeval.base.arrays import IntArray
from kgeval.base.errors import InputError, naming, refusing
from kgeval.base.files import checked, exists_safely, no_file
from kgeval.base.storage import replacing
from kgeval.data.columns import TRIPLE
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries, query_names
from kgeval.data.tables import read_triples
from kgeval.data.triples import find_sorted
from kgeval.data.vocabulary import Vocabulary
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.predictions.query_rows import queries_of_triples, read_queries
from kgeval.ranking.rank_table import TIME

PLACES = 10

NAMES = {15_000: "t_pred_wikikg90m-v2_test-dev.npz", 10_000: "t_pred_wikikg90m-v2_test-challenge.npz"}
"""how many triples each of OGB-LSC's two test sets has -> what its submission is called"""


def write_top10(table: PredictionTable, dataset: Dataset, path: str | Path) -> Path:
    """Write the ten best tails of every triple, in the order of the split or of the queries that were given.

    The file holds one array, ``t_pred_top10``: int32[triple, 10], the best first. Entities are written by their labels
    where all of these are whole numbers, as OGB's are, or else by their ids. ``path`` is a file ``*.npz``, or the
    folder to write into under the name that OGB-LSC gives the file of so many triples.
    """
    tails = _tails(table)
    if table.split is not None:
        queries = Queries.of(dataset.split(table.split), "tail")
        tails = tails[queries.owners[np.argsort(queries.triples)]]
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
        raise InputError("OGB-LSC needs predictions of tails, and some of these are of heads. Set sides: tail.")
    best = table.where(table.column("place") <= PLACES)
    counts = np.bincount(best.column("query"), minlength=table.queries)
    if len(counts) != table.queries or (counts < PLACES).any():
        few = int((counts < PLACES).sum())
        raise InputError(
            f"OGB-LSC needs {PLACES} predictions for each of its triples, and {few} queries have fewer. Predict "
            f"{PLACES} with a model that knows all of them."
        )
    return np.asarray(best.column("entity").reshape(-1, PLACES))


def read_query_file(path: str | Path, dataset: Dataset) -> IntArray:
    """Read queries as ids; int64[query, 3], −1 for the missing entity, or int64[query, 4] with times.

    The file is a table of head, relation and tail, by label, with ``?`` for the missing entity, and in a temporal graph
    perhaps a time; its columns are found as those of triples are. Or it is a ``.npy`` of int[query, 2], the head and
    the relation of queries about tails, by the numbers that the labels of the dataset are, or else by its ids.
    """
    path = Path(path)
    if not exists_safely(path):
        raise InputError(no_file(path))
    if path.suffix == ".npy":
        return _from_array(path, dataset)
    table = read_triples(path, fourth="time")
    times = table.times()
    columns = [table[role] for role in TRIPLE] + ([] if times is None else [times])
    with naming(path, InputError):
        return read_queries(list(zip(*(column.to_pylist() for column in columns), strict=True)), dataset)


def _from_array(path: Path, dataset: Dataset) -> IntArray:
    checked(path)
    with refusing(path, "not an array of numbers", OSError, ValueError, EOFError):
        pairs = np.load(path, allow_pickle=False)
    if not isinstance(pairs, np.ndarray) or pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        actual = f"{pairs.dtype} of shape {pairs.shape}" if isinstance(pairs, np.ndarray) else "several arrays"
        raise InputError(f"{path}: expected heads and relations, int[query, 2], found {actual}.")
    kinds = ((dataset.entities, 0), (dataset.relations, 1))
    heads, relations = (_ids_of(pairs[:, column], labels, path) for labels, column in kinds)
    return np.stack([heads, relations, np.full(len(pairs), -1)], axis=1)


def _ids_of(numbers: IntArray, labels: Vocabulary, path: Path) -> IntArray:
    """Find the ids of numbers; int64[query]."""
    known = numbers_of(labels)
    order = np.argsort(known)
    places = find_sorted(known[order], numbers)
    if (places < 0).any():
        row = int(np.argmax(places < 0))
        raise InputError(f"{path}, row {row}: the dataset has no {labels.kind} {pa.scalar(numbers[row]).as_py()}.")
    return order[places]


QRELS = ".qrels"
"""the ending of the file of answers, beside that of the run"""


def write_trec(table: PredictionTable, dataset: Dataset, path: str | Path) -> Path:
    """Write predictions as a run, and the answers of their queries beside it as qrels (``.qrels``).

    A query is called by its side and the ids of its anchor and relation, ``tail-12-3``, and in a temporal graph of its
    time; an entity by its id. The score in the run falls by 1 from place to place, since ``trec_eval`` rounds scores
    and breaks ties by name. To filter as ranks are filtered, without known answers of other splits:
    ``kgeval.predict(…, known="drop", filter=("train", "valid"))``.
    """
    path = Path(path)
    if table.split is None:
        raise InputError(
            "a qrels file holds the answers to a split's queries, and these predictions are for other queries."
        )
    if path.suffix == QRELS:
        raise InputError(
            f"{str(path)!r}: this is the ending of the file of answers. Give the run another ending, such as .trec."
        )
    places = table.column("place")
    times = () if dataset.times is None or TIME not in table.columns else (dataset.times.ids(table.column(TIME)),)
    run = pd.DataFrame(
        {
            "query": query_names(
                table.column("side"), *(table.column(name) for name in ("anchor", "relation")), *times
            ),
            "iteration": "Q0",
            "entity": table.column("entity"),
            "place": places,
            "score": table.places + 1 - places,
            "model": "_".join(table.model.split()) or "kgeval",
        }
    )
    _write(run, path)
    _write(_qrels(table, dataset, table.split), path.with_suffix(QRELS))
    return path


def _qrels(table: PredictionTable, dataset: Dataset, split: str) -> pd.DataFrame:
    """List the answers that the split has to the queries of the sides that were predicted."""
    present = set(table.column("side").tolist())
    parts = []
    for numbered in queries_of_triples(dataset.split(split), [side for side in ("head", "tail") if side in present]):
        queries, owners = numbered.queries, numbered.queries.owners
        times = () if queries.contexts is None else (queries.contexts,)
        names = query_names([queries.side] * len(queries), queries.anchors, queries.relations, *times)
        answers = {"query": names[owners], "iteration": 0, "entity": queries.answers, "relevance": 1}
        parts.append(pd.DataFrame(answers))
    return pd.concat(parts) if parts else pd.DataFrame()


def _write(rows: pd.DataFrame, path: Path) -> None:
    with replacing(path) as partial:
        rows.to_csv(partial, sep=" ", header=False, index=False)
