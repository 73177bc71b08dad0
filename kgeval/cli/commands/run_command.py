"""``kgeval run``: run experiments from configuration files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.shared_options import FAIL_UNDER, FOLDER, JSON, QUIET

if TYPE_CHECKING:
    from kgeval.metrics.labels.label_summary import LabelSummary
    from kgeval.metrics.tables.summary import Summary
    from kgeval.runs.config.run_config import RunConfig
    from kgeval.runs.outcome import Outcome


@click.command("run")
@click.argument("configs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="CONFIG...")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key, such as evaluation.split=valid."
)
@click.option("--out", type=FOLDER, help="The run directory, instead of the configuration's.")
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
    labels.parquet); one with several models gives a directory for each of them, and one table. A model whose run is
    there already, of the same configuration and inputs, is taken from there; where one fails, the others are run all
    the same.
    """
    from kgeval.cli.display import show_note, show_notes, show_place, watching
    from kgeval.cli.streams import say, say_json
    from kgeval.errors import ConfigError, RunError
    from kgeval.runs.config.load import load_config
    from kgeval.runs.fail_under import refuse_bounds, refuse_shortfalls
    from kgeval.runs.outcome import ModelsFailed, comparability_notes, notes_by_model
    from kgeval.runs.runner import run

    loaded = {path: load_config(path, overrides) for path in configs}
    folders = {path: _folder(path, config.output, out, several=len(configs) > 1) for path, config in loaded.items()}
    if len(set(folders.values())) < len(folders):
        raise ConfigError(
            "two configurations would be written to one folder: run them one by one, or name their outputs."
        )
    for config in loaded.values():
        refuse_bounds(fail_under, config.task.kind if config.task else "ranks", config.metrics)
    done: dict[Path, list[Outcome]] = {}
    failed = []
    for path, config in loaded.items():
        try:
            done[path] = run(config, folders[path], force=force, watch=watching, warn=show_note)
        except ModelsFailed as failure:
            done[path] = failure.outcomes
            failed.append(f"{path}: {failure}")
        if not as_json:
            if len(done) > 1:
                say("")
            show_outcomes(done[path])
        show_notes([*notes_by_model(done[path]), *comparability_notes(done[path])])
        for outcome in done[path]:
            show_place(outcome.folder, stored=outcome.stored)
    if as_json:
        contents = {str(path): _content(outcomes, loaded[path]) for path, outcomes in done.items()}
        say_json(contents if len(contents) > 1 else next(iter(contents.values())))
    if failed:
        raise RunError("\n".join(failed))
    refuse_shortfalls(_bounded(done, fail_under), fail_under)


def _folder(config: Path, output: str | None, out: Path | None, *, several: bool) -> Path:
    if out is None:
        return Path(output) if output else Path("runs") / config.stem
    return out / config.stem if several else out


def _content(outcomes: list[Outcome], config: RunConfig) -> dict[str, Any]:
    """The content of metrics.json; of several models, by their names."""
    if config.models is None:
        return outcomes[0].to_dict()
    return {outcome.name: outcome.to_dict() for outcome in outcomes}


def _bounded(done: dict[Path, list[Outcome]], bounds: dict[str, float]) -> dict[str, Summary | LabelSummary]:
    """Compute the metrics that have bounds, by model, and by configuration where there are several."""
    from kgeval.runs.fail_under import measured

    return {
        ": ".join([*([str(path)] if len(done) > 1 else []), *filter(None, [outcome.name])]): measured(
            outcome, [*bounds]
        )
        for path, outcomes in done.items()
        for outcome in (outcomes if bounds else [])
    }


def show_outcomes(outcomes: list[Outcome]) -> None:
    """Print one model's numbers; of several, a table with a row each, or where they are grouped, a table each."""
    from kgeval.cli.display import show_comparison, show_labels, show_outcome, show_summary
    from kgeval.cli.streams import say
    from kgeval.metrics.labels.label_summary import LabelSummary
    from kgeval.metrics.tables.summary import Summary
    from kgeval.runs.outcome import comparability_notes

    judged = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, LabelSummary)}
    ranked = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome.summary, Summary)}
    if judged:
        # Baselines are counted on the triples of their model: only the same triples give the same baselines.
        parts = [{name: judged[name]} for name in judged] if comparability_notes(outcomes) else [judged]
        for index, part in enumerate(parts):
            if index:
                say("")
            show_labels(part)
    elif len(outcomes) == 1:
        show_outcome(outcomes[0])
    elif any(summary.by for summary in ranked.values()):
        for name, summary in ranked.items():
            say(f"{name}:")
            show_summary(summary)
    elif ranked:
        show_comparison(ranked)
