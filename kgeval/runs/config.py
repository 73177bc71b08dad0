"""The configuration of a run: dataset, model, evaluation, metrics, output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator

from kgeval.errors import InputError
from kgeval.graph.columns import is_there, nearby
from kgeval.metrics.label_names import parse_label_metrics
from kgeval.metrics.names import parse
from kgeval.metrics.ranks import Ties
from kgeval.protocols.protocol import protocol
from kgeval.ranking.evaluation import Evaluation
from kgeval.scoring.classification import Classification
from kgeval.scoring.confidences import Confidences

Scalar = bool | int | float | str


class Part(BaseModel):
    """A part of a configuration: unknown keys are refused, and nothing is converted silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _or_text(schema: dict[str, Any]) -> None:
    """Allow a bare string in the JSON schema of a block, as the block's validator does."""
    block = dict(schema)
    schema.clear()
    schema["anyOf"] = [{"type": "string"}, block]


def _is_folder(path: str) -> bool:
    return is_there(Path(path)) and Path(path).is_dir()


class DatasetConfig(Part):
    """The graph: a folder, or a PyKEEN name. A bare string is either."""

    model_config = ConfigDict(json_schema_extra=_or_text)

    path: str | None = None
    """a folder in any known layout"""
    name: str | None = None
    """a PyKEEN dataset"""
    layout: str = "auto"
    """the layout of the folder"""
    options: dict[str, Any] = {}
    """what the PyKEEN dataset is constructed with"""

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return {"path": value} if _is_folder(value) or len(Path(value).parts) > 1 else {"name": value}

    @field_validator("path")
    @classmethod
    def _there(cls, value: str | None) -> str | None:
        if value is not None and not _is_folder(value):
            raise ValueError(f"no such folder {value!r}. {nearby(Path(value))}".strip())
        return value

    @model_validator(mode="after")
    def _one_source(self) -> DatasetConfig:
        if (self.path is None) == (self.name is None):
            raise ValueError("give either path (a folder) or name (a PyKEEN dataset)")
        return self


class CheckpointConfig(Part):
    """A model that was trained elsewhere. A bare string is its path."""

    model_config = ConfigDict(json_schema_extra=_or_text)

    kind: Literal["checkpoint"] = "checkpoint"
    path: str
    """a file or a folder"""
    format: str = "auto"
    """how it was written"""
    options: dict[str, Scalar] = {}
    """what its files do not hold, for example ``model: TransE`` and ``norm: 1``"""

    @field_validator("path")
    @classmethod
    def _there(cls, value: str) -> str:
        if not is_there(Path(value)):
            raise ValueError(f"no such file or folder {value!r}. {nearby(Path(value))}".strip())
        return value


class TrainingConfig(Part):
    """A model that PyKEEN trains first. The keys are those of ``pykeen.pipeline.pipeline``."""

    kind: Literal["pykeen"]
    model: str
    model_kwargs: dict[str, Any] = {}
    loss: str | None = None
    loss_kwargs: dict[str, Any] = {}
    regularizer: str | None = None
    regularizer_kwargs: dict[str, Any] = {}
    optimizer: str | None = None
    optimizer_kwargs: dict[str, Any] = {}
    lr_scheduler: str | None = None
    lr_scheduler_kwargs: dict[str, Any] = {}
    training_loop: str | None = None
    training_kwargs: dict[str, Any] = {}
    negative_sampler: str | None = None
    negative_sampler_kwargs: dict[str, Any] = {}
    stopper: str | None = None
    stopper_kwargs: dict[str, Any] = {}
    create_inverse_triples: bool = False
    """train inverse relations too (an option of PyKEEN's datasets)"""
    random_seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    device: str | None = None


def _model_kind(value: Any) -> str:
    given = value.get("kind", "checkpoint") if isinstance(value, dict) else getattr(value, "kind", "checkpoint")
    return str(given)


