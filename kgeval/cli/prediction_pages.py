"""Predictions on the terminal: a table for each query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.cli.display import show_head, show_notes, show_table
from kgeval.cli.streams import say
from kgeval.data.triples import triple_of
from kgeval.ranking.rank_table import TIME

if TYPE_CHECKING:
    from kgeval.data.dataset import Dataset
    from kgeval.ranking.predictions.prediction_table import PredictionTable

SHOWN = 20
"""queries that are printed; a file holds all"""

COLUMNS = ("place", "entity", "score", "rank", "known", "of type")


def show_predictions(table: PredictionTable, dataset: Dataset) -> None:
    """Print the predictions of each query, of the first ones where there are many; entities by their names."""
    show_head(str(table.provenance))
    rows = table.data.to_pylist() if table.queries <= SHOWN else table.data.slice(0, SHOWN * table.places).to_pylist()
    numbers = list(dict.fromkeys(row["query"] for row in rows))[:SHOWN]
    for index, number in enumerate(numbers):
        mine = [row for row in rows if row["query"] == number]
        if index:
            say("")
        show_head(_query_text(mine[0], dataset))
        show_table(COLUMNS, [_cells(row, dataset) for row in mine], keys=2)
    if table.queries > len(numbers) == SHOWN:
        show_notes([f"the first {SHOWN} of {table.queries:,} queries. --out FILE.parquet or --json has all of them."])


def as_plain(table: PredictionTable) -> dict[str, Any]:
    """Return the content as plain data, a block for each query; infinite scores are text."""
    queries: dict[int, dict[str, Any]] = {}
    own = ("side", "anchor_label", "relation_label")
    for row in table.data.to_pylist():
        number = row.pop("query")
        about = {name.removesuffix("_label"): row[name] for name in own}
        block = queries.setdefault(number, {"query": number, **about, "predictions": []})
        score = row.pop("score") if np.isfinite(row["score"]) else str(row.pop("score"))
        columns = (*own, "anchor", "relation", "entity", "entity_label", "place")
        further = {name: value for name, value in row.items() if name not in columns}
        block["predictions"].append({"place": row["place"], "entity": row["entity_label"], "score": score, **further})
    return {"provenance": table.provenance.to_dict(), "queries": [*queries.values()], "notes": list(table.notes)}


def _query_text(row: dict[str, Any], dataset: Dataset) -> str:
    text = dataset.triple(*triple_of(row["side"], row["anchor"], row["relation"], -1))
    return f"{text} at {row[TIME]}" if TIME in row else text


def _cells(row: dict[str, Any], dataset: Dataset) -> tuple[str, ...]:
    above, tied = (row[f"raw_{name}"] if row["raw_greater"] is not None else row[name] for name in ("greater", "tied"))
    rank = f"{1 + above}–{1 + above + tied}" if tied else str(1 + above)
    entity = dataset.display_label(row["entity_label"])
    return str(row["place"]), entity, f"{row['score']:.6g}", rank, row["known"], "yes" if row["is_of_type"] else "no"
