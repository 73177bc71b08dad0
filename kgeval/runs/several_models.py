"""Several models: their common table under one tie policy, whether they compare, and which of them failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kgeval.errors import KgevalError, RunError
from kgeval.metrics.rank_summary import RankSummary
from kgeval.metrics.ranks.ties import Ties, common_ties, note_on_ties
from kgeval.metrics.summary import notes_with_models
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.common_table import CommonTable
from kgeval.runs.outcome import Outcome


class ModelsFailed(RunError):
    """Some of several models could not be evaluated; ``outcomes`` has those of the others."""

    def __init__(self, outcomes: list[Outcome], failures: Mapping[str, KgevalError]) -> None:
        self.outcomes = outcomes
        self.failures = failures
        reasons = [f"{name}: {error}" for name, error in failures.items()]
        count = len(outcomes) + len(failures)
        super().__init__("\n  ".join([f"{len(failures)} of {count} models failed", *reasons]))


def with_common_ties(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Give the ranks of several models the one tie policy of the table that they stand in; each run keeps its own."""
    shown = common_ties(_policies(outcomes))
    return [
        outcome
        if _policies([outcome]) in ([], [shown])
        else replace(outcome, policies={**outcome.policies, "ties": shown})
        for outcome in outcomes
    ]


def _policies(outcomes: Sequence[Outcome]) -> list[Ties]:
    summaries = (outcome.summary for outcome in outcomes)
    return [summary.options.ties for summary in summaries if isinstance(summary, RankSummary)]


def common_table(
    outcomes: Sequence[Outcome], failures: Mapping[str, object], *, planned: Sequence[str] = ()
) -> CommonTable:
    finished = {*failures, *(outcome.name for outcome in outcomes)}
    return CommonTable(
        models={outcome.name: outcome.to_dict() for outcome in with_common_ties(outcomes)},
        failed={name: str(error) for name, error in failures.items()},
        unfinished=[name for name in planned if name not in finished],
        notes=comparability_notes(outcomes),
    )


def notes_by_model(outcomes: Sequence[Outcome]) -> list[str]:
    return notes_with_models({outcome.name: outcome.notes for outcome in outcomes})


def comparability_notes(outcomes: Sequence[Outcome]) -> list[str]:
    """Warn of models that were evaluated on different triples, or whose runs have different tie policies."""
    policies = _policies(outcomes)
    return [*_notes_on_triples(outcomes), *note_on_ties(policies, common_ties(policies))]


def _notes_on_triples(outcomes: Sequence[Outcome]) -> list[str]:
    triples = [outcome.triples for outcome in outcomes]
    if all(outcome.ranks is not None and outcome.ranks.sampling is not None for outcome in outcomes):
        return []  # samples of various sizes, all of which estimate the whole
    if all(np.array_equal(other, triples[0]) for other in triples):
        return []
    counts = ", ".join(f"{outcome.name} {len(rows)}" for outcome, rows in zip(outcomes, triples, strict=True))
    advice = " Set unseen: worst." if isinstance(outcomes[0].table, RankTable) else ""
    return [f"these models were evaluated on different triples ({counts}): their metrics do not compare.{advice}"]
