"""Compare models over datasets and seeds: read the tables of all runs into a grid, and test on each dataset."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from kgeval.analysis.comparison.compare_models import compare
from kgeval.analysis.comparison.grid_block import Block
from kgeval.analysis.comparison.model_grid import ModelGrid
from kgeval.analysis.comparison.paired_difference import DifferenceOptions, PairedDifference
from kgeval.analysis.comparison.seed_differences import seed_differences
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.metrics.intervals.interval import Intervals, Unit
from kgeval.metrics.intervals.over_seeds import alike_runs, interval_over_seeds
from kgeval.metrics.kinds import Chance
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import MetricName, parse_all
from kgeval.metrics.rank_summary import column_names, group_rows, rank_summary
from kgeval.metrics.ranks.ties import Ties, tie_policy
from kgeval.metrics.selection import MetricOptions, refuse_other_tables
from kgeval.metrics.summary import Spread, Value
from kgeval.ranking.rank_table import RankTable

Tables = RankTable | Sequence[RankTable]
"""the ranks of a model: of one run, or of several, one for each seed"""


def compare_grid(  # noqa: PLR0913
    results: Mapping[str, Mapping[str, Tables]],
    metrics: str | Metric | Sequence[str | Metric] = ("mrr", "hits@1", "hits@10"),
    *,
    by: str | Sequence[str] = (),
    spread: Spread = "sd",
    intervals: Unit = "triple",
    level: float = 0.95,
    reference: str | None = None,
    draws: int = 9999,
    ties: Ties = "realistic",
    seed: int = 0,
    chance: Chance = "exact",
    popularity: tuple[float, float] = (1.0, 1.0),
    baselines: Collection[str] = (),
    allow: str | Collection[str] = (),
) -> ModelGrid:
    """Compare models on several datasets, each trained with several seeds: the table of a paper.

    A number is the mean over the seeds of a model. On each dataset separately, two models with three seeds or more are
    compared by the test of :func:`kgeval.analysis.seed_differences`, which resamples seeds and triples. If every model
    has one run, the test is that of :func:`kgeval.compare`, which resamples triples only.

    Parameters
    ----------
    results
        {dataset: {model: ranks}}; ranks are a rank table, or a list with the table of each seed
    metrics, ties, chance, popularity
        as :func:`kgeval.summarize` takes them
    by
        the column, or columns, by whose values triples are grouped; each group has its own columns
    spread
        what follows ±: ``"sd"``, the standard deviation over seeds; ``"seeds"``, the interval of the mean (resampling
        seeds); ``"interval"``, the interval of the mean (resampling seeds and triples); ``"none"``
    intervals, level, reference, draws, seed, allow
        as :func:`kgeval.compare` takes them
    baselines
        the models without random training, which need no seeds

    Raises
    ------
    MetricError
        if there is nothing to compare, if an option is unknown, or if the runs of a dataset do not compare

    Examples
    --------
    >>> from kgeval import evaluate
    >>> def model(seed):
    ...     return lambda h, r, t: (h * seed + t * 7 + r) % 11
    >>> results = {name: {"sums": [evaluate(model(s), name) for s in (29, 31, 37)]} for name in ("nations", "umls")}
    >>> grid = compare_grid(results, "mrr")
    >>> columns, rows = grid.table()
    >>> columns, rows[0]
    (['model', 'nations mrr', 'umls mrr'], ['sums', '0.376 ± 0.010', '0.0491 ± 0.0032'])
    """
    refuse_unknown("spread: unknown", spread, get_args(Spread), MetricError)
    several = {
        dataset: {model: _as_list(tables) for model, tables in models.items()} for dataset, models in results.items()
    }
    if not any(several.values()):
        raise MetricError("nothing to compare: give {dataset: {model: tables}}.")
    options = MetricOptions(ties, seed, chance, popularity)
    differences = DifferenceOptions(intervals, level, draws, seed, reference)
    work = _Results(metrics, options, differences, spread, frozenset(baselines), allow)
    blocks = [
        work.block(dataset, group, tables)
        for dataset, models in several.items()
        for group, tables in _groups(models, column_names(by))
    ]
    names = dict.fromkeys(model for models in several.values() for model in models)
    policy = tie_policy(ties).name
    return ModelGrid(
        tuple(names), tuple(work.metrics), tuple(blocks), frozenset(baselines), spread, differences, policy
    )


def _as_list(tables: Tables) -> list[RankTable]:
    several = [tables] if isinstance(tables, RankTable) else list(tables)
    refuse_other_tables(several)
    return several


def _groups(
    models: Mapping[str, Sequence[RankTable]], by: tuple[str, ...]
) -> Iterator[tuple[dict[str, Any], Mapping[str, Sequence[RankTable]]]]:
    """Yield what the rows of each group have in common, and the tables of all models cut to it."""
    if not by:
        yield {}, models
        return
    parts: dict[tuple[Any, ...], dict[str, list[RankTable]]] = {}
    for model, tables in models.items():
        for table in tables:
            grouping = group_rows(table, by)
            for number, key in enumerate(grouping.keys):
                mask = np.zeros(len(table), bool)
                mask[grouping.of_group(number)] = True
                parts.setdefault(tuple(key.items()), {}).setdefault(model, []).append(table.where(mask))
    for of_group, cut in parts.items():
        yield dict(of_group), cut


@dataclass(frozen=True)
class _Results:
    """How the results of a grid are computed."""

    requested: str | Metric | Sequence[str | Metric]
    options: MetricOptions
    differences: DifferenceOptions
    spread: Spread
    baselines: Collection[str]
    allow: str | Collection[str]

    @property
    def metrics(self) -> dict[MetricName, str | Metric]:
        """The metrics, and how they were requested."""
        requested = [self.requested] if isinstance(self.requested, str | Metric) else self.requested
        return {name: metric for metric in requested for name in parse_all(metric)}

    def block(self, dataset: str, group: Mapping[str, Any], models: Mapping[str, Sequence[RankTable]]) -> Block:
        scores = {
            (model, name): score for model, tables in models.items() for name, score in self._scores(tables).items()
        }
        pairs, remarks = self._pairs(models)
        provenances = [table.provenance for tables in models.values() for table in tables]
        return Block(dataset, group, provenances, scores, pairs, remarks)

    def _scores(self, tables: Sequence[RankTable]) -> dict[MetricName, Value]:
        """The metrics of the runs of a model."""
        intervals = Intervals(unit=self.differences.unit, level=self.differences.level)
        alone = intervals if self.spread == "interval" and len(tables) == 1 and tables[0].sampling is None else None
        groups = [
            rank_summary(table, self.requested, by=(), options=self.options, intervals=alone)
            for table in alike_runs(tables)
        ]
        found = {}
        for metric, requested in self.metrics.items():
            name = metric.of_part(groups[0].pooled)
            values = [summary.groups[0].values[name] for summary in groups]
            known = tuple(value for value in values if value is not None)
            if len(known) < len(values):
                reasons = [summary.groups[0].undefined.get(str(name), "") for summary in groups]
                found[metric] = Value(metric, reason=next(filter(None, reasons), ""))
            elif len(tables) > 1:
                found[metric] = interval_over_seeds(tables, requested, intervals=intervals, options=self.options)
            else:
                found[metric] = groups[0].groups[0].records[name]._replace(runs=known)
        return found

    def _pairs(self, models: Mapping[str, Sequence[RankTable]]) -> tuple[tuple[PairedDifference, ...], tuple[str, ...]]:
        """Test the differences of each two models, and say in what their ranks differ."""
        if len(models) < 2:
            return (), ()
        if all(len(tables) == 1 for tables in models.values()):
            own = vars(self.differences) | vars(self.options)
            own["intervals"] = own.pop("unit")
            found = compare(
                {model: table for model, (table,) in models.items()}, self.requested, allow=self.allow, **own
            )
            return found.pairs, found.remarks
        how: dict[str, Any] = {"metric_options": self.options, "baselines": self.baselines, "allow": self.allow}
        return seed_differences(models, [*self.metrics], options=self.differences, **how), ()
