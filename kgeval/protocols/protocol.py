"""What an evaluation protocol is: the rules that two frameworks may differ in, as data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kgeval.discovery import instances
from kgeval.errors import ConfigError, did_you_mean
from kgeval.graph.dataset import Split
from kgeval.metrics.ranks import Ties


@dataclass(frozen=True)
class Protocol:
    """The rules of an evaluation. What a configuration says for itself goes before them."""

    name: str
    summary: str
    ties: Ties
    filter: tuple[Split, ...]
    metrics: tuple[str, ...]
    """the metrics that are reported"""


@cache
def protocols() -> dict[str, Protocol]:
    """All protocols, by name."""
    return {protocol.name: protocol for protocol in instances("kgeval.protocols", Protocol)}


def protocol(name: str) -> Protocol:
    """Find a protocol by name.

    Raises
    ------
    ConfigError
        if there is none, with the nearest name
    """
    if name not in protocols():
        raise ConfigError(f"unknown protocol {name!r}. {did_you_mean(name, protocols())}")
    return protocols()[name]
