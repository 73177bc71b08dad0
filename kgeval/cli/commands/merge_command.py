"""``kgeval merge``: finish a run whose shards were ranked by jobs of their own."""

from __future__ import annotations

from pathlib import Path

import click

from kgeval.cli.shared_options import DIGITS, FORMAT, QUIET


@click.command("merge")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@FORMAT
@DIGITS
@QUIET
def command(folder: Path, force: bool, form: str) -> None:
    """Finish the run in DIR, all of whose shards were ranked by 'kgeval run CONFIG --shard K/N'.

    Missing shards and shards of another run are named.
    """
    from kgeval.cli.display import show_note, watching
    from kgeval.cli.outcomes import show_outcomes, show_remarks
    from kgeval.cli.streams import say_json
    from kgeval.runs.outcome import common_table
    from kgeval.runs.shards.shard_job import merge

    outcomes = merge(folder, force=force, watch=watching, warn=show_note)
    if form == "json":
        say_json(common_table(outcomes, {}) if outcomes[0].name else outcomes[0].to_dict())
    else:
        show_outcomes(outcomes, form)
    show_remarks(outcomes)
