"""Read the runs of a page: run directories, folders of runs, files of ranks, or tables in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from kgeval.data.dataset import Dataset
from kgeval.data.loading import PYKEEN, load_dataset
from kgeval.errors import InputError
from kgeval.files.opening import read_settings
from kgeval.files.variables import expanded
from kgeval.files.yaml_text import read_yaml
from kgeval.provenance import UNKNOWN
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_table import RankTable
from kgeval.reports.evaluated_model import EvaluatedModel
from kgeval.reports.seeds import join_seeds
from kgeval.run_directory.contents import (
    CONFIG,
    MANIFEST,
    METRICS,
    PREDICTIONS,
    altered,
    is_run,
    read_json,
    read_ranks,
)
from kgeval.run_directory.folders import belongs_to_runs, distinct_names, runs_in, words_of

Run: TypeAlias = str | Path | RankTable | EvaluatedModel
"""a run directory, a folder of runs, a file of ranks; or in memory, a table, or one with what is known of it"""

Runs: TypeAlias = Run | Iterable[Run | tuple[str, Run]] | Mapping[str, Run]
"""a run, or several, which may have names"""


def read_models(runs: Runs) -> list[EvaluatedModel]:
    """Read runs; one without a name is called by its model or, where two are called alike, by its folder.

    Runs of several seeds of one training, if they have no names, are one model.

    Raises
    ------
    InputError
        if there are none, if one cannot be read or ranked nothing, or if two have one name
    """
    several = (
        [runs]
        if isinstance(runs, str | Path | RankTable | EvaluatedModel)
        else runs.items()
        if isinstance(runs, Mapping)
        else runs
    )
    named = [run if isinstance(run, tuple) else ("", run) for run in several]
    models = join_seeds([(name, model) for name, run in named for model in _read(run, name)])
    if not models:
        raise InputError("no runs: give at least one run directory, or a file of ranks.")
    return _named_apart(models)


def read_dataset(models: Iterable[EvaluatedModel]) -> Dataset | None:
    """Read the graph that the models were ranked on, where a run says which it is and it is still the same."""
    for model in models:
        source = model.config.get("dataset")
        if not isinstance(source, Mapping):
            continue
        try:
            source = expanded(dict(source))
            place, layout = source.get("path"), source.get("layout", "auto")
            if place is None:  # a folder of that name, wherever this is read, is another graph
                place, layout = source["name"], PYKEEN
            dataset = load_dataset(place, layout=layout, names=tuple(source.get("names") or ()))
        except (InputError, KeyError, OSError, TypeError):
            continue
        if dataset.sha256() == model.fingerprint:
            return dataset
    return None


def _read(run: Run, name: str) -> Iterator[EvaluatedModel]:
    """Read a run, or those inside a folder, each by its path in it; other files of runs are passed over."""
    if isinstance(run, EvaluatedModel):
        yield replace(run, name=name or run.name)
        return
    if isinstance(run, RankTable):
        yield EvaluatedModel(name, run)
        return
    path = Path(run)
    if not name and belongs_to_runs(path):
        return
    if runs := runs_in(path):
        yield from (_read_one(inner, f"{name} {own}".strip()) for own, inner in runs.items())
    else:
        yield _read_one(path, name)


def _read_one(path: Path, name: str) -> EvaluatedModel:
    table = read_ranks(path)
    if not is_run(path):
        return EvaluatedModel(name, table, folder=path)
    names = [file for file in altered(path) if file != MANIFEST]
    remarks = (f"not as the run wrote it: {', '.join(names)}.",) if names else ()
    config: Any = read_yaml(read_settings(path / CONFIG)) if (path / CONFIG).is_file() else {}
    if not isinstance(config, Mapping):
        raise InputError(f"{path / CONFIG}: not the configuration of a run.")
    predictions = PredictionTable.from_parquet(path / PREDICTIONS) if (path / PREDICTIONS).is_file() else None
    metrics = read_json(path / METRICS) if (path / METRICS).is_file() else {}
    return EvaluatedModel(name, table, config, read_json(path / MANIFEST), path, predictions, remarks, metrics)


def _named_apart(models: list[tuple[str, EvaluatedModel]]) -> list[EvaluatedModel]:
    """Give each model a name of its own: the one that was chosen, or else what it is called, or its folders."""
    called = [model.name or _called(model) for _, model in models]
    repeated = {name for name in called if called.count(name) > 1}
    words = [
        words_of(model.folder) if name in repeated and not chosen and model.folder else [name]
        for (chosen, model), name in zip(models, called, strict=True)
    ]
    named = [replace(model, name=name) for (_, model), name in zip(models, distinct_names(words), strict=True)]
    names = [model.name for model in named]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two runs are called {name!r:.60}. Name them: {{'a': …, 'b': …}}, or a=RUN b=RUN.")
    return named


def _called(model: EvaluatedModel) -> str:
    """Call a model by what was ranked, without the file that it was read from."""
    title = model.table.model.partition(" (")[0]
    if title != UNKNOWN:
        return title
    return words_of(model.folder)[-1] if model.folder else "model"
