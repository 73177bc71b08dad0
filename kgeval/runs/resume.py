"""Resuming: a stored run is read instead of computed, if nothing that its result depends on has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kgeval.errors import FileError, InputError, reason
from kgeval.files.opening import read_settings
from kgeval.files.yaml_text import read_yaml
from kgeval.run_directory.contents import CONFIG, MANIFEST, altered, is_run, read_common_table, read_json
from kgeval.runs.outcome import Outcome
from kgeval.runs.stored_result import read_result

IRRELEVANT = ("output", "report", "tracker", "threads", "memory_limit", "kernel", "device")
"""configuration keys that no number of a run depends on"""

ERROR, TRIPLES = "evaluation.estimate.error", "evaluation.estimate.triples"
"""the keys of an estimate that say how many triples are ranked, in an order that does not depend on them"""


def refuse_changes(folder: Path, config: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Refuse a stored run that differs from the current one, and name what has changed.

    An estimate that has become tighter is no change: its sample is gone on with.

    Parameters
    ----------
    folder
        the run directory
    config
        the current configuration
    manifest
        of the current manifest: ``dataset``, with its ``sha256``; ``sha256``, of the inputs; ``versions``

    Raises
    ------
    InputError
        if anything has changed, or its files are damaged
    """
    changed = [*_changes(folder, config, manifest)]
    if changed:
        shown = ", ".join(changed[:5]) + (", …" if len(changed) > 5 else "")
        what = f"{str(folder)!r} already holds a run, and this would be another: {shown}"
        raise InputError(f"{what}. Choose another folder, or add --force.")


def _changes(folder: Path, config: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[str]:
    before = read_json(folder / MANIFEST)
    for name in altered(folder):
        yield f"{name} is not as it was written"
    old, new = _leaves(_stored_config(folder)), _leaves(config)
    for key in old | new:
        if key in (ERROR, TRIPLES) and _is_tighter(old, new):
            continue
        if old.get(key) != new.get(key):
            yield f"{key} was {old.get(key, 'not set')}, is {new.get(key, 'not set')}"
    if _block(before, "dataset").get("sha256") != manifest["dataset"]["sha256"]:
        yield "the dataset has other triples"
    old_files, new_files = _block(before, "sha256"), manifest["sha256"]
    yield from (f"{path} has changed" for path in old_files | new_files if old_files.get(path) != new_files.get(path))
    old_version, new_version = (_block(content, "versions").get("kgeval") for content in (before, manifest))
    if old_version != new_version:
        yield f"kgeval was {old_version}, is {new_version}"


def goes_on(folder: Path, config: Mapping[str, Any]) -> bool:
    """Whether a stored run is an estimate that the current configuration wants tighter."""
    old, new = _leaves(_stored_config(folder)), _leaves(config)
    return _is_tighter(old, new) and any(old.get(key) != new.get(key) for key in (ERROR, TRIPLES))


def _is_tighter(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Whether an estimate needs no fewer triples than another, both of an error or both of a number of triples."""
    if ERROR in old and ERROR in new:
        return float(new[ERROR]) <= float(old[ERROR])
    return TRIPLES in old and TRIPLES in new and int(new[TRIPLES]) >= int(old[TRIPLES])


def _block(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a block of a manifest, empty where it is missing or no block."""
    block = manifest.get(name)
    return block if isinstance(block, dict) else {}


def _stored_config(folder: Path) -> Any:
    try:
        return read_yaml(read_settings(folder / CONFIG))
    except (OSError, ValueError, FileError) as error:
        raise InputError(f"{str(folder / CONFIG)!r} cannot be read ({reason(error)}). Add --force.") from error


def _leaves(content: Any, prefix: str = "") -> dict[str, str]:
    """Flatten a configuration: its values by dotted keys, without the irrelevant ones."""
    if not isinstance(content, dict):
        return {prefix: str(content)}
    leaves: dict[str, str] = {}
    for key, value in content.items():
        if key not in IRRELEVANT:
            leaves |= _leaves(value, f"{prefix}.{key}" if prefix else str(key))
    return leaves


def read_outcome(folder: Path, name: str, metrics: tuple[str, ...], options: Mapping[str, Any]) -> Outcome:
    """Read a stored run as an outcome, with its own or other metrics and policies; nothing is scored.

    Raises
    ------
    InputError
        as :func:`kgeval.runs.stored_result.read_result` does
    """
    return Outcome(name, read_result(folder, metrics, options), folder, stored=True)


def read_outcomes(folder: Path, metrics: tuple[str, ...], options: Mapping[str, Any]) -> list[Outcome]:
    """Read the complete runs of several models from the folder of their common table."""
    names = [name for name in _planned(folder) if is_run(folder / name)]
    return [read_outcome(folder / name, name, metrics, options) for name in names]


def read_unfinished(folder: Path) -> list[str]:
    """Return the models of a common table that did not fail, and whose run is missing or was interrupted."""
    return [name for name in _planned(folder) if not is_run(folder / name)]


def _planned(folder: Path) -> list[str]:
    table = read_common_table(folder)
    return list(dict.fromkeys([*table["models"], *table["unfinished"]]))
