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

What the dataset is called, where its ids are from and its notes are the metadata ``kgeval.dataset`` of the entities.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgeval.arrays import IntArray
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.human_names import Names
from kgeval.data.layout import Layout
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError, FileError, InputError, reason
from kgeval.files.containers import read_parquet
from kgeval.storage import replacing_folder

KEY = b"kgeval.dataset"
LABELS = {"entities": "entity", "relations": "relation", "times": "time"}
IDS = ("head", "relation", "tail", "time")
FALSE = {split: f"{split}_false" for split in SPLITS}
OPTIONAL = ("times", "names", *FALSE.values())
TRAINING = "training"

MOST_ROWS = 2**31
"""more rows than a split has, repeated ones too"""


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
    own = {*graphs, *(_file(path, name) for path in graphs for name in (*LABELS, *SPLITS, *OPTIONAL))}
    if others := sorted({*folder.rglob("*")} - own):
        found = str(others[0].relative_to(folder))
        raise InputError(f"{str(folder)!r} also holds {found!r}, which would be deleted. Choose another name.")
    with replacing_folder(folder) as partial:
        _write(dataset, partial)


def _write(dataset: Dataset, folder: Path) -> None:
    about = {"version": 1, "name": dataset.name, "id_source": dataset.id_source, "notes": dataset.notes}
    for name in LABELS:
        if (labels := getattr(dataset, name)) is not None:
            pq.write_table(
                pa.table({"label": labels.labels}).replace_schema_metadata({KEY: json.dumps(about)}),
                _file(folder, name),
            )
    for split in SPLITS:
        triples: Triples = getattr(dataset, split)
        further = {}
        if split in dataset.confidences:
            triples, further["confidence"] = dataset.confidences[split].triples, dataset.confidences[split].labels
        elif split in dataset.multiplicity:
            further["multiplicity"] = _compact(dataset.multiplicity[split])
        contexts = [] if triples.contexts is None else [triples.contexts]
        columns = dict(zip(IDS, map(_compact, [*triples.ids.T, *contexts]), strict=False))
        pq.write_table(pa.table({**columns, **further}), _file(folder, split))
    for part, triples in dataset.negatives.items():
        pq.write_table(
            pa.table(dict(zip(IDS, map(_compact, triples.ids.T), strict=False))), _file(folder, f"{part}_false")
        )
    if dataset.names:
        names = dataset.names if isinstance(dataset.names, Names) else Names.of(dataset.names)
        pq.write_table(pa.table({"label": names.labels, "name": names.names}), _file(folder, "names"))
    if dataset.training_graph is not None:
        (folder / TRAINING).mkdir()
        _write(dataset.training_graph, folder / TRAINING)


def read(folder: Path) -> Dataset:
    """Read what :func:`save_dataset` wrote."""
    dataset = _read_graph(folder)
    if not (folder / TRAINING).is_dir():
        return dataset
    training = _read_graph(folder / TRAINING)
    return replace(dataset, training_graph=training, files=(*dataset.files, *training.files))


def _read_graph(folder: Path) -> Dataset:
    paths = {name: _file(folder, name) for name in dict.fromkeys([*LABELS, *SPLITS, *OPTIONAL])}
    files = {name: _Stored.read(path) for name, path in paths.items() if name not in OPTIONAL or path.exists()}
    about = files["entities"].about()
    vocabularies = {name: files[name].vocabulary(kind) for name, kind in LABELS.items() if name in files}
    splits: dict[str, Triples] = {split: files[split].triples() for split in SPLITS}
    dataset = Dataset.build(
        about["name"],
        splits,
        **vocabularies,
        files=tuple(file.path for file in files.values()),
        confidences={split: files[split].numbers("confidence") for split in SPLITS if files[split].has("confidence")},
        id_source=about["id_source"],
        notes=tuple(map(str, about["notes"])),
        where=lambda split, row: f"{paths[split]}: triple {row}",
        negatives={split: files[name].triples() for split, name in FALSE.items() if name in files},
    )
    counts = {split: files[split].multiplicity(dataset.multiplicity.get(split)) for split in SPLITS}
    dataset = replace(dataset, multiplicity={split: times for split, times in counts.items() if times is not None})
    if "names" in files:
        labels, names = (pa.chunked_array(files["names"].texts(column)) for column in ("label", "name"))
        dataset = replace(dataset, names=Names(labels, names))
    return dataset


