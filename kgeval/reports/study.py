"""A study: models that were evaluated on one dataset, and the numbers that the sections of a page and pictures share.

Pages and pictures make one with :func:`study_of`, from models that ``evaluated_models.py`` has read. A number that
several sections need is a property of ``Study``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from kgeval.analysis.comparison.block import Block
from kgeval.analysis.comparison.comparable import notes_on_histories, shared_rows
from kgeval.analysis.comparison.compare import compare
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.analysis.comparison.paired_difference import PairedDifference
from kgeval.analysis.slices.annotation import annotated
from kgeval.analysis.slices.slice import slice_of
from kgeval.base.arrays import Float64Array
from kgeval.base.errors import InputError, KgevalError
from kgeval.base.tables.table import number
from kgeval.data.dataset import Dataset
from kgeval.data.loading import Source, as_dataset
from kgeval.metrics.intervals.interval import PLURAL, Unit
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName, parse_all, title_of
from kgeval.metrics.ranks.moments import HITS_AT_K, MEAN_RECIPROCAL_RANK
from kgeval.metrics.ranks.ties import Ties, common_ties, tie_policy
from kgeval.metrics.selection import MetricOptions, RowSelection, TableView
from kgeval.metrics.summary import Spread, Value
from kgeval.ranking.rank_table import TIME, RankTable
from kgeval.reports.evaluated_models import (
    EvaluatedModel,
    mean_of_runs,
    notes_on_ties,
    read_dataset,
    seed_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from kgeval.metrics.labels.label_summary import LabelSummary

HEADLINES = ("mrr", "hits@1", "hits@3", "hits@10", "amri")
"""the metrics of the leaderboard, the first of which orders it"""

SHOWN: tuple[str, ...] = ("side", "cardinality", "leak", "pattern", "seen", "answer-popularity", "known-answers")
SHOWN += ("relation-frequency", "recurrence", "last-time")
"""the slices of the page, if the dataset gives them"""

KEY = ["head_label", "relation_label", "tail_label", "side"]
"""the columns of a rank table that identify a row, beside its time"""

Tables: TypeAlias = Mapping[str, Sequence[RankTable]]
"""by the name of a model, the ranks of its runs; all tables have the same rows in the same order"""


@dataclass(frozen=True, eq=False)
class Study:
    """Models on one dataset, compared with each other, and their tables of ranks."""

    models: Sequence[EvaluatedModel]
    """the best first; their tables have the same rows in the same order"""
    dataset: Dataset | None
    """None if it is not known, or has changed since it was ranked"""
    ties: Ties
    unit: Unit
    """the unit that intervals and tests resample"""
    grid: Comparison
    """the metrics of the models, which for several seeds are means, and the differences of each two models"""

    @property
    def block(self) -> Block:
        (block,) = self.grid.blocks
        return block

    @property
    def metric(self) -> MetricName:
        """The metric that orders the models, and that is computed for slices and relations."""
        return self.grid.metrics[0]

    @property
    def pairs(self) -> list[PairedDifference]:
        """The differences of each two models by the first metric; empty if there is one model only."""
        return self.block.pairs_by(self.metric)

    @property
    def seed(self) -> int:
        return seed_of(self.models, self.ties)

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
    def left_out(self) -> list[str]:
        """Notes that name the unfinished or failed runs in the folders of the models, which are left out."""
        return [*dict.fromkeys(note for run in self.runs for note in run.left_out)]

    @property
    def notes(self) -> list[str]:
        changes = [note for run in self.runs for note in run.remarks]
        histories = notes_on_histories({model.name: model.table for model in self.models})
        return [*notes_on_ties(self.models, self.ties), *changes, *histories, *self.left_out]

    @property
    def has_seeds(self) -> bool:
        return any(model.seeds for model in self.models)

    @property
    def resampled(self) -> str:
        """What the intervals resample."""
        return f"{'seeds and ' if self.has_seeds else ''}{PLURAL[self.unit]}"

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
        """Write a row of ``scores`` with the digits that its interval justifies; tables are sorted by ``sort``."""
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
        """The ranks of a table under the tie policy, or realistic ranks if it is ``expected``; float64[row]."""
        view = TableView(table, MetricOptions(seed=self.seed))
        policy = "realistic" if tie_policy(self.ties).name == "expected" else self.ties
        return replace(view.ranks, ties=policy, draws=view.draws_for(policy)).values

    @property
    def tables(self) -> Tables:
        return {model.name: [run.table for run in model.runs] for model in self.models}

    @cached_property
    def sliced(self) -> Tables:
        return with_slices(self.tables, self.dataset, SHOWN)

    @cached_property
    def ranks(self) -> dict[str, list[Float64Array]]:
        """By the name of a model, the ranks of each of its runs; float64[row]."""
        return {name: [self.ranks_of(table) for table in tables] for name, tables in self.tables.items()}

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The rows that all models ranked: labels, side, time in a temporal graph, and two columns for each model.

        Of the model with index 0 they are m0, its rank, and ties0, the number of candidates that tie with the answer. A
        model with several seeds has those of the run with the middle MRR.
        """
        first = self.tables[self.names[0]][0]
        frame: pd.DataFrame = first.data.select([*KEY, *([TIME] if TIME in first.columns else [])]).to_pandas()
        for index, model in enumerate(self.models):
            frame[f"m{index}"] = self.ranks[model.name][model.middle]
            frame[f"ties{index}"] = self.tables[model.name][model.middle].column("tied")
        return frame

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


