"""``kgeval run``: run experiments from configuration files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.options import FOLDER, JSON

if TYPE_CHECKING:
    from kgeval.runs.outcome import Outcome


@click.command("run")
@click.argument("configs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="CONFIG...")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key, such as evaluation.split=valid."
)
@click.option("--out", type=FOLDER, help="The run directory, instead of the configuration's.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@JSON
def command(
    configs: tuple[Path, ...], overrides: tuple[str, ...], out: Path | None, force: bool, as_json: bool
) -> None:
    """Run experiments from configuration files.

    Each configuration gives a run directory with config.yaml, manifest.json, metrics.json and ranks.parquet (of a task,
    labels.parquet); one with several models gives a directory for each of them, and one table. A model whose run is
    there already, of the same configuration and inputs, is taken from there; where one fails, the others are run all
    the same.
    """
    from kgeval.cli.display import show_notes, watching
    from kgeval.directory import as_json as json_text
    from kgeval.errors import ConfigError, RunError
    from kgeval.runs.load import load_config
    from kgeval.runs.outcome import ModelsFailed, incomparable
    from kgeval.runs.runner import run

    loaded = {path: load_config(path, overrides) for path in configs}
    folders = {path: _folder(path, config.output, out, several=len(configs) > 1) for path, config in loaded.items()}
    if len(set(folders.values())) < len(folders):
        raise ConfigError(
            "two configurations would be written to one folder: run them one by one, or name their outputs."
        )
    told, failed = {}, []
    for path, config in loaded.items():
        try:
            outcomes = run(config, folders[path], force=force, watch=watching)
        except ModelsFailed as failure:
            outcomes = failure.outcomes
            failed.append(f"{path}: {failure}")
        told[str(path)] = _content(outcomes, several=len(config.jobs) > 1)
        if not as_json:
            show_outcomes(outcomes)
        for outcome in outcomes:
            show_notes(f"{outcome.name}: {note}" if outcome.name else note for note in outcome.notes)
            where = "Taken from" if outcome.stored else "Written to"
            click.echo(f"{where} {outcome.folder}{', an earlier run of the same' * outcome.stored}", err=True)
        show_notes(incomparable(outcomes))
    if as_json:
        click.echo(json_text(told if len(told) > 1 else next(iter(told.values()))), nl=False)
    if failed:
        raise RunError("\n".join(failed))


def _folder(config: Path, output: str | None, out: Path | None, *, several: bool) -> Path:
    if out is None:
        return Path(output) if output else Path("runs") / config.stem
    return out / config.stem if several else out


def _content(outcomes: list[Outcome], *, several: bool) -> dict[str, Any]:
    """The content of metrics.json; of several models, by their names."""
    if not several:
        return outcomes[0].to_dict() if outcomes else {}
    return {outcome.name: outcome.to_dict() for outcome in outcomes}


def show_outcomes(outcomes: list[Outcome]) -> None:
    """Print one model's numbers; of several, a row each, or where they are grouped, a table each."""
    from kgeval.cli.display import show_labels, show_outcome, show_summary
    from kgeval.metrics.label_summary import LabelSummary
    from kgeval.metrics.summary import Summary
    from kgeval.runs.outcome import incomparable

    judged = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, LabelSummary)}
    if judged:
        # Floors are counted on the triples of their model: only the same triples give the same floors.
        for part in [{name: judged[name]} for name in judged] if incomparable(outcomes) else [judged]:
            show_labels(part)
    elif len(outcomes) == 1:
        show_outcome(outcomes[0])
    elif any(outcome.summary.by for outcome in outcomes if isinstance(outcome.summary, Summary)):
        for outcome in outcomes:
            click.echo(f"{outcome.name}:")
            show_summary(outcome.summary)
    elif outcomes:
        _compare(outcomes)


def _compare(outcomes: list[Outcome]) -> None:
    """Print a row for each model that ranked, and how many triples each ranked where they differ."""
    from kgeval.cli.display import show_table, show_undefined
    from kgeval.metrics.summary import Summary, number
    from kgeval.runs.outcome import incomparable

    summaries = [outcome.summary for outcome in outcomes if isinstance(outcome.summary, Summary)]
    values = [summary.groups[0].values for summary in summaries]
    pooled = {name.base for name in values[0] if name.side == "both"}
    asked = [name for name in values[0] if name.side == "both" or name.base not in pooled]
    rows = [
        [outcome.name, *(number(mine[name]) for name in asked)] for outcome, mine in zip(outcomes, values, strict=True)
    ]
    columns = ["model", *(name.base if name.side == "both" else str(name) for name in asked)]
    if incomparable(outcomes):
        columns.insert(1, "triples")
        for row, summary in zip(rows, summaries, strict=True):
            row.insert(1, str(summary.num_triples))
    show_table(columns, rows, right=1)
    for summary in summaries:
        show_undefined(summary)
