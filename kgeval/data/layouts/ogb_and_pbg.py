"""Layouts of binary files: the Open Graph Benchmark's dictionaries of ids, and PyTorch-BigGraph's buckets of edges.

The first half is ``OGB``, the second ``PBG``, which needs h5py (the extra ``kgeval[pbg]``). The registry of layouts
finds both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import IntArray
from kgeval.base.containers import open_hdf5
from kgeval.base.errors import DatasetError, InputError, naming, refusing
from kgeval.base.files import read_json, refuse_special
from kgeval.base.pickled import read_pickled
from kgeval.data.columns import TRIPLE
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.id_files import labels_of_ids, refuse_sparse, vocabulary_by_id
from kgeval.data.layouts import Layout
from kgeval.data.layouts.id_folders import without_missing_valid
from kgeval.data.tables import read_text
from kgeval.data.text import refuse_missing, rows
from kgeval.data.triples import SIDES, Triples
from kgeval.data.vocabulary import Vocabulary

COUNTS = "raw/num-node-dict.csv.gz"
"""OGB's file with the number of entities of each type, in the order in which the types are numbered"""

MAPPINGS = {"entity": "mapping/nodeidx2entityid.csv.gz", "relation": "mapping/reltype2relid.csv.gz"}
"""OGB's files of the labels of ids, if entities have no types"""

OF_ENTITIES = (*SIDES, "head_neg", "tail_neg")
"""the columns that hold ids of entities"""

Content = Mapping[str, Any]
"""the dictionary of a split: ``head``, ``relation`` and ``tail`` have ids, ``head_type`` and ``tail_type`` text,
``head_neg`` and ``tail_neg`` rows of ids"""


def read_ogb(folder: Path) -> Dataset:
    """Read ``split/<name>/{train,valid,test}.pt``; nothing in them is executed.

    The ids of each type of entities start at 0; entities are labelled ``type:id``, and ids follow the types in the
    order of ``raw/num-node-dict.csv.gz``, or else of their names. Entities without types are labelled by the files in
    ``mapping``, or else by their ids.
    """
    places = sorted(folder.glob("split/*/train.pt"))
    if len(places) != 1:
        ways = ", ".join(place.parent.name for place in places) or "none"
        raise DatasetError(f"{folder}: expected one way of splitting (split/<name>/train.pt), found {ways}.")
    files = without_missing_valid({split: places[0].with_name(f"{split}.pt") for split in SPLITS})
    contents = {split: read_content(path) for split, path in files.items()}
    entities = _entities(folder, _sizes(contents.values(), OF_ENTITIES))
    relations = _labels(folder, "relation", _sizes(contents.values(), ["relation"])[""])
    splits = {split: triples_of(files[split], content, entities, relations) for split, content in contents.items()}
    name = folder.resolve().name
    return Dataset.build(name, splits, entities=entities, relations=relations, files=tuple(files.values()))


OGB = Layout(
    name="ogb",
    summary="split/<name>/train.pt, valid.pt (optional) and test.pt of head, relation, tail; labels in mapping/",
    recognises=lambda folder: any(folder.glob("split/*/train.pt")),
    read=read_ogb,
    needs=(("split/*/train.pt",), ("split/*/test.pt",)),
)


def read_content(path: Path) -> Content:
    """Read the dictionary of one split."""
    refuse_missing(path)
    content = read_pickled(path)
    if not isinstance(content, dict) or not {*TRIPLE} <= content.keys():
        raise DatasetError(f"{path}: expected a dictionary with head, relation and tail. Is it a split of OGB?")
    ids = {key: np.asarray(content[key]) for key in ("relation", *OF_ENTITIES) if key in content}
    for key, column in ids.items():
        if column.dtype.kind not in "iu" or column.ndim != 1 + key.endswith("_neg") or len(column) != len(ids["head"]):
            held = f"{path}: {key} holds {column.dtype} of shape {list(column.shape)}"
            raise DatasetError(f"{held}; expected ids for each of {len(ids['head'])} triples.")
        refuse_sparse(str(path), key, column)
        ids[key] = column.astype(np.int64, copy=False)
    types = {key: np.asarray(content[key], np.str_) for key in ("head_type", "tail_type") if key in content}
    if len(types) == 1 or any(column.shape != ids["head"].shape for column in types.values()):
        raise DatasetError(f"{path}: head_type and tail_type must have one type for each triple.")
    return {**ids, **types}


