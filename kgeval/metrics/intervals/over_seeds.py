"""Intervals over seeds: the mean of a metric over training runs of one model, with two intervals of it.

One interval is over seeds alone: Student's, with R − 1 degrees of freedom for R runs. The other is over seeds and
units; a unit is a triple, query, relation or time, resampled as one block. ``interval_over_seeds`` is the public call:
rank tables of the runs go in, a ``Value`` comes out. Comparisons call ``summary_over_seeds``; ``error_over_seeds`` has
the formula, which follows.

The value of run s on unit i is modelled as a + run_s + unit_i + interaction(s, i). The mean over R runs has the
variance

    V = s²/R + c        s²: the variance of the runs' values; c: the mean covariance of two runs, resampling units

where s² contains the interactions and c does not, so that nothing counts twice (Obuchowski and Rockette, 1995, of
readers and cases). Of a difference of two models, whose runs have nothing in common and whose units are the same,
V = s₁²/R₁ + s₂²/R₂ + w, with w = c₁₁ + c₂₂ − 2 c₁₂. A model without random training has s² = 0.

The interval over seeds and units is Student's too. Its degrees of freedom f are a harmonic mean, weighted by the shares
in the variance V = S + w: V/f = S/f_S + w/(C − 1), with C units, and f_S = S²/Σ((s²/R)²/(R + 1)) − 2 of the seeds' part
S = Σ s²/R (Welch, 1947). Cochran and Cox (1957) weigh the quantiles themselves like this. With Satterthwaite's degrees
(1946), which weigh by squared shares, an interval over three seeds contained the true mean in only 92 to 93 % of cases
where seeds matter most; ``scripts/simulate`` has the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.errors import MetricError
from kgeval.base.notes import Note
from kgeval.data.provenance import ALIKE
from kgeval.metrics.intervals.interval import (
    Interval,
    Intervals,
    NoInterval,
    Unit,
    is_rounding,
    read_intervals,
    refuse_few,
    too_few_seeds,
)
from kgeval.metrics.intervals.mean_terms import Units, mean_terms, units_of
from kgeval.metrics.intervals.selection_intervals import attempt, drawn_values, student_interval
from kgeval.metrics.metric import Metric
from kgeval.metrics.names import MetricName
from kgeval.metrics.rank_summary import RankSummary, group_rows, rank_summary, select_side
from kgeval.metrics.selection import (
    DEFAULT_OPTIONS,
    MetricOptions,
    RankColumns,
    RowSelection,
    TableView,
    refuse_other_tables,
)
from kgeval.metrics.summary import Value

STUDENT = "Student"

OverSeeds = Value
"""the public name of a metric over several runs of one model: a value that is the mean of its ``runs``"""


def interval_over_seeds(
    tables: Sequence[RankColumns],
    metric: str | Metric,
    *,
    intervals: Intervals | Unit = "triple",
    options: MetricOptions = DEFAULT_OPTIONS,
) -> Value:
    """Compute the mean of a metric over runs of one model, with its intervals: over seeds, and over seeds × triples.

    The first is Student's over the runs' values, with R − 1 degrees of freedom: it resamples seeds and keeps the
    triples. The second also resamples triples (Bouthillier et al., 2021). Its variance is s²/R + c, with s² the
    variance of the runs' values and c the mean covariance of two runs when the triples are resampled (Obuchowski and
    Rockette, 1995). Fewer than three runs have no interval, and the reason says so.

    Parameters
    ----------
    tables
        the ranks of each run, of the same rows
    metric
        its name; without a side, of both sides
    intervals
        what is resampled besides the seeds, or settings; ``draws`` and ``seed`` are used for metrics that are no
        function of means, whose covariances are those of a bootstrap
    options
        ties and the conventions of adjusted and stratified metrics

    Raises
    ------
    MetricError
        if there is no run, if the runs do not rank the same rows by the same rules, or if the metric is unknown or
        undefined

    Examples
    --------
    >>> from kgeval import evaluate
    >>> tables = [evaluate(lambda h, r, t, s=s: (h * s + t * 7 + r) % 11, "nations") for s in (29, 31, 37)]
    >>> mean = interval_over_seeds(tables, "mrr")
    >>> print(f"{mean.value:.3f} ± {mean.standard_deviation:.3f}", mean.of_seeds, mean.interval)
    0.376 ± 0.010 0.3503–0.4024 0.3521–0.4006
    >>> interval_over_seeds(tables[:2], "mrr").reason
    '2 seeds: an interval or a test over seeds needs at least 3'
    """
    settings = read_intervals(intervals) or Intervals()
    refuse_other_tables(tables)
    refuse_unlike_runs(tables)
    summary = summary_over_seeds(tables, [metric], intervals=settings, options=options)
    (value,) = summary.groups[0].records.values()
    if value.value is None:
        raise MetricError(f"{value.metric.base} is undefined: {value.reason}.")
    return value


def summary_over_seeds(
    tables: Sequence[RankColumns],
    metrics: Any,
    *,
    by: tuple[str, ...] = (),
    intervals: Intervals,
    options: MetricOptions = DEFAULT_OPTIONS,
) -> RankSummary:
    """Summarize a model's runs on the same rows: each metric is the mean over the runs, of all rows or by groups."""
    runs = [rank_summary(table, metrics, by=by, options=options) for table in tables]
    views = [(group_rows(table, by) if by else None, TableView(table, options)) for table in tables]
    names = runs[0].columns(by)
    selections = {side: [select_side(side, *view) for view in views] for side in {name.side for name in names}}
    groups = []
    for number, of_runs in enumerate(zip(*(run.groups for run in runs), strict=True)):
        records = {}
        for name in names:
            rows = [selection.of_group(number) for selection in selections[name.side]]
            records[name] = _mean_over_runs(name, [group.records[name] for group in of_runs], rows, intervals)
        ties = max((group.ties for group in of_runs if group.ties), key=lambda ties: ties.gap or 0, default=None)
        groups.append(replace(of_runs[0], records=records, ties=ties))
    return replace(runs[0], groups=tuple(groups), table_notes=_notes_of_runs([run.table_notes for run in runs]))


