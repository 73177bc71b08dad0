"""The evaluation of a model on a dataset, by a configuration: a ranking, or a task on labelled triples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Any

from kgeval.data.dataset import Dataset
from kgeval.files.opening import sha256_of_file
from kgeval.metrics.names import parse_all
from kgeval.metrics.rank_summary import refuse_absent_sides
from kgeval.progress import Progress
from kgeval.ranking.engine_choice import named_devices
from kgeval.ranking.model_ranking import ModelRanking, RankParts, ranking_of
from kgeval.ranking.predictions.predict_model import PredictionRequest, predict_model
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.ranking_notes import check_unseen
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.results import Result, task_policies
from kgeval.runs.sliced_ranks import with_slices
from kgeval.tasks.classification import Classification
from kgeval.tasks.confidences import Confidences, ConfidenceTables
from kgeval.tasks.label_table import LabelTable


class ModelEvaluation(ABC):
    """The evaluation of each model of a configuration."""

    step: str
    """its key among the ``seconds`` of the manifest"""
    activity: str
    """its name in the display of progress"""

    def __init__(self, config: RunConfig, dataset: Dataset) -> None:
        self._config, self.dataset = config, dataset
        self._digest = cache(sha256_of_file)

    def check(self, model: Any) -> None:  # noqa: B027  # a task has nothing to check before it scores
        """Refuse a model that does not fit, before any model is evaluated."""

    @abstractmethod
    def num_ranks(self, model: Any) -> int | None:
        """How many ranks it computes of a model, if that is known."""

    @abstractmethod
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

    @property
    def negatives(self) -> Any:
        """The corruption of a ranking, or a task's source of negatives, with its ``files``."""
        task = self._config.task
        return self._config.evaluation.corruption if task is None else task.negatives

    def input_digests(self, model: Any) -> dict[str, str]:
        """The SHA-256 of the files of dataset, model (a live one has none) and negatives; each is computed once."""
        files = [*self.dataset.files, *getattr(model, "files", ()), *getattr(self.negatives, "files", ())]
        return {str(path): self._digest(path) for path in files}

    @property
    def seed(self) -> int | None:
        """The seed of the negatives, if they are drawn."""
        return getattr(getattr(self.negatives, "corruption", self.negatives), "seed", None)


class Ranking(ModelEvaluation):
    step, activity = "rank", "ranking"

    def check(self, model: Any) -> None:
        named_devices(self._config.evaluation)
        self._refuse_other_sides(model)
        check_unseen(model, self.dataset, self._config.evaluation)

    def _refuse_other_sides(self, model: Any) -> None:
        sides = self._config.resolved_evaluation(self.dataset).evaluation.for_model(model).sides
        refuse_absent_sides(parse_all(self._config.metrics), sides, by=self._config.by or ())

    def prepare(self, model: Any, progress: Progress) -> ModelRanking:
        resolved = self._config.resolved_evaluation(self.dataset)
        return ranking_of(model, self.dataset, resolved.evaluation, rules=resolved.rules, progress=progress)

    def num_ranks(self, model: Any) -> int | None:
        settings = self._config.resolved_evaluation(self.dataset).evaluation.for_model(model)
        ranks = len(self.dataset.split(settings.split)) * len(settings.sides)
        return ranks if settings.estimate is None else None

    def evaluate(self, model: Any, *, policies: Mapping[str, Any], **options: Any) -> Result:
        self._refuse_other_sides(model)
        resolved = self._config.resolved_evaluation(self.dataset)
        table, by = resolved.rank(model, self.dataset, **options), self._config.by or ()
        grouped, predictions = with_slices(table, by, self.dataset), None
        if (keep := self._config.evaluation.keep) and keep.predictions is not None:
            request = PredictionRequest(keep.predictions)
            predictions = predict_model(model, self.dataset, resolved.evaluation, request, title=table.model)
        return Result(table, self._config.metrics, policies, groups_by=by, grouped=grouped, predictions=predictions)


class TaskEvaluation(ModelEvaluation):
    step, activity = "score", "scoring"

    def num_ranks(self, model: Any) -> int | None:
        task = self._config.task
        return len(self.dataset.test) * len(task.sides) if isinstance(task, Confidences) else None

    def evaluate(
        self, model: Any, *, title: str | None, policies: Mapping[str, Any], progress: Progress, **_: Any
    ) -> Result:
        table: LabelTable | ConfidenceTables
        task = self._config.task or Classification()
        if isinstance(task, Confidences):
            table = task(model, self.dataset, progress=progress, title=title)
        else:
            table = task(model, self.dataset, title=title)
        return Result(table, self._config.metrics, task_policies(task, policies), self._config.by or ())


def evaluation_of(config: RunConfig, dataset: Dataset) -> ModelEvaluation:
    return Ranking(config, dataset) if config.task is None else TaskEvaluation(config, dataset)
