"""The manifest of a run: what its numbers depend on, with the SHA-256 of every input file."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kgeval.baselines.baseline import FittedBaseline
from kgeval.checkpoints import Checkpoint
from kgeval.data.dataset import Dataset
from kgeval.paths import exists_safely
from kgeval.run_directory.contents import describe_machine, graph_facts, ranking_facts
from kgeval.run_directory.staging import unstaged
from kgeval.runs.config.metric_request import INAPPLICABLE_OPTIONS
from kgeval.runs.config.models import TrainingConfig
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.config.variables import Variables
from kgeval.runs.jobs import Job, ModelEvaluation
from kgeval.runs.results import Result
from kgeval.runs.shards.fingerprint import Fingerprint, leaves, slow_hash
from kgeval.scorers.aligned import Aligned
from kgeval.scorers.scorer import Scorer, VectorScorer


@dataclass
class Clock:
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def time(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[step] = round(time.perf_counter() - start, 3)


def config_content(config: RunConfig) -> dict[str, Any]:
    """Return the content of a model's ``config.yaml``: with variables as written, without keys that do not apply."""
    return dict(config.document.variables.as_written(_values(config)))


def variable_digests(config: RunConfig, dataset: Dataset) -> dict[str, str]:
    """Return the slow hash of each value that variables hide, but for paths: their files have a SHA-256 each."""
    values, written = leaves(Variables().as_written(_values(config))), leaves(config_content(config))
    hidden = {key: value for key, value in values.items() if value != written[key] and not exists_safely(Path(value))}
    return {key: slow_hash(value, dataset.sha256(), key) for key, value in hidden.items()}


def _values(config: RunConfig) -> dict[str, Any]:
    inapplicable = {"evaluation", *INAPPLICABLE_OPTIONS[config.task.kind]} if config.task else set()
    content = config.model_dump(mode="json", exclude_none=True, exclude=inapplicable)
    if "evaluation" in content and "sides" not in config.evaluation.model_fields_set:
        del content["evaluation"]["sides"]  # they are the model's to say
    return content


def fingerprint(job: Job, model: Scorer | VectorScorer | None, evaluation: ModelEvaluation) -> Fingerprint:
    """What the numbers of a model's run depend on."""
    config, files = leaves(config_content(job.config)), _files(job, model, evaluation)
    variables = variable_digests(job.config, evaluation.dataset)
    return Fingerprint(config, evaluation.dataset.sha256(), files, version("kgeval"), variables)


def _files(job: Job, model: Scorer | VectorScorer | None, evaluation: ModelEvaluation) -> dict[str, str]:
    """The SHA-256 of the input files, by their paths as they were written."""
    conceal = job.config.document.variables.conceal
    return {conceal(unstaged(path)): digest for path, digest in evaluation.input_digests(model).items()}


def manifest(
    job: Job, model: Scorer | VectorScorer, evaluation: ModelEvaluation, result: Result, seconds: Mapping[str, float]
) -> dict[str, Any]:
    dataset, learned = evaluation.dataset, evaluation.dataset.training_graph
    training = job.model.random_seed if isinstance(job.model, TrainingConfig) else None
    seeds = {"corruption": evaluation.seed, "training": training}
    return {
        "schema": 1,
        **describe_machine(),
        "dataset": {**graph_facts(dataset), **({} if learned is None else {"training_graph": graph_facts(learned)})},
        "model": _describe(model, job.config.document.variables),
        "seeds": {name: seed for name, seed in seeds.items() if seed is not None},
        "sha256": _files(job, model, evaluation),
        **({"variables": digests} if (digests := variable_digests(job.config, evaluation.dataset)) else {}),
        "seconds": dict(seconds),
        **({} if result.ranks is None else ranking_facts(result.ranks)),
        "notes": list(result.table.notes),
    }


def _describe(model: Scorer | VectorScorer, variables: Variables) -> dict[str, Any]:
    if isinstance(model, FittedBaseline):
        return model.describe()
    if not isinstance(model, Checkpoint):
        return {"live": type(model.scorer if isinstance(model, Aligned) else model).__name__}
    described = model.describe() | {"files": [unstaged(str(path)) for path in model.files]}
    return dict(variables.conceal(described))