def refuse_unlike_runs(tables: Sequence[RankColumns]) -> None:
    """Refuse runs that do not rank the same rows by the same rules."""
    if not tables:
        raise MetricError("an interval over seeds needs the ranks of several runs, found none.")
    first, *others = tables
    for number, other in enumerate(others, 2):
        for field in ALIKE:
            one, two = (getattr(table.provenance, field) for table in (first, other))
            if one != two:
                raise MetricError(f"these are not runs of one model: {field} {one} in run 1, {two} in run {number}.")
        if not np.array_equal(_rows(first), _rows(other)):
            problem = f"runs 1 and {number} cannot be seeds of one model: they rank different triples or sides"
            raise MetricError(f"{problem}. If they are two models, give each its own name.")


def _rows(table: RankColumns) -> IntArray:
    """Return triple, side and ids of all rows, in one order; int64[column, row]."""
    columns = np.stack([np.asarray(table.column("triple")), *TableView(table).ids])
    return columns[:, np.lexsort(columns)]


def _notes_of_runs(notes: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Join the notes of runs; a note of a kind that only some runs have says how many runs have it.

    >>> _notes_of_runs([["no labels.", "3 ranks tie."], ["no labels."], ["no labels.", "5 ranks tie."]])
    ('no labels.', 'in 2 of 3 seeds: 3 ranks tie.', 'in 2 of 3 seeds: 5 ranks tie.')
    """
    runs = [[*map(Note.of, of_run)] for of_run in notes]
    counts = Counter(shape for of_run in runs for shape in {note.shape for note in of_run})
    shares = {shape: f"in {count} of {len(runs)} seeds" * (count < len(runs)) for shape, count in counts.items()}
    every = (Note(note.kind, *note.parts, seeds=shares[note.shape]) for of_run in runs for note in of_run)
    return tuple(dict.fromkeys(every))


def _mean_over_runs(
    name: MetricName, values: Sequence[Value], selections: Sequence[RowSelection], intervals: Intervals
) -> Value:
    """Take the mean of a metric over runs, with its intervals; undefined where it is undefined for one of them."""
    runs = tuple(value.value for value in values if value.value is not None)
    if len(runs) < len(values):
        return Value(name, reason=next(value.reason for value in values if value.value is None))
    mean = Value(name, float(np.mean(runs)), runs=runs)
    if few := too_few_seeds(len(runs)):
        return mean._replace(reason=few)
    made = [
        attempt(partial(_interval_of_seeds_and_units, name, selections, runs, intervals)),
        attempt(partial(interval_of_mean, name, runs, intervals.level, "seed")),
    ]
    both, alone = (one if isinstance(one, Interval) else None for one in made)
    reasons = dict.fromkeys(str(one) for one in made if isinstance(one, NoInterval))
    return mean._replace(interval=both, of_seeds=alone, reason="; ".join(reasons))


def _interval_of_seeds_and_units(
    name: MetricName, selections: Sequence[RowSelection], values: Sequence[float], intervals: Intervals
) -> Interval:
    units = [units_of(one, intervals.unit, needs=name.metric.needs) for one in selections]
    covariance, count = covariance_of_runs(name, selections, units, intervals)
    spread = error_over_seeds([values], covariance, count)
    about: Any = {"level": intervals.level, "unit": f"seed × {units[0].kind}", "units": count, "method": STUDENT}
    return student_interval(name.metric, float(np.mean(values)), spread, **about)


def interval_of_mean(name: MetricName, values: Sequence[float], level: float, unit: str) -> Interval:
    """Make Student's interval of a mean over seeds, on the same triples, or of a mean over graphs, as ``unit`` says."""
    count, value = len(values), float(np.mean(values))
    spread = float(np.std(values, ddof=1) / np.sqrt(count)), count - 1.0
    if is_rounding(spread[0], value):
        raise NoInterval(f"all {unit}s have the same value")
    return student_interval(name.metric, value, spread, level=level, unit=unit, units=count, method=STUDENT)


def covariance_of_runs(
    name: MetricName, selections: Sequence[RowSelection], units: Sequence[Units], intervals: Intervals
) -> tuple[Float64Array, int]:
    """Compute the covariance of the metric of several runs when their common units are resampled, and count the units.

    Σ = C/(C − 1) Σ_i d_i d_iᵀ of the linearised deviations d_i of the runs in unit i, where the metric is a function of
    means; the covariance of the same bootstrap draws of all runs otherwise; float64[run, run].
    """
    refuse_few(units[0].count, units[0].kind)
    of_runs = [mean_terms(name, one, of) for one, of in zip(selections, units, strict=True)]
    if terms := [one for one in of_runs if one is not None]:
        weighed = np.any([one.unit_shares > 0 for one in terms], axis=0)
        count, deviations = int(weighed.sum()), np.stack([one.deviations for one in terms])
        refuse_few(count, units[0].kind)
        return count / (count - 1) * deviations @ deviations.T, count
    drawn = [drawn_values(name, one, of, intervals=intervals) for one, of in zip(selections, units, strict=True)]
    return np.cov(drawn), units[0].count


def error_over_seeds(
    values: Sequence[Sequence[float] | Float64Array], covariance: Float64Array, units: int
) -> tuple[float, float]:
    """Compute the standard error, over seeds and units, of a mean over runs, and its degrees of freedom.

    ``values`` has the values of the runs of one model or, for the difference of their means, of two models.
    ``covariance`` is the covariance of all runs, model after model, when their common units are resampled; float64[run,
    run].

    The examples are two extremes. If only the runs vary, there are R − 1 degrees of freedom; if only the units vary,
    C − 1.

    >>> error, degrees = error_over_seeds([[0.1, 0.2, 0.3]], np.zeros((3, 3)), 10_000)
    >>> round(error, 4), round(degrees, 6)
    (0.0577, 2.0)
    >>> error, degrees = error_over_seeds([[0.2, 0.2, 0.2]], np.full((3, 3), 0.01), 10_000)
    >>> round(error, 4), round(degrees, 6)
    (0.1, 9999.0)
    """
    sizes = np.array([len(runs) for runs in values])
    variances = np.array([np.var(runs, ddof=1) if len(runs) > 1 else 0.0 for runs in values])
    return error_of_means(variances, sizes, max(_mean_covariance(covariance, sizes), 0.0), units)


def error_of_means(variances: Float64Array, sizes: IntArray, of_units: float, units: int) -> tuple[float, float]:
    """Compute what ``error_over_seeds`` does, from the variance of each model's runs and the variance of the units.

    ``variances`` and ``sizes`` are the variance and the number of each model's runs, [model]; ``of_units`` is the
    variance that the units cause; ``units`` is their number.
    """
    of_models = variances / sizes
    of_seeds = float(of_models.sum())
    variance, doubt = of_seeds + of_units, of_units / (units - 1)
    if of_seeds:
        doubt += of_seeds / (of_seeds**2 / float((of_models**2 / (sizes + 1)).sum()) - 2)
    return float(np.sqrt(variance)), variance / doubt if doubt else units - 1.0


def _mean_covariance(covariance: Float64Array, sizes: IntArray) -> float:
    """Compute c of one model, or c₁₁ + c₂₂ − 2 c₁₂ of two; c is the mean covariance of a run and another run."""
    places, total = np.split(np.arange(len(covariance)), np.cumsum(sizes)[:-1]), 0.0
    for (one, runs), (other, other_runs) in product(enumerate(places), repeat=2):
        block = covariance[np.ix_(runs, other_runs)]
        if one == other and len(runs) > 1:
            total += float(block.sum() - block.trace()) / (len(runs) * (len(runs) - 1))
        else:
            total += float(block.mean()) * (1 if one == other else -1)
    return total
