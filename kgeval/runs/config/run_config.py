"""``RunConfig``, the configuration of a run: dataset, model, evaluation, metrics, output.

It has the keys that the guide on configurations lists; the docstring below each is its description in the
schema. It also reads what it names, the dataset and the model. :mod:`kgeval.runs.config.load` makes it from a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import ConfigDict, Field, PrivateAttr, TypeAdapter, field_validator, model_validator

from kgeval.base.errors import ConfigError
from kgeval.base.extras import OF_REPORT, refuse_missing
from kgeval.base.settings import ExistingFile, PathText, Settings, as_validation_error, writable
from kgeval.data.dataset import Dataset
from kgeval.data.dataset_config import DatasetConfig, dataset_block, readable
from kgeval.metrics.kinds import KINDS, KindName
from kgeval.metrics.ranks.ties import tie_policy
from kgeval.models.baselines import Baseline, FittedBaseline
from kgeval.models.checkpoints import Checkpoint
from kgeval.ranking.corruption import CandidateUnion
from kgeval.ranking.corruption.generator import Corruption
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.protocols.protocol import ResolvedEvaluation, find_protocol
from kgeval.ranking.rules import STANDARD
from kgeval.ranking.tasks.classification import Classification
from kgeval.ranking.tasks.confidences import Confidences
from kgeval.runs.config.metric_request import MetricRequest
from kgeval.runs.config.models import (
    CheckpointConfig,
    ModelConfig,
    RanksConfig,
    TrainingConfig,
    model_block,
    require_any,
)
from kgeval.runs.config.yaml_document import Document
from kgeval.runs.executors import ExecutorConfig, RayExecutor
from kgeval.runs.trackers import TrackerConfig
from kgeval.stored.contents import is_run_name


class RunEvaluation(Evaluation):
    """How the models are evaluated."""

    shards: Annotated[int, Field(ge=1)] | None = None
    """the number of parts that the queries are ranked in. An interrupted run keeps its finished parts. By default each
    part is about a minute of work. It does not change ranks"""

    @field_validator("corruption")
    @classmethod
    def _files_there(cls, value: Corruption) -> Corruption:
        if isinstance(value, CandidateUnion):
            parts = {"of": [_files_by_key(part) for part in value.of]}
            TypeAdapter(dict[str, list[dict[str, ExistingFile]]]).validate_python(parts)
        else:
            TypeAdapter(dict[str, ExistingFile]).validate_python(_files_by_key(value))
        return value


class Suite(Settings):
    """Many graphs on which models are compared: tables have a row for each, and means over groups of graphs."""

    graphs: list[DatasetConfig] | dict[str, DatasetConfig] | None = None
    """the graphs, in a list or by name, as ``datasets``"""
    groups: dict[str, Annotated[tuple[str, ...], Field(strict=False, min_length=1)]] = Field(default_factory=dict)
    """groups of graphs by name, each a list of names of graphs; a graph may be in several groups"""


class Evaluated(Settings):
    """What is evaluated, and by which rules."""

    dataset: DatasetConfig
    """the dataset"""
    datasets: list[DatasetConfig] | dict[str, DatasetConfig] | None = None
    """several datasets instead of ``dataset``, in a list or by name. The models are run on each, in a folder with that
    name, which results call the dataset too"""
    suite: Suite | None = None
    """many datasets instead of ``dataset``, and groups of them over which means are shown"""
    seeds: list[int] | None = None
    """the seeds of each model that is trained or has ``{seed}`` in its path, unless it has seeds of its own. Each seed
    has a folder inside the model's"""
    model: ModelConfig | None = None
    """the model"""
    models: Annotated[dict[str, ModelConfig], Field(min_length=1)] | None = None
    """several models by name, which give several runs and one table"""
    protocol: str = "standard"
    """the framework whose evaluation rules apply; ``kgeval list protocols`` shows all. A protocol decides which scores
    tie, which entities are candidates, and the defaults for corruption, ties, filter and metrics"""
    evaluation: RunEvaluation = RunEvaluation()
    """how the models are evaluated"""
    executor: ExecutorConfig | None = None
    """where the shards are ranked; by default in this process"""


class TaskRequest(MetricRequest):
    """What to compute from a model's scores. A run stores it, and ``kgeval summarize`` takes it as defaults."""

    task: Annotated[Classification | Confidences, Field(discriminator="kind")] | None = None
    """the task, if it is not a ranking: classification of triples, or prediction of confidences"""


