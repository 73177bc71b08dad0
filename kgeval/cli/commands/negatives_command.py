"""``kgeval negatives``: write the synthetic negatives of a dataset's triples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgeval.cli.shared_options import JSON, QUIET

if TYPE_CHECKING:
    from kgeval.runs.config.yaml_document import Place


@click.command("negatives")
@click.argument("dataset")
@click.option("--kind", required=True, help="How they are chosen; 'kgeval list corruptions' shows all.")
@click.option("--count", type=int, help="Negatives per triple and side (uniform, popular, degree).")
@click.option("--seed", type=int, help="The seed of a draw.  [default: 0]")
@click.option("--allow-known", is_flag=True, default=None, help="Let known answers be drawn too.")
@click.option("--path", help="The file they are taken from (file, ogb), or that of the types (typed).")
@click.option(
    "--splits", multiple=True, metavar="SPLIT", help="A split whose triples show the types (typed).  [default: train]"
)
@click.option("--split", default="test", help="The split whose triples are corrupted.  [default: test]")
@click.option(
    *("--filter", "filtered"),
    multiple=True,
    default=("train", "valid", "test"),
    type=click.Choice(["train", "valid", "test"]),
    help="A split whose triples are known answers, never negatives; may be repeated.  [default: all three]",
)
@click.option("--layout", default="auto", help="The layout of the dataset's folder.  [default: auto]")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A .tsv or .parquet file.")
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
@QUIET
@JSON
def command(
    dataset: str,
    kind: str,
    split: str,
    filtered: tuple[Any, ...],
    layout: str,
    out: Path,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Write the synthetic negatives of every triple and side, for {kind: file} to read back to the same ranks."""
    from kgeval.cli.display import show_notes, watching
    from kgeval.cli.streams import say, say_json
    from kgeval.corruption.export import generate_negatives, write_negatives
    from kgeval.data.loading import load_dataset
    from kgeval.errors import InputError
    from kgeval.paths import exists_safely
    from kgeval.runs.config.load import check_corruption

    options = {key: value for key, value in given.items() if value not in (None, ())}
    names: dict[Place, str] = {(name,): f"--{name.replace('_', '-')}" for name in ("kind", *given)}
    generator = check_corruption({"kind": kind, **options}, names)
    if exists_safely(out) and not force:
        raise InputError(f"{str(out)!r} already exists. Choose another name, or add --force.")
    notes: list[str] = []
    with watching("loading dataset"):
        graph = load_dataset(dataset, layout=layout)
    written = write_negatives(
        out, generate_negatives(graph, generator, split=split, filter=filtered, on_note=notes.append)
    )
    told = {"written": written, "path": str(out), "corruption": generator.model_dump(), "notes": notes}
    if as_json:
        say_json(told)
    else:
        options = generator.model_dump(exclude={"kind"}, exclude_none=True)
        said = (f"{name} {value}" for name, value in options.items() if value is not False)
        say(f"{written} negatives written to {out}: {', '.join([kind, *said])}")
    show_notes(notes)
