"""Listings: what ``kgeval list`` shows, a table of names for each kind of thing, in alphabetical order."""

from __future__ import annotations

from collections.abc import Callable, Container
from inspect import getdoc
from typing import TYPE_CHECKING

from kgeval.base.settings import plain

if TYPE_CHECKING:
    from pydantic import BaseModel

Listing = tuple[list[str], list[list[str]]]
"""columns and rows"""


def by_name(rows: list[list[str]]) -> list[list[str]]:
    return sorted(rows, key=lambda row: row[0].lower())


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
    # Prefixes of names have no range and no synonyms.
    averages = [
        [f"{one.name}.", one.title, "ranks, lists" if one.lists else "ranks", one.formula, "", "", "", "", one.source]
        for one in WEIGHINGS.values()
    ]
    ties = [
        [f"{one.name}.", one.title, "ranks", one.formula, "", "", one.undefined, "", one.source]
        for one in tie_policies().values()
    ]
    return columns, [*by_name(rows), *by_name([*averages, *ties])]


def _models() -> Listing:
    from kgeval.models.family import families

    columns = ["name", "score", "arrays", "options"]
    return columns, [
        [name, family.formula, ", ".join(family.array_names()), ", ".join(family.option_names())]
        for name, family in sorted(families().items(), key=lambda named: named[0].lower())
    ]


def _baselines() -> Listing:
    from kgeval.models.baselines import Baseline, baselines

    columns = ["name", "title", "rule", "tasks", "settings", "source"]
    return columns, [
        [name, one.title, one.rule, ", ".join(one.tasks), _own_fields(one, Baseline.model_fields), one.source]
        for name, one in sorted(baselines().items())
    ]


def _own_fields(settings: type[BaseModel], others: Container[str]) -> str:
    return ", ".join(name for name in settings.model_fields if name not in others)


def _first_paragraph(described: object) -> str:
    return plain((getdoc(described) or "").partition("\n\n")[0])


def _formats() -> Listing:
    from kgeval.models.checkpoints.readers import formats

    rows = [[name, one.summary, _first_paragraph(one.read)] for name, one in sorted(formats().items())]
    return ["name", "files", "reading"], rows


def _protocols() -> Listing:
    from kgeval.ranking.protocols.protocol import protocols

    return ["name", "rules"], [[name, protocol.summary] for name, protocol in sorted(protocols().items())]


def _corruptions() -> Listing:
    from kgeval.ranking.corruption.generator import generators

    rows = [[kind, _first_paragraph(one), _own_fields(one, {"kind"})] for kind, one in sorted(generators().items())]
    return ["kind", "candidates", "options"], rows


def _slices() -> Listing:
    from kgeval.analysis.slices.slice import WRITTEN, slices

    rows = [[one.name, one.title, one.rule, one.source] for one in slices().values()]
    return ["name", "title", "rule", "source"], [*by_name(rows), *map(list, WRITTEN)]


def _datasets() -> Listing:
    from kgeval.data.layouts import layouts
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
