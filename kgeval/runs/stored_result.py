"""Stored runs: their tables read again, with slices, and the metrics of these; nothing is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kgeval.analysis.slices.annotation import annotate
from kgeval.analysis.slices.slice import slices
from kgeval.data.dataset import Dataset
from kgeval.data.io.triple_files import TRIPLE
from kgeval.data.loading import load_dataset
from kgeval.data.vocabulary import display_label
from kgeval.errors import ConfigError, InputError, MetricError, did_you_mean, reason
from kgeval.files.opening import read_settings
from kgeval.files.variables import expanded
from kgeval.files.yaml_text import read_yaml
from kgeval.metrics.kinds import KINDS
from kgeval.metrics.names import parse
from kgeval.metrics.summary import Summary
from kgeval.paths import exists_safely
from kgeval.protocols.protocol import protocol_of
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.contents import (
    CONFIG,
    LABELS,
    MANIFEST,
    RANKS,
    is_run,
    is_stored,
    notes_on_changes,
    ranks_of,
    read_block,
    read_labels,
    read_ranks,
    tables_in,
)
from kgeval.runs.config.run_config import DatasetConfig, TaskRequest
from kgeval.runs.results import Result, task_policies
from kgeval.tasks.classification import Classification
from kgeval.tasks.confidences import Confidences, ConfidenceTables

IMPORT_OPTIONS = ("split", "filter", "setting", "unmatched", "columns", "separator")
"""of ranks that were made elsewhere, beside their dataset: the options of :func:`kgeval.load_ranks`"""


def read_result(run: Path, metrics: tuple[str, ...], options: Mapping[str, Any]) -> Result:
    """Read the tables of a stored run, or a file of ranks, with the metrics to compute of them, by default the run's.

    Options replace the run's own: policies; ``by``, columns and slices; ``calibration``, ``mapping``,
    ``high_confidence``; of ranks that were made elsewhere ``dataset`` and the options of :func:`kgeval.load_ranks`.
    With slices, ``dataset`` is where the run's dataset is now.
    """
    _refuse_interrupted(run)
    kind = kind_of(run, metrics)
    _refuse_inapplicable(options, kind)
    request = read_request(run).with_overrides(options)
    task, by = request.task, options.get("by") or request.by or ()
    stated = request.metrics if kind == (task.kind if task else "ranks") else ()
    names = metrics or stated or KINDS[kind].metrics
    if kind == "ranks":
        table = _read_ranking(run, by, options)
        grouped, changes = group_stored(table, by, run, options.get("dataset"))
        policies = {"ties": protocol_of(table).ties} | request.policies
        return Result(
            table,
            names,
            policies,
            by=options.get("by", ()),
            changes=(*notes_on_changes(run), *changes),
            groups_by=() if "by" in options else by,
            grouped=grouped,
        )
    if kind == "classification":
        task = task if isinstance(task, Classification) else Classification()
        task = task.model_copy(update={name: options[name] for name in ("calibration",) if name in options})
        return Result(read_labels(run), names, task_policies(task, {}), by, notes_on_changes(run))
    if not isinstance(task, Confidences):
        raise ConfigError(f"{run / CONFIG}: not the configuration of a run of confidences.")
    policies = task_policies(task.with_overrides(options), {"ties": "realistic"} | request.policies)
    return Result(_read_confidences(run), names, policies, by, notes_on_changes(run))


def read_request(run: Path) -> TaskRequest:
    """Read what a run computes; the defaults, where it has no configuration, as a table alone or PyKEEN's evaluator."""
    if not exists_safely(run / CONFIG):
        return TaskRequest()
    try:
        content = _configuration(run)
        return TaskRequest(**{name: content[name] for name in TaskRequest.model_fields if name in content})
    except InputError as error:
        raise ConfigError(f"{run / CONFIG}: not the configuration of a run.\n{error}") from error
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"{run / CONFIG}: not the configuration of a run ({reason(error)}).") from error


def _configuration(run: Path) -> dict[str, Any]:
    content = read_yaml(read_settings(run / CONFIG))
    if not isinstance(content, dict):
        raise InputError("it holds no keys.")
    return content


