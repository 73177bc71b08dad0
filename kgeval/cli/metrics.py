"""``kgeval metrics``: compute metrics from the stored ranks or labels of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.options import JSON, METRIC, policies


@click.command("metrics")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--dataset", help="The graph that was ranked, for a text file of ranks that were made elsewhere.")
@click.option(
    "--split",
    type=click.Choice(["train", "valid", "test"]),
    help="The split that was ranked, for such a file.  [default: test]",
)
@METRIC
@policies(stored=True)
@click.option("--by", multiple=True, metavar="COLUMN", help="Group by a column, such as relation; may be repeated.")
@click.option("--calibration", help="Of a classification: platt, isotonic or none.  [default: as in the run]")
@click.option(
    "--mapping",
    type=click.Choice(["raw", "logistic", "bounded-linear"]),
    help="Of confidences: how scores become confidences, fitted in validation.  [default: as in the run]",
)
@click.option("--high", type=float, help="Of confidences: where high ones begin.  [default: as in the run]")
@JSON
def command(run: Path, metrics: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Compute metrics from the stored ranks or labels of a run (a directory or a ranks.parquet); nothing is scored.

    Of several models, give the directory that holds their runs.

    What is not said is as the run was asked: without any option, these are the metrics of the run. The metrics of a
    classification or of confidences are [macro.]name, and can be grouped by relation. A run of confidences has those of
    its ranks too: name them.

    Ranks that another evaluator wrote as text will do too, with the dataset that was ranked: a header names head,
    relation, tail and the ranks, as in 'h r t frank_left rank_left frank_right rank_right'.
    """
    from kgeval.cli.display import show_notes, show_summary
    from kgeval.directory import as_json as json_text
    from kgeval.directory import is_several
    from kgeval.runs.stored import ask_again

    said = {name: value for name, value in given.items() if value is not None and value != ()}
    if is_several(run):
        _several(run, metrics, said, as_json=as_json)
        return
    notes, summary = ask_again(run, metrics, said)
    click.echo(json_text(summary.to_dict()), nl=False) if as_json else show_summary(summary)
    show_notes([*notes, *summary.notes])


def _several(folder: Path, metrics: tuple[str, ...], said: dict[str, Any], *, as_json: bool) -> None:
    """Show the metrics of several models' runs side by side."""
    from kgeval.cli.display import show_notes
    from kgeval.cli.run import show_outcomes
    from kgeval.directory import METRICS, read_json
    from kgeval.directory import as_json as json_text
    from kgeval.runs.outcome import common_table, incomparable
    from kgeval.runs.resume import read_outcomes

    outcomes = read_outcomes(folder, metrics, said)
    failed = read_json(folder / METRICS).get("failed", {})
    if as_json:
        click.echo(json_text(common_table(outcomes, failed)), nl=False)
    else:
        show_outcomes(outcomes)
    for outcome in outcomes:
        show_notes(f"{outcome.name}: {note}" for note in outcome.notes)
    show_notes([*incomparable(outcomes), *(f"{name} failed: {why}" for name, why in failed.items())])
