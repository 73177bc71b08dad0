"""Whether an earlier run is taken or continued: by its fingerprint, which is all that its numbers depend on.

The runner and the store of shards compare the fingerprint of what is wanted now with that of what is in the folder. A
key of the configuration counts, unless it is in ``IRRELEVANT``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kgeval.base.errors import InputError, first_few
from kgeval.stored.contents import MANIFEST
from kgeval.stored.stored_run import StoredRun

IRRELEVANT = ("output", "report", "tracker", "threads", "memory_limit", "kernel", "device", "shards", "executor")
"""configuration keys that no number of a run depends on"""


@dataclass(frozen=True)
class Fingerprint:
    """What the numbers of a run depend on: configuration, dataset, input files, version of kgeval."""

    config: Mapping[str, str]
    """values by dotted keys, as :func:`leaves` returns them"""
    dataset: str | None
    """the SHA-256 of its triples"""
    files: Mapping[str, str]
    """the SHA-256 of each input file"""
    version: str | None

    @property
    def digest(self) -> str:
        """The SHA-256 of the whole, without the names of the files: they may lie elsewhere on another machine."""
        content = [sorted(self.config.items()), self.dataset, sorted(self.files.values()), self.version]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def changes(self, earlier: Fingerprint) -> Iterator[str]:
        """Say what differs from an earlier fingerprint."""
        old, new = dict(earlier.config), self.config
        # Earlier versions stored both sides if a configuration names none, which still means both.
        if "evaluation.sides" not in new and old.get("evaluation.sides") == "['head', 'tail']":
            del old["evaluation.sides"]
        for key in {**old, **new}:
            if old.get(key) != new.get(key):
                yield f"{key} is {old.get(key, 'not set')} there, and {new.get(key, 'not set')} now"
        if earlier.dataset != self.dataset:
            yield "the triples of the dataset have changed"
        for path in {**earlier.files, **self.files}:
            if earlier.files.get(path) != self.files.get(path):
                yield f"{path} has changed"
        if earlier.version != self.version:
            yield f"kgeval is {earlier.version} there, and {self.version} now"


def leaves(content: Any, prefix: str = "") -> dict[str, str]:
    """Flatten a configuration: its values by dotted keys, without the irrelevant ones.

    >>> leaves({"evaluation": {"split": "test", "threads": 2}, "seed": 0})
    {'evaluation.split': 'test', 'seed': '0'}
    """
    if not isinstance(content, dict):
        return {prefix: str(content)}
    values: dict[str, str] = {}
    for key, value in content.items():
        if key not in IRRELEVANT:
            values |= leaves(value, f"{prefix}.{key}" if prefix else str(key))
    return values


SIZES = ERROR, TRIPLES = "evaluation.estimate.error", "evaluation.estimate.triples"
"""the keys of an estimate that say how many triples are ranked, in an order that does not depend on them"""


def refuse_changes(run: StoredRun, current: Fingerprint) -> None:
    """Refuse a stored run that differs from the current one, and name what has changed.

    A smaller error of an estimate is not a change: its sample is continued.
    """
    faults = run.faults if "written" in run.manifest else {MANIFEST: "has no SHA-256 of the files"}
    damaged, stored = [f"{name} {fault}" for name, fault in faults.items()], _fingerprint(run)
    if _is_tighter(stored.config, current.config):
        sizes = {key: current.config[key] for key in SIZES if key in current.config}
        stored = replace(stored, config={**stored.config, **sizes})
    changed = [*damaged, *current.changes(stored)]
    if changed:
        refusal = f"{str(run.path)!r} already holds a different run: {first_few(changed)}"
        raise InputError(f"{refusal}. Choose another folder, or add --force.")


def is_to_be_tightened(run: StoredRun, current: Fingerprint) -> bool:
    """Whether a stored run is an estimate that is now wanted tighter."""
    old, new = _fingerprint(run).config, current.config
    return _is_tighter(old, new) and any(old.get(key) != new.get(key) for key in SIZES)


def _fingerprint(run: StoredRun) -> Fingerprint:
    try:
        config = leaves(run.config)
    except InputError as error:
        raise InputError(f"{error} Add --force.") from error
    about = run.manifest
    return Fingerprint(
        config, about.get("dataset", {}).get("sha256"), about.get("sha256", {}), about.get("versions", {}).get("kgeval")
    )


def _is_tighter(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Whether an estimate needs no fewer triples than an earlier one; both have an error, or a number of triples."""
    if ERROR in old and ERROR in new:
        return float(new[ERROR]) <= float(old[ERROR])
    return TRIPLES in old and TRIPLES in new and int(new[TRIPLES]) >= int(old[TRIPLES])
