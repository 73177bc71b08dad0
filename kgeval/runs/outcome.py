"""An outcome: the table that the evaluation of a model gives, with its metrics; and the common table of several models.

The runner makes outcomes, and so does the reader of stored runs; commands print them. ``metrics.json`` is what
``Outcome.to_dict`` returns, in a folder of several models what ``results_of`` makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.base.arrays import IntArray
from kgeval.base.errors import KgevalError, RunError
from kgeval.base.notes import Note, in_json
from kgeval.data.columns import TRIPLE
from kgeval.metrics.kinds import KINDS
from kgeval.metrics.rank_summary import RankSummary
from kgeval.metrics.ranks.ties import Ties, common_ties, note_on_ties, tie_policy
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Summary
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.protocols.protocol import protocol_of
from kgeval.ranking.protocols.report import FrameworkMetrics, framework_metrics
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.tasks.classification import Classification
from kgeval.ranking.tasks.confidences import Confidences, ConfidenceTables
from kgeval.runs.config.metric_request import MetricRequest
from kgeval.stored.contents import SCHEMA
from kgeval.stored.stored_run import KeptTable


@dataclass(frozen=True, eq=False)
class Outcome:
    """The table of one evaluated model, and the request by which its metrics are computed."""

    name: str
    """the model's name in the configuration; empty if there is only one model"""
    table: KeptTable
    metrics: tuple[str, ...]
    policies: Mapping[str, Any]
    """further arguments of :func:`kgeval.summarize`, such as ``ties``, ``intervals``, ``calibration`` or ``mapping``"""
    by: tuple[str, ...] = ()
    """the columns or slices of groups whose metrics are computed instead of those of all rows"""
    changes: tuple[str, ...] = ()
    """for a stored run: notes on what has changed since it was written"""
    groups_by: tuple[str, ...] = ()
    """the columns or slices of groups whose metrics stand below those of all rows"""
    grouped: RankTable | None = None
    """the ranks, with columns for the slices in ``by`` and ``groups_by``; None for a task"""
    predictions: PredictionTable | None = None
    folder: Path | None = None
    stored: bool = False
    """whether it is an earlier run that was read again"""

    @cached_property
    def summary(self) -> Summary:
        """The metrics of all rows, or of the groups of ``by``; then those of the groups of ``groups_by``."""
        summary = self.compute(self.metrics, by=self.by)
        summary = replace(summary, table_notes=(*self.changes, *summary.table_notes))
        if not self.groups_by:
            return summary
        groups = self.compute(self.metrics, by=self.groups_by)
        return replace(summary, by=groups.by, groups=(*summary.groups, *groups.groups))

    def compute(self, metrics: Sequence[str], *, by: tuple[str, ...] = ()) -> Summary:
        """Compute metrics by their names, whether or not they were requested."""
        return summarize(self.table if self.grouped is None else self.grouped, metrics, by=by, **self.policies)

    @property
    def triples(self) -> IntArray:
        """The evaluated triples; two models can be compared only if these are equal."""
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
        """The metrics under the names of the framework whose protocol was followed, if it has its own names."""
        # A framework has no estimates: it reports the metrics of the ranks that there are.
        if not isinstance(self.table, RankTable) or self.table.sampling is not None:
            return None
        return framework_metrics(self.table) if protocol_of(self.table).framework_metrics else None

    @property
    def follows_protocol(self) -> bool:
        """Whether metrics and policies are those of the protocol, so that the framework's report is complete."""
        if not isinstance(self.table, RankTable):
            return False
        protocol = protocol_of(self.table)
        usual = MetricRequest(ties=tie_policy(protocol.ties).name).policies
        return (self.metrics, dict(self.policies), self.by) == (protocol.metrics, usual, ())

    @property
    def notes(self) -> tuple[str, ...]:
        notes, ties, framework = self.summary.notes, self.summary.tie_notes, self.framework
        of_framework, on_ties = ((), ()) if framework is None else (framework.notes, framework.tie_notes)
        if ties and isinstance(self.table, RankTable) and (rule := protocol_of(self.table).tie_note):
            # One note on ties: what they change, and how the framework counts them.
            of_framework = tuple(note for note in of_framework if note not in on_ties)
            notes = tuple(Note("ties", *Note.of(note).parts, f" {rule}.") if note in ties else note for note in notes)
        return (*notes, *of_framework)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``."""
        reported = {} if self.framework is None else {"protocol": self.framework.to_dict()}
        return self.summary.to_dict() | in_json(self.notes) | reported


def task_policies(task: Classification | Confidences, policies: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`kgeval.summarize` takes for a task: its own keys and, for the ranks of confidences, two policies."""
    return {name: getattr(task, name, policies.get(name)) for name in KINDS[task.kind].options}


