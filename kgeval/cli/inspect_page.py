"""The output of ``kgeval inspect``: the main parts of a description; ``--json`` prints all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OMITTED = ("schema", "sha256", "written", "versions", "machine", "seconds", "origins", "ranking", "metrics")
"""keys for machines, and those that are shown as a table"""

PARTS = {
    "dataset": ("name", "entities", "relations", "triples"),
    "model": ("model", "live", "options", "format", "entities", "relations"),
}
"""the keys of blocks that are shown only in part"""


def show_page(description: Mapping[str, Any]) -> None:
    """Print a description: a line for each key, and the metrics as a table."""
    from kgeval.cli.display import show_prose, show_table
    from kgeval.cli.streams import say

    texts = {key: _line(key, value) for key, value in description.items() if key not in OMITTED}
    tables = [_by_part(description.get("metrics", {})), _by_model(description.get("models", {}))]
    show_prose(["", ""], [[key, text] for key, text in texts.items() if text and key != "models"])
    for columns, rows in tables:
        if rows:
            say("")
            show_table(columns, rows)


def _line(key: str, value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    if not isinstance(value, Mapping):
        return str(value)
    names = PARTS.get(key, tuple(value))
    return ", ".join(f"{name} {_inside(value[name])}" for name in names if value.get(name) not in (None, {}, []))


def _inside(value: Any) -> str:
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{name} {_inside(item)}" for name, item in value.items()) + ")"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _by_part(metrics: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Make a table of the metrics of a run: a row per metric, a column per side or predictor."""
    from kgeval.metrics.tables.rendering import number

    names = dict.fromkeys(name for values in metrics.values() for name in values)
    rows = [[name, *(number(values[name]) if name in values else "" for values in metrics.values())] for name in names]
    return ["", *metrics], rows


def _by_model(models: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Make a table of the metrics of several runs: a row per model, with the metrics of both sides or of the model."""
    from kgeval.metrics.tables.rendering import number

    by_model: dict[str, Mapping[str, Any]] = {
        name: next(iter(content["metrics"].values()), {}) for name, content in models.items()
    }
    columns = list(dict.fromkeys(metric for values in by_model.values() for metric in values))
    rows = [
        [name, *(number(values[metric]) if metric in values else "" for metric in columns)]
        for name, values in by_model.items()
    ]
    return ["model", *columns], rows
