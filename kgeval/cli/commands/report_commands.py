"""``kgeval report`` and ``kgeval plot``: a page, or one picture, of what runs say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgeval.cli.shared_options import ALLOW, JSON, QUIET, UNIT, named_runs, refuse_file

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


@click.command("plot")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--kind",
    required=True,
    type=click.Choice(["leaderboard", "slices", "relations", "distribution"]),
    help="What is drawn.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A .svg, .png, .pdf or .html file.")
@DATASET
@TIES
@ALLOW
@FORCE
@QUIET
@JSON
def plot_command(
    runs: tuple[str, ...],
    kind: str,
    out: Path,
    dataset: str | None,
    ties: str | None,
    allow: tuple[str, ...],
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Draw the leaderboard, slices, relations or the distribution of the ranks of runs, each PATH or NAME=PATH."""
    from kgeval.cli.display import show_file, watching
    from kgeval.reports.page import PLOTS, check_picture, save_picture

    check_picture(out)
    refuse_file(out, force=force)
    with watching("drawing", None):
        picture = PLOTS[kind](named_runs(runs), dataset=dataset, ties=ties, allow=allow)
        save_picture(picture, out)
    show_file(out, as_json=as_json)
