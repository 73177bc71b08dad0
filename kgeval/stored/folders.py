"""Folders of runs: which runs a folder has inside, finished or not, and the common table of their metrics.

Whatever takes runs looks at their paths by ``look_at``, once, and names them by ``distinct_names``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kgeval.base.errors import InputError
from kgeval.base.files import exists_safely
from kgeval.base.notes import Example, Note
from kgeval.base.storage import write_text
from kgeval.stored.contents import (
    FILES,
    LABELS,
    MANIFEST,
    METRICS,
    MODEL,
    RANKS,
    SUITE,
    TEXT,
    Models,
    StoredSuite,
    as_json,
    holds_table,
    is_begun,
    is_run,
    read_json,
    read_record,
    record_of,
)
from kgeval.stored.stored_run import StoredRun

DEPTH = 100
"""how deep folders are searched for runs: deeper than any are, so that hostile ones end"""


@dataclass(frozen=True)
class Place:
    """What lies at a path, looked at once: a run, a folder of runs at any depth, or something else."""

    path: Path

    @cached_property
    def table(self) -> Models | None:
        """The common table of several models: a folder with metrics, but no manifest, has one."""
        file = self.path / METRICS
        if not exists_safely(file) or exists_safely(self.path / MANIFEST):
            return None
        content = read_json(file)
        return record_of(content, file, Models) if isinstance(content.get("models"), dict) else None

    @property
    def failed(self) -> Mapping[str, str]:
        """Why models failed."""
        return (self.table or {}).get("failed", {})

    @cached_property
    def inside(self) -> Mapping[str, StoredRun]:
        """The runs in the folder, complete or not, by their paths in it; those of a common table first, in its order.

        None are in a run itself.
        """
        is_folder = exists_safely(self.path) and self.path.is_dir() and not is_run(self.path)
        return dict(self._inside({self.path.resolve()})) if is_folder else {}

    @cached_property
    def runs(self) -> Mapping[str, StoredRun]:
        """The complete runs; a run itself, a file of ranks and whatever is no run stand under an empty name."""
        complete = {name: run for name, run in self.inside.items() if run.is_complete}
        return complete or {"": StoredRun(self.path)}

    @cached_property
    def unfinished(self) -> Mapping[str, str]:
        """The runs in the folder that are not finished, and why."""
        return {name: why for name, run in self.inside.items() if (why := run.unfinished)}

    @property
    def holds_runs(self) -> bool:
        """Whether it is a folder of several models, with a common table or complete runs inside it."""
        return self.table is not None or "" not in self.runs

    @property
    def belongs_to_runs(self) -> bool:
        """Whether it was matched by a pattern such as ``runs/*/*``, and is a file that runs contain beside tables."""
        around, name = self.path.parent, self.path.name
        if not exists_safely(self.path):
            return False
        if self.path.is_dir():
            return name == MODEL and is_run(around)
        return name in FILES - {RANKS, LABELS} and (is_run(around) or Place(around).holds_runs)

    def _inside(self, seen: set[Path], depth: int = DEPTH) -> Iterator[tuple[str, StoredRun]]:
        table = self.table or {}
        planned = dict.fromkeys([*table.get("models", ()), *table.get("unfinished", ())])
        for name in planned:
            yield name, StoredRun(self.path / name)
        folders: list[Path] = []
        with suppress(PermissionError):
            folders = sorted(path for path in self.path.iterdir() if path.is_dir() and not path.name.startswith("."))
        for path in folders:
            runs = [(path.name, StoredRun(path))] if is_begun(path) or is_run(path) or holds_table(path) else []
            if not runs and depth and path.resolve() not in seen:  # links may lead into a circle
                seen.add(path.resolve())
                runs = [(f"{path.name}/{name}", run) for name, run in Place(path)._inside(seen, depth - 1)]
            yield from (pair for pair in runs if pair[0] not in planned and pair[0] not in self.failed)

    @property
    def notes(self) -> Iterator[Note]:
        """Name the runs in the folder that are left out, and why."""
        reasons: dict[str, list[str]] = {}
        for name, why in {**self.failed, **self.unfinished}.items():
            reasons.setdefault(" ".join(why.rstrip(".").split()), []).append(name)
        if reasons:
            listed = "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())
            cure = "Run the configuration again to finish them."
            yield Note("runs", "left out of ", Example(repr(str(self.path)), "…"), f": {listed}. {cure}")


Places = Sequence[tuple[str, Any]]
"""places, each after the name that was chosen for it, or none; ranks in memory as they are"""


def look_at(runs: Iterable[tuple[str, Any]]) -> Places:
    """Look at the paths among runs; other files of runs, as a pattern finds them, count only if they have a name."""
    given = [(name, Place(Path(run)) if isinstance(run, str | Path) else run) for name, run in runs]
    places = [(name, at) for name, at in given if name or not (isinstance(at, Place) and at.belongs_to_runs)]
    if given and not places:
        raise InputError(f"{str(given[0][1].path)!r} is a file of a run, not its ranks: give the run directory.")
    return places


def runs_of(places: Places) -> list[tuple[str, str, StoredRun]]:
    """List the runs at places, each after its chosen name and its path in the folder; refuse those that are damaged."""
    looked = [(name, place) for name, place in places if isinstance(place, Place)]
    runs = [(name, inside, run) for name, place in looked for inside, run in place.runs.items()]
    for *_, run in runs:
        run.refuse_unreadable()
    return runs


def left_out_of(places: Places) -> list[Note]:
    """Name the runs in folders that are left out, and why."""
    return [note for _, place in places if isinstance(place, Place) for note in place.notes]


def write_suite(folder: Path, groups: Mapping[str, Sequence[str]], metrics: Sequence[str]) -> None:
    """Write the groups of graphs of all runs in a folder, and the metrics of these runs."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / SUITE, as_json({"groups": groups, "metrics": metrics}))


def suite_around(paths: Iterable[Path]) -> StoredSuite:
    """Read the suites of folders of runs, or of those that runs lie in; groups are joined, metrics are the first's."""
    places = dict.fromkeys(place for path in paths for place in [path.absolute(), *path.absolute().parents])
    suites = [read_record(place / SUITE, StoredSuite) for place in places if exists_safely(place / SUITE)]
    groups: dict[str, list[str]] = {}
    for name, graphs in (group for suite in suites for group in suite["groups"].items()):
        groups.setdefault(name, []).extend(graphs)
    return {"groups": groups, "metrics": suites[0]["metrics"] if suites else []}


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