class RunConfig(TaskRequest, Evaluated):
    """One experiment: one dataset, one evaluation, one or several models."""

    model_config = ConfigDict(json_schema_extra=lambda schema: require_any(schema, "dataset", "datasets", "suite"))

    display_name = "configuration"

    tracker: TrackerConfig | None = None
    """a result tracker of PyKEEN, which gets the results of every run"""
    output: PathText | None = None
    """the run directory; by default ``runs/`` and the name of the configuration file"""
    report: bool = False
    """whether the run directory also gets the page ``report.html``; needs ``pip install 'kgeval[report]'``"""

    _document: Document = PrivateAttr(default_factory=lambda: Document("configuration", {}))

    @field_validator("task")
    @classmethod
    def _negatives_there(cls, value: Classification | Confidences | None) -> Classification | Confidences | None:
        source = value.negatives if value is not None else None
        for path in source.files if source is not None else ():
            readable(writable(str(path)))
        return value

    @field_validator("models")
    @classmethod
    def _names_of_folders(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        for name in value or ():
            if not is_run_name(name):
                raise ValueError(f"a model's name becomes the name of its folder, so it cannot be {name!r:.60}")
            writable(name)
        return value

    @field_validator("metrics")
    @classmethod
    def _some_metrics(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("the list is empty. Leave it out for those of the protocol or task, or name some")
        return value

    @field_validator("protocol")
    @classmethod
    def _known_protocol(cls, value: str) -> str:
        with as_validation_error():
            return find_protocol(value).name

    @model_validator(mode="after")
    def _no_contradictions(self) -> RunConfig:
        is_task, is_sample = self.task is not None, self.evaluation.estimate is not None
        in_shards = self.executor is not None or self.evaluation.shards is not None
        mistakes = {
            "give either model (one) or models (several, by name)": (self.model is None) == (self.models is None),
            "report: a page needs ranks, and a task has none. Leave it out": self.report and is_task,
            "intervals: an estimate always has intervals. Leave intervals out": is_sample and self.intervals,
            "estimate: a sample is not ranked in shards. Leave out evaluation.shards and executor": is_sample
            and in_shards,
            "executor: it ranks shards, and a task has none. Leave it out": self.executor and is_task,
            "suite: its tables are of ranks, and a task has none. Write datasets": self.suite and is_task,
            "give either evaluation (a ranking) or task (a classification or confidences)": is_task
            and "evaluation" in self.model_fields_set,
        }
        for mistake, is_made in mistakes.items():
            if is_made:
                raise ValueError(mistake)
        with as_validation_error():
            refuse_missing("report: a page needs", *(OF_REPORT if self.report else ()))
            refuse_missing("executor.kind: ray needs", *(("ray",) if isinstance(self.executor, RayExecutor) else ()))
        return self

    @property
    def document(self) -> Document:
        return self._document

    @property
    def jobs(self) -> dict[str, CheckpointConfig | TrainingConfig | RanksConfig | Baseline]:
        return {"": self.model} if self.model is not None else dict(self.models or {})

    @property
    def kind(self) -> KindName:
        """What is computed: ranks, or the results of a task."""
        return "ranks" if self.task is None else self.task.kind

    def load_dataset(self) -> Dataset:
        return self.dataset.load().snapshot()

    def load_model(self, dataset: Dataset) -> Checkpoint | FittedBaseline:
        """Read the one model from its files, or count a baseline; a model to train, and ranks alone, are refused."""
        if isinstance(self.model, RanksConfig | CheckpointConfig) and self.model.gives_ranks:
            raise ConfigError("model: there are ranks, and no model that scores triples.")
        if self.model is None or isinstance(self.model, TrainingConfig):
            raise ConfigError("model.kind: expected a checkpoint. Train the model with kgeval run first.")
        if isinstance(self.model, Baseline):
            return self.model.fit(dataset, history=self.evaluation.history)
        return cast("Checkpoint", self.model.load(dataset, self.evaluation))

    def resolved_evaluation(self, dataset: Dataset) -> ResolvedEvaluation:
        """Fill in the settings that the protocol decides; under the standard one, a baseline decides its ties."""
        protocol = find_protocol(self.protocol)
        baseline = self.model if protocol.name == STANDARD.name and isinstance(self.model, Baseline) else None
        ties = self.ties or (None if baseline is None else baseline.ties)
        return protocol.resolve(self.evaluation, dataset, ties=ties, metrics=self.metrics)

    def with_decided(self, resolved: ResolvedEvaluation | None) -> RunConfig:
        """Fill in the settings that the protocol decided for a ranking, or those of a task."""
        if resolved is None:
            ties = self.ties or tie_policy(find_protocol(self.protocol).ties).name
            return self.model_copy(update={"metrics": self.metrics or KINDS[self.kind].metrics, "ties": ties})
        ties = tie_policy(resolved.ties).name
        return self.model_copy(update={"evaluation": resolved.evaluation, "metrics": resolved.metrics, "ties": ties})


def _files_by_key(corruption: Corruption) -> dict[str, str]:
    """Return the files that a corruption reads, by the keys that name them."""
    named = {key: getattr(corruption, key, None) for key in ("path", "types")}
    return {key: file for key, file in named.items() if isinstance(file, str) and Path(file) in corruption.files}


def expand_shorthand(place: list[str], value: Any) -> Any:
    """The block that a value is short for, if there is a short form at its place, the list of its keys."""
    if place == ["intervals"] and isinstance(value, str):
        return {"unit": value}
    if place == ["evaluation", "estimate"] and isinstance(value, int | float):
        return {"error": value}
    if place == ["dataset"]:
        return dataset_block(value)
    if place == ["model"] or (len(place) == 2 and place[0] == "models"):
        return model_block(value)
    return value
