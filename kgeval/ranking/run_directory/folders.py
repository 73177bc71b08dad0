"""Folders of runs: which runs a folder has inside, finished or not, and the common table of their metrics.

Commands that take folders (``kgeval compare runs/*``) find the runs by ``runs_at``, and name them by
``distinct_names``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kgeval.base.files import exists_safely
from kgeval.base.storage import write_text
from kgeval.ranking.run_directory.contents import (
    FILES,
    LABELS,
    MANIFEST,
    METRICS,
    MODEL,
    RANKS,
    SUITE,
    TEXT,
    Models,
    Suite,
    as_json,
    holds_table,
    is_begun,
    is_run,
    read_json,
    read_record,
)


@dataclass(frozen=True)
class CommonTable:
    """The metrics of all models of a folder, with those that failed or are not finished: its ``metrics.json``."""

    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """the metrics of each model, under one tie policy"""
    failed: dict[str, str] = field(default_factory=dict)
    """why a model failed"""
    unfinished: list[str] = field(default_factory=list)
    """the planned models that have neither metrics nor failed"""
    notes: list[str] = field(default_factory=list)

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether a folder has the table of several models: it has metrics, but no manifest."""
        if not exists_safely(folder / METRICS) or exists_safely(folder / MANIFEST):
            return False
        return isinstance(read_json(folder / METRICS).get("models"), dict)

    @classmethod
    def read(cls, folder: Path) -> CommonTable:
        """Read the common table of a folder; an empty one if there is none."""
        return cls(**read_record(folder / METRICS, Models)) if cls.is_in(folder) else cls()

    def write(self, folder: Path) -> None:
        write_text(folder / METRICS, as_json(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        return {"schema": 1, **asdict(self)}


DEPTH = 3
"""the depth to which folders are searched for runs, as in ``runs/umls/TransE/0``"""


def runs_in(folder: Path) -> dict[str, Path]:
    """Find the complete runs inside a folder, by their paths in it; none in a folder that is a run itself.

    The models of a common table come first, in its order; those that failed are left out.
    """
    return {name: path for name, path in _places(folder, DEPTH) if is_run(path)}


def runs_at(path: Path, *, named: bool) -> dict[str, Path]:
    """Find the runs inside a path, or the path itself; other files of a run count only if they are ``named``."""
    if not named and belongs_to_runs(path):
        return {}
    return runs_in(path) or {"": path}


def unfinished_in(folder: Path) -> list[str]:
    """Return the paths in a folder of runs that were interrupted or are planned in its common table."""
    return [name for name, path in _places(folder, DEPTH) if not is_run(path)]


def write_suite(folder: Path, groups: Mapping[str, Sequence[str]], metrics: Sequence[str]) -> None:
    """Write the groups of graphs of all runs in a folder, and the metrics of these runs."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / SUITE, as_json({"groups": groups, "metrics": metrics}))


def suite_around(paths: Iterable[Path]) -> Suite:
    """Read the suites of folders of runs, or of those that runs lie in; groups are joined, metrics are the first's."""
    places = dict.fromkeys(
        place for path in paths for place in [path.absolute(), *path.absolute().parents[: DEPTH + 1]]
    )
    suites = [read_record(place / SUITE, Suite) for place in places if exists_safely(place / SUITE)]
    groups: dict[str, list[str]] = {}
    for name, graphs in (group for suite in suites for group in suite["groups"].items()):
        groups.setdefault(name, []).extend(graphs)
    return {"groups": groups, "metrics": suites[0]["metrics"] if suites else []}


def holds_runs(folder: Path) -> bool:
    """Whether a folder is one of several models, complete or not, or has complete runs inside it."""
    return CommonTable.is_in(folder) or any(is_run(path) for _, path in _places(folder, DEPTH))


def belongs_to_runs(path: Path) -> bool:
    """Whether a path, matched by a pattern such as ``runs/*/*``, is a file that a run or a folder of runs contains."""
    if not exists_safely(path):
        return False
    if path.is_dir():
        return path.name == MODEL and is_run(path.parent)
    return path.name in FILES - {RANKS, LABELS} and (is_run(path.parent) or holds_runs(path.parent))


def distinct_names(paths: Sequence[Sequence[str]], groups: Sequence[Hashable] | None = None) -> list[str]:
    """Name each path by as few of its last words as make it unique in its group.

    A group is, for example, a dataset; by default all paths are one group. A number alone, such as a seed, is no name.

    >>> distinct_names([["runs", "TransE", "0"], ["runs", "RotatE", "0"], ["runs", "popularity"]])
    ['TransE/0', 'RotatE/0', 'popularity']
    """
    lengths = [2 if words[-1].isdecimal() and len(words) > 1 else 1 for words in paths]
    groups = groups or [None] * len(paths)
    while True:
        names = ["/".join(words[-length:]) for words, length in zip(paths, lengths, strict=True)]
        repeated = {name for (_, name), count in Counter(zip(groups, names, strict=True)).items() if count > 1}
        longer = [at for at, name in enumerate(names) if name in repeated and lengths[at] < len(paths[at])]
        if not longer:
            return names
        for at in longer:
            lengths[at] += 1


def words_of(path: Path) -> list[str]:
    """The words of a path that may name its model: those of the folder, or of the file without its ending.

    >>> words_of(Path("runs/complex/ranks.parquet"))[-2:], words_of(Path("ranks/conve.txt.gz"))[-2:]
    (['runs', 'complex'], ['ranks', 'conve'])
    """
    absolute = path.absolute()
    if absolute.name == RANKS:
        return list(absolute.parent.parts)
    ending = next((end for end in (*TEXT[::-1], ".parquet") if absolute.name.lower().endswith(end)), "")
    return [*absolute.parent.parts, absolute.name[: len(absolute.name) - len(ending)]]


def _places(folder: Path, depth: int) -> Iterator[tuple[str, Path]]:
    """Yield the folders of runs inside a folder, complete or not, with their paths in it."""
    if not exists_safely(folder) or not folder.is_dir() or is_run(folder):
        return
    table = CommonTable.read(folder)
    planned = dict.fromkeys([*table.models, *table.unfinished])
    for name in planned:
        yield name, folder / name
    inside: list[Path] = []
    with suppress(PermissionError):
        inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    for path in inside:
        places = [(path.name, path)] if is_begun(path) or holds_table(path) else []
        if not places and depth > 1:
            places = [(f"{path.name}/{name}", inner) for name, inner in _places(path, depth - 1)]
        yield from (place for place in places if place[0] not in planned and place[0] not in table.failed)
