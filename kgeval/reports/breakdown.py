"""The headline metric by slice and by relation: the frames of the charts that say where a result comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.metrics.names import parse, title_of
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Group
from kgeval.ranking.rank_table import RankTable
from kgeval.reports.study import HEADLINES, SHOWN, Study, with_slices

if TYPE_CHECKING:
    import pandas as pd

METRIC = HEADLINES[0]


def slice_scores(study: Study, names: Sequence[str] = SHOWN) -> pd.DataFrame:
    """A row per slice, category and model: slice, category, group, model, value, low, high, count, axis."""
    import pandas as pd

    tables = study.sliced if tuple(names) == SHOWN else with_slices(study.aligned, study.dataset, names)
    shared = [name for name in dict.fromkeys(names) if all(name in table.columns for table in tables.values())]
    rows = [row for name in shared for model, table in tables.items() for row in _rows(study, table, name, model)]
    frame = pd.DataFrame(rows, columns=["slice", "category", "group", "model", "value", "low", "high", "count"])
    several = frame.groupby("slice")["group"].transform("nunique") > 1
    return frame[several].reset_index(drop=True).assign(axis=title_of(parse(METRIC)))


def relation_scores(study: Study) -> pd.DataFrame:
    """A row per relation: relation (its label), triples, cardinality (empty where unknown), and m0, m1, … by model."""
    import pandas as pd

    frames = []
    for index, model in enumerate(study.models):
        summary = summarize(model.table, [METRIC, "count"], by="relation", ties=study.ties)
        values = {group.key["relation"]: _first(group) for group in summary.groups}
        frames.append(pd.Series(values, name=f"m{index}", dtype=np.float64))
    table = study.sliced[study.names[0]]
    own = pd.DataFrame({"relation": table.column("relation_label"), "triple": table.column("triple")})
    own["cardinality"] = table.column("cardinality") if "cardinality" in table.columns else ""
    counted = {"triples": ("triple", "nunique"), "cardinality": ("cardinality", "first")}
    facts = own.groupby("relation", observed=True).agg(**counted)
    joined: pd.DataFrame = facts.join(pd.concat(frames, axis=1)).rename_axis("relation").reset_index()
    return joined


def _rows(study: Study, table: RankTable, name: str, model: str) -> Iterator[tuple[Any, ...]]:
    """Yield of each category: slice, category, group, model, value, low, high, count."""
    summary = summarize(table, [METRIC, "count"], by=name, ties=study.ties, intervals=study.unit_of(table))
    for group in summary.groups:
        kind = str(group.key[name])
        count = int(next(value for name, value in group.values.items() if name.name == "count") or 0)
        interval = group.intervals.get(next(iter(group.values)))
        ends = (interval.low, interval.high) if interval else (np.nan, np.nan)
        yield name, f"{kind}\n{count:,}", kind, model, _first(group), *ends, count


def _first(group: Group) -> float:
    """The first metric of a group; NaN where it is undefined."""
    value = next(iter(group.values.values()))
    return np.nan if value is None else value
