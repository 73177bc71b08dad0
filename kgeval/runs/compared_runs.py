"""Runs to compare: their ranks read from folders and files, joined by model and seed, under policies that all share.

``kgeval compare`` calls ``read_compared`` with places (paths that it has looked at). Out come ``ComparedRun``s, which
``grid_of`` joins to {dataset: {model: runs}}; :mod:`kgeval.analysis.comparison` compares the models in this grid.
Policies are the settings by which numbers are computed from ranks, such as ``ties``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import realpath
from typing import Any

from kgeval.analysis.comparison.comparable import dataset_names, refuse_two_graphs
from kgeval.analysis.slices.slice import slices_among
from kgeval.base.errors import ConfigError, InputError
from kgeval.base.notes import Note
from kgeval.data.dataset import Dataset
from kgeval.metrics.kinds import CLASSIFICATION, RANKS
from kgeval.metrics.names import MetricName
from kgeval.metrics.rank_summary import rank_summary
from kgeval.metrics.ranks.ties import common_ties, note_on_ties
from kgeval.metrics.selection import MetricOptions
from kgeval.ranking.protocols.protocol import protocol_of
from kgeval.ranking.rank_table import LISTED, RankTable
from kgeval.ranking.tasks.label_table import LabelTable
from kgeval.runs.stored import (
    IMPORT_OPTIONS,
    VIEWS,
    group_stored,
    notes_on_unknown,
    option_name,
    own_groups,
    read_request,
    refuse_inapplicable,
    viewed,
)
from kgeval.stored.folders import Places, distinct_names, runs_of, words_of
from kgeval.stored.seeds import RunOf, Training, join_seeds, model_name
from kgeval.stored.stored_run import StoredRun


@dataclass(frozen=True)
class ComparedRun:
    """A run that is compared with others: its ranks, and the model and settings that they come from."""

    name: str
    table: Any
    """the ranks, with the slices to group them by, or the labelled triples of a classification"""
    policies: Mapping[str, Any]
    notes: tuple[str, ...]
    """notes on names that no installed package has, and on a dataset that has changed since it was ranked"""
    origin: RunOf
    """to which model it belongs, as which seed"""
    is_baseline: bool = False


RunGrid = dict[str, dict[str, list[ComparedRun]]]
"""the runs of each model on each dataset, one for each seed: {dataset: {model: runs}}"""


def read_compared(runs: Places, options: Mapping[str, Any]) -> list[ComparedRun]:
    """Read the ranks of the runs at several places.

    Runs on different datasets may have the same name, unless ``allow`` has ``dataset``: then they are compared as one
    dataset. Options are ``by`` (columns or slices to group the ranks by), ``groups`` (named groups for ``by``) and
    ``dataset`` (for text files, and for slices of files that do not name their dataset). For text files they are also
    the options of :func:`kgeval.load_ranks`. For stored ranks, an empty ``filter`` chooses the raw ranks, and ``times``
    ``static`` the static ranks.
    """
    places = [(f"{name}/{inside}" if name and inside else name, run) for name, inside, run in runs_of(runs)]
    files = [realpath(run.ranks_file) for _, run in places]
    for number, (_, run) in enumerate(places):
        if files[number] in files[:number]:
            raise InputError(f"{str(run.path)!r} is given twice. Leave one of them out.")
    imported = {name: options[name] for name in ("dataset", *IMPORT_OPTIONS) if name in options}
    by = tuple(options.get("by", ()))
    given = options.get("groups", {})
    groups = {**_common_groups([run for _, run in places], {*by} - {*given}), **given}
    used = {"dataset": bool(slices_among(by, groups))} | {name: imported.get(name) == it for name, it in VIEWS.items()}
    idle = [name for name in imported if not used.get(name)]
    if idle and not any(run.is_text for _, run in places):
        raise ConfigError(
            f"{option_name(idle[0])} applies to text files of ranks only; a stored run keeps its setting. Leave it out."
        )
    of_labels, *others = {run.keeps == CLASSIFICATION.name for _, run in places}
    if others:
        raise ConfigError("some of these runs are classifications, and others have ranks. Compare runs of one kind.")
    if of_labels:
        refuse_inapplicable(options, CLASSIFICATION.name)
    elif "calibration" in options:
        raise ConfigError(f"--calibration: {RANKS.without['calibration']}.")
    tables: list[Any] = [
        run.labels() if of_labels else run.ranks(**imported) if run.is_text else viewed(run.ranks(), imported)
        for _, run in places
    ]
    if "dataset" not in options.get("allow", ()):
        refuse_two_graphs({str(run.path): table for (_, run), table in zip(places, tables, strict=True)})
    datasets = dataset_names(tables)
    apart = len(set(datasets)) > 1 and "dataset" not in options.get("allow", ())
    names = distinct_names(
        [[name] if name else words_of(run.path) for name, run in places],
        [(dataset, bool(name)) for dataset, (name, _) in zip(datasets, places, strict=True)] if apart else None,
    )
    compared, loaded = [], dict[str, Dataset]()
    for name, (chosen, run), table, dataset in zip(names, places, tables, datasets, strict=True):
        own = [name for name in by if name != LISTED]
        grouped, changes = group_stored(table, own, run, options.get("dataset"), groups, loaded)
        training = Training.of(run.config, run.manifest)
        origin = RunOf(dataset if apart else "", chosen, name, training, training.key(run.config))
        unknown = notes_on_unknown(run, table if isinstance(table, RankTable) else None, [*options, "metrics", "by"])
        called = f"{name} on {dataset}: " if apart else f"{name}: "
        notes = tuple(Note.of(note).after(called) for note in (*unknown, *changes))
        compared.append(ComparedRun(name, grouped, _policies_of(table, run), notes, origin, run.is_baseline))
    return compared


def _common_groups(runs: Sequence[StoredRun], by: Collection[str]) -> dict[str, Any]:
    """Collect the groups of all runs; refuse runs that give one name to different groups."""
    of_runs: dict[str, tuple[StoredRun, Any]] = {}
    for run in runs:
        for name, groups in own_groups(run).items():
            first, known = of_runs.setdefault(name, (run, groups))
            if name in by and known != groups:
                unlike = f"{str(first.path)!r} and {str(run.path)!r} define the groups {name!r} differently"
                raise ConfigError(f"{unlike}. Give a file with the groups to compare by: --by FILE.yaml.")
    return {name: groups for name, (_, groups) in of_runs.items()}


def _policies_of(table: RankTable | LabelTable, run: StoredRun) -> dict[str, Any]:
    if isinstance(table, LabelTable):
        return {"calibration": getattr(read_request(run).task, "calibration", "platt")}
    policies = {"ties": protocol_of(table).ties} | read_request(run).policies
    return {name: value for name, value in policies.items() if name != "intervals"}


def grid_of(runs: Sequence[ComparedRun]) -> RunGrid:
    """Join the runs that are seeds of one model, dataset by dataset."""
    grid: RunGrid = {}
    groups = [[runs[place] for place in places] for places in join_seeds([run.origin for run in runs])]
    given = Counter((members[0].origin.dataset, members[0].origin.training.name) for members in groups)
    for members in groups:
        first = members[0].origin
        alone = first.training.name if first.dataset and given[first.dataset, first.training.name] == 1 else ""
        single = first.chosen or alone or members[0].name
        name = model_name([run.origin for run in members]) if len(members) > 1 else single
        models = grid.setdefault(first.dataset or runs[0].table.dataset, {})
        if name in models:
            where = f" on {first.dataset}" if first.dataset else ""
            raise InputError(f"two models are called {name!r}{where}. Name them, as in NAME=PATH.")
        models[name] = members
    return grid


def common_policies(runs: Sequence[ComparedRun], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policies that all runs share; options replace them.

    If tie policies differ, as those of baselines do, :func:`common_ties` chooses one.
    """
    (first, *others) = runs
    if "ties" in first.policies:
        options = {"ties": common_ties(run.policies["ties"] for run in runs), **options}
    for name, value in first.policies.items():
        for run in others:
            if name not in options and run.policies[name] != value:
                unlike = f"{first.name} has {name} {value}, {run.name} {run.policies[name]}"
                raise ConfigError(f"{unlike}. Choose one with {option_name(name)}.")
    return {name: options.get(name, value) for name, value in first.policies.items()}


