"""The headline metric by slice and by relation: the frames of the charts that say where a result comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kgeval.analysis.slices.annotation import annotate
from kgeval.analysis.slices.slice import slices
from kgeval.data.dataset import Dataset
from kgeval.errors import KgevalError
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Group
from kgeval.metrics.tables.names import parse
from kgeval.ranking.rank_table import RankTable
from kgeval.reports.study import HEADLINES, Study, title_of

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("cardinality", "leak", "pattern", "seen", "answer-popularity", "known-answers", "relation-frequency")
"""the slices of the page, of those that the dataset gives"""

METRIC = HEADLINES[0]


def sliced_models(study: Study, names: Sequence[str] = SHOWN) -> dict[str, RankTable]:
    """Add slices to the models' tables, as far as their columns or the dataset give them."""
    return {model.name: _with_slices(model.table, study.dataset, names) for model in study.models}


def slice_scores(study: Study, names: Sequence[str] = SHOWN) -> pd.DataFrame:
    """A row per slice, category and model: slice, category, group, model, value, low, high, count, axis."""
    import pandas as pd

    tables = sliced_models(study, names)
    shared = [name for name in ("side", *names) if all(name in table.columns for table in tables.values())]
    rows = [
        row
        for name in shared
        for model, table in tables.items()
        for row in _rows(study, table, name, model)
    ]
    frame = pd.DataFrame(rows, columns=[*KEYS])
    several = frame.groupby("slice")["group"].transform("nunique") > 1
    return frame[several].reset_index(drop=True)


KEYS = ("slice", "category", "group", "model", "value", "low", "high", "count", "axis")


def relation_scores(study: Study) -> pd.DataFrame:
    """A row per relation: relation (its label), triples, cardinality (empty where unknown), and m0, m1, … by model."""
    import pandas as pd

    frames = []
    for index, model in enumerate(study.models):
        summary = summarize(model.table, [f"both.{METRIC}", "both.count"], by="relation", ties=study.ties)
        values = {group.key["relation"]: _value(group) for group in summary.groups}
        frames.append(pd.Series(values, name=f"m{index}", dtype=np.float64))
    table = _with_slices(study.models[0].table, study.dataset, ("cardinality",))
    own = pd.DataFrame({"relation": table.column("relation_label"), "triple": table.column("triple")})
    own["cardinality"] = table.column("cardinality") if "cardinality" in table.columns else ""
    facts = own.groupby("relation", observed=True).agg(triples=("triple", "nunique"), cardinality=("cardinality", "first"))
    joined: pd.DataFrame = facts.join(pd.concat(frames, axis=1)).rename_axis("relation").reset_index()
    return joined


def _with_slices(table: RankTable, dataset: Dataset | None, names: Sequence[str]) -> RankTable:
    """Add each slice that the dataset can give, and that is not there."""
    for name in names:
        if dataset is None or name in table.columns or name not in slices():
            continue
        try:
            table = annotate(table, dataset, [name])
        except KgevalError:  # the dataset lacks a split, or labels differ: the page goes without this slice
            continue
    return table


def _rows(study: Study, table: RankTable, name: str, model: str) -> list[dict[str, Any]]:
    """Compute the metric of a model in each category of a slice."""
    summary = summarize(table, [f"both.{METRIC}", "both.count"], by=name, ties=study.ties, intervals=study.unit)
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