class ModelsFailed(RunError):
    """Some of several models could not be evaluated; ``outcomes`` are the outcomes of the others."""

    def __init__(self, outcomes: list[Outcome], failures: Mapping[str, KgevalError]) -> None:
        self.outcomes = outcomes
        self.failures = failures
        reasons = [f"{name}: {error}" for name, error in failures.items()]
        count = len(outcomes) + len(failures)
        super().__init__("\n  ".join([f"{len(failures)} of {count} models failed", *reasons]))


def with_common_ties(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Give the ranks of several models one tie policy, for their common table; each run keeps its own."""
    shown = common_ties(_tie_policies(outcomes))
    return [
        outcome
        if _tie_policies([outcome]) in ([], [shown])
        else replace(outcome, policies={**outcome.policies, "ties": shown})
        for outcome in outcomes
    ]


def _tie_policies(outcomes: Sequence[Outcome]) -> list[Ties]:
    summaries = (outcome.summary for outcome in outcomes)
    return [summary.options.ties for summary in summaries if isinstance(summary, RankSummary)]


def results_of(
    outcomes: Sequence[Outcome], failures: Mapping[str, object], planned: Iterable[str] = (), notes: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the content of ``metrics.json``, of one model or of a folder of several.

    ``planned`` models that neither finished nor failed are named as unfinished.
    """
    if [outcome.name for outcome in outcomes] == [""]:
        return outcomes[0].to_dict()
    finished = {*failures, *(outcome.name for outcome in outcomes)}
    return {
        "schema": SCHEMA,
        "models": {outcome.name: outcome.to_dict() for outcome in with_common_ties(outcomes)},
        "failed": {name: str(error) for name, error in failures.items()},
        "unfinished": [name for name in planned if name not in finished],
        **in_json([*comparability_notes(outcomes), *notes]),
    }


def notes_by_model(outcomes: Sequence[Outcome]) -> Sequence[str]:
    """Collect the notes of several models; a note that several models have becomes one note that names them."""
    from kgeval.base.collected_notes import collected_notes

    return collected_notes({(outcome.summary.provenance.dataset, outcome.name): outcome.notes for outcome in outcomes})


def comparability_notes(outcomes: Sequence[Outcome]) -> list[str]:
    """Warn of models that were evaluated on different triples, or whose runs have different tie policies."""
    policies = _tie_policies(outcomes)
    return [*_notes_on_triples(outcomes), *note_on_ties(policies, common_ties(policies))]


def _notes_on_triples(outcomes: Sequence[Outcome]) -> list[str]:
    triples = [outcome.triples for outcome in outcomes]
    if all(outcome.ranks is not None and outcome.ranks.sampling is not None for outcome in outcomes):
        return []  # samples of various sizes, all of which estimate the whole
    if all(np.array_equal(other, triples[0]) for other in triples):
        return []
    datasets = dict.fromkeys(outcome.summary.provenance.dataset for outcome in outcomes)
    counts = ", ".join(f"{outcome.name} {len(rows)}" for outcome, rows in zip(outcomes, triples, strict=True))
    what, advice = f"triples ({counts})", ""
    if len(datasets) > 1:
        what = f"datasets ({', '.join(datasets)})"
    elif isinstance(outcomes[0].table, RankTable):
        advice = " Set evaluation.unseen to worst."
    differ = f"these models were evaluated on different {what}, so their metrics cannot be compared.{advice}"
    return [Note("differences", differ)]
