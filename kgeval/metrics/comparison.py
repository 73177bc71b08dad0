"""Comparisons: the same metrics of several models, side by side, on the very same triples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgeval.errors import MetricError
from kgeval.metrics.names import parse
from kgeval.metrics.policies import Chance
from kgeval.metrics.sample import RankColumns, rank_columns
from kgeval.metrics.summary import DEFAULT, Summary, summarize
from kgeval.metrics.ties import Ties

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Comparison:
    """Summaries of several models, by the models' names."""

    summaries: Mapping[str, Summary]

    def best(self, name: str) -> str:
        """Name the model that is best by a metric (the first of equals).

        Raises
        ------
        MetricError
            if the metric says nothing about quality, was not asked for, or is undefined for a model
        """
        increasing = parse(name).metric.increasing
        if increasing is None:
            raise MetricError(f"{name} says nothing about which model is better.")
        sign = 1 if increasing else -1
        return max(self.summaries, key=lambda model: sign * self.summaries[model][name])

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints: the content of each model's ``metrics.json``."""
        return {model: summary.to_dict() for model, summary in self.summaries.items()}

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per model, one column per metric and side."""
        import pandas as pd

        rows = [
            {"model": model, **row} for model, s in self.summaries.items() for row in s.to_pandas().to_dict("records")
        ]
        return pd.DataFrame(rows).set_index("model")


def compare(
    tables: Mapping[str, RankColumns],
    metrics: Sequence[str] = DEFAULT,
    *,
    ties: Ties = "realistic",
    seed: int = 0,
    chance: Chance = "exact",
    popularity: tuple[float, float] = (1.0, 1.0),
) -> Comparison:
    """Summarise several models that ranked the same triples; the policies are those of :func:`summarize`.

    Raises
    ------
    MetricError
        if there are no tables, or if they do not rank the same triples and sides

    Examples
    --------
    >>> from kgeval import evaluate, load_dataset
    >>> data = load_dataset("nations")
    >>> both = compare({
    ...     "sum": evaluate(lambda h, r, t: h + t, data),
    ...     "constant": evaluate(lambda h, r, t: h * 0, data),
    ... }, ["mrr"])
    >>> list(both.summaries)
    ['sum', 'constant']
    """
    if not isinstance(tables, Mapping) or not tables:
        raise MetricError('nothing to compare: give at least one table with a name, as in {"complex": table}.')
    for table in tables.values():
        rank_columns(table)
    first, *others = tables.items()
    for name, table in others:
        if _tasks(table) != _tasks(first[1]):
            raise MetricError(f"{name} and {first[0]} do not rank the same triples and sides: they cannot be compared.")
    summaries = {
        name: summarize(table, metrics, ties=ties, seed=seed, chance=chance, popularity=popularity)
        for name, table in tables.items()
    }
    return Comparison(summaries)


def _tasks(table: RankColumns) -> frozenset[tuple[str, ...]]:
    """What was asked, in labels: two models need not share their ids."""
    columns = [table.column(name) for name in ("head_label", "relation_label", "tail_label", "side")]
    return frozenset(zip(*columns, strict=True))
