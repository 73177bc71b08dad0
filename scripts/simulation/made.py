"""Rank tables that are made of arrays, ranks for them, and the intervals of groups of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.data.provenance import UNKNOWN, Provenance
from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.intervals.selection_intervals import SelectionIntervals
from kgeval.metrics.selection import RankColumns, RowSelection, TableView

CANDIDATES, RELATIONS = 200, 1_000


class Made(RankColumns):
    """A rank table that is made of arrays."""

    _SCHEMA = pa.schema([])
    provenance = Provenance(UNKNOWN, UNKNOWN, "test", 0, UNKNOWN, None, UNKNOWN)

    def __init__(self, triples, relations, ranks, candidates, further=(), **about) -> None:  # type: ignore[no-untyped-def]
        """One triple and relation, and a rank for each side: int64[triple], int64[triple], int64[triple, 2]."""
        greater = np.ravel(ranks) - 1
        triple = np.repeat(triples, 2)
        columns = {
            "triple": triple,
            "relation": np.repeat(relations, 2),
            "head": triple,
            "tail": triple,
            "side": np.tile(["head", "tail"], len(triples)),
            "greater": greater,
            "tied": 0 * greater,
            "candidates": 0 * greater + candidates,
        }
        super().__init__(pa.table({**columns, **dict(further)}), **about)


def value_of(name: Any, table: Made, average: str | None = None) -> float:
    """A metric of one side, or of all rows."""
    rows = np.flatnonzero(table.column("side") == name.side) if name.side else slice(None)
    return float(name(RowSelection(TableView(table), rows).ranks(None, average)))


def intervals_of(name: Any, selection: RowSelection, true: float, unit: Any = "triple", average: Any = None) -> tuple:  # type: ignore[type-arg]
    """The metric and its interval of each group of rows, and the share of the intervals that hold the truth."""
    starts = np.flatnonzero(np.diff(selection.groups, prepend=-1))
    values = name.metric.compute.of_groups(selection.ranks(None, average), starts, name.k)
    found = SelectionIntervals(selection, Intervals(unit=unit)).of_groups(name, dict(enumerate(values.tolist())))
    return values, [*found.values()], np.mean([interval.low <= true <= interval.high for interval in found.values()])


def effects(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The relation of each triple, and how hard it is, by relation and by itself."""
    relations = rng.integers(0, RELATIONS, count)
    hardness = 1.2 * rng.normal(size=RELATIONS)[relations] + rng.normal(size=count)
    return relations, hardness


def ranked(rng: np.random.Generator, hardness: np.ndarray, sides: float = 0.7) -> np.ndarray:
    """Ranks from 1 to the number of candidates; float64[…] of hardness gives int64[…, 2]."""
    log_ranks = 1.5 + hardness[..., None] + sides * rng.normal(size=(*hardness.shape, 2))
    return np.clip(np.exp(log_ranks), 1, CANDIDATES).astype(np.int64)
