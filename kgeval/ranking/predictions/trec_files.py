"""Predictions as the run and qrels files of TREC, which tools of information retrieval take."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from kgeval.data.dataset import Dataset
from kgeval.data.io.trec_names import query_names
from kgeval.errors import InputError
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.predictions.query_rows import queries_of_split
from kgeval.ranking.rank_table import TIME
from kgeval.storage.atomic import replacing

QRELS = ".qrels"
"""the ending of the file of answers, beside that of the run"""


def write_trec(table: PredictionTable, dataset: Dataset, path: str | Path) -> Path:
    """Write predictions as a run, and the answers of their queries beside it as qrels.

    A query is called by its side and the ids of its anchor and relation, ``tail-12-3``, and in a temporal graph of its
    time; an entity by its id. The score in the run falls by 1 from place to place, since ``trec_eval`` rounds scores
    and breaks ties by name.

    Parameters
    ----------
    table
        predictions for the queries of a split. To be filtered as ranks are, without known answers of other splits:
        ``kgeval.predict(…, known="drop", filter=("train", "valid"))``
    dataset
        the graph that they are of
    path
        the run; the qrels have the same name with the ending ``.qrels``

    Returns
    -------
    Path
        the run

    Raises
    ------
    InputError
        if the queries are not those of a split, which has their answers, or the run would be called ``.qrels``
    """
    path = Path(path)
    if table.split is None:
        raise InputError("qrels hold the answers of a split's queries, and these predictions are for other queries.")
    if path.suffix == QRELS:
        raise InputError(f"{str(path)!r}: the answers are called so. Give the run another ending, such as .trec.")
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
    for numbered in queries_of_split(dataset, split, [side for side in ("head", "tail") if side in present]):
        queries, owners = numbered.queries, numbered.queries.owners
        times = () if queries.contexts is None else (queries.contexts,)
        names = query_names([queries.side] * len(queries), queries.anchors, queries.relations, *times)
        answers = {"query": names[owners], "iteration": 0, "entity": queries.answers, "relevance": 1}
        parts.append(pd.DataFrame(answers))
    return pd.concat(parts) if parts else pd.DataFrame()


def _write(rows: pd.DataFrame, path: Path) -> None:
    with replacing(path) as partial:
        rows.to_csv(partial, sep=" ", header=False, index=False)
