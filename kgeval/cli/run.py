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

    Each configuration gives a run directory with config.yaml, manifest.json, metrics.json and ranks.parquet (of a task,
    labels.parquet); one with several models gives a directory for each of them, and one table.
    """
    from kgeval.cli.display import show_notes, watching
    from kgeval.directory import as_json as json_text
    from kgeval.errors import ConfigError
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
    """Print one model's numbers; of several, a table with a row each."""
    from kgeval.cli.display import show_labels, show_outcome
    from kgeval.metrics.label_summary import LabelSummary
    from kgeval.runs.runner import incomparable

    judged = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, LabelSummary)}
    if judged:
        # Floors are counted on the triples of their model: only the same triples give the same floors.
        for part in [{name: judged[name]} for name in judged] if incomparable(outcomes) else [judged]:
            show_labels(part)
    elif len(outcomes) == 1:
        show_outcome(outcomes[0])
    else:
        _compare(outcomes)


def _compare(outcomes: list[Outcome]) -> None:
    """Print a row for each model that ranked, and how many triples each ranked where they differ."""
    from kgeval.cli.display import show_table, show_undefined
    from kgeval.metrics.comparison import Comparison
    from kgeval.metrics.summary import Summary
    from kgeval.runs.runner import incomparable

    summaries = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, Summary)}
    columns, rows = Comparison(summaries).table()
    if incomparable(outcomes):
        columns.insert(1, "triples")
        for row, summary in zip(rows, summaries.values(), strict=True):
            row.insert(1, str(summary.provenance.triples))
    show_table(columns, rows, right=1)
    for summary in summaries.values():
        show_undefined(summary)
