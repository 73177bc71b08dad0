"""The lists of what there is to choose from: metrics, models, formats and so on.

``kgeval list`` prints them, and the completion of options takes their names. A list is a function without arguments
that returns its columns and rows; a new one is also an entry of ``LISTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from inspect import getdoc
from typing import TYPE_CHECKING, Any

from kgeval.base.extras import is_installed
from kgeval.base.settings import plain

if TYPE_CHECKING:
    from pydantic import BaseModel

WITHOUT_PYKEEN = "datasets by name need PyKEEN, which is not installed: pip install 'kgeval[pykeen]'"

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
        """A cell for each column: a further fact or the entry's attribute of that name; empty if it has none."""
        facts["name"] = getattr(entry, "shape", "") or entry.name + ending
        return [facts.get(column, getattr(entry, column, "")) for column in columns]

    every = [*metrics().values(), *metrics("labels").values(), *metrics("confidences").values()]
    examples = [one.named(one.variants.example) for one in every if one.variants]
    rows = [
        row(
            metric,
            cutoffs[metric.cutoff],
            range=f"{metric.lowest:g} … {metric.highest:g}",
            better=better[metric.increasing],
            synonyms=", ".join(metric.synonyms),
        )
        for metric in [*every, *(found[0] for found in examples if found)]
    ]
    averages = [row(it, ".", needs="ranks, lists" if it.lists else "ranks") for it in WEIGHINGS.values()]
    prefixes = [*averages, *(row(policy, ".", needs="ranks") for policy in tie_policies().values())]
    return columns, [*_by_name(rows), *_by_name(prefixes)]


def _by_name(rows: list[list[str]]) -> list[list[str]]:
    return sorted(rows, key=lambda row: row[0].lower())


def _models() -> Listing:
    from kgeval.models.family import families

    rows = [
        [name, family.formula, ", ".join(family.array_names()), ", ".join(family.option_names())]
        for name, family in families().items()
    ]
    return ["name", "score", "arrays", "options"], _by_name(rows)


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
    named = [["PyKEEN", name, ""] for name in names()] if is_installed("pykeen") else [["PyKEEN", "", WITHOUT_PYKEEN]]
    return ["kind", "name", "files"], [*folders, *named]


def _notes() -> Listing:
    from kgeval.base.notes import KINDS

    return ["name", "meaning"], [[kind, meaning] for kind, meaning in KINDS.items()]


LISTS: dict[str, Callable[[], Listing]] = {
    "metrics": _metrics,
    "models": _models,
    "baselines": _baselines,
    "formats": _formats,
    "protocols": _protocols,
    "corruptions": _corruptions,
    "slices": _slices,
    "datasets": _datasets,
    "notes": _notes,
}
