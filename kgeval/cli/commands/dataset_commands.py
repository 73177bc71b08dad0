"""``kgeval audit`` searches a dataset for what inflates metrics; ``kgeval negatives`` writes false triples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.setting_options import corruption_block
from kgeval.cli.shared_options import FORMAT, JSON, NAMES, QUIET, refuse_file


@click.command("audit")
@click.argument("dataset")
@click.option("--layout", default="auto", help="The layout of the dataset's folder.  [default: auto]")
@NAMES
@click.option(
    "--threshold",
    type=float,
    default=0.8,
    show_default=True,
    help="The least share of pairs that agree in duplicate, symmetric, Cartesian or inverse relations.",
)
@click.option("--out", type=click.Path(path_type=Path), help="A .json file for everything that is found.")
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
@FORMAT
@QUIET
def audit_command(
    dataset: str,
    layout: str,
    names: tuple[str, ...],
    threshold: float,
    out: Path | None,
    form: str,
    *,
    force: bool,
) -> None:
    """Search a dataset for related relations, leaked and unseen triples, hubs, rarities and labels that look the same.

    Example: kgeval audit wn18rr --out audit.json
    """
    from kgeval.analysis.audits.audit import audit
    from kgeval.cli.display import show, show_notes, show_place, watching
    from kgeval.data.loading import load_dataset
    from kgeval.run_directory.contents import as_json
    from kgeval.storage import write_text
    from kgeval.table import Page, Table

    if out is not None:
        refuse_file(out, force=force)
    with watching("loading dataset"):
        graph = load_dataset(dataset, layout=layout, names=names)
    with watching("comparing relations"):
        found = audit(graph, threshold=threshold)
    if out is not None:
        write_text(out, as_json(found.to_dict()))
    if form != "text":
        show(found, form)
    else:
        kinds = Table(["", ""], [*found.explanations().items()], prose=True)
        show(Page(found.heads, (*found.tables(), kinds)))
    show_notes([*graph.notes, *found.notes])
    if out is not None:
        show_place(out)


@click.command("negatives")
@click.argument("dataset")
@click.option(
    "--corruption",
    required=True,
    metavar="KIND[:K=V,…]",
    help="The corruption that generates them, such as uniform:count=500; 'kgeval list corruptions' shows all.",
)
@click.option("--split", default="test", help="The split whose triples are corrupted.  [default: test]")
@click.option(
    "--sides",
    multiple=True,
    default=("head", "tail"),
    type=click.Choice(["head", "tail"]),
    help="A side that is corrupted; may be repeated.  [default: both]",
)
@click.option(
    "--filter",
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
def negatives_command(
    dataset: str,
    corruption: str,
    layout: str,
    out: Path,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write the negatives that a corruption generates; with corruption {kind: file, path: FILE}, ranks are the same."""
    from kgeval.cli.display import show_notes, watching
    from kgeval.cli.streams import say, say_json
    from kgeval.corruption.export import generate_negatives, write_negatives
    from kgeval.data.loading import load_dataset
    from kgeval.runs.config.load import check_corruption

    generator = check_corruption(corruption_block(corruption), {(): "--corruption"})
    refuse_file(out, force=force)
    notes: list[str] = []
    with watching("loading dataset"):
        graph = load_dataset(dataset, layout=layout)
    tables = generate_negatives(graph, generator, **options, on_note=notes.append)
    written = write_negatives(out, tables)
    if as_json:
        content = {"written": written, "path": str(out), "corruption": generator.model_dump(), "notes": notes}
        say_json(content)
    else:
        say(f"{written} negatives written to {out}: {_describe(generator.model_dump(exclude_none=True))}")
    show_notes(notes)


def _describe(options: dict[str, Any]) -> str:
    """Describe a corruption, as in ``uniform, count 3, seed 0``."""
    kind, parts = options.pop("kind"), options.pop("of", ())
    words = [f"{name} {value}" for name, value in options.items() if value is not False]
    return ", ".join([kind, *words, *(f"({_describe(part)})" for part in parts)])
