"""Runs that judge labelled triples instead of ranking them: a task carried out and summarised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.io.headers import TRIPLE
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Summary
from kgeval.progress import Progress
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.contents import LABELS, RANKS, ranks_of
from kgeval.run_directory.staging import ParquetTable
from kgeval.tasks.classification import Classification
from kgeval.tasks.confidences import Confidences
from kgeval.tasks.label_table import LabelTable


@dataclass(frozen=True, eq=False)
class TaskResult:
    """What a run that judges labelled triples found."""

    labels: LabelTable
    summary: Summary
    notes: tuple[str, ...]
    ranks: Mapping[str, RankTable] = field(default_factory=dict)
    """by predictor: of what ranked, the model's under ``score``, each baseline's under its name"""

    @property
    def tables(self) -> dict[str, ParquetTable]:
        """The tables of the run directory, by file."""
        ranks = {RANKS if name == "score" else ranks_of(name): table for name, table in self.ranks.items()}
        return {LABELS: self.labels, **ranks}

    @property
    def triples(self) -> IntArray:
        """The test triples that were judged; int64[triple, 3]."""
        test = self.labels.where(self.labels.column("split") == "test")
        return np.stack([test.column(name) for name in TRIPLE], axis=1)


def run_task(
    task: Classification | Confidences,
    model: Any,
    dataset: Dataset,
    *,
    metrics: Sequence[str],
    ties: Ties = "realistic",
    seed: int = 0,
    progress: Progress | None = None,
    title: str | None = None,
) -> TaskResult:
    """Carry a task out and summarise it."""
    if isinstance(task, Classification):
        labels = task(model, dataset, title=title)
        return TaskResult(labels, summarize(labels, metrics, calibration=task.calibration), labels.notes)
    found = task(model, dataset, progress=progress, title=title)
    summary = summarize(
        found, metrics, mapping=task.mapping, high_confidence=task.high_confidence, ties=ties, seed=seed
    )
    return TaskResult(found.labels, summary, found.notes, found.ranks)


def negatives_of(task: Classification | Confidences) -> tuple[tuple[Path, ...], int | None]:
    """Tell which files the negatives of a task are read from, and which seed draws them."""
    source = task.negatives
    files = source.files if source is not None else ()
    return files, getattr(getattr(source, "corruption", None), "seed", None)
