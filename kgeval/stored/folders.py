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
    is_left_of_run,
    is_run,
    progress_of,
    read_json,
    read_record,
    record_of,
)
from kgeval.stored.stored_run import StoredRun

DEPTH = 100
"""how deep folders are searched for runs: deeper than real ones are, so that the search of hostile ones ends"""


@dataclass(frozen=True)
class Place:
    """What lies at a path, looked at once: a run, a folder of runs at any depth, or something else."""

    path: Path

    @cached_property
    def table(self) -> Models | None:
        """The common table of several models: a folder with metrics, but no manifest, has one."""
        file, content = self.path / METRICS, dict[str, Any]()
        if exists_safely(file) and not exists_safely(self.path / MANIFEST):
            with suppress(InputError):  # it cannot be read: the runs beside it are found without it
                content = read_json(file)
        is_of_kgeval = "schema" in content and isinstance(content.get("models"), dict)
        return record_of(content, file, Models) if is_of_kgeval else None

    @cached_property
    def inside(self) -> Mapping[str, StoredRun]:
        """The runs in the folder, complete or not, by their paths in it; those of a common table first, in its order.

        A run itself has none inside.
        """
        if not exists_safely(self.path) or not self.path.is_dir() or is_run(self.path):
            return {}
        around = self.path.resolve()
        inside = dict(self._inside({around, *around.parents}))
        return {".": StoredRun(self.path), **inside} if inside and holds_table(self.path) else inside

    @cached_property
    def runs(self) -> Mapping[str, StoredRun]:
        """The complete runs inside; if there is nothing inside, what lies at the path stands under an empty name."""
        complete = {name: run for name, run in self.inside.items() if run.is_complete}
        return complete if self.inside else {"": StoredRun(self.path)}

    @property
    def failed(self) -> Mapping[str, str]:
        """The models in the folder that failed, and why."""
        return {name: run.failure for name, run in self.inside.items() if run.failure and not run.is_complete}

    @property
    def unfinished(self) -> Mapping[str, str]:
        """The other runs in the folder that are not finished, and why."""
        return {name: run.unfinished for name, run in self.inside.items() if run.unfinished and not run.failure}

    @property
    def holds_runs(self) -> bool:
        """Whether it is a folder of several models, with a common table or runs inside it, complete or not."""
        return self.table is not None or "" not in self.runs

    @property
    def belongs_to_runs(self) -> bool:
        """Whether it is a file that runs contain beside tables, which a pattern such as ``runs/*/*`` matches too."""
        around, name = self.path.parent, self.path.name
        if not exists_safely(self.path):
            return False
        if self.path.is_dir():
            return name == MODEL and is_run(around)
        return name in FILES - {RANKS, LABELS} and (is_run(around) or Place(around).holds_runs)

    def _inside(self, seen: set[Path], depth: int = DEPTH) -> Iterator[tuple[str, StoredRun]]:
        table = self.table or Models()
        failed, names = table.get("failed", {}), [*table.get("models", ()), *table.get("unfinished", ())]
        planned = {name: StoredRun(self.path / name, failed.get(name, "")) for name in (*names, *failed)}
        yield from planned.items()
        seen |= {run.path.resolve() for run in planned.values()}
        folders: list[Path] = []
        with suppress(PermissionError):
            folders = [path for path in self.path.iterdir() if path.is_dir() and not path.name.startswith(".")]
        for path in sorted(folders, key=lambda path: (path.is_symlink(), path)):  # links may lead here, or in a circle
            if (place := path.resolve()) in seen:
                continue
            seen.add(place)
            itself, runs = {path.name: StoredRun(path)}, dict[str, StoredRun]()
            if depth and not (is_begun(path) or is_run(path) or holds_table(path)):
                runs = {f"{path.name}/{name}": run for name, run in Place(path)._inside(seen, depth - 1)}
                itself = itself if is_left_of_run(path) else {}
            yield from (runs or itself).items()

    @property
    def notes(self) -> Iterator[Note]:
        """Name the runs in the folder that are left out, and why."""
        reasons: dict[str, list[str]] = {}
        for name, why in {**self.failed, **self.unfinished}.items():
            reasons.setdefault(" ".join(why.rstrip(".").split()), []).append(name)
        if reasons:
            listed = "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())
            cure = "Run them again, with --force if that is refused."
            yield Note("runs", "left out of ", Example(repr(str(self.path)), "…"), f": {listed}. {cure}")


Places = Sequence[tuple[str, Any]]
"""pairs of the name that the user chose (or an empty one) and a :class:`Place`, or ranks in memory as they are"""


def look_at(runs: Iterable[tuple[str, Any]]) -> Places:
    """Make places of paths; files of runs beside their tables, which a pattern matches too, count only with a name."""
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
    if empty := [place for _, place in looked if not place.runs]:
        why = progress_of(empty[0].path) or f" {' '.join(empty[0].notes)}"
        raise InputError(f"{str(empty[0].path)!r} holds no finished run.{why}")
    return runs


def notes_on(places: Places) -> list[Note]:
    """Name the runs at places that have changed since they were written, and those that are left out, and why."""
    changed = [note for *_, run in runs_of(places) for note in run.changes]
    return changed + [note for _, place in places if isinstance(place, Place) for note in place.notes]


def single_run(path: Path) -> StoredRun:
    """Return the run at a path, or what else lies there; refuse a folder of several runs."""
    if Place(path).holds_runs:
        raise InputError(f"{str(path)!r} holds the runs of several models. Give the folder of one.")
    return StoredRun(path)


def write_suite(folder: Path, groups: Mapping[str, Sequence[str]], metrics: Sequence[str]) -> None:
    """Write the groups of graphs of all runs in a folder, and the metrics of these runs."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / SUITE, as_json({"groups": groups, "metrics": metrics}))


def suite_around(paths: Iterable[Path]) -> StoredSuite:
    """Read the suites in folders and in all folders around them; groups are joined, the metrics are of the first."""
    places = dict.fromkeys(place for path in paths for place in [path.absolute(), *path.absolute().parents[:4]])
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
