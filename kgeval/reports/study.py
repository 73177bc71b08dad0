"""A study: the models of a page on the triples that all of them ranked, and the numbers that its sections share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kgeval.analysis.comparison.block import Block
from kgeval.analysis.comparison.comparable import same_rows
from kgeval.analysis.comparison.compare import compare_grid
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.analysis.comparison.paired_difference import PairedDifference
from kgeval.analysis.slices.annotation import annotate
from kgeval.analysis.slices.slice import slice_of
from kgeval.base.arrays import Float64Array
from kgeval.base.errors import KgevalError
from kgeval.base.tables.table import number
from kgeval.data.dataset import Dataset
from kgeval.metrics.intervals.interval import Unit
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName, parse_all, title_of
from kgeval.metrics.ranks.moments import HITS_AT_K, MEAN_RECIPROCAL_RANK
from kgeval.metrics.ranks.ties import Ties, common_ties, tie_policy
from kgeval.metrics.selection import RowSelection, TableView
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Group, Spread, Summary, Value
from kgeval.ranking.rank_table import TIME, RankTable
from kgeval.reports.reading import EvaluatedModel, notes_on_ties

if TYPE_CHECKING:
    import pandas as pd


SHOWN = ("side", "cardinality", "leak", "pattern", "seen", "answer-popularity", "known-answers", "relation-frequency")
"""the slices of the page, if the dataset gives them"""


def with_slices(tables: Mapping[str, RankTable], dataset: Dataset | None, names: Iterable[str]) -> dict[str, RankTable]:
    """Add slices to tables of the same rows in the same order, as far as the dataset gives them."""
    found = dict(tables)
    for name in names:
        if dataset is None or slice_of(name) is None or any(name in table.columns for table in found.values()):
            continue
        first = next(iter(found.values()))
        try:
            column = annotate(first, dataset, [name]).data.column(name)
        except KgevalError:  # the dataset lacks a split, or has other labels: the page goes without this slice
            continue
        found = {model: replace(table, data=table.data.append_column(name, column)) for model, table in found.items()}
    return found


HEADLINES = ("mrr", "hits@1", "hits@3", "hits@10", "amri")
"""the metrics of the leaderboard, the first of which orders it"""

KEY = ["head_label", "relation_label", "tail_label", "side"]


@dataclass(frozen=True, eq=False)
class Study:
    models: Sequence[EvaluatedModel]
    """the best first; their tables have the same rows"""
    dataset: Dataset | None
    ties: Ties
    unit: Unit
    grid: Comparison
    """the metrics, of several seeds their means, and the differences of each two models"""

    @property
    def block(self) -> Block:
        (block,) = self.grid.blocks
        return block

    @property
    def metrics(self) -> list[str]:
        """The metrics of the leaderboard, the first of which orders it."""
        return list(map(str, self.grid.metrics))

    @property
    def pairs(self) -> list[PairedDifference]:
        """The differences of each two models by the first metric; none of a single model."""
        return self.block.pairs_by(self.grid.metrics[0])

    @property
    def names(self) -> list[str]:
        return [model.name for model in self.models]

    @property
    def baselines(self) -> list[str]:
        return [model.name for model in self.models if model.baseline]

    @property
    def runs(self) -> list[EvaluatedModel]:
        return [run for model in self.models for run in model.runs]

    @property
    def notes(self) -> list[str]:
        return notes_on_ties(self.models, self.ties)

    @property
    def has_seeds(self) -> bool:
        return any(model.seeds for model in self.models)

    @cached_property
    def summaries(self) -> dict[str, Summary]:
        return {
            model.name: summarize(model.table, self.metrics, ties=self.ties, intervals=self.unit_of(model.table))
            for model in self.models
        }

    def unit_of(self, table: RankTable) -> Unit | None:
        """What the intervals of a table resample; an estimate has its own intervals."""
        return self.unit if table.sampling is None else None

    @cached_property
    def scores(self) -> pd.DataFrame:
        """A row per metric and model: metric, title, model, baseline, chance, and the fields of its score."""
        import pandas as pd

        rows = []
        for metric in self.grid.metrics:
            for model in self.models:
                about = {"metric": str(metric), "title": title_of(metric), "model": model.name}
                of_model = {"baseline": model.baseline, "chance": self._chance(model, metric)}
                rows.append({**about, **of_model, **row_of(self.block.scores[model.name, metric], "interval")})
        frame = pd.DataFrame(rows)
        frame["decimals"] = frame.groupby("metric")["decimals"].transform("min")
        return frame

    def cell(self, score: pd.Series[Any]) -> dict[str, Any]:
        """Print a score with the digits that its interval justifies; ``sort`` is its place in an order."""
        value, low, high = (score[name] for name in ("value", "low", "high"))
        if np.isnan(value):
            return {"value": "–", "interval": "", "undefined": True, "title": score["reason"], "sort": ""}
        digits = score["decimals"]
        interval = "" if np.isnan(low) else f"{number(low, digits)} – {number(high, digits)}"
        seeds = ", ".join(number(seed, digits) for seed in score["seeds"])
        title = "; ".join(filter(None, [seeds and f"seeds: {seeds}", score["without"]]))
        shown = {"value": number(value, digits), "interval": interval, "title": title}
        minus = {name: text.replace("-", "−") for name, text in shown.items()}
        return {**minus, "undefined": False, "sort": repr(float(value))}

    def ranks_of(self, table: RankTable) -> Float64Array:
        """The ranks of a table under the tie policy, realistic ones if that is an expectation; float64[row]."""
        view = TableView(table)
        policy = "realistic" if tie_policy(self.ties).name == "expected" else self.ties
        return replace(view.ranks, ties=policy, draws=view.draws_for(policy)).values

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The rows that all models share: labels, side and any time, the rank of each model m0, m1, … and its ties."""
        first = self.aligned[self.names[0]]
        frame: pd.DataFrame = first.data.select([*KEY, *([] if first.times is None else [TIME])]).to_pandas()
        for index, table in enumerate(self.aligned.values()):
            frame[f"m{index}"] = self.ranks_of(table)
            frame[f"ties{index}"] = table.column("tied")
        return frame

    @cached_property
    def aligned(self) -> dict[str, RankTable]:
        tables = {model.name: model.table for model in self.models}
        if len(tables) == 1:
            return tables
        rows = same_rows(tables).rows
        return {name: replace(table, data=table.data.take(pa.array(rows[name]))) for name, table in tables.items()}

    @cached_property
    def sliced(self) -> dict[str, RankTable]:
        return with_slices(self.aligned, self.dataset, SHOWN)

    def _chance(self, model: EvaluatedModel, metric: MetricName) -> float:
        view = TableView(model.table)
        ranks = RowSelection(view, view.rows_of(view.pooled)).ranks(None, None)
        try:
            match None if "." in str(metric) else metric.name:
                case "mrr":
                    return MEAN_RECIPROCAL_RANK.expectation(ranks, 0)
                case "hits":
                    return HITS_AT_K.expectation(ranks, metric.k)
                case "amri":
                    return 0.0
        except Undefined:
            pass
        return np.nan


