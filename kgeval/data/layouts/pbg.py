"""PyTorch-BigGraph's folders: labels of entities as JSON, and edges as HDF5, one folder a split, one file a bucket.

Needs h5py: the extra ``kgeval[pbg]``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.io.binary_ids import id_columns, labels_of_ids
from kgeval.data.layout import Layout
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError, FileError, InputError, reason
from kgeval.files.containers import open_hdf5
from kgeval.files.opening import read_json, refuse_special

NAMES, EDGES = re.compile(r"entity_names_(.+)_([0-9]+)\.json"), re.compile(r"edges_([0-9]+)_([0-9]+)\.h5")

RELATIONS = "dynamic_rel_names.json"

LARGEST = 1000
"""how many times its size a file may hold, compressed"""

STEMS = {"train": ("train",), "valid": ("valid", "dev"), "test": ("test",)}
"""what the name of a split's folder contains"""


def read(folder: Path) -> Dataset:
    """Read ``entity_names_<type>_<partition>.json``, ``dynamic_rel_names.json`` and the edges of each split.

    The edges of a split are the ``edges_<i>_<j>.h5`` (``lhs``, ``rel``, ``rhs``) in the folder whose name contains
    train, valid (optional) or test. Ids count within their partition. There must be one type of entities: which types
    a relation connects is in no file of the folder. Without names of relations, their ids are labelled by themselves.
    """
    partitions = _partitions(folder)
    names = [_names(path) for path in partitions]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in names])]).astype(np.int64)
    entities = _vocabulary(folder, pa.chunked_array([pa.array([], pa.string()), *names]), "entity")
    files = {split: _buckets(place) for split, place in _splits(folder).items()}
    splits = {
        split: Triples(np.concatenate([_edges(path, starts).ids for path in paths])) for split, paths in files.items()
    }
    for split, triples in splits.items():
        if len(triples) == 0:
            raise DatasetError(f"{files[split][0].parent}: no edges in it.")
    path = folder / RELATIONS
    refuse_special(path)
    relations = (
        _vocabulary(folder, _names(path), "relation") if path.is_file() else labels_of_ids(folder, "relation", splits)
    )
    label_files = (*partitions, path) if path.is_file() else partitions
    return Dataset.build(
        folder.resolve().name,
        splits,
        entities=entities,
        relations=relations,
        files=(*label_files, *(path for paths in files.values() for path in paths)),
        where=lambda split, row: f"{files[split][0].parent}, row {row + 1}: the triple",
    )


def _partitions(folder: Path) -> list[Path]:
    """Find the files of labels, in the order of their partitions."""
    found = [(match, path) for path in folder.iterdir() if (match := NAMES.fullmatch(path.name))]
    kinds = sorted({match[1] for match, _ in found})
    if len(kinds) != 1:
        raise DatasetError(
            f"{folder}: expected the labels of one type of entities (entity_names_<type>_0.json), found "
            f"{len(kinds)} types ({', '.join(kinds)}). Write graphs of several types as labelled triples."
        )
    ordered = [path for _, path in sorted((int(match[2]), path) for match, path in found)]
    for part, path in enumerate(ordered):
        if path.name != f"entity_names_{kinds[0]}_{part}.json":
            raise DatasetError(f"{folder}: no entity_names_{kinds[0]}_{part}.json, but {path.name}.")
    return ordered


def _names(path: Path) -> pa.Array:
    try:
        names = read_json(path)
        if isinstance(names, list):
            return Vocabulary(map(str, names)).labels
    except FileError:
        raise
    except (OSError, ValueError, RecursionError, InputError) as error:
        raise DatasetError(f"{path}: cannot be read as a list of labels ({reason(error)}).") from error
    raise DatasetError(f"{path}: expected a list of labels.")


def _vocabulary(folder: Path, labels: Any, kind: str) -> Vocabulary:
    try:
        return Vocabulary(labels, kind)
    except InputError as error:
        raise DatasetError(f"{folder}: {error}") from error


def _splits(folder: Path) -> dict[str, Path]:
    inside = [place for place in sorted(folder.iterdir()) if place.is_dir() and _buckets(place)]
    found = {}
    for split, stems in STEMS.items():
        matching = [place for place in inside if any(stem in place.name.lower() for stem in stems)]
        if len(matching) > 1 or (not matching and split != "valid"):
            shown = ", ".join(place.name for place in matching or inside) or "none"
            raise DatasetError(f"{folder}: expected one folder of {split} edges (edges_0_0.h5), found {shown}.")
        if matching:
            found[split] = matching[0]
    return found


def _buckets(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if EDGES.fullmatch(path.name))


def _edges(path: Path, starts: IntArray) -> Triples:
    """Read a bucket: edges from one partition to another."""
    with open_hdf5(path, times=LARGEST) as file:
        lhs, rel, rhs = (file.read(name) for name in ("lhs", "rel", "rhs"))
    triples = id_columns(path, (lhs, rel, rhs))
    match = EDGES.fullmatch(path.name)
    parts = [int(part) for part in match.groups()] if match else []
    for side, ids, part in zip(("lhs", "rhs"), (triples.heads, triples.tails), parts, strict=True):
        if part >= len(starts) - 1 or (len(ids) and ids.max() >= starts[part + 1] - starts[part]):
            raise DatasetError(f"{path}: {side} names an id that partition {part} has no label for.")
    offsets = np.array([starts[parts[0]], 0, starts[parts[1]]])
    return Triples(triples.ids + offsets)


LAYOUT = Layout(
    name="pbg",
    summary="entity_names_<type>_0.json, dynamic_rel_names.json, and folders of edges_0_0.h5 (train, valid, test)",
    recognises=lambda folder: any(folder.glob("entity_names_*_*.json")) and any(folder.glob("*train*/edges_*_*.h5")),
    read=read,
    needs=(("dynamic_rel_names.json",), ("entity_names_*_0.json",), ("*/edges_0_0.h5",)),
)
