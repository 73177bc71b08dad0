"""Load a dataset: from a folder in any layout, by its PyKEEN name, or from PyKEEN's objects in memory.

``kgeval.load_dataset`` is here; commands and evaluations call :func:`as_dataset`. The layouts are in ``layouts/``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from kgeval.base.assumptions import choose
from kgeval.base.errors import DatasetError, counted, first_few, refuse_unknown
from kgeval.base.files import exists_safely, refuse_special, suggest_paths
from kgeval.data.columns import UNSAID, ColumnNames, Columns
from kgeval.data.dataset import Dataset
from kgeval.data.fingerprint import digests_of_facts
from kgeval.data.human_names import NamesSource, with_found_names, with_names
from kgeval.data.layouts import Layout, layouts
from kgeval.data.layouts.labelled import find_needed, read_file

PYKEEN = "pykeen"
"""the word for the layout of PyKEEN's own datasets, which are found by name, not in a folder"""

Source: TypeAlias = str | Path | Any
"""a folder or a PyKEEN name; or in memory, a PyKEEN dataset, or a triples factory for each split"""

MAX_NAMES = 6
"""the most files or folders that the message lists"""


def load_dataset(
    source: Source, *, layout: str = "auto", names: NamesSource = (), columns: ColumnNames | None = None
) -> Dataset:
    """Read a graph from a folder in any known layout, by its PyKEEN name, or from PyKEEN's objects in memory.

    Parameters
    ----------
    source
        a folder; a file of triples with a column ``split``; the name of a PyKEEN dataset such as ``"umls"``; a PyKEEN
        dataset object; or triples factories, ``{"train": training, "valid": validation, "test": testing}``, with their
        ids and labels
    layout
        ``"auto"`` recognises the layout by the file names; or a name that ``kgeval list datasets`` shows; or
        ``"pykeen"`` for a PyKEEN name, if there is a folder of that name too
    names
        human names of entities and relations, which messages and tables show: a dictionary by label, or files with
        rows ``label<TAB>name``; by default ``entity2text.txt`` and ``relation2text.txt`` in the folder, if it has them
    columns
        for files of labelled triples whose header kgeval does not know: which column holds what, as ``{"head": "gene",
        "relation": "'binds'", "tail": "drug"}`` or the same as text, ``"head=gene,relation='binds',tail=drug"``, where
        quotes mark a constant; without a header, what the columns hold in their order: ``"relation,head,tail"``

    Raises
    ------
    DatasetError
        if the folder or name does not exist, the layout is not recognised, a file is malformed, or triples factories
        have different ids

    Examples
    --------
    >>> load_dataset("umls")
    Dataset(umls: 135 entities, 46 relations; triples: 5216 train, 652 valid, 661 test)
    """
    dataset = _read_source(source, layout, Columns.of(columns))
    return with_names(dataset, names) if names else dataset


def _read_source(source: Source, layout: str, columns: Columns) -> Dataset:
    if not isinstance(source, (str, os.PathLike)) or source == "":
        from kgeval.data.layouts.pykeen import from_objects

        return from_objects(source)
    path = Path(source)
    refuse_special(path)
    refuse_unknown_layout(layout)
    if exists_safely(path) and path.is_dir() and layout != PYKEEN:
        found = recognised(path) if layout == "auto" else layouts()[layout]
        dataset = _read(found, path, columns)
        if layout == "auto" and found is not layouts()["labels"]:
            _refuse_two_graphs(path, {found.name: dataset})
        return dataset
    if exists_safely(path) and path.is_file():
        return read_file(path, columns)
    if columns != UNSAID:
        raise DatasetError(f"columns: they are for files of triples, and {str(source)!r} is none. Leave them out.")
    return _read_named(str(source), path, layout)


def _refuse_two_graphs(path: Path, fitting: dict[str, Dataset]) -> None:
    """Refuse a folder whose files of labels, which its layout did not read, hold other facts."""
    (dataset,), labels = fitting.values(), layouts()["labels"]
    read = {file.resolve() for file in dataset.files}
    with suppress(DatasetError):  # they are no graph
        if labels.recognises(path) and read.isdisjoint(map(Path.resolve, find_needed(path).values())):
            labelled = labels.read(path)
            facts, others = digests_of_facts(dataset), digests_of_facts(labelled)
            differ = [split for split in facts if others.get(split, facts[split]) != facts[split]]
            fitting |= {labels.name: labelled} if differ else {}
    option, where = f"--layout {' or --layout '.join(fitting)}", f"folder {str(path)!r}"
    choose("layout", fitting, option, why="their files hold other facts", where=where, error=DatasetError)


def refuse_unknown_layout(layout: str) -> None:
    """Refuse a name that no layout has."""
    refuse_unknown("unknown dataset layout", layout, ["auto", PYKEEN, *layouts()], DatasetError, listed="datasets")


