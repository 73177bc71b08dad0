"""Converted datasets: ids and labels in Parquet files, which load many times faster than text.

=========================================  =============================================================================
file                                       columns
=========================================  =============================================================================
entities, relations, times .parquet        ``label``, in the order of the ids; times of a temporal graph only
train, valid, test .parquet                ``head``, ``relation``, ``tail``, perhaps ``time``: ids; perhaps
                                           ``confidence`` of each row, or else ``multiplicity`` of each triple
train_false, valid_false, … .parquet       likewise, of the triples that are called false
names .parquet                             ``label`` and ``name``, where entities or relations have human names
training/                                  the graph that models learn from, of an inductive dataset
=========================================  =============================================================================

The metadata ``kgeval.dataset`` of the entities have the name of the dataset, the source of its ids and its notes.
:func:`save_dataset` (``kgeval convert``) writes the files; the registry of layouts finds ``LAYOUT``, which reads them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgeval.base.arrays import IntArray
from kgeval.base.assumptions import Assumption
from kgeval.base.containers import read_parquet
from kgeval.base.errors import DatasetError, InputError, refusing
from kgeval.base.notes import restored, stored
from kgeval.base.storage import replacing_folder
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.layouts import Layout
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary

KEY = b"kgeval.dataset"
LABELS = {"entities": "entity", "relations": "relation", "times": "time"}
IDS = ("head", "relation", "tail", "time")
FALSE: dict[str, str] = {split: f"{split}_false" for split in SPLITS}
OPTIONAL = ("times", "names", *FALSE.values())
TRAINING = "training"

TYPES = {
    **dict.fromkeys((*IDS, "multiplicity"), (pa.int32(), pa.int64())),
    **dict.fromkeys(("label", "name"), (pa.string(),)),
    "confidence": (pa.float64(),),
}
"""a column -> the types that it may have"""

AGAIN = "Convert the dataset again."

MOST_ROWS = 2**31
"""the most rows of a split, counting repeated triples"""


def save_dataset(dataset: Dataset, folder: str | Path, *, replace_folder: bool = False) -> None:
    """Write a dataset so that ``load_dataset`` reads it many times faster than text, with the same ids and labels.

    Parameters
    ----------
    dataset
        any: with times, confidences, human names or a training graph too
    folder
        a folder that is not there yet
    replace_folder
        whether a converted dataset of that name is replaced

    Raises
    ------
    InputError
        if the folder is there, and is not to be replaced or holds something else
    RunError
        if it cannot be written; then nothing is left under that name

    Examples
    --------
    >>> import tempfile
    >>> from kgeval import load_dataset
    >>> data = load_dataset("nations")
    >>> with tempfile.TemporaryDirectory() as place:
    ...     save_dataset(data, Path(place) / "nations")
    ...     load_dataset(Path(place) / "nations").sha256() == data.sha256()
    True
    """
    folder = Path(folder)
    if folder.exists() and not (replace_folder and LAYOUT.recognises(folder)):
        why = "exists, but is not a converted dataset" if replace_folder else "already exists"
        raise InputError(f"{str(folder)!r} {why}. Choose another name.")
    graphs = [path for path in (folder, folder / TRAINING) if LAYOUT.recognises(path)]
    files = {*graphs, *(_file(path, name) for path in graphs for name in (*LABELS, *SPLITS, *OPTIONAL))}
    if others := sorted({*folder.rglob("*")} - files):
        other = str(others[0].relative_to(folder))
        raise InputError(f"{str(folder)!r} also holds {other!r}, which would be deleted. Choose another name.")
    with replacing_folder(folder) as partial:
        _write(dataset, partial)


def _write(dataset: Dataset, folder: Path) -> None:
    kept = ("name", "layout", "id_source", "assumptions")
    about = {"version": 1, **stored(dataset.notes)} | {name: getattr(dataset, name) for name in kept}
    for name in LABELS:
        if (labels := getattr(dataset, name)) is not None:
            table = pa.table({"label": labels.labels}).replace_schema_metadata({KEY: json.dumps(about)})
            pq.write_table(table, _file(folder, name))
    for split in SPLITS:
        triples: Triples = getattr(dataset, split)
        further = {}
        if split in dataset.confidences:
            triples, further["confidence"] = dataset.confidences[split].triples, dataset.confidences[split].labels
        elif split in dataset.multiplicity:
            further["multiplicity"] = _compact(dataset.multiplicity[split])
        pq.write_table(pa.table({**_columns(triples), **further}), _file(folder, split))
    for part, triples in dataset.negatives.items():
        pq.write_table(pa.table(_columns(triples.without_contexts())), _file(folder, FALSE[part]))
    if dataset.names:
        names = {"label": [*dataset.names], "name": [*dataset.names.values()]}
        pq.write_table(pa.table(names), _file(folder, "names"))
    if dataset.training_graph is not None:
        (folder / TRAINING).mkdir()
        _write(dataset.training_graph, folder / TRAINING)


def _columns(triples: Triples) -> dict[str, np.ndarray[Any, Any]]:
    contexts = [] if triples.contexts is None else [triples.contexts]
    return dict(zip(IDS, map(_compact, [*triples.ids.T, *contexts]), strict=False))


def read(folder: Path) -> Dataset:
    """Read what :func:`save_dataset` wrote."""
    dataset = _read_graph(folder)
    if not (folder / TRAINING).is_dir():
        return dataset
    training = _read_graph(folder / TRAINING)
    return replace(dataset, training_graph=training, files=(*dataset.files, *training.files))


LAYOUT = Layout(
    name="converted",
    summary="what kgeval convert writes of any dataset: labels in entities.parquet and relations.parquet, ids in "
    "train.parquet, valid.parquet and test.parquet",
    recognises=lambda folder: any(_is_converted(_file(folder, name)) for name in ("entities", "relations")),
    read=read,
    needs=tuple((f"{name}.parquet",) for name in ("entities", "relations", *SPLITS)),
)


def _is_converted(path: Path) -> bool:
    """Whether a file of labels is of this layout, whatever the other files are; it may be missing or damaged."""
    with suppress(pa.ArrowException, OSError):
        return path.is_file() and KEY in (pq.read_schema(path).metadata or {})
    return False


def _read_graph(folder: Path) -> Dataset:
    paths = {name: _file(folder, name) for name in dict.fromkeys([*LABELS, *SPLITS, *OPTIONAL])}
    files = {name: _Stored.read(path) for name, path in paths.items() if name not in OPTIONAL or path.exists()}
    about = files["entities"].about()
    vocabularies = {name: files[name].vocabulary(kind) for name, kind in LABELS.items() if name in files}
    old = [("columns", "head, relation, tail", "usual", about["suspicion"])] if about.get("suspicion") else []
    dataset = Dataset.build(
        about["name"],
        {split: files[split].triples() for split in SPLITS},
        **vocabularies,
        files=tuple(file.path for file in files.values()),
        confidences={split: files[split].numbers("confidence") for split in SPLITS if files[split].has("confidence")},
        id_source=about["id_source"],
        layout=str(about.get("layout", "")),
        assumptions=tuple(Assumption(*one) for one in about.get("assumptions", old)),
        notes=restored(about),
        where=lambda split, row: f"{paths[split]}: triple {row}",
        negatives={split: files[name].triples() for split, name in FALSE.items() if name in files},
    )
    counts = {split: files[split].multiplicity(dataset.multiplicity.get(split)) for split in SPLITS}
    dataset = replace(dataset, multiplicity={split: times for split, times in counts.items() if times is not None})
    if "names" in files:
        labels, names = (files["names"].column(name).to_pylist() for name in ("label", "name"))
        dataset = replace(dataset, names=dict(zip(labels, names, strict=True)))
    return dataset


class _Stored(NamedTuple):
    """A file, and the table that was read from it; every column is checked, as the file may have been changed."""

    path: Path
    table: pa.Table

    @classmethod
    def read(cls, path: Path) -> _Stored:
        if not path.exists():
            raise _damaged(path, "it is missing")
        with refusing(path, "it is damaged", pa.ArrowException, OSError, ValueError, cure=AGAIN):
            stored = cls(path, read_parquet(path))
        if len({*stored.table.column_names}) < stored.table.num_columns:
            raise _damaged(path, "two columns have one name")
        return stored

    def has(self, column: str) -> bool:
        return column in self.table.column_names

    def about(self) -> Mapping[str, Any]:
        try:
            about = json.loads((self.table.schema.metadata or {})[KEY])
            fits = about["version"] == 1 and isinstance(about["name"], str) and isinstance(about["notes"], list)
            if fits and isinstance(about["id_source"], str | None):
                return dict(about)
        except (ValueError, KeyError, TypeError):
            pass
        raise _damaged(self.path, f"its metadata {KEY.decode()} are not of this version")

    def vocabulary(self, kind: str) -> Vocabulary:
        labels = self.column("label")
        try:
            return Vocabulary(labels, kind)
        except InputError as error:
            raise _damaged(self.path, str(error).rstrip(".")) from error

    def column(self, name: str) -> pa.ChunkedArray:
        """Take a column of a known type, whose texts are UTF-8, which Parquet does not check."""
        if not self.has(name) or self.table.schema.field(name).type not in TYPES[name]:
            raise _damaged(self.path, f"it has no column {name} of {' or '.join(map(str, TYPES[name]))}")
        with refusing(self.path, f"its column {name} is damaged", pa.ArrowInvalid, cure=AGAIN):
            self.table[name].validate(full=True)
        return self.table[name]

    def triples(self) -> Triples:
        columns = [self.numbers(name) for name in IDS if name != "time" or self.has(name)]
        return Triples(np.stack(columns[:3], axis=1), columns[3] if len(columns) > 3 else None)

    def numbers(self, name: str) -> np.ndarray[Any, Any]:
        column = self.column(name)
        if column.null_count:
            raise _damaged(self.path, f"its column {name} has empty cells")
        numbers = column.to_numpy()
        if name == "confidence" and not ((numbers >= 0) & (numbers < np.inf)).all():
            raise _damaged(self.path, "a confidence is not a number from 0")
        return np.asarray(numbers, None if name == "confidence" else np.int64)

    def multiplicity(self, counted: IntArray | None) -> IntArray | None:
        """Return how often each triple occurs, int64[triple]; None if each does once.

        It was ``counted`` in a weighted graph, whose file has all rows; otherwise it is stored as a column.
        """
        if counted is not None and not self.has("confidence"):
            raise _damaged(self.path, "a triple occurs twice")
        if counted is not None or not self.has("multiplicity"):
            return counted
        times = self.numbers("multiplicity")
        if (times < 1).any() or times.sum(dtype=np.float64) > MOST_ROWS:
            raise _damaged(self.path, f"its multiplicities must be at least 1, and at most {MOST_ROWS:,} in all")
        return times


def _damaged(path: Path, why: str) -> DatasetError:
    return DatasetError(f"{path}: {why}. {AGAIN}")


def _compact(ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return ids.astype(np.int32) if int(ids.max(initial=0)) < 2**31 else ids


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.parquet"
