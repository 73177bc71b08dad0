"""``kgeval.compare``: several models on the same rows of one dataset or more, of one run or of several, pair by pair.

Rank tables go in, a ``Comparison`` comes out. ``comparable.py`` finds the rows that the models share and refuses ranks
that do not compare; ``pair_tests.py`` tests differences of single runs, ``seed_differences.py`` those of several.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, get_args

import numpy as np

from kgeval.analysis.comparison.comparable import (
    TRIPLES,
    SharedRows,
    allowed_fields,
    differing_fields,
    notes_on_histories,
    notes_on_samples,
    notes_on_unknowns,
    shared_rows,
    with_common_lists,
)
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.analysis.comparison.label_comparison import METRICS, compare_labels
from kgeval.analysis.comparison.over_graphs import suite_of
from kgeval.analysis.comparison.pair_tests import SharedGroup, paired_differences
from kgeval.analysis.comparison.paired_difference import DifferenceOptions, PairedDifference, on_dataset
from kgeval.analysis.comparison.seed_differences import differences_over_seeds
from kgeval.base.arrays import IntArray
from kgeval.base.errors import MetricError, counted, refuse_unknown
from kgeval.base.notes import Note
from kgeval.metrics.intervals.interval import Intervals, Unit
from kgeval.metrics.intervals.over_seeds import refuse_unlike_runs, summary_over_seeds
from kgeval.metrics.kinds import RANKS, Calibration, Chance
from kgeval.metrics.metric import Metric
from kgeval.metrics.rank_summary import RankSummary, column_names, group_rows, rank_summary
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.selection import MetricOptions, TableView, refuse_other_tables, refuse_timeless
from kgeval.metrics.summarize import relation_alone
from kgeval.metrics.summary import Spread
from kgeval.ranking.rank_table import LISTED, TIME, RankTable
from kgeval.ranking.tasks.label_table import LabelTable

OF_RANKS = ("allow", "baselines", "suite")
"""the options that comparisons of classifications do not have"""


def compare(  # noqa: PLR0913
    tables: Mapping[str, Any],
    metrics: str | Metric | Sequence[str | Metric] = RANKS.metrics,
    *,
    intervals: Unit = "triple",
    level: float = 0.95,
    by: str | Sequence[str] = (),
    spread: Spread | None = None,
    reference: str | None = None,
    draws: int = 9999,
    ties: Ties = "realistic",
    seed: int = 0,
    chance: Chance = "exact",
    popularity: tuple[float, float] = (1.0, 1.0),
    calibration: Calibration = "platt",
    margin: float | None = None,
    baselines: Collection[str] = (),
    allow: str | Collection[str] = (),
    suite: Mapping[str, Sequence[str]] | None = None,
) -> Comparison:
    """Compare models that ranked, or classified, the same triples in the same way, and test their differences.

    For each pair of models and each metric: the difference; its cluster-robust interval (Binder, 1983); the p-value of
    sign flips, which swap the two models in random units (Smucker, Allan and Carterette, 2007), adjusted for the pairs
    of models that are tested by this metric in this group (Holm, 1979); and the smallest difference that a test sees on
    4 of 5 test sets. The first metric decides which model is better; the others are secondary. A metric that does not
    measure quality, such as ``count``, is shown and not tested.

    Of several seeds, a number is the mean over the runs of a model. Two models with three seeds or more are tested by
    Student's t, which resamples seeds and triples: the variance of a difference is s₁²/R₁ + s₂²/R₂ + c₁₁ + c₂₂ − 2 c₁₂
    (Obuchowski and Rockette, 1995). R is a model's number of runs, s² the variance of their values, c₁₁ and c₂₂ the
    mean covariance of two runs of one model, c₁₂ that of a run of each, when the triples are resampled.

    Parameters
    ----------
    tables
        the ranks, by the models' names: a table, or a list with one of each seed; of several datasets {dataset: {model:
        ranks}}; or the label tables of :func:`kgeval.classify`, whose tests are Student's, of ``roc_auc`` that of
        DeLong, DeLong and Clarke-Pearson (1988)
    metrics, ties, chance, popularity, calibration
        as :func:`summarize` takes them
    intervals
        what is resampled for intervals and tests: ``"triple"``, with both sides; ``"query"``, with all its answers;
        ``"relation"`` or, in temporal graphs, ``"time"``, with all its triples
    level
        the level of the intervals; a difference is significant if its adjusted p-value is at most 1 − level
    by
        the column, or columns, by whose values rows are grouped; each group is tested separately
    spread
        what follows ± a mean over seeds: ``"sd"``, the standard deviation; ``"seeds"``, the interval of the mean
        (resampling seeds); ``"interval"`` (resampling seeds and triples); ``"none"``. By default ``"sd"``; single runs
        on one dataset have none
    reference
        the model that all others are compared with; by default each is compared with each
    draws
        the number of random sign flips
    seed
        the seed of random sign flips, and of random ties
    margin
        the smallest difference by the first metric that matters; each pair then has a test of equivalence (TOST;
        Schuirmann, 1987)
    baselines
        the models without random training, which need no seeds
    suite
        groups of datasets, {name: datasets}, over each of which unweighted means are shown; a dataset that has no run
        is named. Datasets are then rows, as they are by default if there are more than three
    allow
        which differences of the ranks are allowed, and noted: ``"dataset"``, ``"split"``,
        ``"protocol"``, ``"filter"``, ``"candidates"`` or ``"triples"``, which compares the rows that all models have

    Raises
    ------
    MetricError
        if there is no model; if they ranked different triples or sides, or have different protocols,
        filters or candidates, with the difference; if an option is unknown

    Examples
    --------
    >>> from kgeval import evaluate, load_dataset
    >>> from kgeval.ranking.corruption import Uniform
    >>> data = load_dataset("nations")
    >>> def add(h, r, t):
    ...     return h + t
    >>> full, sampled = evaluate(add, data), evaluate(add, data, corruption=Uniform(count=5))
    >>> comparison = compare({"sum": full, "constant": evaluate(lambda h, r, t: h * 0, data)}, ["mrr"])
    >>> (pair,) = comparison.pairs
    >>> pair.units, pair.verdict
    (201, 'better')
    >>> def model(seed):
    ...     return lambda h, r, t: (h * seed + t * 7 + r) % 11
    >>> grid = {name: {"sums": [evaluate(model(s), name) for s in (29, 31, 37)]} for name in ("nations", "umls")}
    >>> columns, rows = compare(grid, "mrr").table()
    >>> columns, rows[0]
    (['model', 'nations mrr', 'umls mrr'], ['sums', '0.376 ± 0.010', '0.0491 ± 0.0032'])
    >>> compare({"full": full, "sampled": sampled})
    Traceback (most recent call last):
    kgeval.base.errors.MetricError: these runs cannot be compared.
    candidates: all 14 entities in full; 5 uniform (seed 0) in sampled
    Rank them alike, or allow the differences: --allow candidates (in Python allow=['candidates']).
    """
    datasets = _by_dataset(tables)
    runs = [of for models in datasets.values() for of in models.values()]
    if not runs:
        raise MetricError('nothing to compare: give tables with names, as in {"complex": table, "distmult": other}.')
    if not all(runs):
        model = next(model for models in datasets.values() for model, of in models.items() if not of)
        raise MetricError(f"{model} has no run: give the ranks of each, as in {{{model!r}: [seed_0, seed_1]}}.")
    refuse_unknown("spread: unknown", spread or "sd", get_args(Spread), MetricError)
    if spread is None and (len(datasets) > 1 or any(len(of) > 1 for of in runs)):
        spread = "sd"
    options = MetricOptions(ties, seed, chance, popularity)
    differences = DifferenceOptions(intervals, level, draws, seed, reference, margin)
    if spread is None and all(isinstance(table, LabelTable) for (table,) in runs):
        labelled = {model: table for models in datasets.values() for model, (table,) in models.items()}
        if idle := [name for name, value in zip(OF_RANKS, (allow, baselines, suite), strict=True) if value]:
            raise MetricError(f"{idle[0]} has no effect on classifications. Leave it out.")
        chosen = METRICS if metrics == RANKS.metrics else metrics
        return compare_labels(labelled, chosen, differences, by=relation_alone(by), calibration=calibration)
    refuse_other_tables(table for of in runs for table in of)
    graphs, unseeded = suite_of(suite or {}, [*datasets]), frozenset(baselines)
    rules = _Procedure(metrics, column_names(by), options, differences, spread, unseeded, allowed_fields(allow), graphs)
    return rules.compare(datasets)


def _by_dataset(tables: Any) -> dict[str, dict[str, list[Any]]]:
    """Take the runs of each model on each dataset from any form that :func:`compare` takes."""
    if not isinstance(tables, Mapping):
        return {}
    if not tables or not all(isinstance(of, Mapping) for of in tables.values()):
        first = next((of[0] if isinstance(of, list | tuple) and of else of for of in tables.values()), None)
        tables = {getattr(first, "dataset", ""): tables}
    return {
        dataset: {model: [*of] if isinstance(of, list | tuple) else [of] for model, of in models.items()}
        for dataset, models in tables.items()
        if models
    }


@dataclass(frozen=True)
class _Procedure:
    """The arguments of :func:`compare`, read and checked; models are compared on each dataset by itself."""

    metrics: str | Metric | Sequence[str | Metric]
    by: tuple[str, ...]
    options: MetricOptions
    differences: DifferenceOptions
    spread: Spread | None
    baselines: frozenset[str]
    allowed: Collection[str]
    suite: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def compare(self, datasets: Mapping[str, Mapping[str, Sequence[RankTable]]]) -> Comparison:
        """Compare the runs of models, {dataset: {model: runs}}."""
        if (reference := self.differences.reference) is not None:
            names = {model for models in datasets.values() for model in models}
            refuse_unknown("reference: no model is called", reference, names, MetricError)
        summaries: dict[str, dict[str, RankSummary]] = {}
        remarks: dict[str, list[str]] = {}
        pairs: list[PairedDifference] = []
        for number, (dataset, models) in enumerate(datasets.items(), 1):
            try:
                summaries[dataset], differences, remarks[dataset] = self._on_dataset(models)
            except MetricError as error:
                if not self.suite or (number == len(datasets) and not summaries):
                    raise
                remarks[dataset] = [Note("left-out", f"left out: {' '.join(str(error).splitlines())}")]
                continue
            pairs += on_dataset(differences, dataset, self.differences.margin)
        settings = self.differences, self.spread, self.baselines, self.suite
        return Comparison(summaries, remarks, tuple(pairs), *settings)

    def _on_dataset(
        self, models: Mapping[str, Sequence[RankTable]]
    ) -> tuple[dict[str, RankSummary], tuple[PairedDifference, ...], list[str]]:
        """Summarize models on the rows that count, test their differences, and say in what their ranks differ."""
        keys = {name: [name, *(f"{name}, run {at}" for at in range(2, 1 + len(runs)))] for name, runs in models.items()}
        for runs in models.values():
            refuse_unlike_runs(runs)
        tables = {key: table for model in models for key, table in zip(keys[model], models[model], strict=True)}
        refuse_timeless(self.differences.unit != "time" or all(TIME in table.columns for table in tables.values()))
        if len(models) < 2:
            return {model: self._summary(runs) for model, runs in models.items()}, (), []
        same = shared_rows(tables)
        differing = differing_fields(tables, same, self.allowed)
        remarks, firsts = self._remarks(same, models, differing), {model: tables[model] for model in models}
        if samples := [Note("intervals", f"{note}.") for note in notes_on_samples(firsts)]:
            estimates = "values with an interval are estimates for the whole split"
            remarks += [*samples, Note("intervals", f"{estimates}; differences are for the common rows.")]
        if not same.of_all and len(same) and TRIPLES in self.allowed:
            tables = {key: table.where(same.mask(key)) for key, table in tables.items()}
            same = shared_rows(tables)
        tables = with_common_lists(tables, same) if LISTED in self.by else tables
        summaries = {model: self._summary([tables[key] for key in keys[model]]) for model in models}
        pairs: tuple[PairedDifference, ...] = ()
        if same.of_all and self.differences.reference in (None, *models):
            names = [one for one in next(iter(summaries.values())).columns() if one.metric.increasing is not None]
            views = {key: TableView(table, self.options) for key, table in tables.items()}
            divided, unit = _groups(tables, same, self.by), self.differences.unit
            groups = [SharedGroup(views, same, unit, places, key) for key, places in divided]
            if len(models) == len(tables):
                pairs = paired_differences(groups, names, self.differences)
            else:
                pairs = differences_over_seeds(groups, keys, names, self.differences, self.baselines)
        if same.of_all:
            remarks += _notes_on_equals(keys, tables, same)
        return summaries, pairs, [*remarks, *notes_on_histories(firsts), *notes_on_unknowns(firsts)]

    def _remarks(self, same: SharedRows, models: Collection[str], differing: Mapping[str, str]) -> list[str]:
        """Say which rows are left out, or that nothing is tested, and in which allowed fields the ranks differ."""
        rows = list[str]()
        if not same.of_all and len(same) and TRIPLES in self.allowed:
            others = [(model, same.others[model]) for model in models if same.others[model]]
            left_out = ", ".join(f"{count:,} of {count + len(same):,} of {model}" for model, count in others)
            common = f"compared on the {len(same):,} rows that all models have"
            rows = [Note("differences", f"{common}. Rows left out: {left_out}.")]
        elif not same.of_all:
            rows = [Note("tests", "no difference is tested: the models did not rank the same triples and sides.")]
        fields = [f"{field}: {differing[field]}" for field in differing if field != TRIPLES]
        return [*rows, *(Note("differences", f"these metrics do not compare: {field}.") for field in fields)]

    def _summary(self, runs: Sequence[RankTable]) -> RankSummary:
        """Summarize the runs of a model."""
        settings = Intervals(unit=self.differences.unit, level=self.differences.level)
        if len(runs) > 1:
            return summary_over_seeds(runs, self.metrics, by=self.by, intervals=settings, options=self.options)
        alone = settings if self.spread == "interval" and runs[0].sampling is None else None
        summary = rank_summary(runs[0], self.metrics, by=self.by, options=self.options, intervals=alone)
        if self.spread is None:
            return summary
        names = summary.columns(self.by)
        groups = [replace(of, records={name: of.records[name].as_one_run() for name in names}) for of in summary.groups]
        return replace(summary, groups=tuple(groups))


def _groups(
    tables: Mapping[str, RankTable], same: SharedRows, by: tuple[str, ...]
) -> Iterator[tuple[dict[str, Any], IntArray]]:
    """Yield the values that the rows of each group have in common, and the rows' places among the shared rows."""
    (first, table), *others = tables.items()
    if not len(same):
        return
    grouping = group_rows(table, by)
    for name in by:
        for model, other in others:
            column = f"{name}_label" if f"{name}_label" in table.columns else name
            unequal = other.column(column)[same.rows[model]] != table.column(column)[same.rows[first]]
            if unequal.any():
                fault = (
                    f"by: {model} and {first} have different values of {name!r} in {counted(int(unequal.sum()), 'row')}"
                )
                cure = "Group by a property of triples, not of a model"
                if other.history != table.history:
                    cure = "Their histories differ. Compare models of one history, or group by what does not look back"
                raise MetricError(f"{fault}. {cure}.")
    places = np.argsort(same.rows[first])
    for number, key in enumerate(grouping.keys):
        yield key, np.sort(places[grouping.of_group(number)])


def _notes_on_equals(
    keys: Mapping[str, Sequence[str]], tables: Mapping[str, RankTable], same: SharedRows
) -> Iterator[str]:
    """Say which models are the same in every row of every run, as one model under two names is."""
    names = ("greater", "tied", "candidates")
    counts = {
        model: np.array([tables[key].column(name)[same.rows[key]] for key in runs for name in names])
        for model, runs in keys.items()
    }
    for one, other in combinations(counts, 2):
        if np.array_equal(counts[one], counts[other]):
            yield Note("differences", f"{one} and {other} have the same ranks in every row: are they one model?")