def ungrouped(run: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what groups the rows (columns and, of a stored run, the dataset of slices), and intervals."""
    left_out = {"by", "intervals"} | ({"dataset"} if is_stored(run) else set())
    return {name: value for name, value in options.items() if name not in left_out}


def option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _refuse_interrupted(run: Path) -> None:
    if not exists_safely(run) or not run.is_dir() or is_run(run):
        return
    if there := [name for name in tables_in(run) if (run / name).is_file()]:
        raise InputError(
            f"{str(run)!r} holds {there[0]}, but no {MANIFEST}: a run was interrupted there. Run it again, or give the "
            "table itself."
        )


def kind_of(run: Path, metrics: tuple[str, ...]) -> str:
    """Tell by what the run keeps and, where that is facts and their ranks, by the first metric that is named."""
    if not exists_safely(run / LABELS):
        return "ranks"
    if not exists_safely(run / RANKS):
        return "classification"
    try:
        parse(metrics[0] if metrics else "rmse")
    except MetricError:
        return "confidences"
    return "ranks"


def _refuse_inapplicable(options: Mapping[str, Any], kind: str) -> None:
    for name in options:
        if name in KINDS[kind].without:
            raise ConfigError(f"{option_name(name)}: {KINDS[kind].without[name]}.")
        if kind != "ranks" and name in ("dataset", *IMPORT_OPTIONS):
            raise ConfigError(f"{option_name(name)}: the run tells its own. Leave it out.")
    if kind != "ranks" and (other := set(options.get("by", ())) - {"relation"}):
        raise ConfigError(f"--by {min(other)}: a run of {kind} is grouped by relation only.")


def _read_ranking(run: Path, by: Sequence[str], options: Mapping[str, Any]) -> RankTable:
    imported = {name: options[name] for name in IMPORT_OPTIONS if name in options}
    as_stored = is_stored(run) or "dataset" not in options
    raw = imported.get("filter") == () and as_stored
    if raw:
        del imported["filter"]
    if "filter" in imported and as_stored:
        known = ", ".join(read_ranks(run).filter or ()) or "no split"
        raise ConfigError(
            f"--filter {' '.join(imported['filter'])}: the stored ranks are filtered by {known}. --filter none shows "
            "the raw ones; for another filter, evaluate again. For a text file of ranks, add --dataset."
        )
    if imported and "dataset" not in options:
        raise ConfigError(f"{option_name(next(iter(imported)))}: stored ranks tell theirs; it goes with --dataset.")
    table = read_ranks(run, None if is_stored(run) and names_slices(by) else options.get("dataset"), **imported)
    return table.raw() if raw else table


def _read_confidences(run: Path) -> ConfidenceTables:
    labels = read_labels(run)
    files = {"score": run / RANKS} | {name: run / ranks_of(name) for name in labels.baselines}
    return ConfidenceTables(
        labels, {name: read_ranks(path) for name, path in files.items() if name == "score" or exists_safely(path)}
    )


def with_slices(table: RankTable, by: Sequence[str], dataset: Dataset) -> RankTable:
    """Add those slices of some names that are no columns of a table yet."""
    return annotate(table, dataset, [name for name in by if name not in table.columns and name in slices()])


def names_slices(by: Sequence[str]) -> bool:
    return any(name in slices() for name in by)


def group_stored(
    table: RankTable, by: Sequence[str], run: Path, source: str | None
) -> tuple[RankTable, tuple[str, ...]]:
    """Add those slices of some names that are no columns of a stored table; also return what to know of the dataset.

    The source is the folder or PyKEEN name of the dataset; by default the one that the run's configuration names.
    """
    for name in by:
        if name not in (known := [*table.columns, *slices()]):
            raise ConfigError(f"--by: no slice and no column {name!r}. {did_you_mean(name, known)}")
    if all(name in table.columns for name in by):
        return table, ()
    dataset = _configured_dataset(run) if source is None else load_dataset(source)
    difference = _difference(run, dataset)
    if difference and source is None:
        raise InputError(f"{difference}. Give the one that was ranked: --dataset.")
    return with_slices(table, by, dataset), (f"{difference}; the slices are of what was given.",) if difference else ()


def _configured_dataset(run: Path) -> Dataset:
    if not exists_safely(run / CONFIG):
        raise InputError(f"{str(run)!r} does not tell where its dataset is, on which slices rest. Add --dataset.")
    try:
        return DatasetConfig.model_validate(expanded(read_yaml(read_settings(run / CONFIG))["dataset"])).load()
    except (InputError, OSError, ValueError, TypeError, KeyError) as error:
        why = error.errors()[0]["msg"].removeprefix("Value error, ") if isinstance(error, ValidationError) else error
        raise InputError(
            f"{str(run)!r}: the dataset that its {CONFIG} names cannot be read, and slices rest on it. Add --dataset."
            f"\n{reason(ValueError(why))}"
        ) from error


def _difference(run: Path, dataset: Dataset) -> str:
    """Say that a dataset is not the very graph that a run ranked, if it tells."""
    if read_block(run, "dataset").get("sha256") in (None, dataset.sha256()):
        return ""
    return f"dataset {dataset.name} is not as it was ranked in {str(run)!r}: labels, triples or their order are others"


def named(summary: Summary, names: Mapping[str, str]) -> Summary:
    """Put human names before the labels in the keys of groups: ``accuses (accusation)``."""
    columns = {*TRIPLE, *(f"{column}_label" for column in TRIPLE)}  # whose values are labels

    def with_names(key: dict[str, Any]) -> dict[str, Any]:
        return {column: display_label(value, names) if column in columns else value for column, value in key.items()}

    return replace(summary, groups=tuple(replace(group, key=with_names(group.key)) for group in summary.groups))
