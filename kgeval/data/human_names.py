"""Human names of entities and relations whose labels are identifiers, such as ``/m/06cx9`` or ``Q42``.

``load_dataset`` gives a dataset the names in its folder (:func:`with_found_names`), or names from the user
(:func:`with_names`). Messages and tables show them.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.errors import DatasetError, refusing
from kgeval.base.notes import Example, Note
from kgeval.data.dataset import Dataset
from kgeval.data.tables import read_pairs

FILES = ("entity2text.txt", "relation2text.txt")
"""the files of names of KG-BERT (Yao et al., 2019) and of most datasets with text since"""

NamesSource = Mapping[str, str] | str | Path | Iterable[str | Path]
"""names by label, or one file of names, or several"""


def with_names(dataset: Dataset, names: NamesSource) -> Dataset:
    """Give a dataset human names, which messages and tables show; if a label has two names, the first counts."""
    alone = isinstance(names, (Mapping, str, Path)) or not isinstance(names, Iterable)
    parts: Any = [names] if alone else names
    return replace(dataset, names={**ChainMap(*(_read(dataset, part) for part in parts))})


def _read(dataset: Dataset, source: Mapping[str, str] | str | Path) -> dict[str, str]:
    names = dict(source) if isinstance(source, Mapping) else read_names(source)
    with refusing("names", "expected text by label", pa.ArrowException, TypeError, UnicodeEncodeError):
        pa.array([*names, *names.values()], pa.string())
    if not any(num_named(dataset, names).values()):
        where = "names" if isinstance(source, Mapping) else source
        named, label = next(iter(names), None), next(iter(dataset.entities), None)
        hint = f"The dataset has labels like {label!r:.60}, the names are for labels like {named!r:.60}."
        raise DatasetError(f"{where}: no label there is in dataset {dataset.name}. {hint}")
    return names


def read_names(path: str | Path) -> dict[str, str]:
    """Read a file of names such as ``entity2text.txt``: a label, a tab and its name in each row."""
    if not isinstance(path, (str, os.PathLike)):
        raise DatasetError(f"names: expected a dictionary by label, a file or several files; found {path!r:.60}.")
    path = Path(path)
    table = read_pairs(path, ["label", "name"], "a tab")
    labels, names = table["label"], pc.ascii_trim_whitespace(table["name"])
    counts = pc.value_counts(labels)
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        twice = names.filter(pc.equal(labels, repeated[0]))
        clash = f"{len(twice)} names, {twice[0].as_py()!r:.60} and {twice[1].as_py()!r:.60}"
        raise DatasetError(f"{path}: {repeated[0].as_py()!r} has {clash}. Keep one of them.")
    there = pc.not_equal(names, "")
    return dict(zip(labels.filter(there).to_pylist(), names.filter(there).to_pylist(), strict=True))


def num_named(dataset: Dataset, names: Mapping[str, str]) -> dict[str, int]:
    """Count the entities and the relations that have a name."""
    parts = {"entities": dataset.entities, "relations": dataset.relations}
    return {kind: int((part.ids(list(names)) >= 0).sum()) for kind, part in parts.items()}


def with_found_names(dataset: Dataset, folder: Path) -> Dataset:
    """Give a dataset the names that its folder holds, if any; where they cannot be read, a note says why."""
    names: list[str | Path] = [folder / name for name in FILES if (folder / name).is_file()]
    try:
        return with_names(dataset, names) if names else dataset
    except DatasetError as error:
        note = Note("files", "the names beside the triples are not shown.", Example(f" {error}"))
        return replace(dataset, notes=(*dataset.notes, note))
