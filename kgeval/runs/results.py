"""Results: the table that the evaluation of one model gives, its metrics, and what of both a run directory keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kgeval.arrays import IntArray
from kgeval.data.io.triple_files import TRIPLE
from kgeval.metrics.kinds import KINDS
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


@dataclass(frozen=True, eq=False)
class Result:
    table: RankTable | LabelTable | ConfidenceTables
    """the ranks of the answers of a split; of a classification, labelled triples with the scores of the model and of
    baselines; of confidences, both for the facts of a weighted graph"""
    metrics: tuple[str, ...]
    policies: Mapping[str, Any]
    """further arguments of :func:`kgeval.summarize`, such as ``ties``, ``intervals``, ``calibration`` or ``mapping``"""
    by: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """of a stored run: what is no longer as it was written"""
    groups_by: tuple[str, ...] = ()
    """the columns whose groups are given beside the whole"""
    grouped: RankTable | None = None
    """the ranks with the slices among those columns, if there are any"""
    predictions: PredictionTable | None = None

    @cached_property
    def summary(self) -> Summary:
        summary = self.compute(self.metrics, by=self.by)
        return replace(summary, table_notes=(*summary.table_notes, *self.changes))

    @cached_property
    def groups(self) -> Summary | None:
        """The same metrics group by group, where they were requested beside those of the whole."""
        return self.compute(self.metrics, by=self.groups_by) if self.groups_by else None

    def compute(self, metrics: Sequence[str], *, by: tuple[str, ...] = ()) -> Summary:
        """Compute metrics by their names, whether or not they were requested."""
        return summarize(self.table if self.grouped is None else self.grouped, metrics, by=by, **self.policies)

    @property
    def tables(self) -> dict[str, ParquetTable]:
        """The tables of the run directory, by file."""
        if isinstance(self.table, ConfidenceTables):
            ranks = {RANKS if name == "score" else ranks_of(name): table for name, table in self.table.ranks.items()}
            return {LABELS: self.table.labels, **ranks}
        if isinstance(self.table, LabelTable):
            return {LABELS: self.table}
        return {RANKS: self.table, **({} if self.predictions is None else {PREDICTIONS: self.predictions})}

    @property
    def triples(self) -> IntArray:
        """Which triples were evaluated: two models compare only if these are equal."""
        if isinstance(self.table, RankTable):
            return np.unique(self.table.column("triple"))
        labels = self.table.labels if isinstance(self.table, ConfidenceTables) else self.table
        test = labels.where(labels.column("split") == "test")
        return np.stack([test.column(name) for name in TRIPLE], axis=1)

    @property
    def ranks(self) -> RankTable | None:
        if isinstance(self.table, ConfidenceTables):
            return self.table.ranks["score"]
        return self.table if isinstance(self.table, RankTable) else None

    @cached_property
    def framework(self) -> FrameworkMetrics | None:
        """What the framework reports whose protocol was followed, if it has names of its own."""
        # A framework has no estimates: it reports the metrics of the ranks that there are.
        if not isinstance(self.table, RankTable) or self.table.sampling is not None:
            return None
        return framework_metrics(self.table) if protocol_of(self.table).framework_metrics else None

    @property
    def follows_protocol(self) -> bool:
        """Whether metrics and policies are the protocol's, so that the framework's report says it all."""
        if not isinstance(self.table, RankTable):
            return False
        protocol = protocol_of(self.table)
        usual = MetricRequest(ties=tie_policy(protocol.ties).name).policies
        return (self.metrics, dict(self.policies), self.by) == (protocol.metrics, usual, ())


def task_policies(task: Classification | Confidences, policies: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`kgeval.summarize` takes for a task: its own keys and, for the ranks of confidences, two policies."""
    return {name: getattr(task, name, policies.get(name)) for name in KINDS[task.kind].options}


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
