"""``kgeval compare``: which of several models is better, and whether the difference is more than noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from kgeval.cli.display import format_options, show, show_notes
from kgeval.cli.setting_options import given, setting_options
from kgeval.cli.shared_options import ALLOW, DIGITS, QUIET, UNIT, import_options, named_runs, rows_shown
from kgeval.cli.streams import say
from kgeval.errors import ConfigError
from kgeval.runs.config.metric_request import POLICIES, MetricRequest
from kgeval.table import Page


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@setting_options(MetricRequest, "metrics")
@UNIT
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="The confidence level; a difference is significant if its adjusted p-value is at most 1 - level.",
)
@setting_options(MetricRequest, "by")
@click.option("--reference", metavar="NAME", help="Compare all others with this model.  [default: each with each]")
@click.option(
    "--draws",
    type=click.IntRange(1, 10**6),
    default=9999,
    show_default=True,
    help="How many random sign flips the test draws.",
)
@ALLOW
@click.option(
    "--across-datasets",
    "across",
    is_flag=True,
    help="The runs are of several datasets: rank the models on each, by Friedman's test and Nemenyi's critical "
    "difference.",
)
@click.option(
    "--same", is_flag=True, help="Say whether two runs hold the same ranks; if not, which differ, and exit with 1."
)
@setting_options(MetricRequest, *POLICIES, stored=True)
@import_options
@format_options("html")
@rows_shown
@DIGITS
@QUIET
def compare_command(runs: tuple[str, ...], allow: tuple[str, ...], across: bool, form: str, **options: Any) -> None:
    """Compare models on the same test triples: run directories, folders of runs, or files of ranks.

    A RUN is a path or NAME=PATH. For each metric and pair of models kgeval shows the difference with its interval, a
    p-value (sign-flip test, adjusted for the pairs of models by Holm), and the smallest difference that this test set
    can show. The metric named first decides; the others are secondary.

    Ranks that another evaluator wrote as text take part, with --dataset, as in 'kgeval summarize'.
    """
    options = given(options)
    metrics = tuple(options.pop("metrics", ()))
    if options.pop("same", False):
        _compare_numbers(runs, metrics, options | {"across": across}, form=form)
    elif across:
        options.pop("by", None)  # ranks across datasets have no groups
        _compare_datasets(runs, metrics or ("mrr",), options, form=form)
    else:
        _compare_models(runs, metrics, {**options, "allow": allow}, form=form)


def _compare_models(runs: tuple[str, ...], metrics: tuple[str, ...], options: dict[str, Any], *, form: str) -> None:
    """Show models side by side, and the differences of each pair."""
    from kgeval.analysis.comparison.compare_models import compare
    from kgeval.analysis.comparison.leaderboard import side_by_side
    from kgeval.runs.compared_runs import common_policies, notes_on_runs, notes_on_unfinished, read_compared

    named = named_runs(runs)
    compared = read_compared(named, options)
    settings: dict[str, Any] = {
        name: options[name] for name in ("unit", "level", "by", "reference", "draws", "allow") if name in options
    }
    settings |= common_policies(compared, options) | ({"metrics": metrics} if metrics else {})
    comparison = compare({run.name: run.table for run in compared}, **settings)
    if form == "html":
        from kgeval.reports.document import comparison_document

        say(comparison_document(comparison).rstrip("\n"))
    elif form != "text":
        show(comparison, form)
    else:
        page, decisive = side_by_side(comparison.summaries), comparison.decisive
        differences = (
            replace(table, title=f"{metric}{'' if metric == decisive else ' (secondary)'}:")
            for metric, table in comparison.differences_by_metric().items()
        )
        show(Page(page.heads, (*page.parts, *differences)))
    # Papers have their notes on tests below the table, and CSV has no differences.
    leaderboard_alone = (*comparison.remarks, *comparison.notes_on_models)
    shown = comparison.notes if form in ("text", "json", "html") else leaderboard_alone
    show_notes([*shown, *notes_on_runs(compared, options), *notes_on_unfinished(named)])


def _compare_numbers(runs: tuple[str, ...], metrics: tuple[str, ...], options: dict[str, Any], *, form: str) -> None:
    """Say whether two runs hold the same ranks and metrics, or which differ."""
    from kgeval.analysis.comparison.same_ranks import same_ranks
    from kgeval.runs.compared_runs import common_policies, notes_on_runs, read_compared

    if form == "html" or options["across"] or options.get("by"):
        raise ConfigError("--same compares all rows of two runs: without --by and --across-datasets, and not as html.")
    compared = read_compared(named_runs(runs), options)
    tables, further = {run.name: run.table for run in compared}, {"metrics": metrics} if metrics else {}
    found = same_ranks(tables, **further, **common_policies(compared, options))
    show(Page(found.heads, ()) if found.same and form == "text" else found, form)
    show_notes([*found.notes, *notes_on_runs(compared, options)])
    if not found.same:
        click.get_current_context().exit(1)


def _compare_datasets(runs: tuple[str, ...], metrics: tuple[str, ...], options: dict[str, Any], *, form: str) -> None:
    """Show how models rank on several datasets, by one metric after the other."""
    if form == "html":
        raise ConfigError("--format html: ranks across datasets are written as text, markdown, latex, csv or json.")
    from kgeval.analysis.comparison.dataset_ranks import rank_models
    from kgeval.analysis.comparison.leaderboard import title_of
    from kgeval.cli.streams import say_json
    from kgeval.runs.compared_runs import read_compared, values_by_dataset

    compared = read_compared(named_runs(runs), options, across=True)
    found = {
        title_of(name): rank_models(
            values, increasing=bool(name.metric.increasing), level=options["level"], reference=options.get("reference")
        )
        for name, values in values_by_dataset(compared, metrics, options).items()
    }
    if form == "json":
        say_json({metric: ranks.to_dict() for metric, ranks in found.items()})
    else:
        for number, (metric, of_models) in enumerate(found.items()):
            if number:
                say("")
            (table,) = of_models.tables()
            named = f"{metric}{' (secondary)' if number else ''}"
            show(Page((), (replace(table, columns=[named, *table.columns[1:]]),), of_models.notes), form)
            show_notes(of_models.notes)
