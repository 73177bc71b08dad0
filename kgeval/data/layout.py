"""Layouts: what it takes to read a graph from a place; each file in ``readers`` declares one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from kgeval.data.dataset import Dataset
from kgeval.data.human_names import Named, with_found_names, with_names
from kgeval.data.unknown_folder import describe_unknown
from kgeval.discovery import brought, by_name, instances
from kgeval.errors import DatasetError, did_you_mean
from kgeval.files.opening import refuse_special
from kgeval.paths import exists_safely, suggest_paths

PYKEEN = "pykeen"
"""the layout of datasets that are no folders"""


@dataclass(frozen=True)
class Layout:
    """One way of storing a graph."""

    name: str
    summary: str
    recognises: Callable[[Path], bool]
    """whether a folder is in this layout; cheap, by file names"""
    read: Callable[[Path], Dataset]
    needs: tuple[tuple[str, ...], ...]
    """each file without which a folder is none, by the names or patterns that it may have, the usual one first"""
    general: bool = False
    """whether another layout that recognises the folder too is the one that is meant"""


@cache
def layouts() -> dict[str, Layout]:
    """All folder layouts, by name; those of other packages too."""
    return by_name("layouts", [*instances("kgeval.data.layouts", Layout), *brought("kgeval.layouts", Layout)])


def load_dataset(source: str | Path, *, layout: str = "auto", names: Named = ()) -> Dataset:
    """Read a graph from a folder in any known layout, or by its PyKEEN name.

    Parameters
    ----------
    source
        a folder, or the name of a PyKEEN dataset such as ``"umls"``
    layout
        ``"auto"`` recognises the layout from the file names; or a name that ``kgeval list datasets`` shows, or
        ``"pykeen"`` for a PyKEEN name where there is a folder of that name too
    names
        what people call entities and relations, by label, or files of rows ``label<TAB>name``; by default
        ``entity2text.txt`` and ``relation2text.txt``, where the folder has them. Messages and tables show them

    Raises
    ------
    DatasetError
        if there is no such folder or name, if the layout is not recognised, or if a file is malformed

    Examples
    --------
    >>> load_dataset("umls")
    Dataset(umls: 135 entities, 46 relations; triples: 5216 train, 652 valid, 661 test)
    """
    dataset = _read_source(source, layout)
    return with_names(dataset, names) if names else dataset


def _read_source(source: str | Path, layout: str) -> Dataset:
    if not isinstance(source, (str, os.PathLike)) or source == "":
        swapped = callable(source) or hasattr(source, "scores")
        hint = " The model comes first: kgeval.evaluate(model, dataset)." if swapped else ""
        raise DatasetError(f"a dataset is a folder or a PyKEEN name, not {source!r:.60}.{hint}")
    path = Path(source)
    refuse_special(path)
    if layout not in ("auto", PYKEEN, *layouts()):
        raise DatasetError(
            f"unknown dataset layout {layout!r}. {did_you_mean(str(layout), ['auto', PYKEEN, *layouts()])}"
        )
    if exists_safely(path) and path.is_dir() and layout != PYKEEN:
        return _read_folder(path, layout)
    if exists_safely(path) and path.is_file():
        raise DatasetError(f"{str(path)!r} is a file. A dataset is a folder that holds train, valid and test files.")
    return _read_named(str(source), path, layout)


def as_dataset(given: Dataset | str | Path | Any) -> Dataset:
    """Take a dataset as it is or as a PyKEEN object, or load the one of that folder or name.

    >>> as_dataset("nations")
    Dataset(nations: 14 entities, 55 relations; triples: 1592 train, 199 valid, 201 test)
    """
    if isinstance(given, Dataset):
        return given
    if hasattr(given, "inductive_inference") or (
        hasattr(given, "training") and hasattr(given, "testing")
    ):  # found out without importing PyKEEN
        from kgeval.data.layouts.pykeen_layout import from_dataset

        return from_dataset(given)
    return load_dataset(given)


def _read_folder(path: Path, layout: str) -> Dataset:
    if layout != "auto":
        return _read(layouts()[layout], path)
    recognised = [candidate for candidate in layouts().values() if candidate.recognises(path)]
    fitting = [candidate for candidate in recognised if not candidate.general] or recognised
    if len(fitting) == 1:
        return _read(fitting[0], path)
    if fitting:
        names = ", ".join(candidate.name for candidate in fitting)
        raise DatasetError(f"folder {str(path)!r} fits several layouts ({names}): name one of them.")
    for entry in sorted(path.iterdir()):
        refuse_special(entry)
    raise DatasetError(describe_unknown(path, layouts()))


def _read(layout: Layout, path: Path) -> Dataset:
    """Read a folder and the names in it, and remember whose ids it has."""
    dataset = with_found_names(layout.read(path), path)
    return replace(dataset, id_source=dataset.id_source or layout.name)


def _read_named(name: str, path: Path, layout: str) -> Dataset:
    # PyKEEN takes seconds to import, so a path that is plainly a path is refused without asking it.
    if len(path.parts) > 1 or path.is_absolute():
        why = f"layout {PYKEEN!r} takes a PyKEEN name" if exists_safely(path) else f"no such folder {name!r}"
        raise DatasetError(f"{why}. {suggest_paths(path)}".strip())
    if layout not in {"auto", PYKEEN}:
        raise DatasetError(
            f"no such folder {name!r}, and layout {layout!r} is one of folders. {suggest_paths(path)} "
            f"For a PyKEEN dataset of that name leave the layout out, or say {PYKEEN!r}."
        )
    from kgeval.data.layouts.pykeen_layout import read_named

    return read_named(name)
