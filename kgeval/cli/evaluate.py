"""``kgeval evaluate``: evaluate a checkpoint on a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.options import FOLDER, JSON, METRIC, pairs, policies


@click.command("evaluate")
@click.argument("checkpoint")
@click.option("--dataset", required=True, help="A folder in any known layout, or a PyKEEN name.")
@click.option("--layout", default="auto", help="The layout of the folder.  [default: auto]")
@click.option("--split", default="test", help="The split whose triples are ranked.  [default: test]")
@click.option("--format", default="auto", help="How the checkpoint was written.  [default: auto]")
@click.option(
    "--option", "options", multiple=True, metavar="K=V", help="What its files do not hold, such as model=ComplEx."
)
@click.option("--protocol", default="standard", help="The framework whose rules are followed.  [default: standard]")
@click.option(
    "--unseen", default="error", help="Triples the model does not know: error, drop or worst.  [default: error]"
)
@click.option("--nan", default="error", help="Scores that are not a number: error or worst.  [default: error]")
@click.option("--batch-size", type=int, help="Queries in hand at a time; it changes no rank.")
@click.option("--memory-limit", help="What the blocks of work may take, such as 2GB; it changes no rank.")
@click.option("--threads", type=int, help="Threads to use; they change no rank.")
@METRIC
@policies(stored=False)
@click.option("--out", type=FOLDER, help="Write a run directory.")
@click.option("--force", is_flag=True, help="Replace a run that is already there.")
@JSON
def command(checkpoint: str, dataset: str, out: Path | None, force: bool, as_json: bool, **given: Any) -> None:
    """Evaluate a checkpoint on a dataset: every true answer is ranked among all entities, both sides, filtered.

    Example: kgeval evaluate model.npz --dataset data/fb15k-237 --option model=ComplEx
    """
    from kgeval.cli.display import show_notes, show_outcome, watching
    from kgeval.directory import as_json as json_text
    from kgeval.runs.document import Document
    from kgeval.runs.load import check
    from kgeval.runs.runner import run

    keys = ("split", "unseen", "nan", "batch_size", "memory_limit", "threads")
    evaluation = {key: given[key] for key in keys if given[key] is not None}
    layout = {} if given["layout"] == "auto" else {"layout": given["layout"]}
    content = {
        "dataset": {"path": dataset, **layout} if layout else dataset,
        "model": {"path": checkpoint, "format": given["format"], "options": pairs(given["options"], "--option")},
        "protocol": given["protocol"],
        "evaluation": evaluation,
        "metrics": list(given["metrics"]),
        **{key: given[key] for key in ("ties", "seed", "chance", "popularity") if given[key] is not None},
    }
    (outcome,) = run(check(Document("evaluate", content)), out, force=force, watch=watching)
    click.echo(json_text(outcome.to_dict()), nl=False) if as_json else show_outcome(outcome)
    show_notes(outcome.notes)
    if out is not None:
        click.echo(f"Written to {out}", err=True)
