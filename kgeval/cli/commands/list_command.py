"""``kgeval list``: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable

import click

from kgeval.cli.shared_options import JSON

Listing = tuple[list[str], list[list[str]]]


@click.command("list")
@click.argument("what", type=click.Choice(["metrics", "models", "formats", "protocols", "corruptions", "datasets"]))
@JSON
def command(what: str, as_json: bool) -> None:
    """List metrics, models, formats, protocols, corruptions or datasets."""
    from kgeval.cli.display import show_prose
    from kgeval.cli.streams import say_json

    columns, rows = LISTINGS[what]()
    if as_json:
        say_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        show_prose(columns, rows)


def _metrics() -> Listing:
    from kgeval.metrics.metric import metrics
    from kgeval.metrics.ranks.ties import tie_policies
    from kgeval.metrics.tables.averages import WEIGHINGS

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


def _formats() -> Listing:
    from kgeval.checkpoints.reader import formats

    return ["name", "files"], [[reader.name, reader.summary] for reader in formats().values()]


def _protocols() -> Listing:
    from kgeval.protocols.protocol import protocols

    return ["name", "rules"], [[protocol.name, protocol.summary] for protocol in protocols().values()]


def _corruptions() -> Listing:
    from kgeval.corruption.registry import generators

    columns = ["kind", "what it does", "options"]
    rows = []
    for kind, generator in generators().items():
        summary = (generator.__doc__ or "").strip().splitlines()[0]
        rows.append([kind, summary, ", ".join(name for name in generator.model_fields if name != "kind")])
    return columns, rows


def _datasets() -> Listing:
    from kgeval.data.layout import layouts
    from kgeval.data.layouts.pykeen_layout import names

    folders = [["folder", layout.name, layout.summary] for layout in layouts().values()]
    return ["kind", "name", "files"], [*folders, *(["PyKEEN", name, ""] for name in names())]


LISTINGS: dict[str, Callable[[], Listing]] = {
    "metrics": _metrics,
    "models": _models,
    "formats": _formats,
    "protocols": _protocols,
    "corruptions": _corruptions,
    "datasets": _datasets,
}
