"""Runs that judge labelled triples instead of ranking them: a task carried out and summarised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from kgeval.arrays import IntArray
from kgeval.directory import CONFIG, LABELS, RANKS, Stored, read_labels, read_ranks
from kgeval.errors import ConfigError, reason
from kgeval.graph.dataset import Dataset
from kgeval.graph.headers import TRIPLE
from kgeval.metrics.confidence_summary import summarize_confidences
from kgeval.metrics.label_summary import LabelSummary, summarize_labels
from kgeval.metrics.ties import Ties
from kgeval.ranking.engine import Progress
from kgeval.ranking.table import RankTable
from kgeval.scoring.classification import Classification
from kgeval.scoring.confidences import Confidences, ConfidenceTables
from kgeval.scoring.table import LabelTable


@dataclass(frozen=True, eq=False)
class Judgement:
    """What a run that judges labelled triples found."""

    labels: LabelTable
    summary: LabelSummary
    notes: tuple[str, ...]
    ranks: RankTable | None = None
    """those of the model, if it ranked"""

    @property
    def tables(self) -> dict[str, Stored]:
        """The tables of the run directory, by file."""
        return {LABELS: self.labels} if self.ranks is None else {LABELS: self.labels, RANKS: self.ranks}

    @property
    def triples(self) -> IntArray:
        """The test triples that were judged; int64[triple, 3]."""
        test = self.labels.where(self.labels.column("split") == "test")
        return np.stack([test.column(name) for name in TRIPLE], axis=1)


def judge_labelled(
    task: Classification | Confidences,
    model: Any,
    dataset: Dataset,
    *,
    metrics: Sequence[str],
    ties: Ties = "realistic",
    progress: Progress | None = None,
) -> Judgement:
    """Carry a task out and summarise it."""
    if isinstance(task, Classification):
        labels = task(model, dataset)
        return Judgement(labels, summarize_labels(labels, metrics, calibration=task.calibration), labels.notes)
    found = task(model, dataset, progress=progress)
    summary = summarize_confidences(found, metrics, mapping=task.mapping, high=task.high, ties=ties)
    return Judgement(found.labels, summary, found.notes, found.ranks["score"])


def read_confidences(folder: Path) -> tuple[ConfidenceTables, dict[str, Any]]:
    """Read the facts and the model's ranks of a run that predicted confidences, and how it read them (mapping, high).

    Raises
    ------
    InputError
        if a table or the configuration of the run is missing or damaged
    """
    tables = ConfidenceTables(read_labels(folder), {"score": read_ranks(folder)})
    try:
        task = yaml.safe_load((folder / CONFIG).read_text(encoding="utf-8"))["task"]
        said = Confidences(**{name: task[name] for name in ("mapping", "high") if name in task})
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{folder / CONFIG}: not the configuration of a run of confidences ({reason(error)})."
        ) from error
    return tables, {"mapping": said.mapping, "high": said.high}


def negatives_of(task: Classification | Confidences) -> tuple[tuple[Path, ...], int | None]:
    """Tell which files the negatives of a task are read from, and which seed draws them."""
    source = task.negatives
    files = source.files if source is not None else ()
    return files, getattr(getattr(source, "corruption", None), "seed", None)
