"""``kgeval summarize``: compute metrics from the stored ranks or labels of a run.

Stored runs are read by :mod:`kgeval.runs.stored`: one run gives a table of its metrics, a folder of runs gives one
table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.options import option, options_of
from kgeval.cli.setting_options import given, setting_options
from kgeval.cli.shared_options import FOLDER, Failing, Importing, Printing, Reading
from kgeval.metrics.intervals.interval import Intervals
from kgeval.metrics.kinds import ConfidenceOptions, LabelOptions
from kgeval.runs.config.metric_request import POLICIES, MetricRequest

if TYPE_CHECKING:
    from kgeval.metrics.summary import Summary
    from kgeval.runs.metric_bounds import Bounds, Judged
    from kgeval.runs.outcome import Outcome
    from kgeval.stored.folders import Place
    from kgeval.stored.stored_run import StoredRun

Texts = tuple[str, ...]


class OfConfidences:
    """What is computed of confidences alone."""

    mapping = option(type=click.Choice(["raw", "logistic", "bounded-linear"]))
    """For confidences: how scores become confidences (fitted on valid). [default: as in the run]"""


@click.command("summarize")
@click.argument("run", type=FOLDER)
@options_of(Importing)
@setting_options(MetricRequest, "metrics", *POLICIES, stored=True)
@setting_options(Intervals, "unit", "level", place=("intervals",), stored=True)
@setting_options(MetricRequest, "by", stored=True)
@setting_options(LabelOptions, "calibration", stored=True)
@OfConfidences.mapping
@Reading.names
@setting_options(ConfidenceOptions, "high_confidence", stored=True)
@options_of(Failing)
@options_of(Printing)
def summarize_command(run: Path, bounds: Bounds, names: tuple[str, ...], form: str, **settings: Any) -> None:
    """Compute metrics from the stored ranks or labels of a run, without its model.

    RUN is a run directory, a ranks.parquet, or a folder with the runs of several models, at any depth.
    Options that you leave out have the values of the run.

    Metrics of a classification or of confidences are named [relation.]name. A run of confidences also has ranks: name
    metrics of ranks, such as mrr, to compute them.

    RUN may also be a text file of ranks from another evaluator, with --dataset. Its header, or --columns, names head,
    relation, tail and the ranks, as in 'h r t frank_left rank_left frank_right rank_right'.

    Example: kgeval summarize runs/umls --by relation --intervals triple
    """
    from kgeval.stored.folders import Place

    options = given(settings)
    metrics = tuple(options.pop("metrics", ()))
    place = Place(run)
    if place.holds_runs:
        _summarize_several(place, metrics, options, bounds, form=form)
    else:
        _summarize_one(place.runs[""], metrics, options, bounds, names=names, form=form)


def _summarize_one(
    run: StoredRun, metrics: Texts, options: dict[str, Any], bounds: Bounds, *, names: Texts, form: str
) -> None:
    """Show the metrics of one run, or of ranks alone."""
    from collections import ChainMap

    from kgeval.cli.display import show, show_notes
    from kgeval.data.human_names import read_names
    from kgeval.runs.metric_bounds import misses, refuse_missed, thresholds_of
    from kgeval.runs.stored import read_outcome
    from kgeval.stored.folders import words_of

    outcome = read_outcome(run, metrics, options)
    summary = outcome.summary
    thresholds = [replace(one, model="") for one in thresholds_of(bounds, words_of(run.path)[-1:], [summary.kind])]
    for threshold in thresholds:
        threshold.refuse_endless(outcome.policies.get("intervals") or getattr(outcome.table, "sampling", None))
    missed = misses(thresholds, [_judged(run, "", options)])
    if names:
        summary = _with_names(summary, {**ChainMap(*map(read_names, names))})
    show(summary, form)
    show_notes(summary.notes)
    refuse_missed(missed)


def _with_names(summary: Summary, names: Mapping[str, str]) -> Summary:
    """Put human names before the labels in the keys of groups: ``accuses (accusation)``."""
    from kgeval.data.columns import TRIPLE
    from kgeval.data.vocabulary import display_label

    columns = {*TRIPLE, *(f"{column}_label" for column in TRIPLE)}  # their values are labels

    def named(key: dict[str, Any]) -> dict[str, Any]:
        return {column: display_label(value, names) if column in columns else value for column, value in key.items()}

    return replace(summary, groups=tuple(replace(group, key=named(group.key)) for group in summary.groups))


def _summarize_several(place: Place, metrics: Texts, options: dict[str, Any], bounds: Bounds, *, form: str) -> None:
    """Show the metrics of the runs inside a folder side by side."""
    from kgeval.cli.display import show_notes, show_outcomes, show_remarks
    from kgeval.runs.metric_bounds import misses, refuse_missed, thresholds_of
    from kgeval.runs.outcome import with_common_ties
    from kgeval.runs.stored import read_outcomes

    outcomes = read_outcomes(place, metrics, options)
    failed, unfinished = place.failed, [*place.unfinished]
    kinds = [outcome.summary.kind for outcome in outcomes] or ["ranks"]
    thresholds = thresholds_of(bounds, [*(outcome.name for outcome in outcomes), *failed, *unfinished], kinds)
    # A bound is for the number in the table, by the tie policy of the table.
    shown = with_common_ties(outcomes)
    missed = misses(thresholds, [_judged(place.runs[each.name], each.name, options | _ties(each)) for each in shown])
    left_out = [*place.notes]
    show_outcomes(outcomes, form, failed, planned=unfinished, notes=left_out)
    show_remarks(outcomes, places=False)
    show_notes(left_out)
    refuse_missed(missed)


def _ties(outcome: Outcome) -> dict[str, Any]:
    """The tie policy by which a model is in a table, if it has ranks."""
    from kgeval.metrics.rank_summary import RankSummary

    return {"ties": outcome.summary.options.ties} if isinstance(outcome.summary, RankSummary) else {}


def _judged(run: StoredRun, name: str, options: dict[str, Any]) -> Judged:
    """A stored run whose metrics are compared with thresholds."""
    from kgeval.runs.metric_bounds import Judged
    from kgeval.runs.stored import read_outcome

    def compute(metrics: Sequence[str]) -> Summary:
        return read_outcome(run, tuple(metrics), _ungrouped(run, options)).summary

    return Judged(name, compute, is_baseline=run.is_baseline)


def _ungrouped(run: StoredRun, options: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what groups the rows: columns and, of a stored run, the dataset of slices."""
    left_out = {"by"} | ({"dataset"} if run.is_stored else set())
    return {name: value for name, value in options.items() if name not in left_out}
