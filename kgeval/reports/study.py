"""A study: the models of a page on the triples that all of them ranked, and the numbers that its sections share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from kgeval.analysis.comparison.comparable import same_rows
from kgeval.analysis.comparison.compare_models import compare
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.analysis.slices.annotation import annotate
from kgeval.analysis.slices.slice import slices
from kgeval.arrays import Float64Array
from kgeval.data.dataset import Dataset
from kgeval.errors import KgevalError, MetricError
from kgeval.metrics.intervals.interval import Interval, NoInterval, Unit
from kgeval.metrics.intervals.over_seeds import interval_over_seeds
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName, parse_all, title_of
from kgeval.metrics.ranks.moments import HITS_AT_K, MEAN_RECIPROCAL_RANK
from kgeval.metrics.ranks.ties import Ties, common_ties, tie_policy
from kgeval.metrics.selection import MetricOptions, RowSelection, TableView
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Group, Summary
from kgeval.ranking.rank_table import TIME, RankTable
from kgeval.reports.reading import EvaluatedModel
from kgeval.table import number

if TYPE_CHECKING:
    import pandas as pd


SHOWN = ("side", "cardinality", "leak", "pattern", "seen", "answer-popularity", "known-answers", "relation-frequency")
"""the slices of the page, of those that the dataset gives, and the side, which every table has"""


def with_slices(tables: Mapping[str, RankTable], dataset: Dataset | None, names: Iterable[str]) -> dict[str, RankTable]:
    """Add slices to tables of the same rows in the same order, as far as the dataset gives them."""
    found = dict(tables)
    for name in names:
        if dataset is None or name not in slices() or any(name in table.columns for table in found.values()):
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
    dataset: Dataset | None = None
    ties: Ties = "realistic"
    unit: Unit = "triple"
    comparison: Comparison | None = None
    """the differences of each two models by the first headline metric, of several seeds by its mean over them; ``None``
    of a single model
    """
    metrics: Sequence[str] = HEADLINES
    """those of the leaderboard, the first of which orders it"""

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
    def has_seeds(self) -> bool:
        return any(model.seeds for model in self.models)

    @cached_property
    def summaries(self) -> dict[str, Summary]:
        return {
            model.name: summarize(model.table, self.metrics, ties=self.ties, intervals=self.unit_of(model.table))
            for model in self.models
        }

    def unit_of(self, table: RankTable) -> Unit | None:
        """What the intervals of a table draw again; those of an estimate are its own."""
        return self.unit if table.sampling is None else None

    @cached_property
    def scores(self) -> pd.DataFrame:
        """A row per metric and model: metric, title, model, baseline, chance, and the fields of its score."""
        import pandas as pd

        rows = []
        for metric in parse_all(self.metrics):
            for model in self.models:
                about = {"metric": str(metric), "title": title_of(metric), "model": model.name}
                of_model = {"baseline": model.baseline, "chance": self._chance(model, metric)}
                rows.append({**about, **of_model, **asdict(self.score(model, metric))})
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
        """The ranks of a table under the tie policy, ties half-way where that is an expectation; float64[row]."""
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

    def score(self, model: EvaluatedModel, metric: MetricName) -> ModelScore:
        if model.seeds:
            return score_over_seeds(model, metric, ties=self.ties, unit=self.unit)
        return score_of_run(self.summaries[model.name].groups[0], metric)

    def ahead(self, model: str, other: str) -> tuple[int, int] | None:
        """Count in how many pairs of their seeds a model is ahead of another; ``None`` if both have one run."""
        scores = self.scores[self.scores["metric"] == self.metrics[0]].set_index("model")
        one, two = (scores["seeds"][name] or (scores["value"][name],) for name in (model, other))
        pairs = list(product(one, two))
        return (sum(own > others for own, others in pairs), len(pairs)) if len(pairs) > 1 else None

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
    unit: Unit = "triple",
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
    metrics: Sequence[str] = HEADLINES,
) -> Study:
    (metric, *_) = parsed = parse_all(metrics)
    policy = ties or common_ties(model.ties for model in models)
    study = Study(models, dataset, policy, unit, metrics=list(map(str, parsed)))
    sign = 1 if metric.metric.increasing is False else -1
    first = {model.name: sign * study.score(model, metric).value for model in models}
    ordered = sorted(models, key=lambda model: (model.baseline, np.nan_to_num(first[model.name], nan=np.inf)))
    if len(ordered) == 1:
        return replace(study, models=ordered)
    comparison = compare(_with_all_seeds(ordered), [str(metric)], unit=unit, ties=policy, allow=allow)
    return replace(study, models=_on_shared_rows(ordered), comparison=comparison)


def _with_all_seeds(models: Sequence[EvaluatedModel]) -> dict[str, RankTable]:
    """Join the ranks of all seeds of a model, so that a mean over them is one over the seeds; each model's as often."""
    times = lcm(*(len(model.runs) for model in models))
    tables = {}
    for model in models:
        rows = [run.table.data for run in model.runs] * (times // len(model.runs))
        joined = pa.concat_tables(rows).unify_dictionaries().combine_chunks() if len(rows) > 1 else model.table.data
        tables[model.name] = replace(model.table, data=joined)
    return tables


def _on_shared_rows(models: Sequence[EvaluatedModel]) -> list[EvaluatedModel]:
    """Keep of the tables of all models and seeds what all of them ranked."""
    tables = {f"{place} {model.name}": model.table for place, model in enumerate(models)}
    tables |= {
        f"{key} {seed.name}": seed.table for key, model in zip(tables, models, strict=True) for seed in model.seeds
    }
    same = same_rows(tables)
    if same.of_all:
        return list(models)
    kept = {key: table.where(same.mask(key)) for key, table in tables.items()}
    return [
        replace(
            model, table=kept[key], seeds=tuple(replace(seed, table=kept[f"{key} {seed.name}"]) for seed in model.seeds)
        )
        for key, model in zip(kept, models, strict=False)
    ]


@dataclass(frozen=True)
class ModelScore:
    """A value, NaN where it is undefined, and its interval, NaN where there is none."""

    value: float
    low: float = np.nan
    high: float = np.nan
    decimals: int = 4
    reason: str = ""
    """why it is undefined"""
    without: str = ""
    """why there is no interval"""
    seeds: tuple[float, ...] = ()


def score_of_run(group: Group, metric: MetricName) -> ModelScore:
    """Take a score from the summary of a run, where it is first for all sides together."""
    of_sides = [name for name in group.values if name.base == metric.base]
    name = max(of_sides, key=lambda name: name.side == (metric.side or "both"))
    value = group.values[name]
    if value is None:
        return ModelScore(np.nan, reason=group.undefined.get(str(name), ""))
    return _with_interval(value, group.intervals.get(name), without=group.no_interval.get(str(name), ""))


def score_over_seeds(model: EvaluatedModel, metric: MetricName, *, ties: Ties, unit: Unit) -> ModelScore:
    """Average a metric over the seeds of a model; its interval is of other seeds and other units."""
    tables = [run.table for run in model.seeds]
    groups = [summarize(table, str(metric), ties=ties).groups[0] for table in tables]
    scores = [score_of_run(group, metric) for group in groups]
    seeds = tuple(score.value for score in scores)
    if undefined := next((score for score in scores if score.reason), None):
        return undefined
    value = float(np.mean(seeds))
    try:
        found = interval_over_seeds(tables, str(metric), intervals=unit, options=MetricOptions(ties))
    except MetricError as error:
        if not isinstance(error.__cause__, NoInterval):
            raise
        return ModelScore(value, without=str(error.__cause__), seeds=seeds)
    return _with_interval(value, found.interval, seeds=seeds)


def _with_interval(value: float, interval: Interval | None, **more: Any) -> ModelScore:
    if interval is None:
        return ModelScore(value, **more)
    return ModelScore(value, interval.low, interval.high, interval.decimals, **more)
