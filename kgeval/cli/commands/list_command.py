"""``kgeval list``: what there is to choose from, such as metrics, and all that is known of one of them.

A list is a function without arguments that returns its columns and rows. ``LISTS`` has them all; the completion of
options takes their names from it too. To add a list, write a function, and add it to ``LISTS`` and ``BRIEF``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from inspect import getdoc
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kgeval.base.settings import plain
from kgeval.cli.options import OneOf, options_of
from kgeval.cli.shared_options import Printing

if TYPE_CHECKING:
    from pydantic import BaseModel

    from kgeval.base.tables.shown import Page

BRIEF = {
    "metrics": ("name", "title", "needs"),
    "baselines": ("name", "title", "tasks"),
    "models": ("name", "score"),
    "formats": ("name", "files"),
    "protocols": ("name", "rules"),
    "corruptions": ("kind", "candidates"),
    "slices": ("name", "title"),
    "datasets": ("kind", "name", "files"),
}
"""the columns that each list shows as text; the details of one entry have all columns"""


class _NameInList(OneOf):
    """A name in the list that the argument before it names."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        what = ctx.params["what"]
        return OneOf(what).shell_complete(ctx, param, incomplete) if what in BRIEF else []


@click.command("list")
@click.argument("what", type=click.Choice(sorted(BRIEF)))
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
    brief = BRIEF[what] if form == "text" else columns
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

    names: dict[str, dict[str, str]] = {}
    for entry in entries:
        own = entry["name"] if "name" in entry else entry["kind"]
        synonyms = entry.get("synonyms", "").split(", ")
        for spelled in (own, own.removesuffix("[@k]"), own.removesuffix("@k"), own.removesuffix("."), *synonyms):
            names.setdefault(spelled.lower(), entry)
    wanted = re.sub(r"@\d+$", "", name.lower())
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


Listing = tuple[list[str], list[list[str]]]
"""columns and rows"""


def _metrics() -> Listing:
    from kgeval.metrics.averages import WEIGHINGS
    from kgeval.metrics.metric import metrics
    from kgeval.metrics.ranks.ties import tie_policies

    cutoffs = {"none": "", "optional": "[@k]", "required": "@k"}
    better = {True: "higher", False: "lower", None: "—"}
    columns = ["name", "title", "needs", "formula", "range", "better", "undefined", "synonyms", "source"]

    def row(entry: Any, ending: str, **facts: str) -> list[str]:
        """The fields of an entry with the names of the columns, and further facts; what it does not have is empty."""
        facts["name"] = entry.name + ending
        return [facts.get(column, getattr(entry, column, "")) for column in columns]

    rows = [
        row(
            metric,
            cutoffs[metric.cutoff],
            range=f"{metric.lowest:g} … {metric.highest:g}",
            better=better[metric.increasing],
            synonyms=", ".join(metric.synonyms),
        )
        for metric in [*metrics().values(), *metrics("labels").values(), *metrics("confidences").values()]
    ]
    averages = [row(it, ".", needs="ranks, lists" if it.lists else "ranks") for it in WEIGHINGS.values()]
    prefixes = [*averages, *(row(policy, ".", needs="ranks") for policy in tie_policies().values())]
    return columns, [*_by_name(rows), *_by_name(prefixes)]


def _by_name(rows: list[list[str]]) -> list[list[str]]:
    return sorted(rows, key=lambda row: row[0].lower())


def _models() -> Listing:
    from kgeval.models.family import families

    columns = ["name", "score", "arrays", "options"]
    return columns, _by_name(
        [
            [name, family.formula, ", ".join(family.array_names()), ", ".join(family.option_names())]
            for name, family in families().items()
        ]
    )


def _baselines() -> Listing:
    from kgeval.models.baselines import Baseline, baselines

    columns = ["name", "title", "rule", "tasks", "settings", "source"]
    return columns, [
        [name, entry.title, entry.rule, ", ".join(entry.tasks), _own_fields(entry, Baseline.model_fields), entry.source]
        for name, entry in sorted(baselines().items())
    ]


def _own_fields(settings: type[BaseModel], others: Container[str]) -> str:
    return ", ".join(name for name in settings.model_fields if name not in others)


def _formats() -> Listing:
    from kgeval.models.checkpoints.readers import formats

    rows = [[name, entry.summary, _first_paragraph(entry.read)] for name, entry in sorted(formats().items())]
    return ["name", "files", "reading"], rows


def _first_paragraph(described: object) -> str:
    return plain((getdoc(described) or "").partition("\n\n")[0])


def _protocols() -> Listing:
    from kgeval.ranking.protocols.protocol import protocols

    return ["name", "rules"], [[name, protocol.summary] for name, protocol in sorted(protocols().items())]


def _corruptions() -> Listing:
    from kgeval.ranking.corruption.generator import generators

    rows = [[kind, _first_paragraph(item), _own_fields(item, {"kind"})] for kind, item in sorted(generators().items())]
    return ["kind", "candidates", "options"], rows


def _slices() -> Listing:
    from kgeval.analysis.slices.slice import WRITTEN, slices

    rows = [[entry.name, entry.title, entry.rule, entry.source] for entry in slices().values()]
    return ["name", "title", "rule", "source"], [*_by_name(rows), *map(list, WRITTEN)]


def _datasets() -> Listing:
    from kgeval.data.layouts import layouts
    from kgeval.data.layouts.pykeen import names

    folders = [["folder", name, layout.summary] for name, layout in sorted(layouts().items())]
    return ["kind", "name", "files"], [*folders, *(["PyKEEN", name, ""] for name in names())]


LISTS: dict[str, Callable[[], Listing]] = {
    "metrics": _metrics,
    "models": _models,
    "baselines": _baselines,
    "formats": _formats,
    "protocols": _protocols,
    "corruptions": _corruptions,
    "slices": _slices,
    "datasets": _datasets,
}
