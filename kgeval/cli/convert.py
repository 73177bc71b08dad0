"""``kgeval convert``: write a checkpoint of any framework in the native format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.options import pairs


@click.command("convert")
@click.argument("checkpoint")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The file to write: a .safetensors.")
@click.option("--format", "format", default="auto", help="The checkpoint's format.  [default: auto]")
@click.option(
    "--option", "options", multiple=True, metavar="K=V", help="What its files do not hold, such as model=ComplEx."
)
@click.option("--dataset", help="The graph that tells the labels, where the checkpoint keeps none.")
def command(checkpoint: str, out: Path, dataset: str | None, **given: Any) -> None:
    """Write a checkpoint of any framework as one .safetensors file with everything inside.

    It evaluates to the same ranks. Example: kgeval convert umls-TransE --out model.safetensors
    """
    from kgeval.checkpoints import read_checkpoint
    from kgeval.checkpoints.native import save_checkpoint
    from kgeval.graph.layouts import load_dataset

    graph = None if dataset is None else load_dataset(dataset)
    options = pairs(given["options"], "--option")
    save_checkpoint(read_checkpoint(Path(checkpoint), options, dataset=graph, format=given["format"]), out)
    click.echo(f"Written to {out}", err=True)
