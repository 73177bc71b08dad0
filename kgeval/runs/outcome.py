"""Outcomes: what the evaluation of a model found, of several models side by side, and of those that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import IntArray
from kgeval.errors import KgevalError, RunError
from kgeval.metrics.labels.label_summary import LabelSummary
from kgeval.metrics.tables.summary import Summary
from kgeval.protocols.report import FrameworkMetrics
from kgeval.ranking.rank_table import RankTable
from kgeval.runs.run_task import TaskResult


@dataclass(frozen=True)
class Outcome:
    """One model's evaluation."""

    name: str
    """the model's name in the configuration; empty where there is only one"""
    table: RankTable | TaskResult
    summary: Summary | LabelSummary
    printed: FrameworkMetrics | None
    """what the framework prints whose protocol was followed, if it has names of its own"""
    asked: bool
    """whether the summary is another than the protocol's"""
    folder: Path | None
    """where it was written, if it was"""
    stored: bool = False
    """whether an earlier run had written it, and nothing was computed"""

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``."""
        printed = {} if self.printed is None else {"protocol": self.printed.to_dict()}
        return self.summary.to_dict() | {"notes": list(self.notes)} | printed

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know."""
        told = () if self.printed is None else self.printed.notes
        return (*self.summary.notes, *told)


class ModelsFailed(RunError):
    """Some of several models could not be evaluated; the outcomes of the others are there."""

    def __init__(self, outcomes: list[Outcome], failures: Mapping[str, KgevalError]) -> None:
        self.outcomes = outcomes
        reasons = [f"{name}: {error}" for name, error in failures.items()]
        count = len(outcomes) + len(failures)
        super().__init__("\n  ".join([f"{len(failures)} of {count} models failed", *reasons]))


def common_table(
    outcomes: Sequence[Outcome], failures: Mapping[str, object], *, planned: Sequence[str] = ()
) -> dict[str, Any]:
    """Lay out the ``metrics.json`` of several models.

    It has the content of each one's own, by name, why others failed, and which of those that were planned are neither.
    """
    done = {*failures, *(outcome.name for outcome in outcomes)}
    return {
        "schema": 1,
        "models": {outcome.name: outcome.to_dict() for outcome in outcomes},
        "failed": {name: str(error) for name, error in failures.items()},
        "unfinished": [name for name in planned if name not in done],
        "notes": comparability_notes(outcomes),
    }


def notes_by_model(outcomes: Sequence[Outcome]) -> list[str]:
    """Collect the notes on several models, each once: with the names of those that it is on, unless it is on all."""
    models: dict[str, list[str]] = {}
    for outcome in outcomes:
        for note in dict.fromkeys(outcome.notes):
            models.setdefault(note, []).append(outcome.name)
    return [
        note if len(names) == len(outcomes) and (len(names) > 1 or not names[0]) else f"{', '.join(names)}: {note}"
        for note, names in models.items()
    ]


def comparability_notes(outcomes: Sequence[Outcome]) -> list[str]:
    """Say that models ranked or judged different triples, as with ``unseen: drop``: their metrics do not compare."""
    seen = [_triples(outcome.table) for outcome in outcomes]
    if all(np.array_equal(triples, seen[0]) for triples in seen):
        return []
    counts = ", ".join(f"{outcome.name} {len(triples)}" for outcome, triples in zip(outcomes, seen, strict=True))
    if isinstance(outcomes[0].table, TaskResult):
        return [f"these models judged different triples ({counts}): their metrics do not compare."]
    return [f"these models ranked different triples ({counts}): their metrics do not compare. Set unseen: worst."]


def _triples(table: RankTable | TaskResult) -> IntArray:
    """Tell the test triples apart that were ranked, by row, or judged, by ids."""
    return table.triples if isinstance(table, TaskResult) else np.unique(table.column("triple"))
