"""Marius's folders: raw binary edges, ``dataset.yaml`` with how many there are, and mappings of labels to ids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.data.dataset import Dataset
from kgeval.data.io.binary_ids import numbered_labels, read_settings, refuse_unknown_ids, stored_triples
from kgeval.data.io.id_files import read_mapping, vocabulary_by_id
from kgeval.data.layout import Layout
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError
from kgeval.files.opening import read_bytes, refuse_special
from kgeval.paths import no_file

CONFIG = "dataset.yaml"

EDGES = {"train": "train_edges.bin", "valid": "validation_edges.bin", "test": "test_edges.bin"}

LABELS = {
    "entity": ("nodes/node_mapping.txt", "num_nodes"),
    "relation": ("edges/relation_mapping.txt", "num_relations"),
}
"""the labels of each kind of id, and what ``dataset.yaml`` calls their number"""


def read(folder: Path) -> Dataset:
    """Read ``edges/{train,validation,test}_edges.bin`` (rows: source, relation, destination; int32 or int64).

    The width of an id follows from the size of the file and the number of its edges in ``dataset.yaml``. Without
    mappings (rows: label, id), ids are labelled by themselves.

    Raises
    ------
    DatasetError
        if a file is missing or malformed, or of another size than announced, or names an id that there is not
    """
    settings = read_settings(folder / CONFIG)
    files = {split: folder / "edges" / name for split, name in EDGES.items()}
    files = {split: path for split, path in files.items() if split != "valid" or path.is_file()}
    splits = {split: _edges(path, settings, f"num_{split}") for split, path in files.items()}
    entities, relations = (_vocabulary(folder, kind, settings) for kind in LABELS)
    for split, path in files.items():
        refuse_unknown_ids(path, splits[split], entities, relations)
    mapped = [folder / mapping for mapping, _ in LABELS.values() if (folder / mapping).is_file()]
    return Dataset.build(
        folder.resolve().name,
        splits,
        entities=entities,
        relations=relations,
        files=(folder / CONFIG, *mapped, *files.values()),
    )


def _edges(path: Path, settings: Mapping[str, Any], key: str) -> Triples:
    refuse_special(path)
    if not path.is_file():
        raise DatasetError(no_file(path))
    content, count = read_bytes(path), settings.get(key)
    for width in (4, 8):
        if isinstance(count, int) and not isinstance(count, bool) and len(content) == 3 * width * count:
            return stored_triples(path, np.frombuffer(content, f"<i{width}").reshape(-1, 3))
    raise DatasetError(
        f"{path}: {len(content)} bytes are not the {key}: {count} edges of {CONFIG}, in rows of three int32 or int64. "
        "Is it cut short, or are its edges without relations?"
    )


def _vocabulary(folder: Path, kind: str, settings: Mapping[str, Any]) -> Vocabulary:
    mapping, key = LABELS[kind]
    path, size = folder / mapping, settings.get(key)
    if not path.is_file():
        return numbered_labels(folder / CONFIG, key, size, kind)
    return vocabulary_by_id(path, read_mapping(path), kind, skip=0)


LAYOUT = Layout(
    name="marius",
    summary="dataset.yaml, edges/train_edges.bin, edges/test_edges.bin, … and the mappings of nodes and relations",
    recognises=lambda folder: (folder / CONFIG).is_file() and (folder / "edges" / EDGES["train"]).is_file(),
    read=read,
    needs=((CONFIG,), ("edges/train_edges.bin",), ("edges/test_edges.bin",)),
)
