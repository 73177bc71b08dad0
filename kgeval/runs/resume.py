"""Resuming: a stored run is read instead of computed, if nothing that its result depends on has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgeval.errors import FileError, InputError, first_few, reason
from kgeval.files.opening import read_settings
from kgeval.files.yaml_text import read_yaml
from kgeval.run_directory.contents import CONFIG, MANIFEST, altered, read_json
from kgeval.run_directory.folders import runs_in
from kgeval.runs.config.metric_request import USUAL
from kgeval.runs.outcome import Outcome
from kgeval.runs.shards.fingerprint import Fingerprint, leaves
from kgeval.runs.stored_result import kind_of, read_request, read_result

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
    manifest = read_json(folder / MANIFEST)
    dataset, versions = _block(manifest, "dataset"), _block(manifest, "versions")
    config = leaves(_stored_config(folder))
    files, variables = _block(manifest, "sha256"), _block(manifest, "variables")
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


def _block(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    block = manifest.get(name)
    return block if isinstance(block, dict) else {}


def _stored_config(folder: Path) -> Any:
    try:
        return read_yaml(read_settings(folder / CONFIG))
    except (OSError, ValueError, FileError) as error:
        raise InputError(f"{str(folder / CONFIG)!r} cannot be read ({reason(error)}). Add --force.") from error


def read_outcome(folder: Path, name: str, metrics: tuple[str, ...], options: Mapping[str, Any]) -> Outcome:
    return Outcome(name, read_result(folder, metrics, options), folder, stored=True)


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
        metrics = USUAL[kind]
    return [read_outcome(path, name, metrics, options) for name, path in runs.items()]
