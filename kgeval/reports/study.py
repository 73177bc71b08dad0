"""The models of a page: their runs read and joined to seeds, and the numbers that its sections share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import pyarrow as pa

from kgeval.analysis.comparison.block import Block
from kgeval.analysis.comparison.comparable import shared_rows
from kgeval.analysis.comparison.compare import compare_grid
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.analysis.comparison.paired_difference import PairedDifference
from kgeval.analysis.slices.annotation import annotate
from kgeval.analysis.slices.slice import slice_of
from kgeval.base.arrays import Float64Array
from kgeval.base.errors import InputError, KgevalError
from kgeval.base.provenance import UNKNOWN
from kgeval.base.tables.table import number
from kgeval.data.dataset import Dataset
from kgeval.data.loading import Source, as_dataset
from kgeval.metrics.intervals.interval import PLURAL, Unit
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import MetricName, parse_all, title_of
from kgeval.metrics.ranks.moments import HITS_AT_K, MEAN_RECIPROCAL_RANK
from kgeval.metrics.ranks.ties import Ties, common_ties, note_on_missing, tie_policies, tie_policy
from kgeval.metrics.selection import RowSelection, TableView
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Group, Spread, Value
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.protocols.protocol import protocol_of
from kgeval.ranking.rank_table import TIME, RankTable
from kgeval.ranking.run_directory.folders import distinct_names, runs_at, words_of
from kgeval.ranking.run_directory.seeds import RunOf, Training, join_seeds, model_name
from kgeval.ranking.run_directory.stored_run import StoredRun
from kgeval.reports.document import isolated
from kgeval.reports.pictures import CURVES

if TYPE_CHECKING:
    import pandas as pd

    from kgeval.metrics.labels.label_summary import LabelSummary


@dataclass(frozen=True, eq=False)
class EvaluatedModel:
    name: str
    table: RankTable
    config: Mapping[str, Any] = field(default_factory=dict)
    """the configuration of its run; empty if there are only ranks"""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    predictions: PredictionTable | None = None
    remarks: tuple[str, ...] = ()
    """what has changed since its run was written"""
    seeds: tuple[EvaluatedModel, ...] = ()
    """the run of each seed, if there are several; the other fields are those of the middle one"""
    middle: int = 0
    """the place of the run with the middle MRR"""

    @property
    def runs(self) -> tuple[EvaluatedModel, ...]:
        return self.seeds or (self,)

    @property
    def mean_in_words(self) -> str:
        """What its numbers are a mean of, after a comma; empty of a single run."""
        return f", mean of {len(self.seeds)} seeds" if self.seeds else ""

    @property
    def baseline(self) -> bool:
        """Whether it is a baseline, which charts draw in grey."""
        model = self.config.get("model")
        return isinstance(model, Mapping) and "baseline" in model

    @property
    def training(self) -> Training:
        return Training.of(self.config, self.manifest)

    @property
    def ties(self) -> str:
        """The tie policy of its run; that of the protocol, if it names none, or one that no installed package has."""
        named = str(self.config.get("ties"))
        return named if named in tie_policies() else tie_policy(protocol_of(self.table).ties).name

    @property
    def fingerprint(self) -> str | None:
        digest: str | None = self.manifest.get("dataset", {}).get("sha256")
        return digest


def join_models(models: Sequence[tuple[str, EvaluatedModel]]) -> list[tuple[str, EvaluatedModel]]:
    """Join the runs that are seeds of one model, in the place of the first.

    Each run stands after the name that was chosen for it, or that of its folder; empty where there is none.
    """
    groups = join_seeds([_run_of(name, model) for name, model in models])
    members = [[models[place] for place in group] for group in groups]
    return [group[0] if len(group) == 1 else (group[0][0], model_of_seeds(group)) for group in members]


def model_of_seeds(runs: Sequence[tuple[str, EvaluatedModel]]) -> EvaluatedModel:
    """Make one model of several runs: their seeds, and the ranks of the run in the middle by mean reciprocal rank."""
    values = [np.nan_to_num(mean_of_runs(run, "mrr", run.ties)) for _, run in runs]
    middle = int(np.argsort(values, kind="stable")[(len(runs) - 1) // 2])
    unnamed = [_run_of(name, run).chosen or not run.name for name, run in runs]
    seeds = [place if run.training.seed is None else run.training.seed for place, (_, run) in enumerate(runs)]
    named = [
        replace(run, name=f"seed {seed}" if new else run.name)
        for (_, run), seed, new in zip(runs, seeds, unnamed, strict=True)
    ]
    name = model_name([_run_of(*run) for run in runs])
    return replace(runs[middle][1], name=name, seeds=tuple(named), middle=middle)


def _run_of(name: str, model: EvaluatedModel) -> RunOf:
    key, training = model.training.key(model.config), model.training
    chosen = name if name and name == model.name else ""
    return RunOf(model.table.dataset, chosen, model.name, training, key and f"{name} {key}")


Run: TypeAlias = str | Path | RankTable | EvaluatedModel
"""a run directory, a folder of runs, a file of ranks; or in memory, a table, or one with what is known of it"""

Runs: TypeAlias = Run | Iterable[Run | tuple[str, Run]] | Mapping[str, Run]


def read_models(runs: Runs) -> list[EvaluatedModel]:
    """Read runs; a run without a name gets that of its model, or of its folder if two models have one name.

    Runs of several seeds of one training, if they have no names, are one model.
    """
    models = join_models([(name, model) for name, run in with_names(runs) for model in _read(run, name)])
    if not models:
        raise InputError("no runs: give at least one run directory, or a file of ranks.")
    return _named_apart(models)


def read_classifications(runs: Runs) -> dict[str, LabelSummary]:
    """Summarize runs of classifications by the names of their models; nothing if none of the runs is one."""
    summaries: dict[str, LabelSummary] = {}
    places = [
        (f"{name} {place}".strip(), StoredRun(path))
        for name, run in with_names(runs)
        if isinstance(run, str | Path)
        for place, path in runs_at(Path(run), named=bool(name)).items()
    ]
    labelled = [(name, run) for name, run in places if run.keeps == "classification"]
    if labelled and len(labelled) < len(places):
        raise InputError(
            f"{str(labelled[0][1].path)!r} is a classification, and other runs have ranks. Give runs of one kind."
        )
    for name, run in labelled:
        table = run.labels()
        title = name or table.model.partition(" (")[0]
        if title in summaries:
            raise InputError(f"two runs are called {title!r:.60}. Name them: a=RUN b=RUN.")
        summary = summarize(table, calibration=run.config.get("task", {}).get("calibration", "platt"))
        summaries[title] = cast("LabelSummary", summary)
    return summaries


def curve_points(summaries: Mapping[str, LabelSummary], curve: str) -> pd.DataFrame:
    """Lay the points of a curve of classifications out: columns model, place, x, y; none where it is undefined."""
    import pandas as pd

    across, up, _ = CURVES[curve]
    frames = [
        pd.DataFrame({"model": name, "place": range(len(columns[across])), "x": columns[across], "y": columns[up]})
        for name, summary in summaries.items()
        if (columns := summary.curves.get(curve))
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def read_dataset(models: Iterable[EvaluatedModel]) -> Dataset | None:
    """Read the dataset of the models, if a run names it and it has not changed."""
    for model in models:
        with suppress(InputError):
            dataset = None if model.folder is None else StoredRun(model.folder).dataset()
            if dataset is not None and dataset.sha256() == model.fingerprint:
                return dataset
    return None


def notes_on_ties(models: Iterable[EvaluatedModel], used: Ties) -> list[str]:
    """Name the runs whose tie policy no installed package has."""
    named = [(run, str(run.config.get("ties") or run.ties)) for model in models for run in model.runs]
    return [f"{isolated(run.name)}: {note_on_missing(ties, used)}" for run, ties in named if ties != run.ties]


def with_names(runs: Runs) -> list[tuple[str, Run]]:
    """List runs with the names that they were given, which may be empty."""
    if isinstance(runs, str | Path | RankTable | EvaluatedModel):
        runs = [runs]
    several = runs.items() if isinstance(runs, Mapping) else runs
    return [run if isinstance(run, tuple) else ("", run) for run in several]


def _read(run: Run, name: str) -> Iterator[EvaluatedModel]:
    if isinstance(run, EvaluatedModel):
        yield replace(run, name=name or run.name)
        return
    if isinstance(run, RankTable):
        yield EvaluatedModel(name, run)
        return
    runs = [(place, _read_one(path)) for place, path in runs_at(Path(run), named=bool(name)).items()]
    names = distinct_names([place.split("/") for place, _ in runs], [model.table.dataset for _, model in runs])
    yield from (replace(model, name=f"{name} {place}".strip()) for place, (_, model) in zip(names, runs, strict=True))


def _read_one(path: Path) -> EvaluatedModel:
    run = StoredRun(path)
    if not run.is_complete:
        return EvaluatedModel("", run.ranks(), folder=path)
    return EvaluatedModel("", run.ranks(), run.config, run.manifest, path, run.predictions, run.changes)


def _named_apart(models: list[tuple[str, EvaluatedModel]]) -> list[EvaluatedModel]:
    """Give each model a unique name: the chosen one, its model's, or its folders'."""
    called = [(model.table.dataset, model.name or _called(model)) for _, model in models]
    repeated = {name for name in called if called.count(name) > 1}
    words = [
        _words(model, key[1]) if model.folder and not chosen and key in repeated else [key[1]]
        for (chosen, model), key in zip(models, called, strict=True)
    ]
    names = distinct_names(words, [dataset for dataset, _ in called])
    named = [replace(model, name=name) for (_, model), name in zip(models, names, strict=True)]
    keys = [(model.table.dataset, model.name) for model in named]
    if twice := next((name for dataset, name in keys if keys.count((dataset, name)) > 1), None):
        raise InputError(f"two runs are called {twice!r:.60}. Name them: {{'a': …, 'b': …}}, or a=RUN b=RUN.")
    return named


def _words(model: EvaluatedModel, name: str) -> list[str]:
    """The words of the folders of a model; of seeds, those that their folders share, up to the model's name."""
    folders = ["/".join(words_of(run.folder)) for run in model.runs if run.folder]
    if len(folders) == 1:
        return folders[0].split("/")
    *parents, ending = model_name([RunOf("", "", folder, Training(), None) for folder in folders]).split("/")
    last = name.rpartition("/")[2]
    return [*parents, last] if ending == last else [*parents, ending, last]


