"""``kgeval run``: run experiments from configuration files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.options import JSON

if TYPE_CHECKING:
    from kgeval.runs.runner import Outcome


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
    from kgeval.errors import ConfigError
    from kgeval.runs.directory import as_json as json_text
    from kgeval.runs.load import load_config
    from kgeval.runs.runner import incomparable, run

    loaded = {path: load_config(path, overrides) for path in configs}
    folders = {path: _folder(path, config.output, out, several=len(configs) > 1) for path, config in loaded.items()}
    if len(set(folders.values())) < len(folders):
        raise ConfigError(
            "two configurations would be written to one folder: run them one by one, or name their outputs."
        )
    told = {}
    for path, config in loaded.items():
        outcomes = run(config, folders[path], force=force, watch=watching)
        told[str(path)] = _content(outcomes)
        if not as_json:
            _show(outcomes)
        for outcome in outcomes:
            show_notes(f"{outcome.name}: {note}" if outcome.name else note for note in outcome.notes)
            click.echo(f"Written to {outcome.folder}", err=True)
        show_notes(incomparable(outcomes))
    if as_json:
        click.echo(json_text(told if len(told) > 1 else next(iter(told.values()))), nl=False)


def _folder(config: Path, output: str | None, out: Path | None, *, several: bool) -> Path:
    if out is None:
        return Path(output) if output else Path("runs") / config.stem
    return out / config.stem if several else out


def _content(outcomes: list[Outcome]) -> dict[str, Any]:
    """The content of metrics.json; of several models, by their names."""
    if len(outcomes) == 1:
        return outcomes[0].to_dict()
    return {outcome.name: outcome.to_dict() for outcome in outcomes}


def _show(outcomes: list[Outcome]) -> None:
    """Print one model's numbers; of several, a row each, and how many triples each ranked where they differ."""
    from kgeval.cli.display import show_outcome, show_table, show_undefined
    from kgeval.metrics.summary import number
    from kgeval.runs.runner import incomparable

    if len(outcomes) == 1:
        show_outcome(outcomes[0])
        return
    values = [outcome.summary.groups[0].values for outcome in outcomes]
    pooled = {name.base for name in values[0] if name.side == "both"}
    asked = [name for name in values[0] if name.side == "both" or name.base not in pooled]
    rows = [
        [outcome.name, *(number(mine[name]) for name in asked)] for outcome, mine in zip(outcomes, values, strict=True)
    ]
    columns = ["model", *(name.base if name.side == "both" else str(name) for name in asked)]
    if incomparable(outcomes):
        columns.insert(1, "triples")
        for row, outcome in zip(rows, outcomes, strict=True):
            row.insert(1, str(outcome.table.num_triples))
    show_table(columns, rows, right=1)
    for outcome in outcomes:
        show_undefined(outcome.summary)
