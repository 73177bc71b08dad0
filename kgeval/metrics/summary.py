"""Summaries: metrics of a rank table, by side and by any of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kgeval.arrays import BoolArray
from kgeval.errors import MetricError, did_you_mean
from kgeval.metrics.metric import Undefined
from kgeval.metrics.names import PARTS, MetricName, Part, parse
from kgeval.metrics.ranks import TIES, Ranks, Ties

if TYPE_CHECKING:
    import pandas as pd

DEFAULT = ("mrr", "hits@1", "hits@3", "hits@10", "mr", "amri", "count")
"""the metrics of a summary that names none"""


class RankColumns(Protocol):
    """What a summary reads: the columns of a rank table."""

    @property
    def split(self) -> str:
        """The split that was ranked."""
        ...

    @property
    def num_triples(self) -> int:
        """How many triples were ranked."""
        ...

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        ...

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Return one column."""
        ...


@dataclass(frozen=True)
class Group:
    """The metrics of some rows of a table."""

    key: dict[str, Any]
    """the values that these rows have in common, by column; empty for all rows"""
    values: dict[MetricName, float | None]
    """by metric with its side; nothing where a metric is undefined"""
    undefined: dict[str, str] = field(default_factory=dict)
    """why, by the metric's name"""

    def rows(self) -> Iterator[tuple[str, dict[str, float | None]]]:
        """Yield each metric's name with its values by side."""
        for base in dict.fromkeys(name.base for name in self.values):
            yield base, {str(name.side): value for name, value in self.values.items() if name.base == base}


@dataclass(frozen=True)
class Summary:
    """Metrics of a rank table."""

    split: str
    ties: Ties
    num_triples: int
    groups: tuple[Group, ...]
    by: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> float:
        """Look a metric up by any of its names; without a side it is that of ``both``.

        Raises
        ------
        MetricError
            if it was not asked for, if it is undefined, or if the summary is grouped
        """
        if self.by:
            raise MetricError(f"this summary is grouped by {', '.join(self.by)}: look at its .groups or .to_pandas().")
        wanted = parse(name)
        side, ties = wanted.side or "both", wanted.ties if wanted.ties != self.ties else None
        group = self.groups[0]
        for spelled in (replace(wanted, side=side, ties=ties), replace(wanted, side=side, ties=self.ties)):
            if spelled in group.values:
                value = group.values[spelled]
                if value is None:
                    raise MetricError(f"{name} is undefined: {group.undefined[str(spelled)]}.")
                return value
        raise MetricError(f"the summary does not hold {name!r}. {did_you_mean(name, map(str, group.values))}")

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``."""
        head = {"schema": 1, "split": self.split, "ties": self.ties, "num_triples": self.num_triples}
        if self.by:
            return {
                **head,
                "by": list(self.by),
                "groups": [{"key": group.key, **_nested(group)} for group in self.groups],
            }
        return {**head, **_nested(self.groups[0])}

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per group, one column per metric and side."""
        import pandas as pd

        return pd.DataFrame(
            [{**group.key, **{str(name): value for name, value in group.values.items()}} for group in self.groups]
        )

    def __str__(self) -> str:
        return "\n".join(_text(group) for group in self.groups)


