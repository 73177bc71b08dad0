"""``kgeval report`` and ``kgeval plot``: a page, or one picture, of what runs say."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.setting_options import split_at_commas
from kgeval.cli.shared_options import ALLOW, JSON, QUIET, UNIT, named_runs, refuse_file
from kgeval.errors import ConfigError

if TYPE_CHECKING:
    from kgeval.metrics.intervals.interval import Unit


DATASET = click.option(
    "--dataset", help="The dataset that was ranked, if a run does not name it or its folder was moved."
)
TIES = click.option("--ties", help="The tie policy, such as realistic or expected.  [default: that of the runs]")
FORCE = click.option("--force", is_flag=True, help="Replace a file that is already there.")


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--out", default="report.html", show_default=True, type=click.Path(path_type=Path), help="The page.")
@DATASET
@UNIT
@TIES
@ALLOW
@FORCE
@QUIET
@JSON
def report_command(
    runs: tuple[str, ...],
    out: Path,
    dataset: str | None,
    unit: Unit,
    ties: str | None,
    allow: tuple[str, ...],
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Write an HTML page that compares runs: ranking, significance, causes, hard triples, and how they were made.

    A RUN is a path or NAME=PATH: a run directory, a folder of runs, or a file of ranks. The page is one file,
    which needs no network, and nothing is scored.
    """
    from kgeval.cli.display import show_file
    from kgeval.reports.page import report

    refuse_file(out, force=force)
    report(named_runs(runs), dataset=dataset, unit=unit, ties=ties, allow=allow).save(out)
    show_file(out, as_json=as_json)


OF_KIND = {
    "metrics": ("--metric", ("metrics", "metric")),
    "by": ("--by", ("slices",)),
    "dataset": ("--dataset", ("dataset",)),
    "allow": ("--allow", ("allow",)),
}
"""the options that not every kind has, and the arguments that they are"""


@click.command("plot")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--kind",
    required=True,
    type=click.Choice(["leaderboard", "slices", "relations", "distribution", "critical-difference"]),
    help="What is drawn; critical-difference takes runs of several datasets.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A .svg, .png, .pdf or .html file.")
@click.option(
    "--metric",
    "-m",
    "metrics",
    multiple=True,
    callback=split_at_commas,
    help="The metric that is drawn, of a leaderboard several; may be repeated.  [default: mrr; of a leaderboard mrr, "
    "hits@1, hits@3, hits@10, amri]",
)
@click.option(
    "--by",
    multiple=True,
    callback=split_at_commas,
    metavar="COLUMN",
    help="The slices that --kind slices draws; may be repeated. 'kgeval list slices' shows all.",
)
@click.option(
    "--width",
    type=float,
    metavar="INCHES",
    help="Draw for print, exactly so wide, with text of 8 points and without a title; a column of a paper has about "
    "3.3 inches, a page 7.",
)
@DATASET
@TIES
@ALLOW
@FORCE
@QUIET
@JSON
def plot_command(
    runs: tuple[str, ...], kind: str, out: Path, ties: str | None, *, force: bool, as_json: bool, **options: Any
) -> None:
    """Draw a picture of runs, each PATH or NAME=PATH.

    The kinds are the leaderboard, metrics by slice, relations as dots, the distribution of ranks, and, of runs of
    several datasets, which models' average ranks differ (critical difference diagram).
    """
    from kgeval.cli.display import show_file, show_notes, watching
    from kgeval.reports.figure import about, check_picture, save_picture
    from kgeval.reports.plots import PLOTS

    check_picture(out)
    refuse_file(out, force=force)
    arguments = _arguments(kind, options, list(signature(PLOTS[kind]).parameters))
    with watching("drawing", None):
        picture = PLOTS[kind](named_runs(runs), ties=ties, **arguments)
        save_picture(picture, out)
    show_file(out, as_json=as_json)
    show_notes(about(picture).get("notes", ()))


def _arguments(kind: str, options: dict[str, Any], taken: list[str]) -> dict[str, Any]:
    """Give the options their names as arguments, and refuse those that a kind does not have."""
    arguments = {"width": options.pop("width")}
    for name, value in options.items():
        if not value:
            continue
        option, names = OF_KIND[name]
        argument = next((name for name in names if name in taken), None)
        if argument is None:
            raise ConfigError(f"{option}: --kind {kind} has none.")
        if argument == "metric" and len(value) > 1:
            raise ConfigError(f"{option}: --kind {kind} draws one metric, found {', '.join(value)}.")
        arguments[argument] = value[0] if argument == "metric" else value
    return arguments
