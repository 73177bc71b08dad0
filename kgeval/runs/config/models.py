"""The models of a configuration: read from their files, or trained first."""

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

from kgeval.baselines.baseline import Baseline, baselines
from kgeval.checkpoints import Checkpoint, read_checkpoint
from kgeval.checkpoints.reader import formats
from kgeval.data.dataset import Dataset
from kgeval.errors import NoPathError, did_you_mean
from kgeval.files.opening import refuse_special
from kgeval.paths import exists_safely, suggest_paths
from kgeval.runs.config.metric_request import Scalar
from kgeval.runs.config.pykeen_components import refuse_unknown
from kgeval.settings.by_kind import ByKind
from kgeval.settings.messages import UNTRAINED, short_repr
from kgeval.settings.settings import PathText, Settings, as_validation_error, or_text
from kgeval.synonyms import current

BASELINE = "baseline:"


def model_block(value: Any) -> Any:
    """The block that a bare string stands for: a checkpoint's path, or a baseline, as ``baseline:inverse``."""
    if not isinstance(value, str):
        return value
    return {"baseline": value.removeprefix(BASELINE)} if value.startswith(BASELINE) else {"path": value}


class CheckpointConfig(Settings):
    """A model that was trained elsewhere. A bare string is its path."""

    model_config = ConfigDict(json_schema_extra=or_text)

    trains: ClassVar[bool] = False

    kind: Literal["checkpoint"] = "checkpoint"
    """a model that is read from its files"""
    path: PathText
    """a file or a folder"""
    format: str = "auto"
    """how it was written, by default recognised from its files; ``kgeval list formats`` shows all"""
    options: dict[str, Scalar] = Field(default_factory=dict)
    """what its files do not hold, for example ``model: TransE`` and ``norm: 1``"""
    seed: int | None = None
    """the seed that it was trained with, where several runs of one model are evaluated"""

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
        name: str = current("format", value.lower())
        if name not in (known := ["auto", *formats()]):
            raise ValueError(
                f"unknown checkpoint format {short_repr(value)}. {did_you_mean(value, known, listed='formats')}"
            )
        return name

    def load(self, dataset: Dataset, *, nan: str) -> Checkpoint:
        """Read the model; ``nan`` is that of :func:`kgeval.load_checkpoint`."""
        return read_checkpoint(Path(self.path), self.options, dataset=dataset, format=self.format, nan=nan)


class TrainingConfig(Settings):
    """A model that PyKEEN trains first. The keys are those of ``pykeen.pipeline.pipeline``."""

    trains: ClassVar[bool] = True

    kind: Literal["pykeen"]
    """a model that is trained first"""
    model: str
    """the name of a PyKEEN model"""
    model_kwargs: dict[str, Any] = Field(default_factory=dict)
    """what the model is constructed with, for example ``embedding_dim: 64``"""
    loss: str | None = None
    """the loss; by default that of the model"""
    loss_kwargs: dict[str, Any] = Field(default_factory=dict)
    """what the loss is constructed with"""
    regularizer: str | None = None
    """the regularizer; by default that of the model"""
    regularizer_kwargs: dict[str, Any] = Field(default_factory=dict)
    """what the regularizer is constructed with"""
    optimizer: str | None = None
    """the optimizer; by default Adam"""
    optimizer_kwargs: dict[str, Any] = Field(default_factory=dict)
    """what the optimizer is constructed with, for example ``lr: 0.01``"""
    lr_scheduler: str | None = None
    """the schedule of the learning rate; by default none"""
    lr_scheduler_kwargs: dict[str, Any] = Field(default_factory=dict)
    """what the schedule is constructed with"""
    training_loop: str | None = None
    """``slcwa`` (negative sampling, the default) or ``lcwa`` (all entities)"""
    training_kwargs: dict[str, Any] = Field(default_factory=dict)
    """what the training is called with, for example ``num_epochs: 40`` and ``batch_size: 256``"""
    negative_sampler: str | None = None
    """how ``slcwa`` draws its negatives; by default ``basic``"""
    negative_sampler_kwargs: dict[str, Any] = Field(default_factory=dict)
    """what the sampler is constructed with"""
    stopper: str | None = None
    """``early`` stops when the model gets no better, as kgeval evaluates it on the valid split; by default never"""
    stopper_kwargs: dict[str, Any] = Field(default_factory=dict)
    """what the stopper is constructed with"""
    create_inverse_triples: bool = False
    """train inverse relations too (an option of PyKEEN's datasets)"""
    random_seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """the seed of everything that is drawn in training"""
    device: str | None = None
    """where to train, for example ``cpu`` or ``cuda:0``; by default on a GPU where there is one"""

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
"""one of them, by its ``kind`` or by the key ``baseline``; a bare string is a path, or ``baseline:`` and a name"""
