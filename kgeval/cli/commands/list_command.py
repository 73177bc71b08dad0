"""``kgeval list``: what there is to choose from, such as metrics, and all that is known of one of them.

It lays out a list of :mod:`kgeval.cli.listings`, or one entry of a list, as a table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from kgeval.cli.listings import LISTS
from kgeval.cli.options import OneOf, options_of
from kgeval.cli.shared_options import Printing

if TYPE_CHECKING:
    from kgeval.base.tables.shown import Page

BRIEF = {
    "metrics": ("name", "title", "needs"),
    "baselines": ("name", "title", "tasks"),
    "models": ("name", "score"),
    "formats": ("name", "files"),
    "corruptions": ("kind", "candidates"),
    "slices": ("name", "title"),
}
"""the columns of a list that are shown as text, if not all are; the details of one entry have all"""


class _NameInList(OneOf):
    """A name in the list that the argument before it names."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        what = ctx.params["what"]
        return OneOf(what).shell_complete(ctx, param, incomplete) if what in LISTS else []


@click.command("list")
@click.argument("what", type=click.Choice(sorted(LISTS)))
@click.argument("name", required=False, type=_NameInList(""))
@options_of(Printing, "form", "as_json", "quiet")
def list_command(what: str, name: str | None, form: str) -> None:
    """List metrics, models, baselines, formats and so on. With a NAME, show the details of one of them.

    Example: kgeval list metrics ndcg
    """
    from kgeval.base.tables.shown import Page
    from kgeval.base.tables.table import Table
    from kgeval.cli.display import show

    columns, rows = LISTS[what]()
    entries = [dict(zip(columns, row, strict=True)) for row in rows]
    if name is not None:
        (entry,) = entries = [_entry(what, name, entries)]
    brief = BRIEF.get(what, columns) if form == "text" else columns
    table = Table(brief, [[entry[column] for column in brief] for entry in entries], prose=True)
    if name is not None and form == "text":
        table = Table(["", ""], [item for item in entry.items() if item[1]], prose=True)
    page = Page((), (table,), content=lambda: entries)
    if name is not None and what == "formats":
        page = _format_page(entry) or page
    show(page, form)


def _entry(what: str, name: str, entries: list[dict[str, str]]) -> dict[str, str]:
    """Find an entry by its name or a synonym, with a cutoff or without."""
    from kgeval.base.errors import ConfigError, did_you_mean
    from kgeval.metrics.kinds import KINDS
    from kgeval.metrics.metric import metrics

    names: dict[str, dict[str, str]] = {}
    for entry in entries:
        own = entry["name"] if "name" in entry else entry["kind"]
        synonyms = entry.get("synonyms", "").split(", ")
        for spelled in (own, own.removesuffix("[@k]"), own.removesuffix("@k"), own.removesuffix("."), *synonyms):
            names.setdefault(spelled.lower(), entry)
    wanted = re.sub(r"@\d+$", "", name.lower())
    if what == "metrics" and name.lower() not in names:
        found = (metric.named(name.lower()) for kind in KINDS.values() for metric in metrics(*kind.needs).values())
        for variant in (one[0] for one in found if one and one[0].shape):
            return names[variant.shape.lower()] | {key: getattr(variant, key) for key in ("title", "formula", "source")}
    if wanted not in names:
        raise ConfigError(f"no {name!r} among the {what}. {did_you_mean(name, filter(None, names), listed=what)}")
    return names[wanted]


def _format_page(entry: dict[str, str]) -> Page | None:
    """Show the models of a format that is a table of them; None for a format that is code."""
    from kgeval.base.tables.shown import Page
    from kgeval.base.tables.table import Table
    from kgeval.models.checkpoints.readers import formats

    models = formats()[entry["name"]].models
    columns = list(dict.fromkeys(column for model in models for column in model))
    table = Table(columns, [[model.get(column, "") for column in columns] for model in models], prose=True)
    content = [{**entry, "models": [dict(model) for model in models]}]
    return Page((f"{entry['name']}: {entry['files']}",), (table,), content=lambda: content) if models else None
