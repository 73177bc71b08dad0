"""Jobs: the models of a configuration, each of which reads or trains itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgeval.baselines.baseline import Baseline, FittedBaseline
from kgeval.checkpoints import Checkpoint, load_checkpoint
from kgeval.checkpoints.checkpoint import with_folder
from kgeval.checkpoints.readers.pykeen.reader import NoFormula
from kgeval.data.dataset import Dataset
from kgeval.run_directory.contents import MODEL
from kgeval.runs.config.models import CheckpointConfig, TrainingConfig
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.model_evaluation import ModelEvaluation
from kgeval.runs.training import train
from kgeval.scorers.scorer import Scorer, VectorScorer


class Job(ABC):
    """One model of a configuration, and where its run is written."""

    step: str
    """its name among the seconds of the manifest"""

    def __init__(self, config: RunConfig, name: str, stage: Path | None, dataset: Dataset) -> None:
        self.name, self.stage, self.model = name, stage, config.jobs[name]
        self.folder = None if stage is None else stage.parent
        output = None if self.folder is None else str(self.folder)
        alone = config.model_copy(update={"model": config.jobs[name], "models": None, "output": output})
        alone._document = replace(config.document, variables=config.document.variables.of_model(name))
        self.config = alone.resolved(dataset)
        """the configuration of this one model, with nothing left open, so that it can be run again by itself"""

    @property
    def title(self) -> str | None:
        """What results call the model; by default what it calls itself."""
        return self.name or None

    def title_of(self, model: Any) -> str | None:
        """The title, or what a model calls itself if that is the path of its file, which is told as it was written."""
        files: tuple[Path, ...] = getattr(model, "files", ())
        if self.title is not None or not files:
            return self.title
        path = Path(self.config.document.variables.conceal(str(files[0])))
        return None if path == files[0] else model.title.replace(with_folder(files[0]), "/".join(path.parts[-2:]))

    @property
    def seeds(self) -> dict[str, int]:
        return {}

    @abstractmethod
    def read(self, dataset: Dataset, evaluation: ModelEvaluation) -> Checkpoint | FittedBaseline | None:
        """Read and check the model before any model is evaluated; one that is not trained yet is not there."""

    @abstractmethod
    def load(self, dataset: Dataset) -> Scorer | VectorScorer:
        """Return the model, read or trained now unless it was read before."""

    def watched(self, progress: AbstractContextManager[Any]) -> AbstractContextManager[Any]:
        return progress


class CheckpointJob(Job):
    """A model that is read from its files, once."""

    step = "load model"
    model: CheckpointConfig
    _checkpoint: Checkpoint | None = None

    def read(self, dataset: Dataset, evaluation: ModelEvaluation) -> Checkpoint:
        self._checkpoint = self.model.load(dataset, nan=self.config.evaluation.nan)
        evaluation.check(self._checkpoint)
        return self._checkpoint

    def load(self, dataset: Dataset) -> Checkpoint:
        checkpoint, self._checkpoint = self._checkpoint, None
        return checkpoint or self.model.load(dataset, nan=self.config.evaluation.nan)


class TrainingJob(Job):
    """A model that PyKEEN trains, and that is read from what was saved."""

    step = "train"
    model: TrainingConfig

    @property
    def title(self) -> str:
        return self.name or self.model.model

    @property
    def seeds(self) -> dict[str, int]:
        return {"training": self.model.random_seed}

    def read(self, dataset: Dataset, evaluation: ModelEvaluation) -> Checkpoint | None:
        saved = (self.folder or Path()) / MODEL
        try:
            return load_checkpoint(saved) if saved.is_dir() else None
        except NoFormula:
            return None

    def load(self, dataset: Dataset) -> Scorer | VectorScorer:
        return train(self.model, dataset, self.stage or Path())

    def watched(self, progress: AbstractContextManager[Any]) -> AbstractContextManager[Any]:
        return nullcontext()


class BaselineJob(Job):
    """A model that learns nothing."""

    step = "count"
    model: Baseline

    def read(self, dataset: Dataset, evaluation: ModelEvaluation) -> FittedBaseline:
        return self.load(dataset)

    def load(self, dataset: Dataset) -> FittedBaseline:
        return self.model.fit(dataset)


JOBS: dict[type, type[Job]] = {CheckpointConfig: CheckpointJob, TrainingConfig: TrainingJob}


def jobs_of(config: RunConfig, stages: Mapping[str, Path | None], dataset: Dataset) -> list[Job]:
    models = config.jobs.items()
    return [JOBS.get(type(model), BaselineJob)(config, name, stages[name], dataset) for name, model in models]
