"""Predictions in files: rows, OGB-LSC's array of the ten best tails, TREC's run with its qrels.

``kgeval predict`` calls ``write_parts`` with one table of queries after the other, so that not all are in memory, and
``write_top10`` and ``write_trec`` with a whole prediction table and its dataset.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from kgeval.base.arrays import IntArray
from kgeval.base.errors import InputError
from kgeval.base.storage import replacing
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries, query_names
from kgeval.ranking.predictions.prediction_table import PROBABILITY, PredictionTable
from kgeval.ranking.predictions.query_rows import numbers_of, queries_of_triples
from kgeval.ranking.rank_table import TIME

ROWS: tuple[str, ...] = ("query", "head", "relation", "tail", TIME, "side")
ROWS += ("entity", "score", PROBABILITY, "rank", "raw_rank", "known", "of_type")
"""the columns of a written row, as far as the table has them"""


def flat_rows(table: PredictionTable) -> pd.DataFrame:
    """Lay out a row for each prediction, after its query, which has ``?`` in the place of the answer."""
    frame = table.to_pandas().drop(columns=["raw_rank"] * table.drops_known)
    of_head, anchors = frame["side"] == "head", frame["anchor_label"].astype(str)
    triple = {"head": anchors.mask(of_head, "?"), "tail": anchors.where(of_head, "?")}
    labels = {name: frame[f"{name}_label"] for name in ("relation", "entity")}
    rows = frame.assign(**triple, **labels, of_type=np.where(frame["is_of_type"], "yes", "no"))
    return rows[[name for name in ROWS if name in rows]]


def written_rows(table: PredictionTable, form: str, *, header: bool = True) -> bytes:
    """Write the rows of a table as ``csv`` or ``jsonl``; infinite scores, which JSON does not have, are text."""
    rows = flat_rows(table)
    if form == "csv":
        names = ("head", "relation", "tail", "entity")
        returns = any("\r" in label for name in names for label in rows[name].unique())
        rule: Any = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL  # which does not quote a carriage return
        return str(rows.to_csv(index=False, header=header, lineterminator="\n", quoting=rule)).encode()
    scores = ({} if math.isfinite(score) else {"score": str(score)} for score in rows["score"])
    contents = ({**row, **text} for row, text in zip(rows.to_dict("records"), scores, strict=True))
    return "".join(json.dumps(content, ensure_ascii=False) + "\n" for content in contents).encode()


def write_parts(tables: Iterator[PredictionTable], path: Path, form: str) -> PredictionTable:
    """Write several tables, each of other queries, into one file: csv, jsonl or parquet.

    The result has the notes of all tables, the number of their queries and their candidates.
    """
    whole = next(tables)
    with replacing(path) as partial:
        if form == "parquet":
            with pq.ParquetWriter(partial, whole.data.schema) as writer:
                writer.write_table(whole.data)
                for table in tables:
                    writer.write_table(table.data)
                    whole = whole.joined(table)
                writer.add_key_value_metadata(whole.metadata)
        else:
            with partial.open("wb") as file:
                file.write(written_rows(whole, form))
                for table in tables:
                    file.write(written_rows(table, form, header=False))
                    whole = whole.joined(table)
    return whole


PLACES = 10

NAMES = {15_000: "t_pred_wikikg90m-v2_test-dev.npz", 10_000: "t_pred_wikikg90m-v2_test-challenge.npz"}
"""how many triples each of OGB-LSC's two test sets has -> what its submission is called"""


def write_top10(table: PredictionTable, dataset: Dataset, path: str | Path) -> Path:
    """Write the ten best tails of every triple, in the order of the split or of the queries that were given.

    The file holds one array, ``t_pred_top10``: int32[triple, 10], the best first. Entities are written by their labels
    where all of these are whole numbers, as OGB's are, or else by their ids. ``path`` is a file ``*.npz``, or the
    folder to write into under the name that OGB-LSC gives the file of so many triples.
    """
    tails = _ten_tails(table)
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


def _ten_tails(table: PredictionTable) -> IntArray:
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
            "query": query_names(table.column("side"), table.column("anchor"), table.column("relation"), *times),
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
