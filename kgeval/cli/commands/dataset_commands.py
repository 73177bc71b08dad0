"""``kgeval audit``, ``negatives`` and ``convert``: search a dataset, write false triples or faster files.

Each command reads a dataset (``convert`` also a checkpoint), calls one function of the library, and shows what came
out.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.base.notes import in_json
from kgeval.cli.configuration import READING, labelled_checkpoint
from kgeval.cli.options import PATH, OneOf, option, options_of, split_at_commas
from kgeval.cli.setting_options import corruption_block
from kgeval.cli.shared_options import SPLITS, JsonAlone, Labels, Printing, Reading, Replacing, refuse_file

if TYPE_CHECKING:
    from kgeval.ranking.corruption import CorruptionGenerator


class AuditOptions(Replacing):
    """What is found, and where it is written."""

    threshold = option(type=float, default=0.8, metavar="NUMBER")
    """Least share of pairs that two relations must have in common to be reported as duplicate, symmetric, Cartesian or
    inverse."""
    against = option(multiple=True, callback=split_at_commas, metavar="DATASET", type=PATH)
    """Other graph in which the validation and test triples are looked up by their labels, such as one that a model was
    pre-trained on. May be repeated or joined by commas."""
    out = option(type=click.Path(path_type=Path))
    """File for all findings (.json)."""


@click.command("audit")
@click.argument("dataset", type=PATH)
@options_of(Reading, "layout", "columns", "names")
@options_of(AuditOptions, "threshold", "against", "out", "force")
@options_of(Printing, "form", "as_json", "quiet")
def audit_command(dataset: str, out: Path | None, form: str, *, force: bool, **options: Any) -> None:
    """Search a dataset for what inflates metrics.

    It finds leaked triples, related relations, unseen and rare entities, hubs, and labels that look alike.

    Example: kgeval audit wn18rr --out audit.json
    """
    from kgeval.analysis.audits.audit import audit
    from kgeval.base.storage import write_text
    from kgeval.base.tables.shown import Page
    from kgeval.base.tables.table import Table
    from kgeval.cli.display import show, show_notes, show_place, watching
    from kgeval.data.loading import load_dataset
    from kgeval.stored.contents import as_json

    if out is not None:
        refuse_file(out, force=force)
    with watching("loading dataset"):
        searched = {name: options.pop(name) for name in ("threshold", "against")}
        graph = load_dataset(dataset, **options)
    with watching("comparing relations"):
        result = audit(graph, **searched)
    if out is not None:
        write_text(out, as_json(result.to_dict()))
    if form != "text":
        show(result, form)
    else:
        kinds = Table(["", ""], [*result.explanations().items()], prose=True)
        show(Page(result.heads, (*result.tables(), kinds)))
    show_notes([*graph.notes, *result.notes])
    if out is not None:
        show_place(out)


class Negatives(Replacing):
    """Which negatives are made, and where they are written."""

    corruption = option(required=True, metavar="KIND[:K=V,…]", type=OneOf("corruptions"))
    """Corruption that generates the negatives, such as uniform:count=500; 'kgeval list corruptions' shows all."""
    split = option(default="test", type=OneOf(SPLITS))
    """Split whose triples are corrupted."""
    sides = option(multiple=True, default=("head", "tail"), type=click.Choice(["head", "tail"]))
    """Side that is corrupted. May be repeated."""
    filter = option(multiple=True, default=SPLITS, type=click.Choice(SPLITS))
    """Split whose triples never become negatives. May be repeated."""
    out = option(required=True, type=click.Path(path_type=Path))
    """File to write (.tsv or .parquet)."""


@click.command("negatives")
@click.argument("dataset", type=PATH)
@options_of(Negatives, "corruption", "split", "sides", "filter")
@options_of(Reading, "layout", "columns")
@options_of(Negatives, "out", "force")
@options_of(JsonAlone, "quiet", "as_json")
def negatives_command(dataset: str, corruption: str, out: Path, force: bool, as_json: bool, **options: Any) -> None:
    """Write the negatives that a corruption generates.

    Ranks among the negatives of the file are the same as with the corruption itself: use corruption file:path=FILE.

    Example: kgeval negatives umls --corruption uniform:count=500 --out negatives.tsv
    """
    from kgeval.cli.display import show_notes, watching
    from kgeval.cli.streams import say, say_json
    from kgeval.data.loading import load_dataset
    from kgeval.ranking.corruption.export import generate_negatives, write_negatives

    generator = _generator(corruption_block(corruption))
    refuse_file(out, force=force)
    notes: list[str] = []
    with watching("loading dataset"):
        graph = load_dataset(dataset, layout=options.pop("layout"), columns=options.pop("columns"))
    written = write_negatives(out, generate_negatives(graph, generator, **options, on_note=notes.append))
    if as_json:
        say_json({"written": written, "path": str(out), "corruption": generator.model_dump(), **in_json(notes)})
    else:
        say(f"{written} negatives written to {out}: {_in_words(generator.model_dump(exclude_none=True))}")
    show_notes(notes)


def _generator(block: dict[str, Any]) -> CorruptionGenerator:
    """Make the generator of a corruption; messages name the option."""
    from pydantic import TypeAdapter, ValidationError

    from kgeval.base.setting_problems import problems_of
    from kgeval.ranking.corruption.generator import Corruption
    from kgeval.runs.config.yaml_document import Document

    try:
        generator: CorruptionGenerator = TypeAdapter(Corruption).validate_python(block)
    except ValidationError as error:
        document = Document("corruption", block, options={(): "--corruption"})
        raise document.refusal(problems_of(error, block, Corruption)) from error
    return generator


def _in_words(options: dict[str, Any]) -> str:
    """Describe a corruption, as in ``uniform, count 3, seed 0``."""
    kind, parts = options.pop("kind"), options.pop("of", ())
    words = [f"{name} {value}" for name, value in options.items() if value is not False]
    return ", ".join([kind, *words, *(f"({_in_words(part)})" for part in parts)])


class Converted:
    """Where a checkpoint or dataset is written."""

    out = option(required=True, type=click.Path(path_type=Path))
    """File to write (.safetensors); for a dataset, a folder."""
    force = option(is_flag=True)
    """Replace a file or converted dataset that is already there."""


@click.command("convert")
@click.argument("source", metavar="CHECKPOINT|DATASET", type=PATH)
@Converted.out
@options_of(Reading)
@Labels.dataset
@Converted.force
@options_of(JsonAlone, "quiet", "as_json")
def convert_command(source: str, out: Path, force: bool, as_json: bool, **settings: Any) -> None:
    """Write a checkpoint as one .safetensors file, or a dataset as a folder that loads fast.

    Any format that kgeval reads can be converted. The ranks stay the same.

    Examples: kgeval convert umls-TransE --out model.safetensors; kgeval convert data/wikikg2 --out wikikg2
    """
    from kgeval.base.errors import ConfigError
    from kgeval.base.files import exists_safely
    from kgeval.cli.streams import say, say_json
    from kgeval.models.checkpoints.readers import readers_of

    refuse_file(out, force=force)
    place, dataset = Path(source), settings["dataset"]
    is_model = exists_safely(place) and bool(readers_of(place))
    if is_model or out.suffix == ".safetensors" or (exists_safely(place) and place.is_file()):
        if settings["names"] or (dataset is None and (settings["columns"] or settings["layout"] != "auto")):
            raise ConfigError("--layout, --columns and --names are for datasets. Leave them out for a checkpoint.")
        result = _convert_model(place, out, settings)
    elif settings["format"] != "auto" or settings["options"] or dataset is not None:
        raise ConfigError(
            "--checkpoint-format, --option and --dataset are for checkpoints. Leave them out for a dataset."
        )
    else:
        result = _convert_dataset(source, out, settings, force=force)
    if as_json:
        say_json(result)
    else:
        name = result.get("model") or result["name"]
        say("{} of {entities} entities and {relations} relations written to {path}".format(name, **result))


def _convert_model(place: Path, out: Path, settings: dict[str, Any]) -> dict[str, Any]:
    from kgeval.base.errors import CheckpointError, InputError
    from kgeval.cli.display import watching
    from kgeval.data.layouts import layouts
    from kgeval.models.checkpoints.readers.native import save_checkpoint

    with watching("loading model"):
        try:
            model = labelled_checkpoint(place, settings)
        except CheckpointError as error:
            is_dataset = place.is_dir() and any(layout.recognises(place) for layout in layouts().values())
            if settings["format"] == "auto" and is_dataset:
                where = f"{str(place)!r} is a dataset. Convert it into a folder"
                command = shlex.join(["kgeval", "convert", str(place), "--out", str(out.with_suffix(""))])
                raise InputError(f"{where}: {command}") from error
            raise
    save_checkpoint(model, out)
    return {"path": str(out), **{name: model.describe()[name] for name in ("model", "entities", "relations")}}


def _convert_dataset(source: str, out: Path, settings: dict[str, Any], *, force: bool) -> dict[str, Any]:
    from kgeval.cli.display import watching
    from kgeval.data.layouts.converted import save_dataset
    from kgeval.data.loading import load_dataset
    from kgeval.stored.contents import sizes_of

    with watching("loading dataset"):
        data = load_dataset(source, **{name: settings[name] for name in READING})
    save_dataset(data, out, replace_folder=force)
    return {"path": str(out), **sizes_of(data)}