def _by_type(content: Content, key: str) -> Iterator[tuple[str, Any]]:
    """Yield each type of the ids in a column, and its rows; if ids have no types, yield an empty type and all rows."""
    types = content.get(f"{key.removesuffix('_neg')}_type")
    yield from [("", slice(None))] if types is None else ((str(kind), types == kind) for kind in np.unique(types))


def find_ids(path: Path, content: Content, key: str, labels: Vocabulary) -> IntArray:
    """Find the dataset's ids for a column of ids, or for rows of negatives, by the labels that mappings may give."""
    root, ids = path.resolve().parents[2], content[key]  # path is split/<name>/test.pt in the root
    matched = np.full(ids.shape, -1, np.int64)
    for kind, typed in _by_type(content, key):
        size = 1 + int(ids[typed].max(initial=-1))
        names = _typed(kind, size) if kind else _labels(root, labels.kind, size).labels
        # An id without a label, or below 0, gets the -1 at the end.
        known = np.append(labels.ids(names), -1)
        matched[typed] = known[np.where((ids[typed] >= 0) & (ids[typed] < len(names)), ids[typed], len(names))]
    if (matched < 0).any():
        row = int(np.argwhere(matched < 0)[0][0])
        raise DatasetError(f"{path}, row {row + 1}: {key} has an id that no {labels.kind} has.")
    return matched


def triples_of(path: Path, content: Content, entities: Vocabulary, relations: Vocabulary) -> Triples:
    """Find the triples of a split by their labels."""
    if len(content["head"]) == 0:
        raise DatasetError(f"{path}: no triples in it.")
    columns = zip(TRIPLE, (entities, relations, entities), strict=True)
    return Triples(np.stack([find_ids(path, content, key, labels) for key, labels in columns], axis=1))


def _sizes(contents: Iterable[Content], keys: Sequence[str]) -> dict[str, int]:
    """Count the ids of each type up to the largest, in some columns."""
    sizes: dict[str, int] = {}
    for content, key in product(contents, keys):
        for kind, typed in _by_type(content, key) if key in content else ():
            sizes[kind] = max(sizes.get(kind, 0), 1 + int(content[key][typed].max(initial=-1)))
    return sizes


def _entities(folder: Path, sizes: Mapping[str, int]) -> Vocabulary:
    if "" in sizes:
        return _labels(folder, "entity", sizes[""])
    counted = _counts(folder / COUNTS) if (folder / COUNTS).is_file() else dict(sorted(sizes.items()))
    return Vocabulary(pa.chunked_array([_typed(kind, size) for kind, size in counted.items()]))


def _typed(kind: str, size: int) -> pa.Array:
    return pa.array([f"{kind}:{index}" for index in range(size)], pa.string())


def _labels(root: Path, kind: str, size: int) -> Vocabulary:
    """Label all ids that the mapping has, or else the first ``size``."""
    path = root / MAPPINGS[kind]
    if not path.is_file():
        return Vocabulary.numbered(size, kind)
    return _read_mapping(path, kind, path.stat().st_mtime_ns)


@lru_cache(maxsize=len(MAPPINGS))
def _read_mapping(path: Path, kind: str, _: int) -> Vocabulary:
    """Read the labels once for all splits and sides, unless the time of the file changes."""
    return vocabulary_by_id(read_text(path, ("id", "label"), skip=1), kind)


def _counts(path: Path) -> dict[str, int]:
    """Read a header of types, and one row of how many entities each has."""
    with refusing(path, "expected a row of types and a row of their counts", ValueError, InputError):
        names, counts = (row.cells for row in rows(path))
        return dict(zip(names, map(int, counts), strict=True))


NAMES, EDGES = re.compile(r"entity_names_(.+)_([0-9]+)\.json"), re.compile(r"edges_([0-9]+)_([0-9]+)\.h5")

RELATIONS = "dynamic_rel_names.json"

LARGEST = 1000
"""the most bytes that a compressed file may hold, as a multiple of its size"""

STEMS = {"train": ("train",), "valid": ("valid", "dev"), "test": ("test",)}
"""what the name of a split's folder contains"""


