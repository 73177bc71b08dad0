"""Jobs: the models of a configuration, how each is evaluated, and what its manifest says of that."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kgeval.baselines.baseline import FittedBaseline
from kgeval.checkpoints import Checkpoint, load_checkpoint
from kgeval.checkpoints.checkpoint import with_folder
from kgeval.checkpoints.readers.pykeen.reader import NoFormula
from kgeval.data.dataset import Dataset
from kgeval.files.opening import sha256_of_file
from kgeval.metrics.kinds import KINDS
from kgeval.metrics.names import parse_all
from kgeval.metrics.rank_summary import refuse_absent_sides
from kgeval.paths import exists_safely
from kgeval.progress import Progress
from kgeval.ranking.engine_choice import named_devices
from kgeval.ranking.model_ranking import ModelRanking, RankParts, ranking_of
from kgeval.ranking.predictions.predict_model import PredictionRequest, predict_model
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.ranking_notes import check_unseen
from kgeval.run_directory.contents import MODEL, describe_machine, graph_facts, ranking_facts
from kgeval.run_directory.staging import unstaged
from kgeval.runs.config.models import CheckpointConfig, TrainingConfig
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.config.variables import Variables
from kgeval.runs.results import Result, task_policies
from kgeval.runs.shards.fingerprint import Fingerprint, leaves, slow_hash
from kgeval.runs.stored_model import load_model
from kgeval.runs.stored_result import with_slices
from kgeval.runs.training import train
from kgeval.scorers.aligned import Aligned
from kgeval.scorers.scorer import Scorer, VectorScorer
from kgeval.tasks.classification import Classification


class Job:
    """One model of a configuration, and where its run is written."""

    def __init__(self, config: RunConfig, name: str, stage: Path | None, dataset: Dataset) -> None:
        self.name, self.stage, self.model = name, stage, config.jobs[name]
        self.folder = None if stage is None else stage.parent
        self.step = {CheckpointConfig: "load model", TrainingConfig: "train"}.get(type(self.model), "count")
        """its name among the seconds of the manifest"""
        self._checkpoint: Checkpoint | None = None
        output = None if self.folder is None else str(self.folder)
        alone = config.model_copy(update={"model": self.model, "models": None, "output": output})
        alone._document = replace(config.document, variables=config.document.variables.of_model(name))
        self.config = alone.resolved(dataset)
        """the configuration of this one model, with nothing left open, so that it can be run again by itself"""

    def title_of(self, model: Any) -> str | None:
        """What results call the model; by default what it calls itself, with the path of its file as it was written."""
        files: tuple[Path, ...] = getattr(model, "files", ())
        title = self.name or (self.model.model if isinstance(self.model, TrainingConfig) else "")
        if title or not files:
            return title or None
        path = Path(self.config.document.variables.conceal(str(files[0])))
        return None if path == files[0] else model.title.replace(with_folder(files[0]), "/".join(path.parts[-2:]))

    def read(self, evaluation: ModelEvaluation) -> Checkpoint | FittedBaseline | None:
        """Read and check the model before any model is evaluated; one that is not trained yet is not there."""
        if isinstance(self.model, TrainingConfig):
            saved = (self.folder or Path()) / MODEL
            try:
                return load_checkpoint(saved) if saved.is_dir() else None
            except NoFormula:
                return None
        model = load_model(self.config, evaluation.dataset)
        if isinstance(model, Checkpoint):
            evaluation.check(model)
            self._checkpoint = model
        return model

    def load(self, dataset: Dataset) -> Scorer | VectorScorer:
        """Return the model, read or trained now unless it was read before."""
        if isinstance(self.model, TrainingConfig):
            return train(self.model, dataset, self.stage or Path())
        checkpoint, self._checkpoint = self._checkpoint, None
        return checkpoint or load_model(self.config, dataset)


class ModelEvaluation:
    """The evaluation of each model of a configuration: a ranking, or a task on labelled triples."""

    def __init__(self, config: RunConfig, dataset: Dataset) -> None:
        self.config, self.dataset = config, dataset
        self.step, self.activity = ("rank", "ranking") if config.task is None else ("score", "scoring")
        """its key among the ``seconds`` of the manifest, and its name in the display of progress"""
        self.negatives: Any = config.evaluation.corruption if config.task is None else config.task.negatives
        self._digest = cache(sha256_of_file)

    def sides_of(self, model: Any) -> tuple[str, ...]:
        """The sides of a ranking that a model answers."""
        return self.config.resolved_evaluation(self.dataset).evaluation.for_model(model).sides

    def check(self, model: Any) -> None:
        """Refuse a model that a ranking does not fit, before any model is evaluated."""
        if self.config.task is None:
            named_devices(self.config.evaluation)
            self._refuse_other_sides(model)
            check_unseen(model, self.dataset, self.config.evaluation)

    def _refuse_other_sides(self, model: Any) -> None:
        refuse_absent_sides(parse_all(self.config.metrics), self.sides_of(model), by=self.config.by or ())

    def ranking(self, model: Any, progress: Progress) -> ModelRanking:
        resolved = self.config.resolved_evaluation(self.dataset)
        return ranking_of(model, self.dataset, resolved.evaluation, rules=resolved.rules, progress=progress)

    def num_ranks(self, model: Any) -> int | None:
        """How many ranks it computes of a model, if that is known."""
        if isinstance(self.config.task, Classification) or self.config.evaluation.estimate is not None:
            return None
        if self.config.task is not None:
            return len(self.dataset.test) * len(self.config.task.sides)
        return len(self.dataset.split(self.config.evaluation.split)) * len(self.sides_of(model))

    def evaluate(
        self,
        model: Any,
        *,
        title: str | None,
        policies: Mapping[str, Any],
        progress: Progress,
        rank_parts: RankParts | None = None,
        earlier: RankTable | None = None,
    ) -> Result:
        """Evaluate a model; ``rank_parts`` divides a ranking, and an estimate goes on with an earlier sample."""
        config, dataset, by = self.config, self.dataset, self.config.by or ()
        if config.task is not None:
            shown: dict[str, Any] = {} if isinstance(config.task, Classification) else {"progress": progress}
            scored = config.task(model, dataset, title=title, **shown)
            return Result(scored, config.metrics, task_policies(config.task, policies), by)
        self._refuse_other_sides(model)
        resolved = config.resolved_evaluation(dataset)
        how: dict[str, Any] = {"rank_parts": rank_parts, "earlier": earlier}
        table, predictions = resolved.rank(model, dataset, title=title, progress=progress, **how), None
        if (keep := config.evaluation.keep) and keep.predictions is not None:
            request = PredictionRequest(keep.predictions)
            predictions = predict_model(model, dataset, resolved.evaluation, request, title=table.model)
        grouped = with_slices(table, by, dataset)
        return Result(table, config.metrics, policies, groups_by=by, grouped=grouped, predictions=predictions)

    def input_digests(self, job: Job, model: Any) -> dict[str, str]:
        """The SHA-256 of the files of dataset, model and negatives, by their paths as they were written."""
        files = [*self.dataset.files, *getattr(model, "files", ()), *getattr(self.negatives, "files", ())]
        conceal = job.config.document.variables.conceal
        return {conceal(unstaged(str(path))): self._digest(path) for path in files}

    @property
    def seed(self) -> int | None:
        """The seed of the negatives, if they are drawn."""
        return getattr(getattr(self.negatives, "corruption", self.negatives), "seed", None)


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
    inapplicable = {"evaluation", *KINDS[config.task.kind].without} if config.task else set()
    content = config.model_dump(mode="json", exclude_none=True, exclude=inapplicable)
    if "evaluation" in content and "sides" not in config.evaluation.model_fields_set:
        del content["evaluation"]["sides"]  # they are the model's to say
    return content


def fingerprint(job: Job, model: Scorer | VectorScorer | None, evaluation: ModelEvaluation) -> Fingerprint:
    config, files = leaves(config_content(job.config)), evaluation.input_digests(job, model)
    variables = variable_digests(job.config, evaluation.dataset)
    return Fingerprint(config, evaluation.dataset.sha256(), files, version("kgeval"), variables)


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
        "sha256": evaluation.input_digests(job, model),
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
