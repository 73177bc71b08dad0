"""Stored runs: their tables read again, and the metrics of these; nothing is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgeval.errors import ConfigError, InputError, MetricError, reason
from kgeval.files.opening import read_settings
from kgeval.files.yaml_text import read_yaml
from kgeval.metrics.names import parse
from kgeval.paths import exists_safely
from kgeval.protocols.protocol import protocol_of
from kgeval.run_directory.contents import (
    CONFIG,
    LABELS,
    MANIFEST,
    RANKS,
    is_run,
    is_stored,
    notes_on_changes,
    ranks_of,
    read_labels,
    read_ranks,
    tables_in,
)
from kgeval.runs.config.metric_request import INAPPLICABLE_OPTIONS, USUAL, MetricRequest
from kgeval.runs.results import Result, task_policies
from kgeval.runs.sliced_ranks import group_stored, names_slices
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
    readers = {"classification": _read_classification, "confidences": _read_confidences, "ranks": _read_ranking}
    result = readers[kind](run, metrics, request, options)
    return replace(result, changes=(*notes_on_changes(run), *result.changes))


def read_request(run: Path) -> MetricRequest:
    """Read what a run computes; the defaults, where it has no configuration, as a table alone or PyKEEN's evaluator."""
    if not exists_safely(run / CONFIG):
        return MetricRequest()
    try:
        content = _configuration(run)
        return MetricRequest(**{name: content[name] for name in MetricRequest.model_fields if name in content})
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
        if name in INAPPLICABLE_OPTIONS[kind]:
            raise ConfigError(f"{option_name(name)}: {INAPPLICABLE_OPTIONS[kind][name]}.")
        if kind != "ranks" and name in ("dataset", *IMPORT_OPTIONS):
            raise ConfigError(f"{option_name(name)}: the run tells its own. Leave it out.")
    if kind != "ranks" and (other := set(options.get("by", ())) - {"relation"}):
        raise ConfigError(f"--by {min(other)}: a run of {kind} is grouped by relation only.")


def _read_ranking(run: Path, metrics: tuple[str, ...], request: MetricRequest, options: Mapping[str, Any]) -> Result:
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
    by, source = options.get("by") or request.by or (), options.get("dataset")
    table = read_ranks(run, None if is_stored(run) and names_slices(by) else source, **imported)
    table = table.raw() if raw else table
    grouped, changes = group_stored(table, by, run, source)
    usual = () if request.task else request.metrics
    policies = {"ties": protocol_of(table).ties} | request.policies
    return Result(
        table,
        metrics or usual or USUAL["ranks"],
        policies,
        by=options.get("by", ()),
        changes=changes,
        groups_by=() if "by" in options else by,
        grouped=grouped,
    )


def _read_classification(
    run: Path, metrics: tuple[str, ...], request: MetricRequest, options: Mapping[str, Any]
) -> Result:
    task = request.task if isinstance(request.task, Classification) else Classification()
    task = task.model_copy(update={name: options[name] for name in ("calibration",) if name in options})
    names = metrics or request.metrics or USUAL["classification"]
    return Result(read_labels(run), names, task_policies(task, {}), by=options.get("by") or request.by or ())


def _read_confidences(
    run: Path, metrics: tuple[str, ...], request: MetricRequest, options: Mapping[str, Any]
) -> Result:
    if not isinstance(request.task, Confidences):
        raise ConfigError(f"{run / CONFIG}: not the configuration of a run of confidences.")
    task = request.task.with_overrides(options)
    labels = read_labels(run)
    ranks = {"score": read_ranks(run)}
    for baseline in labels.baselines:
        if exists_safely(run / ranks_of(baseline)):
            ranks[baseline] = read_ranks(run / ranks_of(baseline))
    policies = task_policies(task, {"ties": "realistic"} | request.policies)
    names = metrics or request.metrics or USUAL["confidences"]
    return Result(ConfidenceTables(labels, ranks), names, policies, by=options.get("by") or request.by or ())
