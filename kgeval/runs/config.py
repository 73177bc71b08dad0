"""The configuration of a run: dataset, model, evaluation, metrics, output."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, PrivateAttr, field_validator, model_validator

from kgeval.complaints import shown
from kgeval.corruption import AllEntities, FromFile, Uniform
from kgeval.errors import did_you_mean
from kgeval.graph.dataset import SPLITS, Split
from kgeval.graph.layouts import layouts
from kgeval.graph.text import first_line
from kgeval.metrics.ranks import Ties
from kgeval.paths import is_there, nearby
from kgeval.protocols.protocol import protocol
from kgeval.ranking.evaluation import Evaluation
from kgeval.runs.document import Document
from kgeval.runs.models import CheckpointConfig, ModelConfig, TrainingConfig, checkpoint_block
from kgeval.runs.values import Metrics, PathText, or_text, refusing, writable
from kgeval.settings import Settings


def _is_folder(path: str) -> bool:
    return is_there(Path(path)) and Path(path).is_dir()


def dataset_block(value: Any) -> Any:
    """Say the block that a bare string stands for: a folder's path, or a PyKEEN name."""
    if not isinstance(value, str):
        return value
    return {"path": value} if _is_folder(value) or len(Path(value).parts) > 1 else {"name": value}


class DatasetConfig(Settings):
    """The graph: a folder, or a PyKEEN name. A bare string is either."""

    model_config = ConfigDict(json_schema_extra=or_text)

    path: PathText | None = None
    """a folder in any known layout"""
    name: str | None = None
    """a PyKEEN dataset"""
    layout: str = "auto"
    """the layout of the folder, by default recognised from its files; ``kgeval list datasets`` shows all"""
    options: dict[str, Any] = Field(default_factory=dict)
    """what the PyKEEN dataset is constructed with"""

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        return dataset_block(value)

    @field_validator("path")
    @classmethod
    def _there(cls, value: str | None) -> str | None:
        if value is not None and not _is_folder(value):
            raise ValueError(f"no such folder {shown(value)}. {nearby(Path(value))}".strip())
        return value

    @field_validator("layout")
    @classmethod
    def _known_layout(cls, value: str) -> str:
        if value not in (known := ["auto", *layouts()]):
            raise ValueError(f"unknown dataset layout {shown(value)}. {did_you_mean(value, known)}")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> DatasetConfig:
        if (self.path is None) == (self.name is None):
            raise ValueError("give either path (a folder) or name (a PyKEEN dataset)")
        if self.path is not None and self.options:
            raise ValueError("options are those of a PyKEEN dataset, by its name; a folder has none")
        if self.name is not None and self.layout != "auto":
            raise ValueError("a layout is that of a folder, by its path; a PyKEEN dataset has none")
        return self


class GivenFile(FromFile):
    """Corrupt a triple with the negatives of a file, which has to be there before any work is done."""

    path: PathText
    """TSV, CSV or Parquet with the columns head, relation, tail and optionally side; a header names them"""

    @field_validator("path")
    @classmethod
    def _readable(cls, value: str) -> str:
        with refusing():
            first_line(Path(value))
        return value


class RunEvaluation(Evaluation):
    """How the models are evaluated."""

    corruption: Annotated[AllEntities | Uniform | GivenFile, Field(discriminator="kind")] = AllEntities()
    """which candidates compete"""


class RunConfig(Settings):
    """One experiment: one dataset, one evaluation, one or several models."""

    dataset: DatasetConfig
    """the graph"""
    model: ModelConfig | None = None
    """the model"""
    models: Annotated[dict[str, ModelConfig], Field(min_length=1)] | None = None
    """several models by name: several runs, and one table"""
    protocol: str = "standard"
    """the framework whose rules are followed: what is level with an answer, who competes, and, where nothing else is
    said, ties, filter and metrics; ``kgeval list protocols`` shows all"""
    evaluation: RunEvaluation = RunEvaluation()
    """how the models are evaluated"""
    metrics: Metrics = ()
    """``[side.][ties.]name[@k]``; by default those of the protocol"""
    ties: Ties | None = None
    """the rank of an answer that ties with others; by default as the protocol says"""
    output: PathText | None = None
    """the run directory; by default ``runs/`` and the name of the configuration file"""

    _document: Document = PrivateAttr(default_factory=lambda: Document("configuration", {}))

    @field_validator("models")
    @classmethod
    def _names_of_folders(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        for name in value or ():
            if name in {"", ".", ".."} or set(name) & set("/\\") or not name.isprintable():
                raise ValueError(f"a model's name is that of its folder, so it cannot be {name!r}")
            writable(name)
        return value

    @field_validator("protocol")
    @classmethod
    def _known_protocol(cls, value: str) -> str:
        with refusing():
            return protocol(value).name

    @model_validator(mode="after")
    def _some_model(self) -> RunConfig:
        if (self.model is None) == (self.models is None):
            raise ValueError("give either model (one) or models (several, by name)")
        return self

    @property
    def document(self) -> Document:
        """Where it was said, for messages."""
        return self._document

    @property
    def jobs(self) -> dict[str, CheckpointConfig | TrainingConfig]:
        """The models by name; a single one has none."""
        return {"": self.model} if self.model is not None else dict(self.models or {})

    def resolved(self, splits: Collection[Split] = SPLITS) -> RunConfig:
        """Say what the protocol left to be said; of its filter, the splits that there are."""
        rules = protocol(self.protocol)
        filtered = self.evaluation.filter if "filter" in self.evaluation.model_fields_set else rules.filter
        present = {"filter": tuple(split for split in filtered if split in splits)}
        return self.model_copy(
            update={
                "evaluation": self.evaluation.model_copy(update=present),
                "metrics": self.metrics or rules.metrics,
                "ties": self.ties or rules.ties,
            }
        )


def spelled_out(place: list[str], value: Any) -> Any:
    """Say the block that a bare string stands for, where it may stand for one.

    >>> spelled_out(["model"], "checkpoints/complex"), spelled_out(["dataset"], "umls"), spelled_out(["ties"], "x")
    ({'path': 'checkpoints/complex'}, {'name': 'umls'}, 'x')
    """
    if place == ["dataset"]:
        return dataset_block(value)
    if place == ["model"] or (len(place) == 2 and place[0] == "models"):
        return checkpoint_block(value)
    return value
