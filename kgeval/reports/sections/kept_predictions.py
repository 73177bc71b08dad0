"""What was predicted instead? For the triples of the page, the best answers of their queries, where a run kept them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_table import TIME

if TYPE_CHECKING:
    import pandas as pd

QUERY = ["side", "anchor_label", "relation_label"]
"""what a query is, whatever the ids"""

KNOWN = ("new", "train", "valid", "test")
"""where a predicted triple is a fact"""


def kept_predictions(table: PredictionTable, rows: pd.DataFrame) -> dict[str, Any]:
    """Lay the predictions for some rows out, for the page's script.

    Parameters
    ----------
    table
        what a run kept
    rows
        columns head_label, relation_label, tail_label and side, and in a temporal graph time

    Returns
    -------
    dict[str, Any]
        ``row``, for each row the number of its query, or −1; ``offset``, where the predictions of each query begin;
        of each prediction ``entity``, its label, ``known``, its place in ``KNOWN``, and ``typed``, 0 or 1
    """
    times = [TIME] if TIME in rows.columns else []
    key = [*QUERY, *times]
    frame = table.data.select([*key, "query", "entity_label", "known", "is_of_type"]).to_pandas()
    first = frame.drop_duplicates("query")[[*key, "query"]]
    text = rows[["side", "head_label", "relation_label", "tail_label", *times]].astype(str)
    queries = text.assign(anchor_label=text["head_label"].where(text["side"] == "tail", text["tail_label"]))
    found = queries.merge(first.astype(dict.fromkeys(key, str)), on=key, how="left")["query"]
    wanted = np.unique(found.dropna().to_numpy(np.int64))
    own = frame[frame["query"].isin(wanted)]
    numbers = np.searchsorted(wanted, found.fillna(-1).to_numpy(np.int64))
    return {
        "row": np.where(found.isna(), -1, numbers).tolist(),
        "offset": [*np.searchsorted(own["query"].to_numpy(), wanted).tolist(), len(own)],
        "entity": own["entity_label"].astype(str).tolist(),
        "known": own["known"].astype(str).map({name: place for place, name in enumerate(KNOWN)}).tolist(),
        "typed": own["is_of_type"].astype(int).tolist(),
    }
