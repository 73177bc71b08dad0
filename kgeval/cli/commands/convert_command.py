"""``kgeval convert``: write a checkpoint in the native format, or a dataset as ids and labels in Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.configuration import pairs
from kgeval.cli.shared_options import JSON, QUIET


@click.command("convert")
@click.argument("source", metavar="CHECKPOINT|DATASET")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="A .safetensors file; of a dataset, a folder."
)
@click.option("--format", "format", default="auto", help="The checkpoint's format.  [default: auto]")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="K=V",
    help="Settings that a checkpoint's files do not store, such as model=ComplEx.",
)
@click.option("--dataset", help="Dataset whose labels are used where the checkpoint stores none.")
@click.option("--force", is_flag=True, help="Replace the file, or the converted dataset, that is already there.")
@QUIET
@JSON
def command(
    source: str, out: Path, format: str, options: tuple[str, ...], dataset: str | None, force: bool, as_json: bool
) -> None:
    """Write a checkpoint of a model family as one .safetensors file, or a dataset as a folder that loads fast.

    Both may be in any format that kgeval reads, and give the same ranks afterwards.
    Examples: kgeval convert umls-TransE --out model.safetensors; kgeval convert data/wikikg2 --out wikikg2
    """
    from kgeval.checkpoints.reader import formats
    from kgeval.cli.streams import say, say_json
    from kgeval.errors import ConfigError, InputError
    from kgeval.paths import exists_safely

    if exists_safely(out) and not force:
        raise InputError(f"{str(out)!r} already exists. Choose another name, or add --force.")
    place = Path(source)
    is_model = exists_safely(place) and any(reader.recognises(place) for reader in formats().values())
    if is_model or out.suffix == ".safetensors" or (exists_safely(place) and place.is_file()):
        text, result = _convert_model(place, out, format, pairs(options, "--option"), dataset)
    elif format != "auto" or options or dataset is not None:
        raise ConfigError(
            "--format, --option, --dataset: they are for checkpoints. Leave them out to convert a dataset."
        )
    else:
        text, result = _convert_dataset(source, out, force=force)
    if as_json:
        say_json(result)
    else:
        say(text)


def _convert_model(
    place: Path, out: Path, format: str, options: dict[str, Any], dataset: str | None
) -> tuple[str, dict[str, Any]]:
    from kgeval.checkpoints import read_checkpoint
    from kgeval.checkpoints.native import save_checkpoint
    from kgeval.cli.display import watching
    from kgeval.data.layout import layouts
    from kgeval.data.loading import load_dataset
    from kgeval.errors import CheckpointError, InputError

    with watching("loading model"):
        graph = None if dataset is None else load_dataset(dataset)
        try:
            model = read_checkpoint(place, options, dataset=graph, format=format)
        except CheckpointError as error:
            if format == "auto" and place.is_dir() and any(layout.recognises(place) for layout in layouts().values()):
                where = f"{str(place)!r} is a dataset, which is converted into a folder"
                raise InputError(f"{where}: kgeval convert {place} --out {out.with_suffix('')}") from error
            raise
    save_checkpoint(model, out)
    result = {"path": str(out), **{name: model.describe()[name] for name in ("model", "entities", "relations")}}
    return "{model} of {entities} entities and {relations} relations written to {path}".format(**result), result


def _convert_dataset(source: str, out: Path, *, force: bool) -> tuple[str, dict[str, Any]]:
    from kgeval.cli.display import watching
    from kgeval.data.layouts.converted_layout import save_dataset
    from kgeval.data.loading import load_dataset

    with watching("loading dataset"):
        data = load_dataset(source)
    save_dataset(data, out, replace_folder=force)
    sizes = {"name": data.name, "entities": len(data.entities), "relations": len(data.relations)}
    triples = {split: len(rows) for split, rows in data.splits.items()}
    result = {"path": str(out), **sizes, "triples": triples}
    return "{name} of {entities} entities and {relations} relations written to {path}".format(**result), result