def summarize(
    table: RankColumns, metrics: Sequence[str] = DEFAULT, *, by: Sequence[str] = (), ties: Ties = "realistic"
) -> Summary:
    """Compute metrics of a rank table.

    Parameters
    ----------
    table
        the ranks
    metrics
        names ``[side.][ties.]name[@k]``; without a side, a metric is computed for every side of the table and for both
        pooled
    by
        columns whose values divide the rows into groups, for example ``("relation",)``
    ties
        the tie policy of metrics that name none

    Raises
    ------
    MetricError
        if names, columns or the tie policy are unknown (all of them in one message), or a side was not evaluated

    Examples
    --------
    >>> from kgeval import evaluate, load_dataset
    >>> table = evaluate(lambda h, r, t: (h * 31 + t * 7) % 5, load_dataset("nations"))
    >>> summary = summarize(table, ["mrr", "head.hits@3"], ties="expected")
    >>> summary["mrr"] == summary["both.expected.mean_reciprocal_rank"]
    True
    """
    if ties not in TIES:
        raise MetricError(f"unknown tie policy {ties!r}. {did_you_mean(str(ties), TIES)}")
    names = _parsed(metrics)
    sides = table.column("side")
    parts = [part for part in PARTS if part == "both" or (sides == part).any()]
    for name in names:
        if name.side and name.side not in parts:
            raise MetricError(f"{name}: the table has no {name.side} ranks.")
    spelled = list(dict.fromkeys(replace(name, side=part) for name in names for part in _parts(name, parts)))
    ranks = Ranks(*(table.column(column) for column in ("greater", "tied", "candidates")))
    groups = tuple(_group(key, rows, spelled, ranks, sides, ties) for key, rows in _divide(table, tuple(by)))
    return Summary(table.split, ties, table.num_triples, groups, tuple(by))


def _parsed(metrics: Sequence[str]) -> list[MetricName]:
    names, problems = [], []
    for text in [metrics] if isinstance(metrics, str) else metrics:
        try:
            names.append(parse(text))
        except MetricError as error:
            problems.append(str(error))
    if problems:
        raise MetricError("\n".join(problems))
    return names


def _parts(name: MetricName, parts: list[Part]) -> list[Part]:
    return [name.side] if name.side else parts


def _divide(table: RankColumns, by: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], BoolArray]]:
    """Yield the key and the rows of each group; entities and relations are keyed by their labels."""
    columns = [f"{name}_label" if f"{name}_label" in table.columns else name for name in by]
    values = [table.column(name) for name in columns]
    if not by:
        yield {}, np.ones(len(table.column("side")), np.bool_)
        return
    codes = np.stack([np.unique(value, return_inverse=True)[1] for value in values], axis=1)
    groups, first, owners = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    for index in range(len(groups)):
        key = {name: _plain(value[first[index]]) for name, value in zip(by, values, strict=True)}
        yield key, owners.ravel() == index


def _group(
    key: dict[str, Any],
    rows: BoolArray,
    names: list[MetricName],
    ranks: Ranks,
    sides: np.ndarray[Any, Any],
    ties: Ties,
) -> Group:
    group = Group(key, {})
    for name in names:
        mine = ranks[rows if name.side == "both" else rows & (sides == name.side)]
        try:
            group.values[name] = name.metric(mine, ties=name.ties or ties, k=name.k)
        except Undefined as error:
            group.values[name] = None
            group.undefined[str(name)] = str(error)
    return group


def _nested(group: Group) -> dict[str, Any]:
    nested: dict[str, Any] = {"metrics": {}}
    for name, value in group.values.items():
        nested["metrics"].setdefault(name.side, {})[name.base] = value
    return {**nested, "undefined": group.undefined} if group.undefined else nested


def _text(group: Group) -> str:
    title = ", ".join(f"{column} = {value}" for column, value in group.key.items())
    sides = list(dict.fromkeys(name.side or "both" for name in group.values))
    lines = [title] if title else []
    lines.append(f"{'':<20}" + "".join(f"{side:>12}" for side in sides))
    for base, values in group.rows():
        cells = (f"{'' if side not in values else number(values[side]):>12}" for side in sides)
        lines.append(f"{base:<20}" + "".join(cells))
    return "\n".join(lines)


def number(value: float | None) -> str:
    """Print a metric for people: what is counted whole, all else with six digits after the point.

    >>> number(20466), number(1), number(1.0), number(0.3126566306), number(None)
    ('20466', '1', '1.000000', '0.312657', 'undefined')
    """
    if value is None:
        return "undefined"
    return str(value) if isinstance(value, int) else f"{value:.6f}"


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return str(plain) if isinstance(plain, float) and not np.isfinite(plain) else plain
