"""Outcomes: the result of a model, computed or read from a stored run that is the same; and tables of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.data.dataset import Dataset
from kgeval.errors import FileError, InputError, KgevalError, RunError, first_few, reason
from kgeval.files.opening import read_settings
from kgeval.files.yaml_text import read_yaml
from kgeval.metrics.kinds import KINDS
from kgeval.metrics.rank_summary import RankSummary
from kgeval.metrics.ranks.ties import Ties, common_ties, note_on_ties
from kgeval.metrics.summary import Summary, notes_with_models
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.contents import CONFIG, REPORT, altered, read_block
from kgeval.run_directory.folders import runs_in
from kgeval.runs.results import Result
from kgeval.runs.shards.fingerprint import Fingerprint, leaves
from kgeval.runs.stored_result import kind_of, read_request, read_result


@dataclass(frozen=True)
class Outcome:
    name: str
    """the model's name in the configuration; empty where there is only one"""
    result: Result
    folder: Path | None = None
    stored: bool = False

    @property
    def summary(self) -> Summary:
        return self.result.summary

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``."""
        framework = self.result.framework
        reported = {} if framework is None else {"protocol": framework.to_dict()}
        return self.summary.to_dict() | beside(self.result.groups) | {"notes": list(self.notes)} | reported

    @property
    def notes(self) -> tuple[str, ...]:
        framework, groups = self.result.framework, self.result.groups
        known = self.summary.notes
        if groups is not None and self.summary.tie_notes:  # the groups' ties are those of the whole
            known = (*known, *groups.tie_notes)
        of_groups = () if groups is None else (note for note in groups.notes if note not in known)
        return (*self.summary.notes, *of_groups, *(() if framework is None else framework.notes))


def beside(groups: Summary | None) -> dict[str, Any]:
    """Lay out what ``metrics.json`` has beside the metrics of the whole: the columns that group it, and each group."""
    if groups is None:
        return {}
    content = groups.to_dict()
    return {name: content[name] for name in ("by", "groups")}


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
        else replace(outcome, result=replace(outcome.result, policies={**outcome.result.policies, "ties": shown}))
        for outcome in outcomes
    ]


def _policies(outcomes: Sequence[Outcome]) -> list[Ties]:
    summaries = (outcome.summary for outcome in outcomes)
    return [summary.options.ties for summary in summaries if isinstance(summary, RankSummary)]


def common_table(
    outcomes: Sequence[Outcome], failures: Mapping[str, object], *, planned: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the ``metrics.json`` of several models.

    It has the metrics of each model under one tie policy, or why the model failed; ``unfinished`` are planned models
    with neither.
    """
    finished = {*failures, *(outcome.name for outcome in outcomes)}
    return {
        "schema": 1,
        "models": {outcome.name: outcome.to_dict() for outcome in with_common_ties(outcomes)},
        "failed": {name: str(error) for name, error in failures.items()},
        "unfinished": [name for name in planned if name not in finished],
        "notes": comparability_notes(outcomes),
    }


def notes_by_model(outcomes: Sequence[Outcome]) -> list[str]:
    return notes_with_models({outcome.name: outcome.notes for outcome in outcomes})


def comparability_notes(outcomes: Sequence[Outcome]) -> list[str]:
    """Warn of models that were evaluated on different triples, or whose runs have different tie policies."""
    policies = _policies(outcomes)
    return [*_notes_on_triples(outcomes), *note_on_ties(policies, common_ties(policies))]


def _notes_on_triples(outcomes: Sequence[Outcome]) -> list[str]:
    triples = [outcome.result.triples for outcome in outcomes]
    if all(outcome.result.ranks is not None and outcome.result.ranks.sampling is not None for outcome in outcomes):
        return []  # samples of various sizes, all of which estimate the whole
    if all(np.array_equal(other, triples[0]) for other in triples):
        return []
    counts = ", ".join(f"{outcome.name} {len(rows)}" for outcome, rows in zip(outcomes, triples, strict=True))
    advice = " Set unseen: worst." if isinstance(outcomes[0].result.table, RankTable) else ""
    return [f"these models were evaluated on different triples ({counts}): their metrics do not compare.{advice}"]


def write_page(folder: Path, dataset: Dataset, *, warn: Callable[[str], None]) -> None:
    """Write the page of a run, or of the runs of several models; what keeps it from being made spoils no run."""
    from kgeval.reports.page import report

    try:
        report(folder, dataset=dataset).save(folder / REPORT)
    except KgevalError as error:
        warn(f"there is no page of {str(folder)!r}: {error}")


SIZES = ERROR, TRIPLES = "evaluation.estimate.error", "evaluation.estimate.triples"
"""the keys of an estimate that say how many triples are ranked, in an order that does not depend on them"""


def refuse_changes(folder: Path, current: Fingerprint) -> None:
    """Refuse a stored run that differs from the current one, and name what has changed.

    An estimate that has become tighter is no change: its sample is gone on with.
    """
    damaged, stored = [f"{name} is not as it was written" for name in altered(folder)], _stored_fingerprint(folder)
    if _is_tighter(stored.config, current.config):
        sizes = {key: current.config[key] for key in SIZES if key in current.config}
        stored = replace(stored, config={**stored.config, **sizes})
    changed = [*damaged, *current.changes(stored)]
    if changed:
        what = f"{str(folder)!r} already holds a run, and this would be another: {first_few(changed)}"
        raise InputError(f"{what}. Choose another folder, or add --force.")


def _stored_fingerprint(folder: Path) -> Fingerprint:
    names = ("dataset", "versions", "sha256", "variables")
    dataset, versions, files, variables = (read_block(folder, name) for name in names)
    try:
        config = leaves(read_yaml(read_settings(folder / CONFIG)))
    except (OSError, ValueError, FileError) as error:
        raise InputError(f"{str(folder / CONFIG)!r} cannot be read ({reason(error)}). Add --force.") from error
    return Fingerprint(config, dataset.get("sha256"), files, versions.get("kgeval"), variables)


def goes_on(folder: Path, current: Fingerprint) -> bool:
    """Whether a stored run is an estimate that is now wanted tighter."""
    old, new = _stored_fingerprint(folder).config, current.config
    return _is_tighter(old, new) and any(old.get(key) != new.get(key) for key in SIZES)


def _is_tighter(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Whether an estimate needs no fewer triples than another, both of an error or both of a number of triples."""
    if ERROR in old and ERROR in new:
        return float(new[ERROR]) <= float(old[ERROR])
    return TRIPLES in old and TRIPLES in new and int(new[TRIPLES]) >= int(old[TRIPLES])


def read_outcomes(folder: Path, metrics: tuple[str, ...], options: Mapping[str, Any]) -> list[Outcome]:
    """Read the complete runs inside a folder; runs that were asked for different metrics have the default ones."""
    runs = runs_in(folder)
    by_kind = {kind_of(path, metrics): name for name, path in runs.items()}
    if len(by_kind) > 1:
        kinds = " and ".join(f"of {kind} ({name})" for kind, name in sorted(by_kind.items()))
        raise InputError(
            f"{str(folder)!r} holds runs {kinds}: no table has the metrics of both. Summarize one run at a time."
        )
    if not metrics and len({read_request(path).metrics for path in runs.values()}) > 1:
        (kind,) = by_kind
        metrics = KINDS[kind].metrics
    return [Outcome(name, read_result(path, metrics, options), path, stored=True) for name, path in runs.items()]
