"""Resuming: a model whose run is there is not evaluated again, if nothing that its result depends on has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from kgeval.errors import InputError, reason
from kgeval.metrics.labels.label_summary import LabelSummary
from kgeval.protocols.protocol import protocol_of
from kgeval.protocols.report import framework_metrics
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.contents import CONFIG, MANIFEST, METRICS, altered, is_run, read_json, read_labels, read_ranks
from kgeval.runs.outcome import Outcome
from kgeval.runs.recompute import recompute_metrics
from kgeval.runs.run_task import TaskResult

NO_MATTER = ("output", "tracker", "threads", "memory_limit", "kernel")
"""keys that no number of a run depends on"""


def refuse_changes(folder: Path, config: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Refuse a run that is not the one that would be written now, and name what has changed.

    Parameters
    ----------
    folder
        the run directory
    config
        the configuration that it would have now
    manifest
        of what it would tell now: ``dataset``, with its ``sha256``; ``sha256``, of the inputs; ``versions``

    Raises
    ------
    InputError
        if anything has changed, or its files are damaged
    """
    changed = [*_changes(folder, config, manifest)]
    if changed:
        shown = ", ".join(changed[:5]) + (", …" if len(changed) > 5 else "")
        raise InputError(
            f"{str(folder)!r} already holds a run, and this would be another: {shown}. Choose another folder, or add "
            "--force."
        )


def _changes(folder: Path, config: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[str]:
    before = read_json(folder / MANIFEST)
    for name in altered(folder):
        yield f"{name} is not as it was written"
    old, new = _leaves(_stored_config(folder)), _leaves(config)
    for key in [*(old | new)]:
        if old.get(key) != new.get(key):
            yield f"{key} was {old.get(key, 'not set')}, is {new.get(key, 'not set')}"
    if before.get("dataset", {}).get("sha256") != manifest["dataset"]["sha256"]:
        yield "the dataset has other triples"
    files, now = before.get("sha256", {}), manifest["sha256"]
    yield from (f"{path} has changed" for path in files | now if files.get(path) != now.get(path))
    version, mine = (content.get("versions", {}).get("kgeval") for content in (before, manifest))
    if version != mine:
        yield f"kgeval was {version}, is {mine}"


def _stored_config(folder: Path) -> Any:
    try:
        return yaml.safe_load((folder / CONFIG).read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InputError(f"{str(folder / CONFIG)!r} cannot be read ({reason(error)}). Add --force.") from error


def _leaves(content: Any, place: str = "") -> dict[str, str]:
    """Spell every value of a configuration by the keys that lead to it, but for what is no matter."""
    if not isinstance(content, dict):
        return {place: str(content)}
    found: dict[str, str] = {}
    for key, value in content.items():
        if key not in NO_MATTER:
            found |= _leaves(value, f"{place}.{key}" if place else str(key))
    return found


def read_outcome(folder: Path, name: str, metrics: tuple[str, ...], said: Mapping[str, Any]) -> Outcome:
    """Read a stored run as the outcome that it was, or as other metrics and policies make it; nothing is scored.

    Raises
    ------
    InputError
        as :func:`kgeval.runs.recompute.ask_again` does
    """
    summary = recompute_metrics(folder, metrics, said)
    if isinstance(summary, LabelSummary):
        table: RankTable | TaskResult = TaskResult(read_labels(folder), summary, summary.notes)
        printed = None
    else:
        table = read_ranks(folder)
        printed = framework_metrics(table) if protocol_of(table).framework_metrics else None
    return Outcome(name, table, summary, printed, asked=bool(metrics or said), folder=folder, stored=True)


def read_outcomes(folder: Path, metrics: tuple[str, ...], said: Mapping[str, Any]) -> tuple[list[Outcome], list[str]]:
    """Read the runs of several models from the folder that holds their common table.

    Returns
    -------
    tuple[list[Outcome], list[str]]
        the runs that are there; the names of models whose run is not, or was interrupted, and that did not fail
    """
    table = read_json(folder / METRICS)
    names = [*table["models"], *table.get("unfinished", ())]
    whole = [name for name in names if is_run(folder / name)]
    outcomes = [read_outcome(folder / name, name, metrics, said) for name in whole]
    return outcomes, [name for name in names if name not in whole]