def row_of(score: Value, spread: Spread) -> dict[str, Any]:
    """Lay out a score for a chart; missing numbers are NaN.

    ``reason`` says why there is no value, ``without`` why a value has no interval; ``seeds`` are the values of seeds.
    """
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


def study_of(
    models: Sequence[EvaluatedModel],
    dataset: Dataset | Source | None,
    *,
    intervals: Unit = "triple",
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
    metrics: Sequence[str] = HEADLINES,
) -> Study:
    """Compare the models of one dataset, by default the dataset that their runs name.

    ``intervals`` is the unit that intervals and tests resample; the first of the ``metrics`` orders the models.
    """
    names = [model.name for model in models]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{twice!r} has runs of several datasets: choose those of one, or name them a=RUN b=RUN.")
    graph = read_dataset(models) if dataset is None else as_dataset(dataset)
    metric = parse_all(metrics)[0]
    policy = ties or common_ties(model.ties for model in models)
    ordered = in_order(models, metric, {model.name: mean_of_runs(model, str(metric), policy) for model in models})
    shared = _on_shared_rows(ordered)

    runs = {model.name: [run.table for run in model.runs] for model in ordered}
    baselines = [model.name for model in ordered if model.baseline]
    how: dict[str, Any] = {"intervals": intervals, "ties": policy, "baselines": baselines, "allow": allow}
    how["seed"] = seed_of(models, policy)
    grid = compare({ordered[0].table.dataset: runs}, metrics, spread="interval", **how)
    return Study(shared, graph, policy, intervals, grid)


def in_order(
    models: Iterable[EvaluatedModel], metric: MetricName, means: Mapping[str, float | None]
) -> list[EvaluatedModel]:
    """Sort models by their means of a metric, the best first, baselines last; undefined means come after others."""
    sign = 1 if metric.metric.increasing is False else -1

    def place(model: EvaluatedModel) -> tuple[bool, float]:
        mean = means[model.name]
        return model.baseline, np.inf if mean is None or np.isnan(mean) else sign * mean

    return sorted(models, key=place)


def _on_shared_rows(models: list[EvaluatedModel]) -> list[EvaluatedModel]:
    """Keep, in the tables of all models and seeds, the rows that all of them have, in one order."""
    runs_of_all = [run for model in models for run in model.runs]
    if len(runs_of_all) == 1:
        return models
    rows = iter(shared_rows({str(place): run.table for place, run in enumerate(runs_of_all)}).rows.values())
    shared = []
    for model in models:
        tables = [replace(run.table, data=run.table.data.take(pa.array(next(rows)))) for run in model.runs]
        runs = tuple(replace(run, table=table) for run, table in zip(model.runs, tables, strict=True))
        shared.append(replace(model, table=tables[model.middle], seeds=runs if model.seeds else ()))
    return shared


def with_slices(tables: Tables, dataset: Dataset | None, names: Iterable[str]) -> Tables:
    """Add columns of slices to tables of the same rows in the same order, if the dataset has what the slices need."""
    for name in names:
        every = [table for runs in tables.values() for table in runs]
        alike = len({table.history for table in every}) == 1
        if dataset is None or slice_of(name) is None or any(name in table.columns for table in every):
            continue
        try:
            first = every[0] if alike else replace(every[0], history=None)
            column = annotated(first, dataset, [name]).data.column(name)
        except KgevalError:  # the dataset lacks a split, or has other labels: the page goes without this slice
            continue
        tables = {
            model: [replace(table, data=table.data.append_column(name, column)) for table in runs]
            for model, runs in tables.items()
        }
    return tables


def curve_points(summaries: Mapping[str, LabelSummary], curve: str) -> pd.DataFrame:
    """Lay out the points of a curve of classifications as ``pictures.curves_chart`` takes them; none if undefined."""
    import pandas as pd

    frames = [
        pd.DataFrame({"model": name, "place": range(len(columns["threshold"])), **columns, "baseline": False})
        for name, summary in summaries.items()
        if (columns := summary.curves.get(curve))
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
