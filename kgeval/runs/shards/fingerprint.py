"""The fingerprint of a run: what its numbers depend on, so that an earlier one is continued or taken only if equal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

IRRELEVANT = ("output", "report", "tracker", "threads", "memory_limit", "kernel", "device", "shards", "executor")
"""configuration keys that no number of a run depends on"""


@dataclass(frozen=True)
class Fingerprint:
    config: Mapping[str, str]
    """values by dotted keys, as :func:`leaves` returns them"""
    dataset: str | None
    """the SHA-256 of its triples"""
    files: Mapping[str, str]
    """the SHA-256 of each input file"""
    version: str | None
    variables: Mapping[str, str] = field(default_factory=dict)
    """by key, the :func:`slow_hash` of each value that the configuration names by variables of the environment"""

    @property
    def digest(self) -> str:
        """The SHA-256 of the whole, without the names of the files: they may lie elsewhere on another machine."""
        content = [sorted(self.config.items()), self.dataset, sorted(self.files.values()), self.version]
        content += [sorted(self.variables.items())] if self.variables else []
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def changes(self, earlier: Fingerprint) -> Iterator[str]:
        old, new = dict(earlier.config), self.config
        # What an earlier kgeval stored of a configuration that names no sides, which still means both.
        if "evaluation.sides" not in new and old.get("evaluation.sides") == "['head', 'tail']":
            del old["evaluation.sides"]
        for key in {**old, **new}:
            if old.get(key) != new.get(key):
                yield f"{key} was {old.get(key, 'not set')}, is {new.get(key, 'not set')}"
        # Otherwise their hashes differ anyway: by the salt, or as an earlier kgeval made them.
        comparable = (earlier.dataset, earlier.version) == (self.dataset, self.version)
        for key, digest in self.variables.items() if comparable else ():
            if old.get(key) == new.get(key) and earlier.variables.get(key) != digest:
                yield f"{key}: {new.get(key)} has another value"
        if earlier.dataset != self.dataset:
            yield "the dataset has other triples"
        for path in {**earlier.files, **self.files}:
            if earlier.files.get(path) != self.files.get(path):
                yield f"{path} has changed"
        if earlier.version != self.version:
            yield f"kgeval was {earlier.version}, is {self.version}"


@lru_cache
def slow_hash(value: str, *salt: str) -> str:
    """Hash what nobody is to guess: each guess takes memory and some 50 milliseconds, and fits one salt.

    The salt is not random, as machines that rank shards of one run apart from each other have to find the same hash.
    """
    return hashlib.scrypt(value.encode(), salt=json.dumps(salt).encode(), n=2**14, r=8, p=1, dklen=32).hex()


def leaves(content: Any, prefix: str = "") -> dict[str, str]:
    """Flatten a configuration: its values by dotted keys, without the irrelevant ones.

    >>> leaves({"evaluation": {"split": "test", "threads": 2}, "seed": 0})
    {'evaluation.split': 'test', 'seed': '0'}
    """
    if not isinstance(content, dict):
        return {prefix: str(content)}
    found: dict[str, str] = {}
    for key, value in content.items():
        if key not in IRRELEVANT:
            found |= leaves(value, f"{prefix}.{key}" if prefix else str(key))
    return found
