"""``kgeval metrics``: compute metrics from the stored ranks of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.options import JSON, METRIC, TIES


@click.command("metrics")
@click.argument("run", type=click.Path(path_type=Path))
@METRIC
@TIES
@click.option("--by", multiple=True, metavar="COLUMN", help="Group by a column, such as relation; may be repeated.")
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of random ties.")
@click.option(
    "--chance",
    type=click.Choice(["exact", "pykeen"]),
    default="exact",
    show_default=True,
    help="What adjusted metrics compare with: random ranking among N candidates, or N - 1 as PyKEEN counts them.",
)
@JSON
def command(run: Path, metrics: tuple[str, ...], ties: str | None, as_json: bool, **given: Any) -> None:
    """Compute metrics from the stored ranks of a run (a directory or a ranks.parquet); nothing is scored again."""
    from kgeval.cli.display import show_notes, show_summary
    from kgeval.directory import as_json as json_text
    from kgeval.directory import read_ranks
    from kgeval.metrics.summary import DEFAULT, summarize

    table = read_ranks(run)
    summary = summarize(table, metrics or DEFAULT, ties=ties or "realistic", **given)  # type: ignore[arg-type]
    click.echo(json_text(summary.to_dict()), nl=False) if as_json else show_summary(summary)
    show_notes([*table.notes, *summary.notes])
