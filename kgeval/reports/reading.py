"""Read the runs of a page: run directories, folders of runs, files of ranks, or tables in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from kgeval.base.errors import InputError
from kgeval.base.provenance import UNKNOWN
from kgeval.data.dataset import Dataset
from kgeval.metrics.rank_summary import rank_summary
from kgeval.metrics.ranks.ties import Ties, note_on_missing, tie_policies, tie_policy
from kgeval.metrics.selection import MetricOptions
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.protocols.protocol import protocol_of
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.run_directory.folders import (
    RunOf,
    Training,
    distinct_names,
    join_seeds,
    model_name,
    runs_at,
    words_of,
)
from kgeval.ranking.run_directory.stored_run import StoredRun
from kgeval.reports.document import isolated


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
    """the run of each seed, if there are several; the other fields are those of the run with the middle MRR"""

    @property
    def runs(self) -> tuple[EvaluatedModel, ...]:
        return self.seeds or (self,)

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
    return [own[0] if len(own) == 1 else (own[0][0], model_of_seeds(own)) for own in members]


def model_of_seeds(runs: Sequence[tuple[str, EvaluatedModel]]) -> EvaluatedModel:
    """Make one model of several runs: their seeds, and the ranks of the run in the middle by mean reciprocal rank."""
    values = []
    for _, run in runs:
        summary = rank_summary(run.table, ["mrr"], by=(), options=MetricOptions(run.ties))
        values.append(next((value for value in summary.groups[0].values.values() if value is not None), 0.0))
    middle = sorted(range(len(runs)), key=lambda place: values[place])[(len(runs) - 1) // 2]
    unnamed = [_run_of(name, run).chosen or not run.name for name, run in runs]
    seeds = [place if run.training.seed is None else run.training.seed for place, (_, run) in enumerate(runs)]
    named = [
        replace(run, name=f"seed {seed}" if new else run.name)
        for (_, run), seed, new in zip(runs, seeds, unnamed, strict=True)
    ]
    return replace(runs[middle][1], name=model_name([_run_of(*run) for run in runs]), seeds=tuple(named))


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
    if isinstance(runs, str | Path | RankTable | EvaluatedModel):
        runs = [runs]
    several = runs.items() if isinstance(runs, Mapping) else runs
    named = [run if isinstance(run, tuple) else ("", run) for run in several]
    models = join_models([(name, model) for name, run in named for model in _read(run, name)])
    if not models:
        raise InputError("no runs: give at least one run directory, or a file of ranks.")
    return _named_apart(models)


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


def _read(run: Run, name: str) -> Iterator[EvaluatedModel]:
    if isinstance(run, EvaluatedModel):
        yield replace(run, name=name or run.name)
        return
    if isinstance(run, RankTable):
        yield EvaluatedModel(name, run)
        return
    found = [(own, _read_one(path, "")) for own, path in runs_at(Path(run), named=bool(name)).items()]
    names = distinct_names([own.split("/") for own, _ in found], [model.table.dataset for _, model in found])
    yield from (replace(model, name=f"{name} {own}".strip()) for own, (_, model) in zip(names, found, strict=True))


def _read_one(path: Path, name: str) -> EvaluatedModel:
    run = StoredRun(path)
    if not run.is_complete:
        return EvaluatedModel(name, run.ranks(), folder=path)
    return EvaluatedModel(name, run.ranks(), run.config, run.manifest, path, run.predictions, run.changes)


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
    *parents, own = model_name([RunOf("", "", folder, Training(), None) for folder in folders]).split("/")
    last = name.rpartition("/")[2]
    return [*parents, last] if own == last else [*parents, own, last]


def _called(model: EvaluatedModel) -> str:
    title = model.table.model.partition(" (")[0]
    if title != UNKNOWN:
        return title
    return words_of(model.folder)[-1] if model.folder else "model"
