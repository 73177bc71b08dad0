"""``kgeval run``: run experiments from configuration files."""

from __future__ import annotations

from pathlib import Path

import click

from kgeval.cli.options import JSON


@click.command("run")
@click.argument("configs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="CONFIG...")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key, such as evaluation.split=valid."
)
@click.option("--out", type=click.Path(path_type=Path), help="The run directory, instead of the configuration's.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@JSON
def command(
    configs: tuple[Path, ...], overrides: tuple[str, ...], out: Path | None, force: bool, as_json: bool
) -> None:
    """Run experiments from configuration files.

    Each configuration gives a run directory with config.yaml, manifest.json, metrics.json and ranks.parquet; one with
    several models gives a directory for each of them, and one table.
    """
    from kgeval.cli.display import show_notes, watching
    from kgeval.runs.load import load_config
    from kgeval.runs.runner import run

    loaded = {path: load_config(path, overrides) for path in configs}
    for path, config in loaded.items():
        folder = out or Path(config.output or Path("runs") / path.stem)
        folder = folder / path.stem if out and len(configs) > 1 else folder
        outcomes = run(config, folder, force=force, watch=watching)
        _show({outcome.name or path.stem: outcome.table for outcome in outcomes}, config.resolved(), as_json=as_json)
        for outcome in outcomes:
            show_notes(outcome.table.notes)
            click.echo(f"Written to {outcome.folder}", err=True)


def _show(tables, config, *, as_json: bool) -> None:  # type: ignore[no-untyped-def]
    from kgeval.cli.display import show_summary, show_table
    from kgeval.metrics.comparison import compare
    from kgeval.metrics.summary import number, summarize
    from kgeval.runs.directory import as_json as json_text

    if len(tables) == 1:
        (table,) = tables.values()
        summary = summarize(table, config.metrics, ties=config.ties)
        click.echo(json_text(summary.to_dict()), nl=False) if as_json else show_summary(summary)
        return
    comparison = compare(tables, config.metrics, ties=config.ties)
    if as_json:
        click.echo(json_text(comparison.to_dict()), nl=False)
        return
    frame = comparison.to_pandas()
    names = [name for name in frame.columns if not name.startswith(("head.", "tail."))]
    rows = [[str(model), *map(number, row[names])] for model, row in frame.iterrows()]
    show_table(["model", *(name.removeprefix("both.") for name in names)], rows, right=1)
