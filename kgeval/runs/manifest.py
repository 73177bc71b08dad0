"""The manifest of a run: what its numbers depend on, with the SHA-256 of every input file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
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
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.config.variables import Variables
from kgeval.runs.jobs import Job
from kgeval.runs.model_evaluation import ModelEvaluation
from kgeval.runs.results import Result
from kgeval.runs.shards.fingerprint import Fingerprint, leaves
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


FileHashes = Callable[[Path], str]
"""the SHA-256 of a file, computed once in a run"""


def config_content(config: RunConfig) -> dict[str, Any]:
    """Return the content of a model's ``config.yaml``: with variables as written, without keys that do not apply."""
    return dict(config.document.variables.as_written(_values(config)))


def variable_digests(config: RunConfig) -> dict[str, str]:
    """Return the SHA-256 of each value that is hidden by its variables, but for paths: their files have one each."""
    values, written = leaves(Variables().as_written(_values(config))), leaves(config_content(config))
    hidden = {key: value for key, value in values.items() if value != written[key] and not exists_safely(Path(value))}
    return {key: sha256(value.encode()).hexdigest() for key, value in hidden.items()}


def _values(config: RunConfig) -> dict[str, Any]:
    inapplicable = {"evaluation", *INAPPLICABLE_OPTIONS[config.task.kind]} if config.task else set()
    content = config.model_dump(mode="json", exclude_none=True, exclude=inapplicable)
    if "evaluation" in content and "sides" not in config.evaluation.model_fields_set:
        del content["evaluation"]["sides"]  # they are the model's to say
    return content


def fingerprint(
    job: Job, dataset: Dataset, model: Scorer | VectorScorer | None, evaluation: ModelEvaluation, hashes: FileHashes
) -> Fingerprint:
    """What the numbers of a model's run depend on."""
    config, files = job.config, _files(job, dataset, model, evaluation, hashes)
    return Fingerprint(
        leaves(config_content(config)), dataset.sha256(), files, version("kgeval"), variable_digests(config)
    )


def _files(
    job: Job, dataset: Dataset, model: Scorer | VectorScorer | None, evaluation: ModelEvaluation, hashes: FileHashes
) -> dict[str, str]:
    """The SHA-256 of the files of dataset, model (a live one has none) and negatives, by paths as they were written."""
    conceal = job.config.document.variables.conceal
    files = [*dataset.files, *getattr(model, "files", ()), *evaluation.files]
    return {conceal(unstaged(str(path))): hashes(path) for path in files}


def manifest(
    job: Job,
    dataset: Dataset,
    model: Scorer | VectorScorer,
    evaluation: ModelEvaluation,
    result: Result,
    hashes: FileHashes,
    seconds: Mapping[str, float],
) -> dict[str, Any]:
    seeds = {"corruption": evaluation.seed, **job.seeds}
    learned = dataset.training_graph
    return {
        "schema": 1,
        **describe_machine(),
        "dataset": {**graph_facts(dataset), **({} if learned is None else {"training_graph": graph_facts(learned)})},
        "model": _describe(model, job.config.document.variables),
        "seeds": {name: seed for name, seed in seeds.items() if seed is not None},
        "sha256": _files(job, dataset, model, evaluation, hashes),
        **({"variables": digests} if (digests := variable_digests(job.config)) else {}),
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
