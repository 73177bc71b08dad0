"""Runs that judge labelled triples instead of ranking them: a task carried out and summarised."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgeval.graph.dataset import Dataset
from kgeval.metrics.confidence_summary import CONFIDENCES, summarize_confidences
from kgeval.metrics.label_summary import CLASSIFICATION, LabelSummary, summarize_labels
from kgeval.metrics.ranks import Ties
from kgeval.ranking.engine import Progress
from kgeval.runs.directory import LABELS, RANKS, Stored
from kgeval.scoring.classification import Classification
from kgeval.scoring.confidences import Confidences
from kgeval.scoring.table import LabelTable


@dataclass(frozen=True, eq=False)
class Judgement:
    """What a run that judges labelled triples found."""

    labels: LabelTable
    summary: LabelSummary
    notes: tuple[str, ...]
    tables: dict[str, Stored]
    """the tables of the run directory, by file"""
    work: dict[str, Any] = field(default_factory=dict)
    """how ranks were counted, if they were"""


def judge_labelled(
    task: Classification | Confidences,
    model: Any,
    dataset: Dataset,
    *,
    metrics: Iterable[str] = (),
    ties: Ties = "realistic",
    progress: Progress | None = None,
) -> Judgement:
    """Carry a task out and summarise it; without metrics, with those of the task."""
    names = tuple(metrics)
    if isinstance(task, Classification):
        labels = task(model, dataset)
        summary = summarize_labels(labels, names or CLASSIFICATION, calibration=task.calibration)
        return Judgement(labels, summary, labels.notes, {LABELS: labels})
    found = task(model, dataset, progress=progress)
    summary = summarize_confidences(
        found,
        names or CONFIDENCES,
        mapping=task.mapping,
        high=task.high,
        ties=ties,
    )
    tables: dict[str, Stored] = {LABELS: found.labels, RANKS: found.ranks["score"]}
    return Judgement(found.labels, summary, found.notes, tables, dict(found.ranks["score"].work))


def negatives_of(task: Classification | Confidences) -> tuple[tuple[Path, ...], int | None]:
    """Tell which files the negatives of a task are read from, and which seed draws them."""
    source = task.negatives
    files = source.files if source is not None else ()
    return files, getattr(getattr(source, "corruption", None), "seed", None)
