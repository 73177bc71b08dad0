"""``kgeval metrics``: compute metrics from the stored ranks or labels of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.options import JSON, METRIC, NAMES, policies


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
@NAMES
@click.option("--high", type=float, help="Of confidences: where high ones begin.  [default: as in the run]")
@JSON
def command(run: Path, metrics: tuple[str, ...], names: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Compute metrics from the stored ranks or labels of a run (a directory or a ranks.parquet); nothing is scored.

    What is not said is as the run was asked: without any option, these are the metrics of the run. The metrics of a
    classification or of confidences are [macro.]name, and can be grouped by relation. A run of confidences has those of
    its ranks too: name them.

    Ranks that another evaluator wrote as text will do too, with the dataset that was ranked: a header names head,
    relation, tail and the ranks, as in 'h r t frank_left rank_left frank_right rank_right'.
    """
    from kgeval.cli.display import show_notes, show_summary
    from kgeval.directory import as_json as json_text
    from kgeval.graph.names import Names, read_names
    from kgeval.runs.named import named
    from kgeval.runs.stored import ask_again

    said = {name: value for name, value in given.items() if value is not None and value != ()}
    notes, summary = ask_again(run, metrics, said)
    if names:
        summary = named(summary, Names.together(map(read_names, names)))
    click.echo(json_text(summary.to_dict()), nl=False) if as_json else show_summary(summary)
    show_notes([*notes, *summary.notes])
