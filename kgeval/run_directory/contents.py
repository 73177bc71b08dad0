"""The run directory: what its files are called, how they are read, and what is told about the machine."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from kgeval.errors import InputError, reason
from kgeval.files import opening
from kgeval.files.opening import checked, refuse_special
from kgeval.paths import exists_safely, is_plain_name, suggest_paths
from kgeval.ranking.import_ranks import load_ranks
from kgeval.ranking.rank_table import RankTable
from kgeval.tasks.label_table import LabelTable

CONFIG, MANIFEST, METRICS, RANKS = "config.yaml", "manifest.json", "metrics.json", RankTable.FILE
LABELS, CURVES = LabelTable.FILE, "curves.json"


def ranks_of(baseline: str) -> str:
    """The file of the ranks of a baseline.

    >>> ranks_of("same or reversed")
    'ranks-same-or-reversed.parquet'
    """
    return f"ranks-{baseline.replace(' ', '-')}.parquet"


TEXT = (".txt", ".tsv", ".csv", ".txt.gz", ".tsv.gz", ".csv.gz")
"""the endings of ranks that were made elsewhere"""

MODEL = "model"
"""the folder of what was trained"""


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run."""
    return (folder / MANIFEST).is_file() and ((folder / RANKS).is_file() or (folder / LABELS).is_file())


def is_several(folder: Path) -> bool:
    """Whether a folder holds the runs of several models, and their common table.

    Raises
    ------
    InputError
        if what may be that table is damaged
    """
    there = exists_safely(folder / METRICS) and not exists_safely(folder / MANIFEST)
    return there and isinstance(read_json(folder / METRICS).get("models"), dict)


def read_ranks(path: Path, dataset: str | None = None, **options: Any) -> RankTable:
    """Read the ranks of a run directory or of a ``.parquet`` file, or those of a text file that was made elsewhere.

    The latter takes the dataset that was ranked, and the options of :func:`kgeval.load_ranks`.

    Raises
    ------
    InputError
        if there are none
    """
    refuse_special(path)
    if not exists_safely(path):
        raise InputError(f"no such file {str(path)[:200]!r}. {suggest_paths(path)}".strip())
    if path.is_dir() and not (path / RANKS).is_file():
        raise InputError(f"{str(path)!r} holds no run: there is no {RANKS} in it.")
    if dataset is not None and is_stored(path):
        raise InputError(f"{str(path)!r} holds ranks that tell their dataset: leave --dataset out.")
    if dataset is not None:
        return load_ranks(path, dataset, **options)
    if path.is_file() and path.name.lower().endswith(TEXT):
        raise InputError(f"{str(path)!r}: ranks that were made elsewhere need the dataset that was ranked: --dataset.")
    if path.is_file() and LabelTable.is_in(path):
        what = f"{str(path)!r} is a label table: scores of labelled triples, not ranks"
        raise InputError(f"{what}. Give the folder of the run that it is part of.")
    return RankTable.from_parquet(path / RANKS if path.is_dir() else path)


def is_stored(path: Path) -> bool:
    """Whether ranks are kgeval's own, which tell what they are of: those of a run, or of a ``.parquet`` file."""
    return path.suffix.lower() == ".parquet" or (exists_safely(path) and path.is_dir())


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
    return exists_safely(path / LABELS) and not exists_safely(path / RANKS)


def holds_confidences(path: Path) -> bool:
    """Whether a run directory is that of a prediction of confidences, which keeps facts and ranks."""
    return exists_safely(path / LABELS) and exists_safely(path / RANKS)


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


def as_json(content: Any) -> str:
    """Write JSON for people: indented, with a final newline; NaN and infinity are refused, being no JSON."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digests(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of files in a folder, by their names."""
    return {name: sha256_of_file(folder / name) for name in names}


def altered(folder: Path) -> list[str]:
    """Name the files of a run that are not as it wrote them; of a run that kept no digests, its manifest.

    Raises
    ------
    InputError
        if its manifest is damaged
    """
    written = read_json(folder / MANIFEST).get("written")
    if not isinstance(written, dict):
        return [MANIFEST]
    for name in written:
        if not is_plain_name(name):
            raise InputError(f"{str(folder / MANIFEST)!r} is damaged: {name!r:.60} is no name of a file beside it.")
    files = {name: folder / name for name in written}
    return [name for name, file in files.items() if not file.is_file() or sha256_of_file(file) != written[name]]


def read_common_table(folder: Path) -> dict[str, Any]:
    """Read the common table of several models, whose runs are the folders beside it that have their names.

    Raises
    ------
    InputError
        if it cannot be read, or has a name that leads out of the folder
    """
    kinds = {"models": dict, "failed": dict, "unfinished": list, "notes": list}
    table = {name: kind() for name, kind in kinds.items()} | read_json(folder / METRICS)
    blocks = all(isinstance(table[name], kind) for name, kind in kinds.items())
    if not blocks or not all(isinstance(content, dict) for content in table["models"].values()):
        raise InputError(f"{str(folder / METRICS)!r} is damaged: not the table of several models.")
    for name in [*table["models"], *table["unfinished"]]:
        if not isinstance(name, str) or not is_plain_name(name):
            raise InputError(f"{str(folder / METRICS)!r} is damaged: {name!r:.60} is no name of a folder beside it.")
    return table


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of a run that holds a block of keys.

    Raises
    ------
    InputError
        if it cannot be read
    """
    try:
        content = opening.read_json(path, strict=True)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} cannot be read ({reason(error)}).") from error
    if not isinstance(content, dict):
        raise InputError(f"{str(path)!r} cannot be read (it holds no block of keys).")
    return content


def other_files(folder: Path, models: Iterable[str]) -> list[str]:
    """Name what a folder holds beside the files of a run and the folders of models; hidden files do not matter."""
    if not exists_safely(folder) or not folder.is_dir():
        return []
    own = {CONFIG, MANIFEST, METRICS, MODEL, *tables_in(folder), *models}
    return sorted(path.name for path in folder.iterdir() if path.name not in own and not path.name.startswith("."))


def tables_in(folder: Path) -> list[str]:
    """The files that runs of one kind or another hold beside what every run holds."""
    return [RANKS, LABELS, CURVES, *sorted(path.name for path in folder.glob(ranks_of("*")))]


def sha256_of_file(path: Path) -> str:
    """Hash a file, a part at a time."""
    checked(path)
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()