def recognised(path: Path) -> Layout:
    """Find the layout of a folder; refuse one that none fits, or several."""
    refuse_special(path)
    every = [candidate for candidate in layouts().values() if candidate.recognises(path)]
    fitting = [candidate for candidate in every if not candidate.general] or every
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(candidate.name for candidate in fitting)
        named = f"--layout {fitting[0].name} (in Python layout={fitting[0].name!r})"
        raise DatasetError(f"folder {str(path)!r} fits the layouts {names}. Name one: {named}.")
    for entry in sorted(path.iterdir()):
        refuse_special(entry)
    raise DatasetError(describe_unknown(path))


def describe_unknown(folder: Path) -> str:
    """Say what a folder that no layout recognises holds, what the nearest layout lacks, and where the layouts are."""
    visible = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    entries = sorted(visible, key=lambda entry: (entry.is_file(), entry.name))
    names = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]
    folders = [entry for entry in entries if entry.is_dir()]
    inside = [f"{entry.name}/" for entry in folders if any(known.recognises(entry) for known in layouts().values())]
    fault = f"folder {str(folder)!r} is in no known layout"
    if inside:
        return f"{fault}.\nIt holds {counted(len(inside), 'dataset')}: {first_few(inside, MAX_NAMES)}. Choose one."
    held = f"it holds {first_few(names, MAX_NAMES)}" if names else "it is empty"
    return "\n".join([f"{fault}: {held}.", *_nearest_layout(folder), "'kgeval list datasets' shows all layouts."])


def _nearest_layout(folder: Path) -> list[str]:
    """Name the layout with most of its files in the folder, and the files that are missing."""
    lacks = {
        name: [files[0] for files in layout.needs if not any(any(folder.glob(file)) for file in files)]
        for name, layout in layouts().items()
    }
    there = {name: len(layout.needs) - len(lacks[name]) for name, layout in layouts().items()}
    name = max(
        there,
        key=lambda name: (bool(there[name] and lacks[name]), -len(lacks[name]), there[name], layouts()[name].general),
    )
    return [f"The nearest layout is {name}; missing: {', '.join(lacks[name])}."] if there[name] else []


def _read(layout: Layout, path: Path, columns: Columns) -> Dataset:
    """Read a folder by a layout, and the human names in it; record the layout in the dataset."""
    if columns != UNSAID and not layout.has_columns:
        raise DatasetError(f"columns: the layout {layout.name} has its own. Leave them out.")
    dataset = layout.read(path, columns=columns) if layout.has_columns else layout.read(path)
    if not isinstance(dataset, Dataset):
        raise DatasetError(f"{path}: the layout {layout.name!r} returned {dataset!r:.60}; expected a Dataset.")
    dataset = with_found_names(dataset, path)
    marks = [file.name for names in layout.needs for pattern in names for file in sorted(path.glob(pattern))[:1]]
    by = f" (by {', '.join(marks)})" if marks else ""
    about = f"{layout.name}{by}: {layout.summary}"
    name = dataset.layout or layout.name
    return replace(dataset, id_source=dataset.id_source or layout.name, layout=name, stored_as=about)


def _read_named(name: str, path: Path, layout: str) -> Dataset:
    # PyKEEN takes seconds to import, so what is clearly a path is refused without importing it.
    if len(path.parts) > 1 or path.is_absolute():
        why = f"layout {PYKEEN!r} takes a PyKEEN name" if exists_safely(path) else f"no such folder {name!r}"
        raise DatasetError(f"{why}. {suggest_paths(path)}".strip())
    if layout not in {"auto", PYKEEN}:
        missing = f"no such folder {name!r} (layout {layout!r} is for folders). {suggest_paths(path)}"
        raise DatasetError(f"{missing} For the PyKEEN dataset of that name, leave the layout out or use {PYKEEN!r}.")
    from kgeval.data.layouts.pykeen import read_named

    return read_named(name)


def as_dataset(dataset: Dataset | Source) -> Dataset:
    """Take a dataset, or load anything else with :func:`load_dataset`, for one evaluation: a snapshot.

    >>> as_dataset("nations")
    Dataset(nations: 14 entities, 55 relations; triples: 1592 train, 199 valid, 201 test)
    """
    return (dataset if isinstance(dataset, Dataset) else load_dataset(dataset)).snapshot()


def as_datasets(datasets: Source | Sequence[Source]) -> list[Dataset]:
    """Take one dataset, or each of several, as :func:`as_dataset` does; blanks around a name are cut."""
    listed = datasets if isinstance(datasets, list | tuple) else [datasets]
    return [as_dataset(one.strip() if isinstance(one, str) else one) for one in listed]
