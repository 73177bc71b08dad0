"""``kgeval run``: run experiments from configuration files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.options import FAIL_UNDER, JSON, QUIET

if TYPE_CHECKING:
    from kgeval.runs.runner import Outcome


@click.command("run")
@click.argument("configs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="CONFIG...")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key, such as evaluation.split=valid."
)
@click.option("--out", type=click.Path(path_type=Path), help="The run directory, instead of the configuration's.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@FAIL_UNDER
@QUIET
@JSON
def command(
    configs: tuple[Path, ...],
    overrides: tuple[str, ...],
    out: Path | None,
    force: bool,
    fail_under: dict[str, float],
    as_json: bool,
) -> None:
    """Run experiments from configuration files.

    Each configuration gives a run directory with config.yaml, manifest.json, metrics.json and ranks.parquet (of a task,
    labels.parquet); one with several models gives a directory for each of them, and one table.
    """
    from kgeval.cli.display import show_notes, show_place, watching
    from kgeval.cli.streams import say, say_json
    from kgeval.errors import ConfigError
    from kgeval.runs.fail_under import measured, refuse_bounds, refuse_shortfalls
    from kgeval.runs.load import load_config
    from kgeval.runs.runner import incomparable, run

    loaded = {path: load_config(path, overrides) for path in configs}
    folders = {path: _folder(path, config.output, out, several=len(configs) > 1) for path, config in loaded.items()}
    if len(set(folders.values())) < len(folders):
        raise ConfigError(
            "two configurations would be written to one folder: run them one by one, or name their outputs."
        )
    for config in loaded.values():
        refuse_bounds(fail_under, config.task.kind if config.task else "ranks", config.metrics)
    told, bounded = {}, {}
    for path, config in loaded.items():
        outcomes = run(config, folders[path], force=force, watch=watching)
        told[str(path)] = _content(outcomes)
        if not as_json:
            if len(told) > 1:
                say("")
            _show(outcomes)
        for outcome in outcomes:
            show_notes(f"{outcome.name}: {note}" if outcome.name else note for note in outcome.notes)
            show_place(outcome.folder)
            if fail_under:
                where = [str(path)] if len(loaded) > 1 else []
                bounded[": ".join([*where, *filter(None, [outcome.name])])] = measured(outcome, [*fail_under])
        show_notes(incomparable(outcomes))
    if as_json:
        say_json(told if len(told) > 1 else next(iter(told.values())))
    refuse_shortfalls(bounded, fail_under)


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
    from kgeval.cli.display import show_comparison, show_labels, show_outcome
    from kgeval.cli.streams import say
    from kgeval.metrics.label_summary import LabelSummary
    from kgeval.metrics.summary import Summary
    from kgeval.runs.runner import incomparable

    judged = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, LabelSummary)}
    ranked = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, Summary)}
    if judged:
        # Floors are counted on the triples of their model: only the same triples give the same floors.
        parts = [{name: judged[name]} for name in judged] if incomparable(outcomes) else [judged]
        for index, part in enumerate(parts):
            if index:
                say("")
            show_labels(part)
    elif len(outcomes) == 1:
        show_outcome(outcomes[0])
    else:
        show_comparison(ranked)
