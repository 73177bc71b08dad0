"""Resuming: a model whose run is there is not evaluated again, if nothing that its result depends on has changed."""

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
    if _block(before, "dataset").get("sha256") != manifest["dataset"]["sha256"]:
        yield "the dataset has other triples"
    files, now = _block(before, "sha256"), manifest["sha256"]
    yield from (f"{path} has changed" for path in files | now if files.get(path) != now.get(path))
    version, mine = (_block(content, "versions").get("kgeval") for content in (before, manifest))
    if version != mine:
        yield f"kgeval was {version}, is {mine}"


def _block(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Take a block of keys from a manifest; an empty one where it is missing or no such block."""
    block = manifest.get(name)
    return block if isinstance(block, dict) else {}


def _stored_config(folder: Path) -> Any:
    try:
        return read_yaml(read_settings(folder / CONFIG))
    except (OSError, ValueError, FileError) as error:
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


def read_outcome(folder: Path, name: str, metrics: tuple[str, ...], options: Mapping[str, Any]) -> Outcome:
    """Read a stored run as the outcome that it was, or with other metrics and policies; nothing is scored.

    Raises
    ------
    InputError
        as :func:`kgeval.runs.stored_result.read_result` does
    """
    return Outcome(name, read_result(folder, metrics, options), folder, stored=True)


def read_outcomes(folder: Path, metrics: tuple[str, ...], options: Mapping[str, Any]) -> list[Outcome]:
    """Read the complete runs of several models from the folder that holds their common table."""
    names = [name for name in _planned(folder) if is_run(folder / name)]
    return [read_outcome(folder / name, name, metrics, options) for name in names]


def read_unfinished(folder: Path) -> list[str]:
    """Name the models of a common table that did not fail, and whose run is gone or was interrupted."""
    return [name for name in _planned(folder) if not is_run(folder / name)]


def _planned(folder: Path) -> list[str]:
    table = read_common_table(folder)
    return list(dict.fromkeys([*table["models"], *table["unfinished"]]))
