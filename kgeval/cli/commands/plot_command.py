"""``kgeval plot``: one picture of what runs say."""

from __future__ import annotations

from pathlib import Path

import click

from kgeval.cli.commands.report_command import DATASET, FORCE, TIES
from kgeval.cli.shared_options import ALLOW, JSON, QUIET


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
def command(
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
    from kgeval.cli.display import watching
    from kgeval.cli.named_runs import named_runs, refuse_file, show_file
    from kgeval.reports.page import PLOTS, check_picture, save_picture

    check_picture(out)
    refuse_file(out, force=force)
    with watching("drawing", None):
        picture = PLOTS[kind](named_runs(runs), dataset=dataset, ties=ties, allow=allow)
        save_picture(picture, out)
    show_file(out, as_json=as_json)
