"""Parquet files that version 0.1.0 wrote, of each kind of table: what is read from them."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from pathlib import Path

from kgeval import PredictionTable, RankTable
from kgeval.analysis.answer_sets.answer_sets import AnswerSetTable
from kgeval.base.parquet_tables import StoredTable
from kgeval.tasks import LabelTable

FOLDER = Path(__file__).parent / "stored"
KINDS: dict[str, type[StoredTable]] = {
    "ranks": RankTable,
    "temporal-ranks": RankTable,
    "sampled-ranks": RankTable,
    "confidences-ranks": RankTable,
    "labels": LabelTable,
    "confidences": LabelTable,
    "predictions": PredictionTable,
    "answer-sets": AnswerSetTable,
}


def stored_tables() -> dict[str, object]:
    return {name: content(kind.from_parquet(FOLDER / f"{name}.parquet")) for name, kind in KINDS.items()}


def content(table: StoredTable) -> dict[str, object]:
    """List the fields of a table that its file keeps, and hash its rows."""
    kept = {field.name: repr(getattr(table, field.name)) for field in fields(table) if field.name != "data"}
    return {**kept, "rows": hashlib.sha256(repr(table.data.to_pydict()).encode()).hexdigest()}


CONTRACTS = {"stored-tables": stored_tables}
