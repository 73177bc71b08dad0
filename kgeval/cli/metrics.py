"""``kgeval metrics``: compute metrics from the stored ranks of a run."""

from __future__ import annotations

from pathlib import Path

import click

from kgeval.cli.options import JSON, METRIC, TIES


@click.command("metrics")
@click.argument("run", type=click.Path(path_type=Path))
@METRIC
@TIES
@click.option("--by", multiple=True, metavar="COLUMN", help="Group by a column, such as relation; may be repeated.")
@JSON
def command(run: Path, metrics: tuple[str, ...], ties: str | None, by: tuple[str, ...], as_json: bool) -> None:
    """Compute metrics from the stored ranks of a run (a directory or a ranks.parquet); nothing is scored again."""
    from kgeval.cli.display import show_notes, show_summary
    from kgeval.metrics.summary import DEFAULT, summarize
    from kgeval.runs.directory import as_json as json_text
    from kgeval.runs.directory import read_ranks

    table = read_ranks(run)
    summary = summarize(table, metrics or DEFAULT, by=by, ties=ties or "realistic")  # type: ignore[arg-type]
    click.echo(json_text(summary.to_dict()), nl=False) if as_json else show_summary(summary)
    show_notes([*table.notes, *summary.notes])
