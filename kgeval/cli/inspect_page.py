"""The page of ``kgeval inspect``: what people look for in a description; ``--json`` has all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEFT_OUT = ("schema", "sha256", "written", "versions", "machine", "seconds", "origins", "ranking", "metrics")
"""keys that machines read, and those that are shown as a table"""

PARTS = {
    "dataset": ("name", "entities", "relations", "triples"),
    "model": ("model", "live", "options", "format", "entities", "relations"),
}
"""what is shown of a block that has more"""


def show_page(described: Mapping[str, Any]) -> None:
    """Print a description: a line for each key, and the metrics as a table."""
    from kgeval.cli.display import show_prose, show_table
    from kgeval.cli.streams import say

    shown = {key: _line(key, value) for key, value in described.items() if key not in LEFT_OUT}
    tables = [_by_part(described.get("metrics", {})), _by_model(described.get("models", {}))]
    show_prose(["", ""], [[key, text] for key, text in shown.items() if text and key != "models"])
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
    """Lay out the metrics of a run: a row per metric; a column per side, or per predictor."""
    from kgeval.metrics.tables.rendering import number

    names = dict.fromkeys(name for values in metrics.values() for name in values)
    rows = [[name, *(number(values[name]) if name in values else "" for values in metrics.values())] for name in names]
    return ["", *metrics], rows


def _by_model(models: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Lay out the metrics of several runs: a row per model, of both sides or of the model itself."""
    from kgeval.metrics.tables.rendering import number

    found: dict[str, Mapping[str, Any]] = {
        name: next(iter(content["metrics"].values()), {}) for name, content in models.items()
    }
    columns = list(dict.fromkeys(metric for values in found.values() for metric in values))
    rows = [
        [name, *(number(values[metric]) if metric in values else "" for metric in columns)]
        for name, values in found.items()
    ]
    return ["model", *columns], rows
