"""The evaluation of a model on a dataset, by a configuration: a ranking, or a task on labelled triples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgeval.data.dataset import Dataset
from kgeval.metrics.names import parse_all
from kgeval.metrics.rank_summary import refuse_absent_sides
from kgeval.progress import Progress
from kgeval.ranking.engine_choice import named_devices
from kgeval.ranking.evaluation import Keep
from kgeval.ranking.model_ranking import ModelRanking, RankParts, ranking_of
from kgeval.ranking.predictions.predict_model import PredictionRequest, predict_model
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.ranking_notes import check_unseen
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.results import ClassificationResult, ConfidenceResult, RankResult, Result
from kgeval.runs.sliced_ranks import with_slices
from kgeval.tasks.classification import Classification
from kgeval.tasks.confidences import Confidences


@dataclass(frozen=True)
class EvaluationRequest:
    """What the evaluation of one model is called with."""

    title: str | None
    """the model's name in the result"""
    policies: Mapping[str, Any]
    """those of its metrics of ranks"""
    progress: Progress
    """called with the number of answers that were just ranked"""
    rank_parts: RankParts | None = None
    """how a ranking is divided; a task is not"""
    earlier: RankTable | None = None
    """of an estimate, a smaller sample of the same"""


class ModelEvaluation(ABC):
    """The evaluation of each model of a configuration."""

    step: str
    """its key among the ``seconds`` of the manifest"""
    activity: str
    """its name in the display of progress"""

    def check(self, model: Any) -> None:  # noqa: B027  # a task has nothing to check before it scores
        """Refuse a model that does not fit, before any model is evaluated."""

    @abstractmethod
    def num_ranks(self, model: Any) -> int | None:
        """How many ranks it computes of a model, if that is known."""

    @abstractmethod
    def evaluate(self, model: Any, request: EvaluationRequest) -> Result: ...

    @property
    @abstractmethod
    def negatives(self) -> Any:
        """The corruption of a ranking, or a task's source of negatives, with its ``files``."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it reads besides those of the dataset and the model."""
        return () if self.negatives is None else tuple(self.negatives.files)

    @property
    def seed(self) -> int | None:
        """The seed of the negatives, if they are drawn."""
        return getattr(getattr(self.negatives, "corruption", self.negatives), "seed", None)


class Ranking(ModelEvaluation):
    """Ranks the answers of a split by the rules of a protocol."""

    step, activity = "rank", "ranking"

    def __init__(self, config: RunConfig, dataset: Dataset) -> None:
        self._config, self._dataset, self._settings = config, dataset, config.evaluation
        self._keep = self._settings.keep or Keep()

    def check(self, model: Any) -> None:
        named_devices(self._settings)
        self._refuse_other_sides(model)
        check_unseen(model, self._dataset, self._settings)

    def _refuse_other_sides(self, model: Any) -> None:
        sides = self._config.resolved_evaluation(self._dataset).evaluation.for_model(model).sides
        refuse_absent_sides(parse_all(self._config.metrics), sides, by=self._config.by or ())

    def prepare(self, model: Any, progress: Progress) -> ModelRanking:
        resolved = self._config.resolved_evaluation(self._dataset)
        return ranking_of(model, self._dataset, resolved.evaluation, rules=resolved.rules, progress=progress)

    def num_ranks(self, model: Any) -> int | None:
        settings = self._config.resolved_evaluation(self._dataset).evaluation.for_model(model)
        ranks = len(self._dataset.split(settings.split)) * len(settings.sides)
        return ranks if settings.estimate is None else None

    def evaluate(self, model: Any, request: EvaluationRequest) -> RankResult:
        self._refuse_other_sides(model)
        resolved = self._config.resolved_evaluation(self._dataset)
        table = resolved.rank(
            model,
            self._dataset,
            progress=request.progress,
            title=request.title,
            rank_parts=request.rank_parts,
            earlier=request.earlier,
        )
        by = self._config.by or ()
        grouped = with_slices(table, by, self._dataset)
        predictions = self._predict(model, table.model)
        return RankResult(
            table, self._config.metrics, request.policies, groups_by=by, grouped=grouped, predictions=predictions
        )

    def _predict(self, model: Any, title: str) -> PredictionTable | None:
        if self._keep.predictions is None:
            return None
        settings = self._config.resolved_evaluation(self._dataset).evaluation
        return predict_model(model, self._dataset, settings, PredictionRequest(self._keep.predictions), title=title)

    @property
    def negatives(self) -> Any:
        return self._settings.corruption


class TaskEvaluation(ModelEvaluation):
    """Scores the labelled triples of a task."""

    step, activity = "score", "scoring"

    def __init__(self, config: RunConfig, dataset: Dataset, task: Classification | Confidences) -> None:
        self._config, self._dataset, self._task = config, dataset, task

    def num_ranks(self, model: Any) -> int | None:
        return len(self._dataset.test) * len(self._task.sides) if isinstance(self._task, Confidences) else None

    def evaluate(self, model: Any, request: EvaluationRequest) -> Result:
        metrics, task, by = self._config.metrics, self._task, self._config.by or ()
        if isinstance(task, Classification):
            return ClassificationResult(task(model, self._dataset, title=request.title), metrics, task, by)
        tables = task(model, self._dataset, progress=request.progress, title=request.title)
        return ConfidenceResult(tables, metrics, task, request.policies, by)

    @property
    def negatives(self) -> Any:
        return self._task.negatives


def evaluation_of(config: RunConfig, dataset: Dataset) -> ModelEvaluation:
    return Ranking(config, dataset) if config.task is None else TaskEvaluation(config, dataset, config.task)
