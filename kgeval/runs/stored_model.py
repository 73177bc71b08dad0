"""The model that a configuration or a stored run names, as it was when it was ranked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from kgeval.baselines.baseline import Baseline, FittedBaseline
from kgeval.checkpoints import Checkpoint, load_checkpoint
from kgeval.data.dataset import Dataset
from kgeval.errors import ConfigError, InputError
from kgeval.files.opening import sha256_of_file
from kgeval.files.settings_text import expanded
from kgeval.paths import exists_safely, suggest_paths
from kgeval.ranking.evaluation import Evaluation
from kgeval.run_directory.contents import progress_of
from kgeval.run_directory.folders import holds_runs
from kgeval.run_directory.stored_run import StoredRun
from kgeval.runs.config.load import load_config, refuse_unrepeatable
from kgeval.runs.config.models import TrainingConfig
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.config.yaml_document import Document, read_document


class StoredModel(NamedTuple):
    model: Checkpoint | FittedBaseline
    dataset: Dataset
    evaluation: Evaluation
    protocol: str


def load_model(config: RunConfig, dataset: Dataset) -> Checkpoint | FittedBaseline:
    source = config.model
    if source is None or isinstance(source, TrainingConfig):
        raise ConfigError("model.kind: a checkpoint is needed; train it with kgeval run first.")
    if isinstance(source, Baseline):
        return source.fit(dataset)
    return source.load(dataset, nan=config.evaluation.nan)


def read_stored_model(path: Path) -> StoredModel:
    if not exists_safely(path):
        raise InputError(f"no such run directory or checkpoint {str(path)[:200]!r}. {suggest_paths(path)}".strip())
    run = _run_of_one_model(path)
    config = load_config(run.config_file)
    if config.task is not None:
        raise InputError(f"{str(path)!r} is a run of {config.task.kind}: it has no ranks to calibrate.")
    _refuse_changed_inputs(run)
    dataset = config.dataset.load()
    if run.fingerprint != dataset.sha256():
        raise InputError(f"{str(path)!r}: dataset {dataset.name} has other triples than those that were ranked.")
    if isinstance(config.model, TrainingConfig):
        model: Any = load_checkpoint(_trained_model(run), dataset=dataset, nan=config.evaluation.nan)
    else:
        model = load_model(config, dataset)
    return StoredModel(model, dataset, config.evaluation, config.protocol)


def read_stored_document(path: Path) -> Document:
    """Read the configuration of a stored run, with a model that it trained as the checkpoint that it saved."""
    run = _run_of_one_model(path)
    document = read_document(run.config_file)
    refuse_unrepeatable(document)
    model = document.content.get("model")
    if isinstance(model, dict) and model.get("kind") == "pykeen":
        document.content["model"] = {"path": str(_trained_model(run))}
    return document


def _run_of_one_model(path: Path) -> StoredRun:
    run = StoredRun(path)
    if holds_runs(path):
        raise InputError(f"{str(path)!r} holds the runs of several models. Give the folder of one.")
    if not run.is_complete:
        hint = progress_of(path) or " For a checkpoint, add its dataset: --dataset."
        raise InputError(f"{str(path)!r} is no run directory.{hint}")
    return run


def _trained_model(run: StoredRun) -> Path:
    if not run.trained_model.is_dir():
        raise InputError(f"{str(run.path)!r}: the model that it trained is not there any more.")
    return run.trained_model


def _refuse_changed_inputs(run: StoredRun) -> None:
    for name, digest in run.input_digests.items():
        path = Path(name) if exists_safely(Path(name)) else Path(expanded(name))
        if not exists_safely(path) or not path.is_file():
            raise InputError(f"{str(run.path)!r}: {name!r}, which was ranked, is not there any more.")
        if sha256_of_file(path) != digest:
            raise InputError(f"{str(run.path)!r}: {name!r} has changed since it was ranked. Evaluate it again.")
