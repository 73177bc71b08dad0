"""Stored runs: what was asked of them, and what they answer when they are asked again; nothing is scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgeval.errors import ConfigError, InputError, MetricError, reason
from kgeval.files.opening import read_settings
from kgeval.files.yaml_text import read_yaml
from kgeval.metrics.confidences.confidence_summary import CONFIDENCES
from kgeval.metrics.confidences.score_mapping import ConfidenceMapping
from kgeval.metrics.labels.label_summary import CLASSIFICATION
from kgeval.metrics.summarize import summarize
from kgeval.metrics.summary import Summary
from kgeval.metrics.tables.names import parse
from kgeval.metrics.tables.rank_summary import DEFAULT
from kgeval.paths import exists_safely
from kgeval.protocols.protocol import protocol_of
from kgeval.run_directory.contents import (
    CONFIG,
    MANIFEST,
    altered,
    holds_confidences,
    holds_labels_alone,
    is_run,
    ranks_of,
    read_labels,
    read_ranks,
    tables_in,
)
from kgeval.runs.config.metric_request import INAPPLICABLE_OPTIONS, MetricRequest
from kgeval.tasks.classification import Classification
from kgeval.tasks.confidences import Confidences, ConfidenceTables

ELSEWHERE = ("split", "filter", "setting", "unmatched", "columns", "separator")
"""what is said of ranks that were made elsewhere, beside their dataset: the options of ``kgeval.load_ranks``"""


def read_asked(run: Path) -> MetricRequest:
    """Read what a run was asked; the usual, where it does not tell: of a table alone, or of PyKEEN's evaluator.

    Raises
    ------
    ConfigError
        if its configuration is damaged
    """
    if not exists_safely(run / CONFIG):
        return MetricRequest()
    try:
        content = read_yaml(read_settings(run / CONFIG))
        return MetricRequest(**{name: content[name] for name in MetricRequest.model_fields if name in content})
    except InputError as error:
        raise ConfigError(f"{run / CONFIG}: not the configuration of a run.\n{error}") from error
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"{run / CONFIG}: not the configuration of a run ({reason(error)}).") from error


def read_confidences(run: Path, asked: MetricRequest) -> tuple[ConfidenceTables, Confidences]:
    """Read the facts and the ranks of a run that predicted confidences, and the task that it was.

    Raises
    ------
    InputError
        if a table of the run is missing or damaged, or the configuration is not that of such a run
    """
    if not isinstance(asked.task, Confidences):
        raise ConfigError(f"{run / CONFIG}: not the configuration of a run of confidences.")
    labels = read_labels(run)
    ranks = {"score": read_ranks(run)}
    for baseline in labels.baselines:
        if exists_safely(run / ranks_of(baseline)):
            ranks[baseline] = read_ranks(run / ranks_of(baseline))
    return ConfidenceTables(labels, ranks), asked.task


def recompute_metrics(run: Path, metrics: tuple[str, ...], said: Mapping[str, Any]) -> Summary:
    """Compute metrics of a stored run, or of ranks alone.

    Parameters
    ----------
    run
        the run directory, or a file of ranks
    metrics
        their names; without any, those of the run
    said
        what is said in place of the run's own: policies; ``by``, columns; ``calibration``, ``mapping``, ``high``; of
        ranks that were made elsewhere ``dataset`` and the options of :func:`kgeval.load_ranks`

    Raises
    ------
    InputError
        if there is no such run, if it is damaged, or if something is said that means nothing to its metrics
    """
    changed = _changed(run)
    kind = _kind(run, metrics)
    _refuse_unfit(said, kind)
    answers: dict[str, Callable[..., Summary]] = {
        "classification": _of_labels,
        "confidences": _of_confidences,
        "ranks": _of_ranks,
    }
    summary = answers[kind](run, metrics, read_asked(run).with_overrides(said), said)
    return replace(summary, table_notes=(*summary.table_notes, *changed))


def _changed(run: Path) -> tuple[str, ...]:
    """Refuse what an interrupted run left; tell which files of a run are not those that it wrote."""
    if not exists_safely(run) or not run.is_dir():
        return ()
    if is_run(run):
        names = [name for name in altered(run) if name != MANIFEST]
        return (f"not as the run wrote it: {', '.join(names)}.",) if names else ()
    if there := [name for name in tables_in(run) if (run / name).is_file()]:
        raise InputError(
            f"{str(run)!r} holds {there[0]}, but no {MANIFEST}: a run was interrupted there. Run it again, or give the "
            "table itself."
        )
    return ()


def _kind(run: Path, metrics: tuple[str, ...]) -> str:
    """Tell by what the run keeps and, where that is facts and their ranks, by the first metric that is named."""
    if holds_labels_alone(run):
        return "classification"
    if not holds_confidences(run):
        return "ranks"
    try:
        parse(metrics[0] if metrics else "rmse")
    except MetricError:
        return "confidences"
    return "ranks"


def option_name(name: str) -> str:
    """Spell a keyword as the command line's option.

    >>> option_name("high_confidence")
    '--high-confidence'
    """
    return f"--{name.replace('_', '-')}"


def _refuse_unfit(said: Mapping[str, Any], kind: str) -> None:
    for option in said:
        if option in INAPPLICABLE_OPTIONS[kind]:
            raise ConfigError(f"{option_name(option)}: {INAPPLICABLE_OPTIONS[kind][option]}.")
        if kind != "ranks" and option in ("dataset", *ELSEWHERE):
            raise ConfigError(f"{option_name(option)}: the run tells its own. Leave it out.")
    if kind != "ranks" and (other := set(said.get("by", ())) - {"relation"}):
        raise ConfigError(f"--by {min(other)}: a run of {kind} is grouped by relation only.")


def _of_confidences(run: Path, metrics: tuple[str, ...], asked: MetricRequest, said: Mapping[str, Any]) -> Summary:
    if not 0 < said.get("high_confidence", 1) <= 1:
        raise ConfigError(
            f"--high-confidence {said['high_confidence']:g}: confidences go up to 1, and high ones begin above 0."
        )
    tables, task = read_confidences(run, asked)
    return summarize(
        tables,
        metrics or asked.metrics or CONFIDENCES,
        mapping=ConfidenceMapping(kind=said["mapping"]) if "mapping" in said else task.mapping,
        high_confidence=said.get("high_confidence", task.high_confidence),
        ties=asked.ties or "realistic",
        seed=asked.seed,
        by=said.get("by", ()),
    )


def _of_ranks(run: Path, metrics: tuple[str, ...], asked: MetricRequest, said: Mapping[str, Any]) -> Summary:
    options = {name: said[name] for name in ELSEWHERE if name in said}
    if options and "dataset" not in said:
        raise ConfigError(f"{option_name(next(iter(options)))}: stored ranks tell theirs; it goes with --dataset.")
    table = read_ranks(run, said.get("dataset"), **options)
    usual = DEFAULT if asked.task else asked.metrics or DEFAULT
    policies = {"ties": protocol_of(table).ties} | asked.policies
    return summarize(table, metrics or usual, by=said.get("by", ()), **policies)


def _of_labels(run: Path, metrics: tuple[str, ...], asked: MetricRequest, said: Mapping[str, Any]) -> Summary:
    table = read_labels(run)
    own = asked.task.calibration if isinstance(asked.task, Classification) else "platt"
    names, calibration = metrics or asked.metrics or CLASSIFICATION, said.get("calibration", own)
    return summarize(table, names, calibration=calibration, by=said.get("by", ()))