ResultsByMetric = dict[MetricName, dict[str, dict[str, float]]]
"""numbers of models on several datasets: {metric: {dataset: {model: value}}}"""


def values_by_dataset(grid: RunGrid, metrics: Sequence[str], policies: Mapping[str, Any]) -> ResultsByMetric:
    """Compute metrics of models on several datasets, means over their seeds."""
    options, means = MetricOptions(**policies), ResultsByMetric()
    for dataset, models in grid.items():
        for model, runs in models.items():
            summaries = [rank_summary(run.table, metrics, by=(), options=options) for run in runs]
            for name in summaries[0].columns():
                values = [summary[str(name)] for summary in summaries]
                means.setdefault(name, {}).setdefault(dataset, {})[model] = sum(values) / len(values)
    return means


def refuse_classifications(runs: Sequence[ComparedRun], what: str) -> None:
    if labelled := [run.name for run in runs if isinstance(run.table, LabelTable)]:
        cure = "Compare one run of each model on one dataset"
        raise ConfigError(f"{what} compares ranks, and {labelled[0]} is a run of a classification. {cure}.")


def notes_on_ties(runs: Sequence[ComparedRun], options: Mapping[str, Any]) -> Iterator[str]:
    """Say which tie policy was chosen, if those of the runs differ and no option names one."""
    if "ties" not in options and "ties" in runs[0].policies:
        policies = [run.policies["ties"] for run in runs]
        yield from note_on_ties(policies, common_ties(policies))
