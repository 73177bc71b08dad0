"""Metric names: ``[side.][ties.]name[@k]``, with PyKEEN's names as synonyms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.metric import Metric, metrics
from kgeval.metrics.ranks import TIES, Ties

Part = Literal["both", "head", "tail"]
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class MetricName:
    """A metric, and on what it is computed. What is not said is left to the summary."""

    name: str
    k: int = 0
    """the cut-off, 0 for metrics without one"""
    side: Part | None = None
    ties: Ties | None = None

    @property
    def metric(self) -> Metric:
        """The declaration of the metric."""
        return metrics()[self.name]

    @property
    def base(self) -> str:
        """The name without its side."""
        tail = f"@{self.k}" if self.k else ""
        return f"{self.ties + '.' if self.ties else ''}{self.name}{tail}"

    def __str__(self) -> str:
        return f"{self.side + '.' if self.side else ''}{self.base}"


def parse(text: str) -> MetricName:
    """Read a metric name.

    Raises
    ------
    MetricError
        if a part of it is unknown, with the nearest name; if a cut-off is missing, or not wanted

    Examples
    --------
    >>> parse("head.hits@10")
    MetricName(name='hits', k=10, side='head', ties=None)
    >>> str(parse("both.realistic.inverse_harmonic_mean_rank"))
    'both.realistic.mrr'
    """
    *prefixes, last = text.strip().lower().split(".")
    side: Part | None = None
    ties: Ties | None = None
    for prefix in prefixes:
        if prefix in PARTS and side is None and ties is None:
            side = next(part for part in PARTS if part == prefix)
        elif prefix in TIES and ties is None:
            ties = next(policy for policy in TIES if policy == prefix)
        else:
            raise MetricError(f"metric {text!r}: {_misplaced(prefix, side, ties)}")
    name, k = _resolve(text, last)
    return MetricName(name, k, side, ties)


def _misplaced(prefix: str, side: Part | None, ties: Ties | None) -> str:
    if prefix in PARTS and side:
        return f"names two sides, {side!r} and {prefix!r}. Ask for them one by one."
    if prefix in TIES:
        return f"names two tie policies, {ties!r} and {prefix!r}. Ask for them one by one."
    if prefix in PARTS:
        return f"the side stands first. Write '{prefix}.{ties}.…'."
    return f"unknown side or tie policy {prefix!r}. {did_you_mean(prefix, PARTS + TIES)}"


def _resolve(text: str, last: str) -> tuple[str, int]:
    for metric in metrics().values():
        for pattern in (f"{metric.name}@{{k}}" if metric.takes_k else metric.name, *metric.synonyms):
            shape = re.escape(pattern).replace(r"\{k\}", r"([1-9][0-9]{0,17})")
            if match := re.fullmatch(shape, last):
                return metric.name, int(match[1]) if match.groups() else 0
    stem, at, k = last.partition("@")
    if stem in metrics() and at and not metrics()[stem].takes_k:
        raise MetricError(f"metric {text!r}: {stem} has no cut-off. Write {stem!r}.")
    if stem in metrics() and metrics()[stem].takes_k:
        found = f"found {k!r}" if at else "found none"
        raise MetricError(
            f"metric {text!r}: {stem} needs a cut-off, a whole number from 1, {found}. Write {stem + '@10'!r}."
        )
    raise MetricError(f"unknown metric {text!r}. {did_you_mean(last, _spellings())}")


def _spellings() -> list[str]:
    return [
        spelling.replace("{k}", "10")
        for metric in metrics().values()
        for spelling in (f"{metric.name}@{{k}}" if metric.takes_k else metric.name, *metric.synonyms)
    ]