def _called(model: EvaluatedModel) -> str:
    title = model.table.model.partition(" (")[0]
    if title != UNKNOWN:
        return title
    return words_of(model.folder)[-1] if model.folder else "model"


SHOWN = ("side", "cardinality", "leak", "pattern", "seen", "answer-popularity", "known-answers", "relation-frequency")
"""the slices of the page, if the dataset gives them"""


def with_slices(tables: Tables, dataset: Dataset | None, names: Iterable[str]) -> Tables:
    """Add slices to tables of the same rows in the same order, as far as the dataset gives them."""
    for name in names:
        every = [table for runs in tables.values() for table in runs]
        if dataset is None or slice_of(name) is None or any(name in table.columns for table in every):
            continue
        try:
            column = annotate(every[0], dataset, [name]).data.column(name)
        except KgevalError:  # the dataset lacks a split, or has other labels: the page goes without this slice
            continue
        tables = {
            model: [replace(table, data=table.data.append_column(name, column)) for table in runs]
            for model, runs in tables.items()
        }
    return tables


HEADLINES = ("mrr", "hits@1", "hits@3", "hits@10", "amri")
"""the metrics of the leaderboard, the first of which orders it"""

KEY = ["head_label", "relation_label", "tail_label", "side"]

Tables: TypeAlias = Mapping[str, Sequence[RankTable]]
"""of each model the ranks of its runs; all tables have the same rows in the same order"""


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
    def metric(self) -> MetricName:
        """The metric that orders the models, and that slices and relations have."""
        return self.grid.metrics[0]

    @property
    def pairs(self) -> list[PairedDifference]:
        """The differences of each two models by the first metric; none of a single model."""
        return self.block.pairs_by(self.metric)

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
    def tables(self) -> Tables:
        runs = [run.table for run in self.runs]
        if len(runs) > 1:
            rows = shared_rows({str(place): table for place, table in enumerate(runs)}).rows.values()
            runs = [
                replace(table, data=table.data.take(pa.array(of_table)))
                for table, of_table in zip(runs, rows, strict=True)
            ]
        ordered = iter(runs)
        return {model.name: [next(ordered) for _ in model.runs] for model in self.models}

    @cached_property
    def sliced(self) -> Tables:
        return with_slices(self.tables, self.dataset, SHOWN)

    @cached_property
    def ranks(self) -> dict[str, list[Float64Array]]:
        """The ranks of the tables, of each run of each model; float64[row]."""
        return {name: [self.ranks_of(table) for table in tables] for name, tables in self.tables.items()}

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The rows of all models: labels, side and any time, the rank of each model m0, m1, … and its ties.

        A model of several seeds has those of its middle run.
        """
        first = self.tables[self.names[0]][0]
        frame: pd.DataFrame = first.data.select([*KEY, *([] if first.times is None else [TIME])]).to_pandas()
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


def study_of(
    models: Sequence[EvaluatedModel],
    dataset: Dataset | Source | None,
    *,
    intervals: Unit = "triple",
    ties: Ties | None = None,
    allow: str | Collection[str] = (),
    metrics: Sequence[str] = HEADLINES,
) -> Study:
    """Study the models of one dataset, by default the one that their runs name."""
    names = [model.name for model in models]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(
            f"{twice!r} has runs of several datasets: choose the runs of one dataset, or name them a=RUN b=RUN."
        )
    graph = read_dataset(models) if dataset is None else as_dataset(dataset)
    metric = parse_all(metrics)[0]
    policy = ties or common_ties(model.ties for model in models)
    ordered = in_order(models, metric, {model.name: mean_of_runs(model, str(metric), policy) for model in models})
    shared = _on_shared_rows(ordered)

    runs = {model.name: [run.table for run in model.runs] for model in ordered}
    baselines = [model.name for model in ordered if model.baseline]
    how: dict[str, Any] = {"intervals": intervals, "ties": policy, "baselines": baselines, "allow": allow}
    grid = compare_grid({ordered[0].table.dataset: runs}, metrics, spread="interval", **how)
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


def mean_of_runs(model: EvaluatedModel, metric: str, ties: Ties) -> float:
    """The mean of a metric over the runs of a model; NaN where it is undefined."""
    return float(np.mean([first_value(summarize(run.table, metric, ties=ties).groups[0]) for run in model.runs]))


def first_value(group: Group) -> float:
    """The first metric of a group; NaN where it is undefined."""
    value = next(iter(group.values.values()))
    return np.nan if value is None else value


def _on_shared_rows(models: list[EvaluatedModel]) -> list[EvaluatedModel]:
    """Keep of the tables of all models and seeds what all of them ranked."""
    runs_of_all = [run for model in models for run in model.runs]
    same = shared_rows({str(place): run.table for place, run in enumerate(runs_of_all)})
    if same.of_all:
        return models
    masks = (same.mask(name) for name in same.rows)
    cut = [[replace(run, table=run.table.where(next(masks))) for run in model.runs] for model in models]
    return [
        replace(model, table=runs[model.middle].table, seeds=tuple(runs) if model.seeds else ())
        for model, runs in zip(models, cut, strict=True)
    ]


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
