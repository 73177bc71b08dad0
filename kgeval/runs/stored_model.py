"""The model that a configuration or a stored run names, as it was when it was ranked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from kgeval.baselines.baseline import Baseline, FittedBaseline
from kgeval.checkpoints import Checkpoint, load_checkpoint
from kgeval.data.dataset import Dataset
from kgeval.errors import ConfigError, InputError
from kgeval.files.opening import sha256_of_file
from kgeval.files.variables import expanded
from kgeval.paths import exists_safely, suggest_paths
from kgeval.ranking.evaluation import Evaluation
from kgeval.run_directory.contents import CONFIG, MANIFEST, MODEL, is_run, progress_of, read_block, read_json
from kgeval.run_directory.folders import holds_runs
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


def read_stored_model(run: Path) -> StoredModel:
    if not exists_safely(run):
        raise InputError(f"no such run directory or checkpoint {str(run)[:200]!r}. {suggest_paths(run)}".strip())
    _refuse_other_folders(run)
    config = load_config(run / CONFIG)
    if config.task is not None:
        raise InputError(f"{str(run)!r} is a run of {config.task.kind}: it has no ranks to calibrate.")
    _refuse_changed_files(run)
    dataset = config.dataset.load()
    if read_block(run, "dataset").get("sha256") != dataset.sha256():
        raise InputError(f"{str(run)!r}: dataset {dataset.name} has other triples than those that were ranked.")
    if isinstance(config.model, TrainingConfig):
        model: Any = load_checkpoint(_trained_model(run), dataset=dataset, nan=config.evaluation.nan)
    else:
        model = load_model(config, dataset)
    return StoredModel(model, dataset, config.evaluation, config.protocol)


def read_stored_document(run: Path) -> Document:
    """Read the configuration of a stored run, with a model that it trained as the checkpoint that it saved."""
    _refuse_other_folders(run)
    document = read_document(run / CONFIG)
    refuse_unrepeatable(document)
    model = document.content.get("model")
    if isinstance(model, dict) and model.get("kind") == "pykeen":
        document.content["model"] = {"path": str(_trained_model(run))}
    return document


def _refuse_other_folders(run: Path) -> None:
    if holds_runs(run):
        raise InputError(f"{str(run)!r} holds the runs of several models. Give the folder of one.")
    if not is_run(run):
        hint = progress_of(run) or " For a checkpoint, add its dataset: --dataset."
        raise InputError(f"{str(run)!r} is no run directory.{hint}")


def _trained_model(run: Path) -> Path:
    if not (run / MODEL).is_dir():
        raise InputError(f"{str(run)!r}: the model that it trained is not there any more.")
    return run / MODEL


def _refuse_changed_files(run: Path) -> None:
    digests: Any = read_json(run / MANIFEST).get("sha256")
    if not isinstance(digests, dict):
        raise InputError(f"{str(run / MANIFEST)!r} is damaged: it does not say which files were ranked.")
    for name, digest in digests.items():
        path = Path(name) if exists_safely(Path(name)) else Path(expanded(name))
        if not exists_safely(path) or not path.is_file():
            raise InputError(f"{str(run)!r}: {name!r}, which was ranked, is not there any more.")
        if sha256_of_file(path) != digest:
            raise InputError(f"{str(run)!r}: {name!r} has changed since it was ranked. Evaluate it again.")
