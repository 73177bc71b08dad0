"""Compare: several models on the same rows, side by side and pair by pair."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from kgeval.analysis.comparison.comparable import (
    TRIPLES,
    SameRows,
    allowed_fields,
    differing_fields,
    notes_on_samples,
    notes_on_unknowns,
    same_rows,
)
from kgeval.analysis.comparison.comparison import Comparison
from kgeval.analysis.comparison.pair_tests import paired_differences
from kgeval.analysis.comparison.paired_difference import DifferenceOptions, PairedDifference
from kgeval.base.arrays import IntArray
from kgeval.base.errors import MetricError, refuse_unknown
from kgeval.metrics.intervals.interval import Unit
from kgeval.metrics.kinds import RANKS, Chance
from kgeval.metrics.metric import Metric
from kgeval.metrics.rank_summary import column_names, group_rows, rank_summary
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.selection import MetricOptions, TableView, refuse_other_tables
from kgeval.ranking.rank_table import RankTable


def compare(  # noqa: PLR0913
    tables: Mapping[str, RankTable],
    metrics: str | Metric | Sequence[str | Metric] = RANKS.metrics,
    *,
    intervals: Unit = "triple",
    level: float = 0.95,
    by: str | Sequence[str] = (),
    reference: str | None = None,
    draws: int = 9999,
    ties: Ties = "realistic",
    seed: int = 0,
    chance: Chance = "exact",
    popularity: tuple[float, float] = (1.0, 1.0),
    allow: str | Collection[str] = (),
) -> Comparison:
    """Compare models that ranked the same triples in the same way, and test their differences.

    For each pair of models and each metric: the difference; its cluster-robust interval (Binder, 1983); the p-value of
    sign flips, which swap the two models in random units (Smucker, Allan and Carterette, 2007), adjusted for the pairs
    of models that are tested by this metric in this group (Holm, 1979); and the smallest difference that a test sees on
    4 of 5 test sets. The first metric decides which model is better; the others are secondary. A metric that does not
    measure quality, such as ``count``, is shown and not tested.

    Parameters
    ----------
    tables
        the ranks, by the models' names
    metrics, ties, chance, popularity
        as :func:`summarize` takes them
    intervals
        what is resampled for intervals and tests: ``"triple"``, with both sides; ``"query"``, with all its answers; or
        ``"relation"``, with all its triples
    level
        the level of the intervals; a difference is significant if its adjusted p-value is at most 1 − level
    by
        the column, or columns, by whose values rows are grouped; each group is tested separately
    reference
        the model that all others are compared with; by default each is compared with each
    draws
        the number of random sign flips
    seed
        the seed of random sign flips, and of random ties
    allow
        which differences of the ranks are allowed, and noted: ``"dataset"``, ``"split"``,
        ``"protocol"``, ``"filter"``, ``"candidates"`` or ``"triples"``, which compares the rows that all models have

    Raises
    ------
    MetricError
        if there are fewer than two models; if they ranked different triples or sides, or have different protocols,
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
    >>> compare({"full": full, "sampled": sampled})
    Traceback (most recent call last):
    kgeval.base.errors.MetricError: these runs cannot be compared.
    candidates: all 14 entities in full; 5 uniform (seed 0) in sampled
    Rank them alike, or allow the differences: --allow candidates (in Python allow=['candidates']).
    """
    _refuse_other_inputs(tables, reference)
    allowed, columns = allowed_fields(allow), column_names(by)
    metric_options = MetricOptions(ties, seed, chance, popularity)
    options = DifferenceOptions(intervals, level, draws, seed, reference)
    same = same_rows(tables)
    provenances = {model: table.provenance for model, table in tables.items()}
    remarks = _remarks(same, differing_fields(tables, same, provenances, allowed), allowed)
    if samples := [f"{note}." for note in notes_on_samples(tables)]:
        estimates = "values with an interval are estimates for the whole split"
        remarks += [*samples, f"{estimates}; differences are for the common rows."]
    if not same.of_all and len(same) and TRIPLES in allowed:
        tables = {model: table.where(same.mask(model)) for model, table in tables.items()}
        same = same_rows(tables)
    summaries = {model: rank_summary(table, metrics, by=(), options=metric_options) for model, table in tables.items()}
    pairs: tuple[PairedDifference, ...] = ()
    if same.of_all:
        views = {model: TableView(table, metric_options) for model, table in tables.items()}
        groups = _groups(tables, same, columns)
        columns_shown = next(iter(summaries.values())).columns()
        names = [name for name in columns_shown if name.metric.increasing is not None]
        pairs = paired_differences(views, names, same, groups, options)
        remarks += _notes_on_equals(tables, same)
    grouped = {
        model: rank_summary(table, metrics, by=columns, options=metric_options)
        for model, table in (tables if columns else {}).items()
    }
    return Comparison(summaries, (*remarks, *notes_on_unknowns(provenances)), pairs, options, grouped)


def _refuse_other_inputs(tables: Any, reference: str | None) -> None:
    if not isinstance(tables, Mapping) or not tables:
        raise MetricError('nothing to compare: give tables with names, as in {"complex": table, "distmult": other}.')
    refuse_other_tables(tables.values())
    models = list(tables)
    if len(models) < 2:
        raise MetricError(f"nothing to compare {models[0]!r} with: give at least two models.")
    if reference is not None:
        refuse_unknown("reference: no model is called", reference, models, MetricError)


def _remarks(same: SameRows, differences: Mapping[str, str], allowed: Collection[str]) -> list[str]:
    rows = []
    if not same.of_all and len(same) and TRIPLES in allowed:
        left_out = ", ".join(
            f"{count:,} of {count + len(same):,} of {model}" for model, count in same.others.items() if count
        )
        rows = [f"compared on the {len(same):,} rows that all models have. Rows left out: {left_out}."]
    elif not same.of_all:
        rows = ["no difference is tested: the models did not rank the same triples and sides."]
    fields = [field for field in differences if field != TRIPLES]
    return [*rows, *(f"these metrics do not compare: {field}: {differences[field]}." for field in fields)]


def _groups(
    tables: Mapping[str, RankTable], same: SameRows, by: tuple[str, ...]
) -> Iterator[tuple[dict[str, Any], IntArray]]:
    """Yield what the rows of each group have in common, and their places among the shared rows."""
    (first, table), *others = tables.items()
    if not len(same):
        return
    if not by:
        yield {}, np.arange(len(same))
        return
    grouping = group_rows(table, by)
    for name in by:
        for model, other in others:
            column = f"{name}_label" if f"{name}_label" in table.columns else name
            unequal = other.column(column)[same.rows[model]] != table.column(column)[same.rows[first]]
            if unequal.any():
                raise MetricError(
                    f"by: {model} and {first} have different values of {name!r} in {int(unequal.sum()):,} rows. "
                    "Group by a property of triples, not of a model."
                )
    places = np.empty(len(same), np.int64)
    places[same.rows[first]] = np.arange(len(same))
    for number, key in enumerate(grouping.keys):
        yield key, np.sort(places[grouping.of_group(number)])


def _notes_on_equals(tables: Mapping[str, RankTable], same: SameRows) -> Iterator[str]:
    """Say which models are the same in every row, as one model under two names is."""
    counts = {
        model: [table.column(name)[same.rows[model]] for name in ("greater", "tied", "candidates")]
        for model, table in tables.items()
    }
    for one, other in combinations(tables, 2):
        if all(np.array_equal(left, right) for left, right in zip(counts[one], counts[other], strict=True)):
            yield f"{one} and {other} have the same ranks in every row: are they one model?"
