"""The models of a configuration: read from files, or trained first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from kgeval.base.errors import NoPathError, did_you_mean
from kgeval.base.files import exists_safely, refuse_special, suggest_paths
from kgeval.base.settings import UNTRAINED, ByKind, PathText, Settings, as_validation_error, or_text, short_repr
from kgeval.data.dataset import Dataset
from kgeval.models.baselines import Baseline, baselines
from kgeval.models.checkpoints import Checkpoint, read_checkpoint
from kgeval.models.checkpoints.readers import formats
from kgeval.runs.config.metric_request import Scalar
from kgeval.runs.config.pykeen_components import refuse_unknown

BASELINE = "baseline:"


def model_block(value: Any) -> Any:
    """The block that a bare string is short for: a checkpoint's path, or a baseline, such as ``baseline:inverse``."""
    if not isinstance(value, str):
        return value
    return {"baseline": value.removeprefix(BASELINE)} if value.startswith(BASELINE) else {"path": value}


def _only_run_repeats(value: Any) -> Any:
    if value is not None:  # kgeval run has made a model of each
        raise ValueError("several seeds are several runs, which only kgeval run makes. Choose one")
    return value


Repeated = BeforeValidator(_only_run_repeats)


def _path_or_seeds(schema: dict[str, Any]) -> None:
    """Let the schema require a path, or those of several seeds."""
    schema["required"].remove("path")
    schema["anyOf"] = [{"required": ["path"]}, {"required": ["seeds"]}]
    or_text(schema)


class CheckpointConfig(Settings):
    """A trained model in files. A bare string is its path."""

    model_config = ConfigDict(json_schema_extra=_path_or_seeds)

    trains: ClassVar[bool] = False

    kind: Literal["checkpoint"] = "checkpoint"
    """a model that is read from its files"""
    path: PathText
    """a file or a folder"""
    format: str = "auto"
    """the format of the checkpoint; ``kgeval list formats`` shows all. By default it is recognised from the files"""
    options: dict[str, Scalar] = Field(default_factory=dict)
    """options that the files do not store, for example ``model: TransE`` and ``norm: 1``"""
    seed: int | None = None
    """the seed of the training, if several runs of one model are evaluated"""
    seeds: Annotated[list[int] | dict[int, PathText] | None, Repeated] = None
    """the seeds of this model, for ``{seed}`` in its path; or instead of the path, the path of each seed"""

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        return model_block(value)

    @field_validator("path")
    @classmethod
    def _there(cls, value: str) -> str:
        refuse_special(Path(value))
        if not exists_safely(Path(value)):
            raise NoPathError(f"no such file or folder {short_repr(value)}. {suggest_paths(Path(value))}".strip())
        return value

    @field_validator("format")
    @classmethod
    def _known_format(cls, value: str) -> str:
        name = value.lower()
        if name not in (known := ["auto", *formats()]):
            raise ValueError(
                f"unknown checkpoint format {short_repr(value)}. {did_you_mean(value, known, listed='formats')}"
            )
        return name

    def load(self, dataset: Dataset, *, nan: str) -> Checkpoint:
        """Read the model; ``nan`` is that of :func:`kgeval.load_checkpoint`."""
        return read_checkpoint(Path(self.path), self.options, dataset=dataset, format=self.format, nan=nan)


class TrainingConfig(Settings):
    """A model that PyKEEN trains first. The keys are parameters of ``pykeen.pipeline.pipeline``."""

    trains: ClassVar[bool] = True

    kind: Literal["pykeen"]
    """a model that is trained first"""
    model: str
    """the name of a PyKEEN model"""
    model_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the model, for example ``embedding_dim: 64``"""
    loss: str | None = None
    """the loss; by default that of the model"""
    loss_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the loss"""
    regularizer: str | None = None
    """the regularizer; by default that of the model"""
    regularizer_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the regularizer"""
    optimizer: str | None = None
    """the optimizer; by default Adam"""
    optimizer_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the optimizer, for example ``lr: 0.01``"""
    lr_scheduler: str | None = None
    """the learning-rate schedule; by default none"""
    lr_scheduler_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the schedule"""
    training_loop: str | None = None
    """``slcwa`` (negative sampling, the default) or ``lcwa`` (all entities)"""
    training_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the training, for example ``num_epochs: 40`` and ``batch_size: 256``"""
    negative_sampler: str | None = None
    """the negative sampler of ``slcwa``; by default ``basic``"""
    negative_sampler_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the sampler"""
    stopper: str | None = None
    """``early`` stops when the model's metric on valid no longer improves; by default training does not stop early"""
    stopper_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the stopper"""
    create_inverse_triples: bool = False
    """whether inverse relations are trained too (an option of PyKEEN's datasets)"""
    random_seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """the seed of the training"""
    seeds: Annotated[list[int] | None, Repeated] = None
    """the seeds of this model, if it is trained several times"""
    device: str | None = None
    """the device for training, for example ``cpu`` or ``cuda:0``; by default a GPU if there is one"""

    @field_validator(
        *("model", "loss", "regularizer", "optimizer", "lr_scheduler"),
        *("training_loop", "negative_sampler", "stopper", "device"),
    )
    @classmethod
    def _known(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None:
            with as_validation_error():
                refuse_unknown(str(info.field_name), value)
        return value


def _model_kind(value: Any) -> str:
    block = model_block(value)
    if isinstance(block, dict):
        kind = "baseline" if "baseline" in block else block.get("kind", "checkpoint")
    else:
        kind = getattr(block, "kind", "checkpoint")
    return UNTRAINED if kind == "baseline" else str(kind)


ModelConfig = Annotated[
    Annotated[CheckpointConfig, Tag("checkpoint")]
    | Annotated[TrainingConfig, Tag("pykeen")]
    | Annotated[Baseline, ByKind(Baseline, baselines, key="baseline"), BeforeValidator(model_block), Tag(UNTRAINED)],
    Discriminator(_model_kind),
]
"""a checkpoint, a training or a baseline, by the key ``kind`` or ``baseline``; a bare string is a path or
``baseline:NAME``"""
