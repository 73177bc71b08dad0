"""``kgeval audit`` searches a dataset for what inflates metrics; ``kgeval negatives`` writes false triples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgeval.cli.completion import PATH, OneOf
from kgeval.cli.setting_options import corruption_block
from kgeval.cli.shared_options import COLUMNS, FORMAT, JSON, LAYOUT, NAMES, QUIET, refuse_file


@click.command("audit")
@click.argument("dataset", type=PATH)
@LAYOUT
@COLUMNS
@NAMES
@click.option(
    "--threshold",
    type=float,
    default=0.8,
    metavar="NUMBER",
    help="Least share of pairs that two relations must have in common to be reported as duplicate, symmetric, "
    "Cartesian or inverse.",
)
@click.option("--out", type=click.Path(path_type=Path), help="File for all findings (.json).")
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
@FORMAT
@QUIET
def audit_command(dataset: str, threshold: float, out: Path | None, form: str, *, force: bool, **reading: Any) -> None:
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
    from kgeval.ranking.run_directory.contents import as_json

    if out is not None:
        refuse_file(out, force=force)
    with watching("loading dataset"):
        graph = load_dataset(dataset, **reading)
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
@click.argument("dataset", type=PATH)
@click.option(
    "--corruption",
    required=True,
    metavar="KIND[:K=V,…]",
    type=OneOf("corruptions"),
    help="Corruption that generates the negatives, such as uniform:count=500; 'kgeval list corruptions' shows all.",
)
@click.option(
    "--split", default="test", type=OneOf(["train", "valid", "test"]), help="Split whose triples are corrupted."
)
@click.option(
    "--sides",
    multiple=True,
    default=("head", "tail"),
    type=click.Choice(["head", "tail"]),
    help="Side that is corrupted. May be repeated.",
)
@click.option(
    "--filter",
    multiple=True,
    default=("train", "valid", "test"),
    type=click.Choice(["train", "valid", "test"]),
    help="Split whose triples never become negatives. May be repeated.",
)
@LAYOUT
@COLUMNS
@click.option("--out", required=True, type=click.Path(path_type=Path), help="File to write (.tsv or .parquet).")
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
@QUIET
@JSON
def negatives_command(dataset: str, corruption: str, out: Path, force: bool, as_json: bool, **options: Any) -> None:
    """Write the negatives that a corruption generates.

    Ranks among the negatives of the file are the same as with the corruption itself: use corruption file:path=FILE.

    Example: kgeval negatives umls --corruption uniform:count=500 --out negatives.tsv
    """
    from kgeval.cli.display import show_notes, watching
    from kgeval.cli.streams import say, say_json
    from kgeval.data.loading import load_dataset
    from kgeval.ranking.corruption.export import generate_negatives, write_negatives
    from kgeval.runs.config.load import check_corruption

    generator = check_corruption(corruption_block(corruption), {(): "--corruption"})
    refuse_file(out, force=force)
    notes: list[str] = []
    with watching("loading dataset"):
        graph = load_dataset(dataset, layout=options.pop("layout"), columns=options.pop("columns"))
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
