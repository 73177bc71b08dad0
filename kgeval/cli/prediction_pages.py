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

RANKS = {"rank": "", "raw rank": "raw_"}
"""the prefix of the counts of each rank: without other known answers, as an evaluation has it, and among all"""


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
        ranks = [name for name, prefix in RANKS.items() if mine[0][f"{prefix}greater"] is not None]
        columns = (ranks[-1], "entity", "score", *ranks[:-1], "known", "of type")
        show_table(columns, [_cells(row, dataset, ranks) for row in mine], keys=2)
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
        ranks = {
            name.replace(" ", "_"): 1 + row[f"{prefix}greater"] + row[f"{prefix}tied"] / 2
            for name, prefix in RANKS.items()
            if row[f"{prefix}greater"] is not None
        }
        place = {"place": row["place"], "entity": row["entity_label"], "score": score}
        block["predictions"].append({**place, **ranks, **further})
    return {"provenance": table.provenance.to_dict(), "queries": [*queries.values()], "notes": list(table.notes)}


def _query_text(row: dict[str, Any], dataset: Dataset) -> str:
    text = dataset.triple(*triple_of(row["side"], row["anchor"], row["relation"], -1))
    return f"{text} at {row[TIME]}" if TIME in row else text


def _cells(row: dict[str, Any], dataset: Dataset, ranks: list[str]) -> tuple[str, ...]:
    entity, of_type = dataset.display_label(row["entity_label"]), "yes" if row["is_of_type"] else "no"
    *filtered, among_all = (_rank(row, RANKS[name]) for name in ranks)
    return among_all, entity, f"{row['score']:.6g}", *filtered, row["known"], of_type


def _rank(row: dict[str, Any], prefix: str) -> str:
    """Write the best and the worst rank of an answer that ties, or its one rank."""
    above, tied = row[f"{prefix}greater"], row[f"{prefix}tied"]
    return f"{1 + above}–{1 + above + tied}" if tied else str(1 + above)
