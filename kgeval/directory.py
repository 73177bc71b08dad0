"""The run directory: configuration, manifest, metrics and ranks, each written whole or not at all."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

import yaml

from kgeval.atomic import write_text
from kgeval.errors import InputError, RunError
from kgeval.files import refuse_special
from kgeval.paths import is_there, nearby
from kgeval.ranking.elsewhere import load_ranks
from kgeval.ranking.table import RankTable
from kgeval.scoring.table import LabelTable

CONFIG, MANIFEST, METRICS, RANKS = "config.yaml", "manifest.json", "metrics.json", RankTable.FILE
LABELS, CURVES = LabelTable.FILE, "curves.json"


def ranks_of(floor: str) -> str:
    """The file of the ranks of a floor.

    >>> ranks_of("same or reversed")
    'ranks-same-or-reversed.parquet'
    """
    return f"ranks-{floor.replace(' ', '-')}.parquet"


TEXT = (".txt", ".tsv", ".csv", ".txt.gz", ".tsv.gz", ".csv.gz")
"""the endings of ranks that were made elsewhere"""

MODEL = "model"
"""the folder of what was trained"""


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run."""
    return (folder / MANIFEST).is_file() and ((folder / RANKS).is_file() or (folder / LABELS).is_file())


def claim(folder: Path, *, force: bool) -> None:
    """Make sure that a run may be written into a folder, before any work is done; nothing is left there until then.

    Raises
    ------
    InputError
        if it already holds a run, or part of one, and ``force`` is not given; if it is a file, or no UTF-8 text
    RunError
        if it cannot be made
    """
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the folder {str(folder)!r} has a name that is not UTF-8 text. Choose another.") from error
    try:
        for place in (folder, *folder.parents):
            if place.exists() and not place.is_dir():
                raise InputError(f"{str(place)!r} is a file; a run needs a folder. Choose another name.")
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # another run may be at home in a parent by now
            for place in missing:
                place.rmdir()
        there = [
            path.name
            for path in (folder / name for name in (CONFIG, MANIFEST, METRICS, *_tables(folder)))
            if path.exists()
        ]
        for name in there:
            if (folder / name).is_dir():
                raise RunError(f"{str(folder / name)!r} is a folder; a file of that name has to be written.")
        if there and not force:
            what = f"{str(folder)!r} already holds a run ({', '.join(there)})"
            raise InputError(f"{what}. Choose another folder, or add --force.")
    except OSError as error:
        raise RunError(f"cannot make the folder {str(folder)!r}: {error.strerror}.") from error


def reopen(folder: Path) -> None:
    """Take away the manifest, without which no folder looks complete, before any other file of a run is replaced."""
    _remove(folder / MANIFEST)


class Stored(Protocol):
    """A table that can be written."""

    def to_parquet(self, path: Path) -> None:
        """Write the table, whole or not at all."""
        ...


def write_run(
    folder: Path,
    *,
    config: dict[str, Any],
    manifest: dict[str, Any],
    tables: Mapping[str, Stored],
    metrics: dict[str, Any],
    curves: dict[str, Any] | None = None,
) -> None:
    """Write a run; the manifest comes last, so a folder with a manifest is complete."""
    numbers = as_json(metrics)  # before any file is touched: a number that is no JSON must not cost a run
    reopen(folder)
    for left in set(_tables(folder)) - tables.keys():  # by an earlier run, which may have been of another kind
        _remove(folder / left)
    for name, table in tables.items():
        table.to_parquet(folder / name)
    if curves:
        write_text(folder / CURVES, as_json(curves))
    write_text(folder / METRICS, numbers)
    write_text(folder / CONFIG, yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    write_text(folder / MANIFEST, as_json(manifest))


def read_ranks(path: Path, dataset: str | None = None, **options: Any) -> RankTable:
    """Read the ranks of a run directory or of a ``.parquet`` file, or those of a text file that was made elsewhere.

    The latter takes the dataset that was ranked, and the options of :func:`kgeval.load_ranks`.

    Raises
    ------
    InputError
        if there are none
    """
    refuse_special(path)
    if not is_there(path):
        raise InputError(f"no such file {str(path)[:200]!r}. {nearby(path)}".strip())
    if path.is_dir() and not (path / RANKS).is_file():
        raise InputError(f"{str(path)!r} holds no run: there is no {RANKS} in it.")
    if dataset is not None and (path.is_dir() or path.suffix.lower() == ".parquet"):
        raise InputError(f"{str(path)!r} holds ranks that tell their dataset: leave --dataset out.")
    if dataset is not None:
        return load_ranks(path, dataset, **options)
    if path.is_file() and path.name.lower().endswith(TEXT):
        raise InputError(f"{str(path)!r}: ranks that were made elsewhere need the dataset that was ranked: --dataset.")
    if path.is_file() and LabelTable.is_in(path):
        what = f"{str(path)!r} is a label table: scores of labelled triples, not ranks"
        raise InputError(f"{what}. Give the folder of the run that it is part of.")
    return RankTable.from_parquet(path / RANKS if path.is_dir() else path)


def read_labels(path: Path) -> LabelTable:
    """Read the labelled triples of a run directory.

    Raises
    ------
    InputError
        if there are none
    """
    return LabelTable.from_parquet(path / LABELS)


def holds_labels_alone(path: Path) -> bool:
    """Whether a run directory is that of a classification, which ranks nothing."""
    return is_there(path / LABELS) and not is_there(path / RANKS)


def holds_confidences(path: Path) -> bool:
    """Whether a run directory is that of a prediction of confidences, which keeps facts and ranks."""
    return is_there(path / LABELS) and is_there(path / RANKS)


def describe_machine() -> dict[str, Any]:
    """Tell on what, and with which libraries, a run was made."""
    versions = {}
    for name in ("kgeval", "numpy", "numba", "pyarrow", "pandas", "scipy", "scikit-learn", "torch", "pykeen"):
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": versions,
        "machine": {
            "system": platform.system(),
            "processor": platform.machine(),
            "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        },
    }


def fingerprints(paths: Iterable[Path]) -> dict[str, str]:
    """The SHA-256 of every file that a run has read."""
    return {str(path): _sha256(path) for path in paths}


def as_json(content: Any) -> str:
    """Write JSON for people: indented, with a final newline; NaN and infinity are refused, being no JSON."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _tables(folder: Path) -> list[str]:
    """The files that runs of one kind or another hold beside what every run holds."""
    return [RANKS, LABELS, CURVES, *sorted(path.name for path in folder.glob(ranks_of("*")))]


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise RunError(f"cannot replace {str(path)!r}: {error.strerror}.") from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()
