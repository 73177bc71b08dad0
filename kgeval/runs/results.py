"""Results: the table that the evaluation of one model gives, its metrics, and what of both a run directory keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from kgeval.arrays import IntArray
from kgeval.data.io.triple_files import TRIPLE
from kgeval.metrics.ranks.ties import tie_policy
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Summary
from kgeval.protocols.protocol import protocol_of
from kgeval.protocols.report import FrameworkMetrics, framework_metrics
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.contents import LABELS, PREDICTIONS, RANKS, ranks_of
from kgeval.run_directory.staging import ParquetTable
from kgeval.runs.config.metric_request import MetricRequest
from kgeval.runs.config.variables import Variables
from kgeval.storage.parquet_tables import Columns
from kgeval.tasks.classification import Classification
from kgeval.tasks.confidences import Confidences, ConfidenceTables
from kgeval.tasks.label_table import LabelTable


class Result(ABC):
    """What the evaluation of one model gives."""

    kind: ClassVar[str]
    """``"ranks"``, or the kind of the task"""
    metrics: tuple[str, ...]
    """those of the summary"""
    by: tuple[str, ...]
    """the columns that group it"""
    changes: tuple[str, ...]
    """of a stored run: what is no longer as it was written"""
    takes_worst: ClassVar[bool] = False
    """whether ``unseen: worst`` evaluates all triples, whatever the model knows"""

    @cached_property
    def summary(self) -> Summary:
        """The metrics that were requested."""
        summary = self.compute(self.metrics, by=self.by)
        return replace(summary, table_notes=(*summary.table_notes, *self.changes))

    @property
    def groups(self) -> Summary | None:
        """The same metrics group by group, where they were requested beside those of the whole."""
        return None

    @abstractmethod
    def compute(self, metrics: Sequence[str], *, by: tuple[str, ...] = ()) -> Summary:
        """Compute metrics by their names, whether or not they were requested."""

    @property
    @abstractmethod
    def tables(self) -> dict[str, ParquetTable]:
        """The tables of the run directory, by file."""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """What a reader of the tables should know."""

    @property
    @abstractmethod
    def triples(self) -> IntArray:
        """Which triples were evaluated: two models compare only if these are equal."""

    @property
    def ranks(self) -> RankTable | None:
        """The model's ranks, if it ranked."""
        return None

    @property
    def curves(self) -> dict[str, Any] | None:
        """The curves of the run directory, if there are any."""
        return None

    @property
    def framework(self) -> FrameworkMetrics | None:
        """What the framework reports whose protocol was followed, if it has names of its own."""
        return None

    @property
    def follows_protocol(self) -> bool:
        """Whether metrics and policies are the protocol's, so that the framework's report says it all."""
        return False


def concealed(value: Any, variables: Variables) -> Any:
    """Return results whose words do not hold the values of variables."""
    if not variables.places:
        return value
    if isinstance(value, Mapping):
        return {name: concealed(part, variables) for name, part in value.items()}
    if isinstance(value, Columns):
        words = [name for name in ("model", "candidates", "negatives", "notes") if hasattr(value, name)]
        return replace(value, **{name: variables.conceal(getattr(value, name)) for name in words})
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return replace(value, **{field.name: concealed(getattr(value, field.name), variables) for field in fields(value)})


@dataclass(frozen=True, eq=False)
class RankResult(Result):
    """The ranks of the answers of a split."""

    kind, takes_worst = "ranks", True

    table: RankTable
    metrics: tuple[str, ...]
    policies: Mapping[str, Any]
    """``ties``, ``seed``, ``chance``, ``popularity`` and ``intervals``, as :func:`kgeval.summarize` takes them"""
    by: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    groups_by: tuple[str, ...] = ()
    """the columns whose groups are given beside the whole"""
    grouped: RankTable | None = None
    """the ranks with the slices among those columns, if there are any"""
    predictions: PredictionTable | None = None
    """the best answers of every query, where they are kept"""

    @cached_property
    def groups(self) -> Summary | None:
        return self.compute(self.metrics, by=self.groups_by) if self.groups_by else None

    def compute(self, metrics: Sequence[str], *, by: tuple[str, ...] = ()) -> Summary:
        return summarize(self.table if self.grouped is None else self.grouped, metrics, by=by, **self.policies)

    @property
    def tables(self) -> dict[str, ParquetTable]:
        return {RANKS: self.table, **({} if self.predictions is None else {PREDICTIONS: self.predictions})}

    @property
    def notes(self) -> tuple[str, ...]:
        return self.table.notes

    @property
    def triples(self) -> IntArray:
        return np.unique(self.table.column("triple"))

    @property
    def ranks(self) -> RankTable:
        return self.table

    @cached_property
    def framework(self) -> FrameworkMetrics | None:
        # A framework has no estimates: it reports the metrics of the ranks that there are.
        reports = self.table.sampling is None and protocol_of(self.table).framework_metrics
        return framework_metrics(self.table) if reports else None

    @property
    def follows_protocol(self) -> bool:
        protocol = protocol_of(self.table)
        usual = MetricRequest(ties=tie_policy(protocol.ties).name).policies
        return (self.metrics, dict(self.policies), self.by) == (protocol.metrics, usual, ())


@dataclass(frozen=True, eq=False)
class ClassificationResult(Result):
    """Labelled triples with the scores of the model and of baselines."""

    kind = "classification"

    labels: LabelTable
    metrics: tuple[str, ...]
    task: Classification
    by: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    def compute(self, metrics: Sequence[str], *, by: tuple[str, ...] = ()) -> Summary:
        return summarize(self.labels, metrics, by=by, calibration=self.task.calibration)

    @property
    def tables(self) -> dict[str, ParquetTable]:
        return {LABELS: self.labels}

    @property
    def notes(self) -> tuple[str, ...]:
        return self.labels.notes

    @property
    def triples(self) -> IntArray:
        return _test_triples(self.labels)

    @property
    def curves(self) -> dict[str, Any] | None:
        return getattr(self.summary, "curves", None)


@dataclass(frozen=True, eq=False)
class ConfidenceResult(Result):
    """The facts of a weighted graph with the scores of the model and of baselines, and the ranks of both."""

    kind = "confidences"

    found: ConfidenceTables
    metrics: tuple[str, ...]
    task: Confidences
    policies: Mapping[str, Any]
    """of the ranks: ``ties`` and ``seed``"""
    by: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()

    def compute(self, metrics: Sequence[str], *, by: tuple[str, ...] = ()) -> Summary:
        return summarize(
            self.found,
            metrics,
            by=by,
            mapping=self.task.mapping,
            high_confidence=self.task.high_confidence,
            ties=self.policies["ties"],
            seed=self.policies["seed"],
        )

    @property
    def tables(self) -> dict[str, ParquetTable]:
        ranks = {RANKS if name == "score" else ranks_of(name): table for name, table in self.found.ranks.items()}
        return {LABELS: self.found.labels, **ranks}

    @property
    def notes(self) -> tuple[str, ...]:
        return self.found.notes

    @property
    def triples(self) -> IntArray:
        return _test_triples(self.found.labels)

    @property
    def ranks(self) -> RankTable:
        return self.found.ranks["score"]


def _test_triples(labels: LabelTable) -> IntArray:
    test = labels.where(labels.column("split") == "test")
    return np.stack([test.column(name) for name in TRIPLE], axis=1)