def study_of(
    models: Sequence[EvaluatedModel],
    dataset: Dataset | None,
    *,
    intervals: Unit = "triple",
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
    metrics: Sequence[str] = HEADLINES,
) -> Study:
    metric = parse_all(metrics)[0]
    policy = ties or common_ties(model.ties for model in models)
    sign = 1 if metric.metric.increasing is False else -1
    first = {model.name: sign * mean_of_runs(model, str(metric), policy) for model in models}
    ordered = sorted(models, key=lambda model: (model.baseline, np.nan_to_num(first[model.name], nan=np.inf)))
    shared = _on_shared_rows(ordered)

    runs = {model.name: [run.table for run in model.runs] for model in ordered}
    names = [model.name for model in ordered if model.baseline]
    how: dict[str, Any] = {"intervals": intervals, "ties": policy, "baselines": names, "allow": allow}
    grid = compare_grid({ordered[0].table.dataset: runs}, metrics, spread="interval", **how)
    return Study(shared, dataset, policy, intervals, grid)


def mean_of_runs(model: EvaluatedModel, metric: str, ties: Ties) -> float:
    """The mean of a metric over the runs of a model; NaN where it is undefined."""
    return float(np.mean([first_value(summarize(run.table, metric, ties=ties).groups[0]) for run in model.runs]))


def first_value(group: Group) -> float:
    """The first metric of a group; NaN where it is undefined."""
    value = next(iter(group.values.values()))
    return np.nan if value is None else value


def _on_shared_rows(models: list[EvaluatedModel]) -> list[EvaluatedModel]:
    """Keep of the tables of all models and seeds what all of them ranked."""
    runs = [run for model in models for run in (model, *model.seeds)]
    same = same_rows({str(place): run.table for place, run in enumerate(runs)})
    if same.of_all:
        return models
    cut = (replace(run, table=run.table.where(same.mask(str(place)))) for place, run in enumerate(runs))
    return [replace(next(cut), seeds=tuple(next(cut) for _ in model.seeds)) for model in models]


def row_of(score: Value, spread: Spread) -> dict[str, Any]:
    """Lay out a score for a chart; missing numbers are NaN."""
    ends = score.ends(spread)
    return {
        "value": np.nan if score.value is None else score.value,
        "low": np.nan if ends is None else ends.low,
        "high": np.nan if ends is None else ends.high,
        "decimals": 4 if ends is None else ends.decimals,
        "reason": score.reason if score.value is None else "",
        "without": "" if score.value is None or ends is not None else score.reason,
        "seeds": score.runs if len(score.runs) > 1 else (),
    }
