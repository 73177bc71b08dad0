"""``kgeval convert``: write a checkpoint of any framework in the native format."""

from __future__ import annotations

from pathlib import Path

import click

from kgeval.cli.configuration import pairs
from kgeval.cli.shared_options import JSON, QUIET


@click.command("convert")
@click.argument("checkpoint")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The file to write: a .safetensors.")
@click.option("--format", "format", default="auto", help="The checkpoint's format.  [default: auto]")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="K=V",
    help="Settings that the files do not store, such as model=ComplEx.",
)
@click.option("--dataset", help="Dataset whose labels are used where the checkpoint stores none.")
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
@QUIET
@JSON
def command(
    checkpoint: str, out: Path, format: str, options: tuple[str, ...], dataset: str | None, force: bool, as_json: bool
) -> None:
    """Write a checkpoint of a model family (kgeval list models) as one .safetensors file with everything inside.

    It may be from any framework that kgeval reads, and evaluates to the same ranks.
    Example: kgeval convert umls-TransE --out model.safetensors
    """
    from kgeval.checkpoints import read_checkpoint
    from kgeval.checkpoints.native import save_checkpoint
    from kgeval.cli.display import watching
    from kgeval.cli.streams import say, say_json
    from kgeval.data.loading import load_dataset
    from kgeval.errors import InputError
    from kgeval.paths import exists_safely

    if exists_safely(out) and not force:
        raise InputError(f"{str(out)!r} already exists. Choose another name, or add --force.")
    settings = pairs(options, "--option")
    with watching("loading model"):
        graph = None if dataset is None else load_dataset(dataset)
        model = read_checkpoint(Path(checkpoint), settings, dataset=graph, format=format)
    save_checkpoint(model, out)
    result = {"path": str(out), **{name: model.describe()[name] for name in ("model", "entities", "relations")}}
    if as_json:
        say_json(result)
    else:
        say("{model} of {entities} entities and {relations} relations written to {path}".format(**result))
