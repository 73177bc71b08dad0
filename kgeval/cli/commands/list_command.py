"""``kgeval list``: what there is to choose from."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import getdoc
from typing import TYPE_CHECKING

import click

from kgeval.cli.shared_options import FORMAT

if TYPE_CHECKING:
    from kgeval.table import Page

Listing = tuple[list[str], list[list[str]]]


BRIEF = {
    "metrics": ("name", "title", "needs"),
    "baselines": ("name", "title", "tasks"),
    "models": ("name", "score"),
    "formats": ("name", "files"),
    "corruptions": ("kind", "what it does"),
    "slices": ("name", "title"),
}
"""the columns of the page; those of one entry are all"""


@click.command("list")
@click.argument(
    "what",
    type=click.Choice(["metrics", "models", "baselines", "formats", "protocols", "corruptions", "slices", "datasets"]),
)
@click.argument("name", required=False)
@FORMAT
def list_command(what: str, name: str | None, form: str) -> None:
    """List metrics, models, baselines, formats and so on; with a NAME, show all about that one.

    Example: kgeval list metrics ndcg
    """
    from kgeval.cli.display import show
    from kgeval.table import Page, Table

    columns, rows = LISTINGS[what]()
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


def _format_page(entry: dict[str, str]) -> Page | None:
    """Show the models of a format that is a table of them; None for a format that is code."""
    from kgeval.checkpoints.reader import formats
    from kgeval.table import Page, Table

    models = formats()[entry["name"]].models
    columns = list(dict.fromkeys(column for model in models for column in model))
    table = Table(columns, [[model.get(column, "") for column in columns] for model in models], prose=True)
    content = [{**entry, "models": [dict(model) for model in models]}]
    return Page((f"{entry['name']}: {entry['files']}",), (table,), content=lambda: content) if models else None


def _entry(what: str, name: str, entries: list[dict[str, str]]) -> dict[str, str]:
    """Find an entry by its name or a synonym, with a cutoff or without."""
    from kgeval.errors import ConfigError, did_you_mean

    names: dict[str, dict[str, str]] = {}
    for entry in entries:
        own = entry["name"] if "name" in entry else entry["kind"]
        synonyms = entry.get("synonyms", "").split(", ")
        for spelled in (own, own.removesuffix("[@k]"), own.removesuffix("@k"), own.removesuffix("."), *synonyms):
            names.setdefault(spelled.lower(), entry)
    wanted = re.sub(r"@\d+$", "", name.lower())
    if wanted not in names:
        raise ConfigError(f"no {name!r} among the {what}. {did_you_mean(name, filter(None, names))}")
    return names[wanted]


def _metrics() -> Listing:
    from kgeval.metrics.averages import WEIGHINGS
    from kgeval.metrics.metric import metrics
    from kgeval.metrics.ranks.ties import tie_policies

    cutoffs = {"none": "", "optional": "[@k]", "required": "@k"}
    better = {True: "higher", False: "lower", None: "—"}
    columns = ["name", "title", "needs", "formula", "range", "better", "undefined", "synonyms", "source"]
    rows = [
        [
            metric.name + cutoffs[metric.cutoff],
            metric.title,
            metric.needs,
            metric.formula,
            f"{metric.lowest:g} … {metric.highest:g}",
            better[metric.increasing],
            metric.undefined,
            ", ".join(metric.synonyms),
            metric.source,
        ]
        for metric in [*metrics().values(), *metrics("labels").values(), *metrics("confidences").values()]
    ]
    # The prefixes that a name may take have no range and no synonyms.
    averages = [
        [f"{one.name}.", one.title, "ranks, lists" if one.lists else "ranks", one.formula, "", "", "", "", one.source]
        for one in WEIGHINGS.values()
    ]
    ties = [
        [f"{one.name}.", one.title, "ranks", one.formula, "", "", one.undefined, "", one.source]
        for one in tie_policies().values()
    ]
    return columns, [*rows, *averages, *ties]


def _models() -> Listing:
    from kgeval.scorers.family import families

    columns = ["name", "score", "arrays", "options"]
    return columns, [
        [name, family.formula, ", ".join(family.array_names()), ", ".join(family.option_names())]
        for name, family in families().items()
    ]


def _baselines() -> Listing:
    from kgeval.baselines.baseline import Baseline, baselines

    columns = ["name", "title", "rule", "tasks", "settings", "source"]
    rows = []
    for name, found in sorted(baselines().items()):
        settings = ", ".join(field for field in found.model_fields if field not in Baseline.model_fields)
        rows.append([name, found.title, found.rule, ", ".join(found.tasks), settings, found.source])
    return columns, rows


def _formats() -> Listing:
    from kgeval.checkpoints.reader import formats

    rows = []
    for name, reader in sorted(formats().items()):
        described = (getdoc(reader.read) or "").partition("\n\n")[0]
        rows.append([name, reader.summary, " ".join(described.replace("``", "").split())])
    return ["name", "files", "reading"], rows


def _protocols() -> Listing:
    from kgeval.protocols.protocol import protocols

    return ["name", "rules"], [[name, protocol.summary] for name, protocol in sorted(protocols().items())]


def _corruptions() -> Listing:
    from kgeval.corruption.generator import generators

    columns = ["kind", "what it does", "options"]
    rows = []
    for kind, generator in generators().items():
        summary = (generator.__doc__ or "").strip().splitlines()[0]
        rows.append([kind, summary, ", ".join(name for name in generator.model_fields if name != "kind")])
    return columns, rows


def _slices() -> Listing:
    from kgeval.analysis.slices.slice import WRITTEN, slices

    rows = [[one.name, one.title, one.rule, one.source] for one in slices().values()]
    return ["name", "title", "rule", "source"], [*rows, *map(list, WRITTEN)]


def _datasets() -> Listing:
    from kgeval.data.layout import layouts
    from kgeval.data.layouts.pykeen import names

    folders = [["folder", name, layout.summary] for name, layout in sorted(layouts().items())]
    return ["kind", "name", "files"], [*folders, *(["PyKEEN", name, ""] for name in names())]


LISTINGS: dict[str, Callable[[], Listing]] = {
    "metrics": _metrics,
    "models": _models,
    "baselines": _baselines,
    "formats": _formats,
    "protocols": _protocols,
    "corruptions": _corruptions,
    "slices": _slices,
    "datasets": _datasets,
}
