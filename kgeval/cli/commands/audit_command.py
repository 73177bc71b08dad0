"""``kgeval audit``: what in a dataset makes a metric say less than it seems to."""

from __future__ import annotations

from pathlib import Path

import click

from kgeval.cli.shared_options import FORMAT, NAMES, QUIET


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
def command(
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
    from kgeval.cli.named_runs import refuse_file
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
