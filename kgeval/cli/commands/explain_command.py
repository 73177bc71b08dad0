"""``kgeval explain``: one checkpoint under several protocols, and why their numbers differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.configuration import chosen, configured
from kgeval.cli.shared_options import JSON, NAMES, QUIET, pairs


@click.command("explain")
@click.argument("checkpoint")
@click.option("--dataset", required=True, help="A folder in any known layout, or a PyKEEN name.")
@click.option("--layout", default="auto", help="The layout of the folder.  [default: auto]")
@NAMES
@click.option(
    "--protocols", required=True, metavar="P,P,…", help="The frameworks; 'kgeval list protocols' shows all there are."
)
@click.option("--metric", "-m", default="mrr", show_default=True, help="mrr, mr or hits@k, with a side or for both.")
@click.option("--split", default="test", help="The split whose triples are ranked.  [default: test]")
@click.option("--format", default="auto", help="How the checkpoint was written.  [default: auto]")
@click.option(
    "--option", "options", multiple=True, metavar="K=V", help="What its files do not hold, such as model=ComplEx."
)
@click.option("--unseen", default="error", help="Triples the model does not know: error, drop or worst.")
@QUIET
@JSON
def command(checkpoint: str, dataset: str, protocols: str, metric: str, as_json: bool, **given: Any) -> None:
    """Evaluate a checkpoint by several protocols, and break their differences from the standard one into causes.

    Example: kgeval explain umls-TransE --dataset umls --protocols pykeen,libkge,ampligraph
    """
    from kgeval.checkpoints import read_checkpoint
    from kgeval.cli.display import show_explanation, show_notes, watching
    from kgeval.cli.streams import say_json
    from kgeval.data.layout import load_dataset
    from kgeval.protocols.explain import explain

    settings = chosen(given, "split", "unseen")
    configured("explain", checkpoint, dataset, given, evaluation=settings)  # refuses what is wrong, by its option
    with watching("loading dataset"):
        graph = load_dataset(dataset, layout=given["layout"], names=given["names"])
    options = pairs(given["options"], "--option")
    with watching("loading model"):
        scorer = read_checkpoint(Path(checkpoint), options, dataset=graph, format=given["format"])
    names = [name.strip() for name in protocols.split(",") if name.strip()]
    with watching("ranking by every protocol"):
        told = explain(scorer, graph, names, metric=metric, **settings)
    if as_json:
        say_json(told.to_dict())
    else:
        show_explanation(told)
    show_notes([*told.notes, *(f"{row.protocol}: {note}" for row in told.rows for note in row.notes)])
