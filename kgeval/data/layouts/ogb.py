"""The Open Graph Benchmark's folders: dictionaries of id columns, perhaps per type of entity, with fixed negatives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.arrays import IntArray
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.io.binary_ids import refuse_sparse
from kgeval.data.io.id_files import read_vocabulary
from kgeval.data.io.text import refuse_missing, rows
from kgeval.data.layout import Layout
from kgeval.data.layouts.id_folders import without_missing_valid
from kgeval.data.triples import SIDES, Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError, InputError
from kgeval.pickles.pickled import read_torch

COUNTS = "raw/num-node-dict.csv.gz"
"""how many entities of each type there are, in the order in which the types are numbered"""

MAPPINGS = {"entity": "mapping/nodeidx2entityid.csv.gz", "relation": "mapping/reltype2relid.csv.gz"}
"""the labels of the ids, where entities have no types"""

Content = Mapping[str, Any]
"""``head``, ``relation``, ``tail``: ids; ``head_type``, ``tail_type``: text; ``head_neg``, ``tail_neg``: rows of ids"""


def read(folder: Path) -> Dataset:
    """Read ``split/<name>/{train,valid,test}.pt``; nothing in them is executed.

    Entities of several types count from 0 in each; they are labelled ``type:id``, and ids follow the types in the
    order of ``raw/num-node-dict.csv.gz``, or else of their names. Entities without types are labelled by the files in
    ``mapping``, or else by their ids.
    """
    places = sorted(folder.glob("split/*/train.pt"))
    if len(places) != 1:
        found = ", ".join(place.parent.name for place in places) or "none"
        raise DatasetError(f"{folder}: expected one way of splitting (split/<name>/train.pt), found {found}.")
    files = without_missing_valid({split: places[0].with_name(f"{split}.pt") for split in SPLITS})
    contents = {split: read_content(path) for split, path in files.items()}
    entities = _entities(folder, contents)
    size = 1 + max(int(content["relation"].max(initial=-1)) for content in contents.values())
    relations = Vocabulary(_labels(folder, "relation", _all_mapped(folder, "relation", size)), "relation")
    splits = {split: triples_of(files[split], content, entities, relations) for split, content in contents.items()}
    name = folder.resolve().name
    return Dataset.build(name, splits, entities=entities, relations=relations, files=tuple(files.values()))


def read_content(path: Path) -> Content:
    """Read the dictionary of one split."""
    refuse_missing(path)
    content = read_torch(path)
    if not isinstance(content, dict) or not {"head", "relation", "tail"} <= content.keys():
        raise DatasetError(f"{path}: expected a dictionary with head, relation and tail. Is it a split of OGB?")
    keys = ("head", "relation", "tail", "head_neg", "tail_neg")
    ids = {key: np.asarray(content[key]) for key in keys if key in content}
    for key, column in ids.items():
        if column.dtype.kind not in "iu" or column.ndim != 1 + key.endswith("_neg") or len(column) != len(ids["head"]):
            raise DatasetError(
                f"{path}: {key} holds {column.dtype} of shape {list(column.shape)}, where ids are expected for each of "
                f"{len(ids['head'])} triples."
            )
        refuse_sparse(str(path), key, column)
        ids[key] = column.astype(np.int64, copy=False)
    types = {key: np.asarray(content[key], np.str_) for key in ("head_type", "tail_type") if key in content}
    if len(types) == 1 or any(column.shape != ids["head"].shape for column in types.values()):
        raise DatasetError(f"{path}: head_type and tail_type do not give each triple its types.")
    return {**ids, **types}


def entity_ids(path: Path, content: Content, key: str, entities: Vocabulary) -> IntArray:
    """Find the ids of a column, or of rows of negatives, by their labels, which mappings may have changed."""
    root, ids = _root(path), content[key]
    found = np.full(ids.shape, -1, np.int64)
    types = content.get(f"{key.removesuffix('_neg')}_type")
    for kind in [None] if types is None else np.unique(types):
        typed = np.ones(len(ids), np.bool_) if kind is None else types == kind
        size = 1 + int(ids[typed].max(initial=-1))
        labels = _labels(root, "entity", size) if kind is None else _typed(str(kind), size)
        # An id that no label is for, negative ones among them, falls on the -1 behind the others.
        known = np.append(entities.ids(labels), -1)
        found[typed] = known[np.where((ids[typed] >= 0) & (ids[typed] < len(labels)), ids[typed], len(labels))]
    if (found < 0).any():
        row = int(np.argwhere(found < 0)[0][0])
        raise DatasetError(f"{path}, row {row + 1}: {key} has an id that the dataset has no entity for.")
    return found


def triples_of(path: Path, content: Content, entities: Vocabulary, relations: Vocabulary) -> Triples:
    """Find the triples of a split by their labels."""
    kinds = content["relation"]
    if len(kinds) == 0:
        raise DatasetError(f"{path}: no triples in it.")
    ids = relations.ids(_labels(_root(path), "relation", 1 + int(kinds.max())))
    if kinds.min() < 0 or kinds.max() >= len(ids) or (ids[kinds] < 0).any():
        raise DatasetError(f"{path}: relation has an id that the dataset has no relation for.")
    heads, tails = (entity_ids(path, content, side, entities) for side in SIDES)
    return Triples(np.stack([heads, ids[kinds], tails], axis=1))


def _entities(folder: Path, contents: Mapping[str, Content]) -> Vocabulary:
    columns = [(content, key) for content in contents.values() for key in content if key.split("_")[0] in SIDES]
    columns = [(content, key) for content, key in columns if not key.endswith("_type")]
    if not any("head_type" in content for content in contents.values()):
        size = 1 + max(int(content[key].max(initial=-1)) for content, key in columns)
        return Vocabulary(_labels(folder, "entity", _all_mapped(folder, "entity", size)))
    sizes: dict[str, int] = {}
    for content, key in columns:
        types = content[f"{key.removesuffix('_neg')}_type"]
        for kind in np.unique(types):
            largest = int(content[key][types == kind].max(initial=-1))
            sizes[str(kind)] = max(sizes.get(str(kind), 0), 1 + largest)
    counted = _counts(folder / COUNTS) if (folder / COUNTS).is_file() else dict(sorted(sizes.items()))
    for kind, size in sizes.items():
        if size > counted.get(kind, 0):
            raise DatasetError(f"{folder / COUNTS}: says {counted.get(kind, 0)} {kind}, but a triple names {size - 1}.")
    return Vocabulary(pa.chunked_array([_typed(kind, size) for kind, size in counted.items()]))


def _root(path: Path) -> Path:
    """The folder of the dataset that ``split/<name>/test.pt`` is in."""
    return path.resolve().parent.parent.parent


def _labels(root: Path, kind: str, size: int) -> pa.Array:
    """Label the first ``size`` ids of entities without types, or of relations."""
    mapped = _mapped(root, kind)
    return (Vocabulary.numbered(size, kind) if mapped is None else mapped).labels[:size]


def _typed(kind: str, size: int) -> pa.Array:
    return pa.array([f"{kind}:{index}" for index in range(size)], pa.string())


def _all_mapped(root: Path, kind: str, size: int) -> int:
    mapped = _mapped(root, kind)
    if mapped is not None and len(mapped) < size:
        raise DatasetError(f"{root / MAPPINGS[kind]}: {len(mapped)} labels, but a triple names {kind} id {size - 1}.")
    return size if mapped is None else len(mapped)


def _mapped(root: Path, kind: str) -> Vocabulary | None:
    path = root / MAPPINGS[kind]
    return _read_mapping(path, kind, path.stat().st_mtime_ns) if path.is_file() else None


@lru_cache(maxsize=len(MAPPINGS))
def _read_mapping(path: Path, kind: str, _: int) -> Vocabulary:
    """Read the labels once for all splits and sides, as long as the file has its time."""
    return read_vocabulary(path, kind, skip=1)


def _counts(path: Path) -> dict[str, int]:
    """Read a header of types, and one row of how many entities each has."""
    try:
        names, counts = (row.cells for row in rows(path))
        return dict(zip(names, map(int, counts), strict=True))
    except (ValueError, InputError) as error:
        raise DatasetError(f"{path}: expected a row of types and a row of their counts ({error}).") from error


LAYOUT = Layout(
    name="ogb",
    summary="split/<name>/train.pt, valid.pt (optional) and test.pt of head, relation, tail; labels in mapping/",
    recognises=lambda folder: any(folder.glob("split/*/train.pt")),
    read=read,
    needs=(("split/*/train.pt",), ("split/*/test.pt",)),
)