class _Stored(NamedTuple):
    """A file, and the table that was read from it; every column is checked, for anything may have changed it."""

    path: Path
    table: pa.Table

    @classmethod
    def read(cls, path: Path) -> _Stored:
        try:
            stored = cls(path, read_parquet(path))
        except FileNotFoundError as error:
            raise DatasetError(f"{path}: it is missing. Convert the dataset again.") from error
        except FileError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _damaged(path, reason(error)) from error
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
        labels = pa.chunked_array(self.texts("label"), pa.string())
        try:
            return Vocabulary(labels, kind)
        except InputError as error:
            raise _damaged(self.path, str(error).rstrip(".")) from error

    def texts(self, column: str) -> list[pa.Array]:
        """Take a column of texts whose bytes are UTF-8, which Parquet does not check."""
        if not self.has(column) or self.table.schema.field(column).type != pa.string():
            raise _damaged(self.path, f"it has no column {column} of text")
        try:
            self.table[column].validate(full=True)
        except pa.ArrowInvalid as error:
            raise _damaged(self.path, reason(error)) from error
        return list(self.table[column].chunks) or [pa.array([], pa.string())]

    def triples(self) -> Triples:
        columns = [self.numbers(name) for name in IDS if name != "time" or self.has(name)]
        return Triples(np.stack(columns[:3], axis=1), columns[3] if len(columns) > 3 else None)

    def numbers(self, column: str) -> np.ndarray[Any, Any]:
        kinds = (pa.float64(),) if column == "confidence" else (pa.int32(), pa.int64())
        if not self.has(column) or self.table.schema.field(column).type not in kinds:
            raise _damaged(self.path, f"it has no column {column} of {' or '.join(map(str, kinds))}")
        if self.table[column].null_count:
            raise _damaged(self.path, f"its column {column} has empty cells")
        numbers = self.table[column].to_numpy()
        if column == "confidence" and not ((numbers >= 0) & (numbers < np.inf)).all():
            raise _damaged(self.path, "a confidence is not a number from 0")
        return np.asarray(numbers, None if column == "confidence" else np.int64)

    def multiplicity(self, counted: IntArray | None) -> IntArray | None:
        """Read how often triples were repeated; of a weighted graph, whose rows are all there, they were counted."""
        if counted is not None and not self.has("confidence"):
            raise _damaged(self.path, "a triple occurs twice")
        if counted is not None or not self.has("multiplicity"):
            return counted
        times = self.numbers("multiplicity")
        if (times < 1).any() or times.sum(dtype=np.float64) > MOST_ROWS:
            raise _damaged(self.path, f"its multiplicities must be at least 1, and at most {MOST_ROWS:,} in all")
        return times


def _damaged(path: Path, why: str) -> DatasetError:
    return DatasetError(f"{path}: {why}. Convert the dataset again.")


def _is_converted(path: Path) -> bool:
    """Whether a file of labels is of this layout, whatever the other files are; it may be missing or damaged."""
    try:
        return path.is_file() and KEY in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def _compact(ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return ids.astype(np.int32) if int(ids.max(initial=0)) < 2**31 else ids


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.parquet"


LAYOUT = Layout(
    name="converted",
    summary="what kgeval convert writes of any dataset: labels in entities.parquet and relations.parquet, ids in "
    "train.parquet, valid.parquet and test.parquet",
    recognises=lambda folder: any(_is_converted(_file(folder, name)) for name in ("entities", "relations")),
    read=read,
    needs=tuple((f"{name}.parquet",) for name in ("entities", "relations", *SPLITS)),
)