ModelConfig = Annotated[
    Annotated[CheckpointConfig, Tag("checkpoint")] | Annotated[TrainingConfig, Tag("pykeen")],
    Discriminator(_model_kind),
]


class RunConfig(Part):
    """One experiment: one dataset, one evaluation, one or several models."""

    dataset: DatasetConfig
    model: ModelConfig | None = None
    models: Annotated[dict[str, ModelConfig], Field(min_length=1)] | None = None
    """several models by name: several runs, and one table"""
    protocol: str = "standard"
    """the rules where nothing else is said: ties, filter, metrics"""
    evaluation: Evaluation = Evaluation()
    task: Annotated[Classification | Confidences, Field(discriminator="kind")] | None = None
    """what is asked of the models instead of ranking: to classify triples, or to predict confidences"""
    metrics: tuple[str, ...] = Field((), strict=False)
    """by default those of the task or of the protocol"""
    ties: Ties | None = None
    """by default that of the protocol"""
    output: str | None = None
    """the run directory; by default ``runs/`` and the name of the configuration file"""

    @model_validator(mode="before")
    @classmethod
    def _paths_as_models(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        value = dict(value)
        if isinstance(value.get("model"), str):
            value["model"] = {"path": value["model"]}
        if isinstance(value.get("models"), dict):
            value["models"] = {k: {"path": v} if isinstance(v, str) else v for k, v in value["models"].items()}
        return value

    @field_validator("task")
    @classmethod
    def _negatives_there(cls, value: Classification | Confidences | None) -> Classification | Confidences | None:
        for path in value.negatives.files if value is not None and value.negatives is not None else ():
            if not is_there(path):
                raise ValueError(f"no such file {str(path)!r}. {nearby(path)}".strip())
        return value

    @field_validator("models")
    @classmethod
    def _names_of_folders(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        for name in value or ():
            if name in {"", ".", ".."} or set(name) & set("/\\\0"):
                raise ValueError(f"a model's name is that of its folder, so it cannot be {name!r}")
        return value

    @field_validator("output")
    @classmethod
    def _some_path(cls, value: str | None) -> str | None:
        if value is not None and "\0" in value:
            raise ValueError("a path has no null byte")
        return value

    @field_validator("protocol")
    @classmethod
    def _known_protocol(cls, value: str) -> str:
        try:
            return protocol(value).name
        except InputError as error:
            raise ValueError(str(error)) from error

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "task" not in info.data:  # it is malformed, which is said already: whose metrics these are is not known
            return value
        problems = []
        for name in value:
            try:
                if (task := info.data["task"]) is None:
                    parse(name)
                else:
                    parse_label_metrics([name], confidences=task.kind == "confidences")
            except InputError as error:
                problems.append(str(error))
        if problems:
            raise ValueError(" ".join(problems))
        return value

    @model_validator(mode="after")
    def _some_model(self) -> RunConfig:
        if (self.model is None) == (self.models is None):
            raise ValueError("give either model (one) or models (several, by name)")
        if self.task is not None and "evaluation" in self.model_fields_set:
            raise ValueError("give either evaluation (a ranking) or task (a classification or confidences)")
        return self

    @property
    def jobs(self) -> dict[str, CheckpointConfig | TrainingConfig]:
        """The models by name; a single one has none."""
        return {"": self.model} if self.model is not None else dict(self.models or {})

    def resolved(self) -> RunConfig:
        """Say what the protocol left to be said."""
        if self.task is not None:
            return self.model_copy(update={"ties": self.ties or protocol(self.protocol).ties})
        rules = protocol(self.protocol)
        said = self.evaluation.model_fields_set
        filtering = self.evaluation if "filter" in said else self.evaluation.model_copy(update={"filter": rules.filter})
        update = {"evaluation": filtering, "metrics": self.metrics or rules.metrics, "ties": self.ties or rules.ties}
        return self.model_copy(update=update)
