"""The headline metric by slice and by relation: the frames of the charts that say where a result comes from."""

from __future__ import annotations

from collections.abc import Sequence
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
    frame = pd.DataFrame(rows, columns=[*KEYS])
    several = frame.groupby("slice")["group"].transform("nunique") > 1
    return frame[several].reset_index(drop=True)


KEYS = ("slice", "category", "group", "model", "value", "low", "high", "count", "axis")


def relation_scores(study: Study) -> pd.DataFrame:
    """A row per relation: relation (its label), triples, cardinality (empty where unknown), and m0, m1, … by model."""
    import pandas as pd

    frames = []
    for index, model in enumerate(study.models):
        summary = summarize(model.table, [METRIC, "count"], by="relation", ties=study.ties)
        values = {group.key["relation"]: _value(group) for group in summary.groups}
        frames.append(pd.Series(values, name=f"m{index}", dtype=np.float64))
    table = study.sliced[study.names[0]]
    own = pd.DataFrame({"relation": table.column("relation_label"), "triple": table.column("triple")})
    own["cardinality"] = table.column("cardinality") if "cardinality" in table.columns else ""
    facts = own.groupby("relation", observed=True).agg(
        triples=("triple", "nunique"), cardinality=("cardinality", "first")
    )
    joined: pd.DataFrame = facts.join(pd.concat(frames, axis=1)).rename_axis("relation").reset_index()
    return joined


def _rows(study: Study, table: RankTable, name: str, model: str) -> list[dict[str, Any]]:
    summary = summarize(table, [METRIC, "count"], by=name, ties=study.ties, intervals=study.unit_of(table))
    rows = []
    for group in summary.groups:
        (metric, value), *_ = group.values.items()
        count = int(next(value for name, value in group.values.items() if name.name == "count") or 0)
        interval = group.intervals.get(metric)
        rows.append(
            {
                "slice": name,
                "category": f"{group.key[name]}\n{count:,}",
                "group": str(group.key[name]),
                "model": model,
                "value": np.nan if value is None else value,
                "low": interval.low if interval else np.nan,
                "high": interval.high if interval else np.nan,
                "count": count,
                "axis": title_of(parse(METRIC)),
            }
        )
    return rows


def _value(group: Group) -> float:
    value = next(iter(group.values.values()))
    return np.nan if value is None else value
