"""``kgeval compare``: which of several models is better, and whether the difference is significant.

Runs are read by :mod:`kgeval.runs.compared_runs` and compared by :mod:`kgeval.analysis.comparison`; here the options
are read, and what was found is shown. ``kgeval run`` shows its runs of several seeds or datasets by ``compare_runs``
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.base.errors import ConfigError
from kgeval.base.extras import OF_REPORT, refuse_missing
from kgeval.base.tables.shown import Page
from kgeval.cli.display import record, show, show_notes
from kgeval.cli.options import PATH, option, options_of
from kgeval.cli.setting_options import given, setting_options
from kgeval.cli.shared_options import FORMS, Comparing, Failing, Importing, Printing, chosen_form, named_runs
from kgeval.cli.streams import say
from kgeval.metrics.kinds import RANKS, LabelOptions
from kgeval.runs.config.metric_request import POLICIES, MetricRequest, with_groups

if TYPE_CHECKING:
    from kgeval.analysis.comparison.comparison import Comparison
    from kgeval.runs.compared_runs import ComparedRun, ResultsByMetric


OF_TESTS = ("intervals", "level", "by", "reference", "draws", "margin", "allow")
"""options that ``kgeval.compare`` takes as they are"""


RULES = {"candidates", "filter", "times", "protocol"}
"""the fields in which two runs must not differ if their ranks are to say something about the models"""


class Differences(Comparing):
    """How the differences of models are tested and shown."""

    level = option(type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, metavar="NUMBER")
    """Confidence level. A difference is significant if its adjusted p-value is at most 1 - level."""
    reference = option(metavar="NAME")
    """Model to compare all others with. [default: compare all pairs]"""
    draws = option(type=click.IntRange(1, 10**6), default=9999, metavar="NUMBER")
    """Number of random sign flips in the test."""
    spread = option(type=click.Choice(["sd", "seeds", "interval", "none"]), default="sd")
    """Number after ± if models have several seeds: sd (standard deviation over seeds), seeds (half the interval of the
    mean over seeds), interval (the same over seeds and triples) or none."""
    across = option("--across-datasets", is_flag=True)
    """Rank the models on each of several datasets, with Friedman's test and Nemenyi's critical difference."""
    margin = option(type=click.FloatRange(0, min_open=True), metavar="NUMBER")
    """Smallest difference by the first metric that matters: also test whether models are equivalent (TOST)."""
    fail_if_worse = option(is_flag=True)
    """Exit with status 1 if the first model is significantly worse than another, or than the reference, by the first
    metric, or was not tested."""
    same = option(is_flag=True)
    """Check whether two runs have the same ranks. If not, show the differences and exit with status 1."""


class PrintingOfComparisons(Printing):
    """How comparisons are printed: a page is one more form."""

    form = option("--format", type=click.Choice((*FORMS, "html")), callback=chosen_form)


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...", type=PATH)
@setting_options(MetricRequest, "metrics", defaults={"metrics": ", ".join(RANKS.metrics)})
@options_of(Differences, "intervals", "level")
@setting_options(MetricRequest, "by")
@options_of(Differences, "reference", "draws", "margin", "allow", "spread", "across", "fail_if_worse", "same")
@options_of(Failing, "fail_on")
@setting_options(MetricRequest, *POLICIES, stored=True)
@setting_options(LabelOptions, "calibration", stored=True)
@options_of(Importing)
@options_of(PrintingOfComparisons)
def compare_command(runs: tuple[str, ...], allow: tuple[str, ...], across: bool, form: str, **options: Any) -> None:
    """Compare models on the same test triples: run directories, folders of runs, or files of ranks.

    Runs of kgeval classify are compared by roc_auc and other metrics of labels, with Student's t test.

    A RUN is PATH or NAME=PATH; NAME='runs/TransE-*' gives several runs: the seeds of one model. For each metric and
    pair of models kgeval shows the difference with its interval, a p-value (sign-flip test with Holm's adjustment for
    the number of pairs), and the smallest difference that this test set can detect. The first metric decides which
    model is better; the others are secondary.

    Runs of several datasets or seeds make one table with a row for each model, means over seeds, and the order that
    the tests support.

    A RUN may be a text file of ranks from another evaluator, with --dataset, as in 'kgeval summarize'.

    Example: kgeval compare runs/TransE runs/ComplEx -m mrr,hits@10
    """
    from kgeval.runs.metric_bounds import refuse_worse
    from kgeval.runs.stored import option_name

    if form == "html":
        refuse_missing("a page needs", *OF_REPORT)
    options = given(options)
    metrics = tuple(options.pop("metrics", ()))
    if options.pop("same", False):
        _compare_numbers(runs, metrics, options | {"across": across}, form=form)
        return
    if across and form == "html":
        raise ConfigError("--format html does not go with --across-datasets. Choose text, markdown, latex, csv, json.")
    if across and (idle := [name for name in ("fail_if_worse", "by", "margin") if options.get(name)]):
        raise ConfigError(f"{option_name(idle[0])} has no effect on --across-datasets. Leave one of them out.")
    failing = options.pop("fail_if_worse", False)
    if failing and (unlike := RULES & {*allow}):
        rules = ",".join(sorted(unlike))
        raise ConfigError(
            f"--fail-if-worse compares ranks that were made by the same rules. Leave out --allow {rules}."
        )
    comparison = compare_runs(named_runs(runs), metrics, {**options, "allow": allow}, form=form, across=across)
    if failing and comparison:
        refuse_worse(comparison)


def compare_runs(
    named: list[tuple[str, str]], metrics: tuple[str, ...], options: dict[str, Any], *, form: str, across: bool
) -> Comparison | None:
    """Show models with their differences, over datasets and seeds, or by their ranks on datasets."""
    from kgeval.analysis.comparison.compare import compare
    from kgeval.analysis.comparison.over_graphs import as_in_suite
    from kgeval.runs.compared_runs import common_policies, grid_of, refuse_classifications, values_by_dataset
    from kgeval.stored.folders import suite_around

    options = with_groups(options)
    compared, notes_of_runs = _compared(named, options)
    suite, policies = suite_around(Path(path) for _, path in named), common_policies(compared, options)
    metrics, by_dataset = metrics or tuple(suite["metrics"]), grid_of(compared)
    grid = as_in_suite(by_dataset, suite["groups"])
    if across:
        refuse_classifications(compared, "--across-datasets")
        _show_datasets(values_by_dataset(grid, metrics or ("mrr",), policies), options, notes_of_runs, form)
        return None
    settings: dict[str, Any] = {name: options[name] for name in OF_TESTS if name in options} | policies
    settings |= {"metrics": metrics} if metrics else {}
    if len(grid) > 1 or any(len(runs) > 1 for models in grid.values() for runs in models.values()):
        refuse_classifications(compared, "a table of several seeds or datasets")
        baselines = {model for models in grid.values() for model, (run, *_) in models.items() if run.is_baseline}
        settings |= {"spread": options["spread"], "baselines": baselines, "suite": suite["groups"]}
    tables = {data: {model: [run.table for run in runs] for model, runs in of.items()} for data, of in grid.items()}
    comparison = replace(compare(tables, **settings), of_runs=notes_of_runs)
    record(comparison)
    if form == "html":
        say(_html_of(comparison).rstrip("\n"))
    else:
        show(comparison, form)
    # A paper's table has notes on tests below it, and CSV has no differences.
    alone = (*comparison.notes_on_numbers, *comparison.of_runs)
    show_notes(comparison.notes if form in ("text", "json", "html") else alone)
    return comparison


def _compared(named: list[tuple[str, str]], options: dict[str, Any]) -> tuple[list[ComparedRun], tuple[str, ...]]:
    """Read the runs at some paths, and make notes on them; notes on runs that are left out come before any error."""
    from kgeval.runs.compared_runs import notes_on_ties, read_compared
    from kgeval.stored.folders import look_at, notes_on

    of_places = notes_on(places := look_at(named))
    show_notes(of_places, early=True)
    compared = read_compared(places, options)
    of_each = [note for run in compared for note in run.notes]
    return compared, (*of_each, *notes_on_ties(compared, options), *of_places)


def _html_of(comparison: Comparison) -> str:
    if comparison.spread is None:
        from kgeval.reports.document import comparison_document

        return comparison_document(comparison)
    from kgeval.reports.page import grid_document

    return grid_document(comparison)


def _compare_numbers(runs: tuple[str, ...], metrics: tuple[str, ...], options: dict[str, Any], *, form: str) -> None:
    """Show whether two runs have the same ranks and metrics, or which differ."""
    from kgeval.analysis.comparison.same_ranks import same_ranks
    from kgeval.runs.compared_runs import common_policies, refuse_classifications

    others = ("across", "by", "fail_if_worse", "margin")
    if form == "html" or any(options.get(name) for name in others):
        listed = "--by, --across-datasets, --fail-if-worse, --margin and --format html"
        raise ConfigError(f"--same compares all ranks of two runs. Leave out {listed}.")
    compared, notes_of_runs = _compared(named_runs(runs), options)
    refuse_classifications(compared, "--same")
    tables, further = {run.name: run.table for run in compared}, {"metrics": metrics} if metrics else {}
    result = same_ranks(tables, **further, **common_policies(compared, options))
    notes = (*result.notes, *notes_of_runs)
    show(Page(result.heads, ()) if result.same and form == "text" else replace(result, notes=notes), form)
    show_notes(notes)
    if not result.same:
        click.get_current_context().exit(1)


def _show_datasets(results: ResultsByMetric, options: dict[str, Any], notes_of_runs: Sequence[str], form: str) -> None:
    """Show how models rank on several datasets, for each metric."""
    from kgeval.analysis.comparison.dataset_ranks import rank_models
    from kgeval.cli.streams import say_json

    settings = {name: options[name] for name in ("level", "reference") if name in options}
    by_metric = {
        name.column: rank_models(values, increasing=name.highest_is_best, **settings)
        for name, values in results.items()
    }
    for ranks in by_metric.values():
        record(ranks)
    if form == "json":
        say_json({name: replace(ranks, of_runs=(*notes_of_runs,)).to_dict() for name, ranks in by_metric.items()})
    else:
        for number, (metric, of_models) in enumerate(by_metric.items()):
            if number:
                say("")
            named = f"{metric}{' (secondary)' if number else ''}"
            tables = [replace(table, columns=[named, *table.columns[1:]]) for table in of_models.tables()]
            show(Page((), (*tables,), of_models.notes), form)
            show_notes(of_models.notes)
    show_notes(notes_of_runs)
