"""The common table of several models, whose runs are in folders of their names beside it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kgeval.errors import InputError
from kgeval.paths import exists_safely, is_plain_name
from kgeval.run_directory.contents import MANIFEST, METRICS, as_json, read_json
from kgeval.storage import write_text


@dataclass(frozen=True)
class CommonTable:
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    """the metrics of each model, under one tie policy"""
    failed: dict[str, str] = field(default_factory=dict)
    """why a model failed"""
    unfinished: list[str] = field(default_factory=list)
    """the planned models with neither"""
    notes: list[str] = field(default_factory=list)

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether a folder is one of several models: the metrics of a single one stand beside a manifest."""
        return _content(folder) is not None

    @classmethod
    def read(cls, folder: Path) -> CommonTable:
        """Read the common table of a folder; an empty one where the folder has none."""
        if (content := _content(folder)) is None:
            return cls()
        damaged = f"{str(folder / METRICS)!r} is damaged"
        empty = asdict(cls())
        blocks = {name: content.get(name, block) for name, block in empty.items()}
        known = all(isinstance(blocks[name], type(block)) for name, block in empty.items())
        if not known or not all(isinstance(metrics, dict) for metrics in blocks["models"].values()):
            raise InputError(f"{damaged}: not the table of several models.")
        table = cls(**blocks)
        for name in (*table.models, *table.unfinished):
            if not isinstance(name, str) or not is_plain_name(name):
                raise InputError(f"{damaged}: {name!r:.60} is no name of a folder beside it.")
        return table

    def write(self, folder: Path) -> None:
        write_text(folder / METRICS, as_json(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        return {"schema": 1, **asdict(self)}


def _content(folder: Path) -> dict[str, Any] | None:
    if not exists_safely(folder / METRICS) or exists_safely(folder / MANIFEST):
        return None
    content = read_json(folder / METRICS)
    return content if isinstance(content.get("models"), dict) else None
