"""Compared runs: the rank tables of several runs, by the names of their models, and the policies that they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgeval.errors import ConfigError, InputError, MetricError
from kgeval.metrics.names import MetricName
from kgeval.metrics.rank_summary import rank_summary
from kgeval.metrics.ranks.ties import common_ties, note_on_ties
from kgeval.metrics.selection import MetricOptions
from kgeval.protocols.protocol import protocol_of
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.folders import CommonTable, distinct_names, runs_at, unfinished_in, words_of
from kgeval.run_directory.stored_run import StoredRun
from kgeval.runs.stored import IMPORT_OPTIONS, group_stored, names_slices, option_name, read_request


@dataclass(frozen=True)
class ComparedRun:
    name: str
    path: Path
    table: RankTable
    policies: Mapping[str, Any]
    changes: tuple[str, ...]
    """what is not as the run wrote it, or its dataset not as it was ranked"""


def read_compared(
    runs: Sequence[tuple[str, str]], options: Mapping[str, Any], *, across: bool = False
) -> list[ComparedRun]:
    """Read the ranks of runs, each a name, which may be empty, and a path; ``across`` datasets, names may repeat.

    Other files of a run or of a folder of runs, as a shell's ``runs/*/*`` has them, are passed over. Options are
    ``by``, columns or slices; ``dataset``, of text files and for slices of files that do not name it; of text files
    those of :func:`kgeval.load_ranks`; of stored ranks, an empty ``filter`` means the raw ones.
    """
    places = [
        (f"{name}/{model}" if name and model else name, StoredRun(run))
        for name, path in runs
        for model, run in runs_at(Path(path), named=bool(name)).items()
    ]
    if not places:
        raise InputError(f"{runs[0][1]!r} is a file of a run, not its ranks: give the run directory.")
    files = [run.ranks_file.resolve() for _, run in places]
    for number, (_, run) in enumerate(places):
        if files[number] in files[:number]:
            raise InputError(f"{str(run.path)!r} is given twice: one model is not compared with itself.")
    imported = {name: options[name] for name in ("dataset", *IMPORT_OPTIONS) if name in options}
    by = tuple(options.get("by", ()))
    raw = imported.get("filter") == ()
    used = {"dataset": names_slices(by), "filter": raw}
    idle = [name for name in imported if not used.get(name)]
    if idle and not any(run.is_text for _, run in places):
        raise ConfigError(f"{option_name(idle[0])}: stored ranks tell theirs; no text file is compared.")
    tables = [run.ranks(**imported) if run.is_text else run.ranks().raw() if raw else run.ranks() for _, run in places]
    names = distinct_names(
        [[name] if name else words_of(run.path) for name, run in places],
        [(table.dataset, bool(name)) for table, (name, _) in zip(tables, places, strict=True)] if across else None,
    )
    if not across and (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise InputError(f"two models are called {twice!r}: name them, as in NAME=PATH.")
    return [
        ComparedRun(name, run.path, grouped, _policies(table, run), (*run.changes, *changes))
        for name, (_, run), table in zip(names, places, tables, strict=True)
        for grouped, changes in [group_stored(table, by, run, options.get("dataset"))]
    ]


def common_policies(runs: Sequence[ComparedRun], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policies that all runs have, but for the options that replace their own.

    Where tie policies differ, as those of baselines do, one is chosen by :func:`common_ties`.
    """
    (first, *others) = runs
    options = {"ties": common_ties(run.policies["ties"] for run in runs), **options}
    for name, value in first.policies.items():
        for run in others:
            if name not in options and run.policies[name] != value:
                unlike = f"{first.name} has {name} {value}, {run.name} {run.policies[name]}"
                raise ConfigError(f"{unlike}. Choose one with {option_name(name)}.")
    return {name: options.get(name, value) for name, value in first.policies.items()}


def notes_on_runs(runs: Sequence[ComparedRun], options: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{run.name}: {change}" for run in runs for change in run.changes)
    if "ties" not in options:
        policies = [run.policies["ties"] for run in runs]
        yield from note_on_ties(policies, common_ties(policies))


def notes_on_unfinished(runs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Say which runs inside folders are not there to compare, because they failed or were interrupted."""
    for path in (Path(path) for _, path in runs):
        if missing := sorted({*CommonTable.read(path).failed, *unfinished_in(path)}):
            yield f"not compared, as they failed or did not finish in {str(path)!r}: {', '.join(missing)}."


def values_by_dataset(
    runs: Sequence[ComparedRun], metrics: Sequence[str], options: Mapping[str, Any]
) -> dict[MetricName, dict[str, dict[str, float]]]:
    """Compute metrics of models on several datasets; {metric: {dataset: {model: value}}}."""
    policies = MetricOptions(**common_policies(runs, options))
    found: dict[MetricName, dict[str, dict[str, float]]] = {}
    for run in runs:
        summary = rank_summary(run.table, metrics, by=(), options=policies)
        for name in summary.requested_columns:
            if name.metric.increasing is None:
                raise MetricError(f"{name.base} says nothing about which model is better.")
            of_dataset = found.setdefault(name, {}).setdefault(run.table.dataset, {})
            if run.name in of_dataset:
                what = f"{run.table.dataset} has a model {run.name!r} already"
                raise InputError(f"{str(run.path)!r}: {what}. Write NAME=PATH.")
            of_dataset[run.name] = summary[str(name)]
    return found


def _policies(table: RankTable, run: StoredRun) -> dict[str, Any]:
    policies = {"ties": protocol_of(table).ties} | read_request(run).policies
    return {name: value for name, value in policies.items() if name != "intervals"}
