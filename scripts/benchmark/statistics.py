"""Statistics of made rank tables of a million rows: how long a summary with intervals and a comparison take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
import numpy as np
import pyarrow as pa

from kgeval import RankTable, compare, summarize
from kgeval.ranking.rank_table import SCHEMA

TRIPLES, ENTITIES, RELATIONS = 500_000, 15_000, 237


def million_ranks(seed: int = 0) -> RankTable:
    """Make the ranks of both sides of half a million triples, a tenth of them tied."""
    rng = np.random.default_rng(seed)
    rows = 2 * TRIPLES
    head, tail = (np.repeat(rng.integers(0, ENTITIES, TRIPLES), 2) for _ in range(2))
    relation = np.repeat(rng.integers(0, RELATIONS, TRIPLES), 2)
    candidates = rng.integers(ENTITIES - 500, ENTITIES, rows)
    tied = (rng.random(rows) < 0.1).astype(np.int64)
    greater = np.minimum(np.exp(rng.exponential(2, rows)).astype(np.int64) - 1, candidates - tied - 1)
    entities = pa.array([f"e{entity:05}" for entity in range(ENTITIES)])
    relations = pa.array([f"r{each:03}" for each in range(RELATIONS)])
    columns = {
        "triple": np.repeat(np.arange(TRIPLES), 2),
        "head": head,
        "relation": relation,
        "tail": tail,
        "side": pa.DictionaryArray.from_arrays(
            np.tile(np.array([0, 1], np.int32), TRIPLES), pa.array(["head", "tail"])
        ),
        "score": -greater.astype(np.float64),
        "greater": greater,
        "tied": tied,
        "candidates": candidates,
        "raw_greater": greater,
        "raw_tied": tied,
        "raw_candidates": candidates,
        "head_label": pa.DictionaryArray.from_arrays(head.astype(np.int32), entities),
        "relation_label": pa.DictionaryArray.from_arrays(relation.astype(np.int32), relations),
        "tail_label": pa.DictionaryArray.from_arrays(tail.astype(np.int32), entities),
    }
    data = pa.table([pa.array(column) for column in columns.values()], names=list(columns))
    return RankTable(data.cast(SCHEMA), filter=("train", "valid", "test"))


def shifted(table: RankTable) -> RankTable:
    """Make the ranks of another model: a third of the answers one or two places further down, where there is room."""
    greater, tied, candidates = (table.column(name) for name in ("greater", "tied", "candidates"))
    further = np.maximum(np.random.default_rng(1).integers(-3, 3, len(table)), 0)
    place = table.data.schema.get_field_index("greater")
    data = table.data.set_column(place, "greater", [np.minimum(greater + further, candidates - tied - 1)])
    return replace(table, data=data)


def statistics(repeat: int) -> list[dict[str, Any]]:
    """Time summaries of the usual seven metrics, of both sides and each; the best of some times."""
    click.echo("statistics of a million ranks ...", err=True)
    table, other = million_ranks(), shifted(million_ranks())
    works: dict[str, Callable[[], Any]] = {
        "summary": lambda: summarize(table),
        "summary with intervals, unit triple": lambda: summarize(table, intervals="triple"),
        "summary with intervals, unit relation": lambda: summarize(table, intervals="relation"),
        "summary with intervals, unit triple, by relation": lambda: summarize(table, by="relation", intervals="triple"),
        "comparison of two models, unit triple": lambda: compare({"one": table, "other": other}),
    }
    return [
        {"name": name, "rows": len(table), "seconds": min(_seconds(work) for _ in range(repeat))}
        for name, work in works.items()
    ]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
