"""``kgeval convert``: write a checkpoint in the native format, or a dataset as ids and labels in Parquet files."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.completion import PATH
from kgeval.cli.setting_options import pairs
from kgeval.cli.shared_options import JSON, QUIET, reading_options, refuse_file

if TYPE_CHECKING:
    from kgeval.data.dataset import Dataset


@click.command("convert")
@click.argument("source", metavar="CHECKPOINT|DATASET", type=PATH)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="File to write (.safetensors); for a dataset, a folder.",
)
@reading_options
@click.option(
    "--dataset", type=PATH, metavar="DATASET", help="Dataset with the labels of a checkpoint that stores none."
)
@click.option("--force", is_flag=True, help="Replace a file or converted dataset that is already there.")
@QUIET
@JSON
def convert_command(source: str, out: Path, format: str, force: bool, as_json: bool, **settings: Any) -> None:
    """Write a checkpoint as one .safetensors file, or a dataset as a folder that loads fast.

    Any format that kgeval reads can be converted. The ranks stay the same.

    Examples: kgeval convert umls-TransE --out model.safetensors; kgeval convert data/wikikg2 --out wikikg2
    """
    from kgeval.base.errors import ConfigError
    from kgeval.base.files import exists_safely
    from kgeval.cli.streams import say, say_json
    from kgeval.data.loading import load_dataset
    from kgeval.models.checkpoints.readers import readers_of

    refuse_file(out, force=force)
    place, dataset, options = Path(source), settings["dataset"], settings["options"]
    reading = {name: settings[name] for name in ("layout", "names", "columns")}
    is_model = exists_safely(place) and bool(readers_of(place))
    if is_model or out.suffix == ".safetensors" or (exists_safely(place) and place.is_file()):
        if settings["names"] or (dataset is None and (settings["columns"] or settings["layout"] != "auto")):
            raise ConfigError(
                "--layout, --columns and --names are for datasets. Leave them out to convert a checkpoint."
            )
        graph = None if dataset is None else partial(load_dataset, dataset, **reading)
        text, result = _convert_model(place, out, format, pairs(options, "--option"), graph)
    elif format != "auto" or options or dataset is not None:
        raise ConfigError(
            "--checkpoint-format, --option and --dataset are for checkpoints. Leave them out to convert a dataset."
        )
    else:
        text, result = _convert_dataset(source, out, reading, force=force)
    if as_json:
        say_json(result)
    else:
        say(text)


def _convert_model(
    place: Path, out: Path, format: str, options: dict[str, Any], dataset: Callable[[], Dataset] | None
) -> tuple[str, dict[str, Any]]:
    from kgeval.base.errors import CheckpointError, InputError
    from kgeval.cli.display import watching
    from kgeval.data.layouts import layouts
    from kgeval.models.checkpoints import read_checkpoint
    from kgeval.models.checkpoints.readers.native import save_checkpoint

    with watching("loading model"):
        graph = None if dataset is None else dataset()
        try:
            model = read_checkpoint(place, options, dataset=graph, format=format)
        except CheckpointError as error:
            if format == "auto" and place.is_dir() and any(layout.recognises(place) for layout in layouts().values()):
                where = f"{str(place)!r} is a dataset. Convert it into a folder"
                command = shlex.join(["kgeval", "convert", str(place), "--out", str(out.with_suffix(""))])
                raise InputError(f"{where}: {command}") from error
            raise
    save_checkpoint(model, out)
    result = {"path": str(out), **{name: model.describe()[name] for name in ("model", "entities", "relations")}}
    return "{model} of {entities} entities and {relations} relations written to {path}".format(**result), result


def _convert_dataset(source: str, out: Path, reading: dict[str, Any], *, force: bool) -> tuple[str, dict[str, Any]]:
    from kgeval.cli.display import watching
    from kgeval.data.layouts.converted import save_dataset
    from kgeval.data.loading import load_dataset
    from kgeval.ranking.run_directory.contents import sizes_of

    with watching("loading dataset"):
        data = load_dataset(source, **reading)
    save_dataset(data, out, replace_folder=force)
    result = {"path": str(out), **sizes_of(data)}
    return "{name} of {entities} entities and {relations} relations written to {path}".format(**result), result
