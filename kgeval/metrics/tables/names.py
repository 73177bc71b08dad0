"""Metric names: ``[side.][ties.][average.]name[@k]``, with PyKEEN's names as synonyms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from kgeval.errors import MetricError, did_you_mean, nearest
from kgeval.metrics.metric import Metric, metrics
from kgeval.metrics.ranks.ties import TIES, Ties
from kgeval.metrics.tables.averages import AVERAGES, WEIGHINGS, Average

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
    average: Average | None = None
    """nothing where it is the metric's own: micro of ranks, macro of lists"""

    @property
    def metric(self) -> Metric:
        """The declaration of the metric."""
        return metrics()[self.name]

    @property
    def base(self) -> str:
        """The name without its side."""
        tail = f"@{self.k}" if self.k else ""
        return ".".join(part for part in (self.ties, self.average, f"{self.name}{tail}") if part)

    def __str__(self) -> str:
        return f"{self.side + '.' if self.side else ''}{self.base}"


def as_name_list(metrics: str | Iterable[str]) -> list[str]:
    """Read one name of a metric, or several.

    Raises
    ------
    MetricError
        if it is neither

    >>> texts("mrr"), texts(("mrr", "mr"))
    (['mrr'], ['mrr', 'mr'])
    """
    given = list(metrics) if isinstance(metrics, Iterable) and not isinstance(metrics, str | bytes) else [metrics]
    return [checked(text) for text in given]


def checked(text: Any) -> str:
    """Refuse what is no text.

    Raises
    ------
    MetricError
        if it is none
    """
    if not isinstance(text, str):
        raise MetricError(f"metrics are given by name, such as 'mrr' or ['mrr', 'hits@10'], found {text!r}.")
    return text


def parse(text: str) -> MetricName:
    """Read the name of a metric of rank tables.

    Raises
    ------
    MetricError
        if a part of it is unknown, with the nearest name; if a cut-off, a tie policy or an average is missing or not
        wanted; if the metric needs something else than ranks

    Examples
    --------
    >>> parse("head.hits@10")
    MetricName(name='hits', k=10, side='head', ties=None, average=None)
    >>> str(parse("both.realistic.inverse_harmonic_mean_rank")), str(parse("strat-mrr")), str(parse("macro.map@10"))
    ('both.realistic.mrr', 'strat.mrr', 'map@10')
    """
    stem, at, cutoff = checked(text).strip().lower().replace("strat-", "strat.").partition("@")
    *prefixes, last = stem.split(".")
    left = list(prefixes)
    # Each kind of prefix at most once, in this order.
    side, ties, average = (_take(left, kind) for kind in (PARTS, TIES, AVERAGES))
    if left:
        raise MetricError(f"metric {text!r}: {_misplaced(left[0], side, ties)}")
    name, k = _resolve(text, last + at + cutoff)
    _refuse_unfit(text, metrics()[name], ties, average)
    own = "micro" if metrics()[name].needs == "ranks" else "macro"
    return MetricName(
        name,
        k,
        side=next((part for part in PARTS if part == side), None),
        ties=next((policy for policy in TIES if policy == ties and metrics()[name].needs == "ranks"), None),
        average=next((kind for kind in AVERAGES if kind == average and kind != own), None),
    )


def _take(prefixes: list[str], kind: tuple[str, ...]) -> str | None:
    return prefixes.pop(0) if prefixes and prefixes[0] in kind else None


def _refuse_unfit(text: str, metric: Metric, ties: str | None, average: str | None) -> None:
    """Refuse a tie policy or an average that the metric cannot have."""
    if metric.needs != "ranks" and ties not in {None, "expected"}:
        raise MetricError(f"metric {text!r}: {metric.name} is averaged over ties exactly; leave {ties!r} out.")
    if average and not metric.averaged:
        raise MetricError(f"metric {text!r}: {metric.name} is no mean; leave {average!r} out.")
    if average and metric.needs == "lists" and WEIGHINGS[average].lists is None:
        raise MetricError(f"metric {text!r}: {average} weighs answers; {metric.name} has one value for each query.")


def _misplaced(prefix: str, side: str | None, ties: str | None) -> str:
    if prefix in PARTS and side:
        return f"names two sides, {side!r} and {prefix!r}. Ask for them one by one."
    if prefix in TIES and ties:
        return f"names two tie policies, {ties!r} and {prefix!r}. Ask for them one by one."
    if prefix in PARTS and ties:
        return f"the side stands first. Write '{prefix}.{ties}.…'."
    choices = PARTS + TIES + AVERAGES
    if prefix in choices:
        return f"unexpected {prefix!r}. Names are [side.][ties.][average.]name[@k]."
    return f"unknown side, tie policy or average {prefix!r}. {did_you_mean(prefix, choices)}"


def _resolve(text: str, last: str) -> tuple[str, int]:
    # PyKEEN writes k for its default, 10.
    given = last.removesuffix("_k") + "_10" if last.endswith("_at_k") else last
    for metric in metrics().values():
        if (k := metric.cutoff_in(given)) is not None:
            return metric.name, k
    _explain_cutoff(text, last)
    for metric in metrics("labels", "confidences").values():
        if metric.cutoff_in(last) is not None:
            raise MetricError(f"metric {text!r}: {metric.name} is computed from {metric.needs}, not from ranks.")
    own, every = ([name.replace("{k}", "10") for name in names] for names in _spellings())
    near = own if nearest(last, own) else every
    advice = did_you_mean(last, near if nearest(last, near) else own)
    raise MetricError(f"unknown metric {text!r}. {advice} 'kgeval list metrics' shows all.")


def _explain_cutoff(text: str, last: str) -> None:
    """Refuse the name of a metric whose cut-off is the only thing that is wrong."""
    stem, at, k = last.partition("@")
    for metric in metrics().values():
        if stem not in {metric.name, *metric.synonyms}:
            continue
        if metric.cutoff == "none":
            raise MetricError(f"metric {text!r}: {stem} has no cut-off. Write {stem!r}.")
        found = f"found {k!r}" if at else "found none"
        bound = "less than 10¹⁸" if k.isdecimal() and len(k) > 18 else "at least 1"
        raise MetricError(
            f"metric {text!r}: {stem} needs a cut-off, a whole number of {bound}, {found}. Write {stem + '@10'!r}."
        )


def _spellings() -> tuple[list[str], list[str]]:
    """List the names that results carry, and all names."""
    spelled = [metric.spellings() for metric in metrics().values()]
    return [names[0] for names in spelled], [name for names in spelled for name in names]
