"""Human names of entities and relations whose labels are identifiers, such as ``/m/06cx9`` or ``Q42``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.errors import DatasetError, refusing
from kgeval.data.dataset import Dataset
from kgeval.data.tables import read_pairs

FILES = ("entity2text.txt", "relation2text.txt")
"""the files of names of KG-BERT (Yao et al., 2019) and of most datasets with text since"""

NamesSource = Mapping[str, str] | str | Path | Iterable[str | Path]
"""names by label, or a file of them, or several"""


@dataclass(frozen=True, eq=False)
class Names(Mapping[str, str]):
    """Names by label, as a file has them."""

    labels: pa.ChunkedArray
    """string[name], distinct"""
    names: pa.ChunkedArray
    """string[name]"""

    @classmethod
    def of(cls, names: Mapping[str, str]) -> Names:
        with refusing("names", "expected text by label", pa.ArrowException, TypeError, UnicodeEncodeError):
            columns = (pa.array(column, pa.string()) for column in (names.keys(), names.values()))
            return cls(*(pa.chunked_array([column]) for column in columns))

    @classmethod
    def merged(cls, parts: Iterable[Names]) -> Names:
        """Merge names; of two for one label, the first counts."""
        table = pa.concat_tables([pa.table({"label": part.labels, "name": part.names}) for part in parts])
        distinct = table.group_by("label", use_threads=False).aggregate([("name", "first")])
        return cls(distinct["label"], distinct["name_first"])

    def __getitem__(self, label: str) -> str:
        index = pc.index(self.labels, pa.scalar(label, pa.string())).as_py()
        if index < 0:
            raise KeyError(label)
        return str(self.names[index].as_py())

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels.to_pylist())

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Names({len(self)} names)"


def read_names(path: str | Path) -> Names:
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
        found = f"{len(twice)} names, {twice[0].as_py()!r:.60} and {twice[1].as_py()!r:.60}"
        raise DatasetError(f"{path}: {repeated[0].as_py()!r} has {found}. Keep one of them.")
    there = pc.not_equal(names, "")
    return Names(labels.filter(there), names.filter(there))


def with_names(dataset: Dataset, names: NamesSource) -> Dataset:
    """Give a dataset human names, which messages and tables show."""
    alone = isinstance(names, (Mapping, str, Path)) or not isinstance(names, Iterable)
    parts: Any = [names] if alone else names
    return replace(dataset, names=Names.merged(_read(dataset, part) for part in parts))


def _read(dataset: Dataset, source: Mapping[str, str] | str | Path) -> Names:
    names = Names.of(source) if isinstance(source, Mapping) else read_names(source)
    if not any(num_named(dataset, names).values()):
        where = "names" if isinstance(source, Mapping) else source
        named, label = next(iter(names), None), next(iter(dataset.entities), None)
        found = f"The dataset has labels like {label!r:.60}, the names are for labels like {named!r:.60}."
        raise DatasetError(f"{where}: no label there is in dataset {dataset.name}. {found}")
    return names


def with_found_names(dataset: Dataset, folder: Path) -> Dataset:
    """Give a dataset the names that its folder holds, if any; where they cannot be read, a note says why."""
    names: list[str | Path] = [folder / name for name in FILES if (folder / name).is_file()]
    try:
        return with_names(dataset, names) if names else dataset
    except DatasetError as error:
        return replace(dataset, notes=(*dataset.notes, f"the names beside the triples are not shown. {error}"))


def num_named(dataset: Dataset, names: Mapping[str, str]) -> dict[str, int]:
    """Count the entities and the relations that have a name."""
    labels = names.labels if isinstance(names, Names) else list(names)
    parts = {"entities": dataset.entities, "relations": dataset.relations}
    return {kind: int((part.ids(labels) >= 0).sum()) for kind, part in parts.items()}