def read_pbg(folder: Path) -> Dataset:
    """Read ``entity_names_<type>_<partition>.json``, ``dynamic_rel_names.json`` and the edges of each split.

    The edges of a split are the ``edges_<i>_<j>.h5`` (``lhs``, ``rel``, ``rhs``) in the folder whose name contains
    train, valid (optional) or test. Ids start at 0 in each partition. There must be one type of entities: which types
    a relation connects is in no file of the folder. Without names of relations, their ids are labelled by themselves.
    """
    partitions = _partitions(folder)
    names = [read_names(path, "entity").labels for path in partitions]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in names])]).astype(np.int64)
    with naming(folder):
        entities = Vocabulary(pa.chunked_array(names, pa.string()))
    files = {split: _buckets(place) for split, place in _splits(folder).items()}
    edges = {split: [_edges(path, starts).ids for path in paths] for split, paths in files.items()}
    splits = {split: Triples(np.concatenate(parts)) for split, parts in edges.items()}
    for split, triples in splits.items():
        if len(triples) == 0:
            raise DatasetError(f"{files[split][0].parent}: no edges in it.")
    path = folder / RELATIONS
    refuse_special(path)
    relations = read_names(path, "relation") if path.is_file() else labels_of_ids(folder, "relation", splits)
    label_files = (*partitions, path) if path.is_file() else partitions
    return Dataset.build(
        folder.resolve().name,
        splits,
        entities=entities,
        relations=relations,
        files=(*label_files, *(path for paths in files.values() for path in paths)),
        where=lambda split, row: f"{files[split][0].parent}, row {row + 1}: the triple",
    )


PBG = Layout(
    name="pbg",
    summary="entity_names_<type>_0.json, dynamic_rel_names.json, and folders of edges_0_0.h5 (train, valid, test)",
    recognises=lambda folder: any(folder.glob("entity_names_*_*.json")) and any(folder.glob("*train*/edges_*_*.h5")),
    read=read_pbg,
    needs=(("dynamic_rel_names.json",), ("entity_names_*_0.json",), ("*/edges_0_0.h5",)),
)


def _partitions(folder: Path) -> list[Path]:
    """Find the files of labels, in the order of their partitions."""
    files = [(match, path) for path in folder.iterdir() if (match := NAMES.fullmatch(path.name))]
    kinds = sorted({match[1] for match, _ in files})
    if len(kinds) != 1:
        expected = f"{folder}: expected the labels of one type of entities (entity_names_<type>_0.json)"
        raise DatasetError(f"{expected}, found {len(kinds)} ({', '.join(kinds)}). Write the graph as labelled triples.")
    ordered = [path for _, path in sorted((int(match[2]), path) for match, path in files)]
    for part, path in enumerate(ordered):
        if path.name != f"entity_names_{kinds[0]}_{part}.json":
            raise DatasetError(f"{folder}: no entity_names_{kinds[0]}_{part}.json, but {path.name}.")
    return ordered


def read_names(path: Path, kind: str) -> Vocabulary:
    """Read a JSON list of labels, as PyTorch-BigGraph writes it."""
    with refusing(path, "cannot be read as a list of labels", OSError, ValueError, RecursionError):
        names = read_json(path)
    if not isinstance(names, list):
        raise DatasetError(f"{path}: expected a list of labels.")
    with naming(path):
        return Vocabulary(map(str, names), kind)


def _splits(folder: Path) -> dict[str, Path]:
    inside = [place for place in sorted(folder.iterdir()) if place.is_dir() and _buckets(place)]
    chosen = {}
    for split, stems in STEMS.items():
        matching = [place for place in inside if any(stem in place.name.lower() for stem in stems)]
        if len(matching) > 1 or (not matching and split != "valid"):
            shown = ", ".join(place.name for place in matching or inside) or "none"
            raise DatasetError(f"{folder}: expected one folder of {split} edges (edges_0_0.h5), found {shown}.")
        if matching:
            chosen[split] = matching[0]
    return chosen


def _buckets(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if EDGES.fullmatch(path.name))


def _edges(path: Path, starts: IntArray) -> Triples:
    """Read a bucket: edges from one partition to another."""
    with open_hdf5(path, times=LARGEST) as file:
        columns = [file.read(name) for name in ("lhs", "rel", "rhs")]
    with refusing(path, "expected as many heads as relations and tails", ValueError), naming(path):
        triples = Triples.of(np.stack(columns, axis=1))
    parts = [int(part) for part in path.stem.split("_")[1:]]
    for side, ids, part in zip(("lhs", "rhs"), (triples.heads, triples.tails), parts, strict=True):
        if part >= len(starts) - 1 or (len(ids) and ids.max() >= starts[part + 1] - starts[part]):
            raise DatasetError(f"{path}: {side} names an id that partition {part} has no label for.")
    return Triples(triples.ids + np.array([starts[parts[0]], 0, starts[parts[1]]]))
