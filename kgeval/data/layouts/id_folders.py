"""Folders of ids: LibKGE's, Marius's, and those of facebookresearch/kbc and tkbc."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.data.dataset import Dataset, check_ids
from kgeval.data.io.binary_ids import (
    labels_of_ids,
    numbered_labels,
    read_pickled,
    read_settings,
    refuse_sparse,
    refuse_unknown_ids,
    stored_triples,
)
from kgeval.data.io.id_files import read_mapping, vocabulary_by_id
from kgeval.data.io.text import line_of, read_columns
from kgeval.data.layout import Layout
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError
from kgeval.files.opening import read_bytes, refuse_special
from kgeval.paths import no_file
from kgeval.pickles.pickled import read_pickle

LIBKGE_CONFIG = "dataset.yaml"


def read_libkge(folder: Path) -> Dataset:
    """Read the ``train``, ``valid`` (optional) and ``test`` files (rows: subject, predicate, object), and the labels.

    Where there are no files of labels, ids are labelled by themselves.
    """
    settings = _settings(folder / LIBKGE_CONFIG)
    names = ("entity_ids", "relation_ids", "train", "valid", "test")
    files = {name: folder / str(settings.get(f"files.{name}.filename", f"{name}.del")) for name in names}
    files = {name: path for name, path in files.items() if name in {"train", "test"} or path.is_file()}
    entities = _vocabulary(folder, settings, files.get("entity_ids"), "entity")
    relations = _vocabulary(folder, settings, files.get("relation_ids"), "relation")
    return Dataset.build(
        str(settings.get("name") or folder.resolve().name),
        {name: _triples(files[name], entities, relations) for name in files if not name.endswith("_ids")},
        entities=entities,
        relations=relations,
        files=(folder / LIBKGE_CONFIG, *files.values()),
    )


def _settings(path: Path) -> dict[str, Any]:
    """Read the block ``dataset``, its keys joined by dots however they are nested."""
    block = read_settings(path).get("dataset")
    if not isinstance(block, dict):
        raise DatasetError(f"{path}: no block 'dataset' in it. Is it the configuration of a LibKGE dataset?")
    return _flat(block)


def _flat(block: dict[Any, Any]) -> dict[str, Any]:
    flat = {}
    for key, value in block.items():
        inner = {f"{key}.{name}": item for name, item in _flat(value).items()} if isinstance(value, dict) else {}
        flat.update(inner or {str(key): value})
    return flat


def _vocabulary(folder: Path, settings: dict[str, Any], path: Path | None, kind: str) -> Vocabulary:
    key = {"entity": "num_entities", "relation": "num_relations"}[kind]
    size = settings.get(key)
    if path is not None:
        labels = vocabulary_by_id(path, read_columns(path, ["id", "label"]), kind, skip=0)
        if size not in (None, len(labels)):
            raise DatasetError(f"{path}: {len(labels)} {kind} labels, but {LIBKGE_CONFIG} says {key}: {size}.")
        return labels
    return numbered_labels(folder / LIBKGE_CONFIG, key, size, kind)


def _triples(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    table = read_columns(path, ["subject", "predicate", "object"], kind=pa.int64())
    if table.num_rows == 0:
        raise DatasetError(f"{path}: no triples in it.")
    triples = Triples(np.stack([column.to_numpy() for column in table.columns], axis=1))
    check_ids(triples, entities, relations, lambda row: f"{path}, line {line_of(path, row)}: the triple")
    return triples


LIBKGE = Layout(
    name="libkge",
    summary="dataset.yaml, train.del, valid.del (optional), test.del, entity_ids.del, relation_ids.del",
    recognises=lambda folder: (folder / LIBKGE_CONFIG).is_file() and any(folder.glob("*.del")),
    read=read_libkge,
    needs=((LIBKGE_CONFIG,),),
)


MARIUS_CONFIG = "dataset.yaml"

EDGES = {"train": "train_edges.bin", "valid": "validation_edges.bin", "test": "test_edges.bin"}

LABELS = {
    "entity": ("nodes/node_mapping.txt", "num_nodes"),
    "relation": ("edges/relation_mapping.txt", "num_relations"),
}
"""the labels of each kind of id, and what ``dataset.yaml`` calls their number"""


def read_marius(folder: Path) -> Dataset:
    """Read ``edges/{train,validation,test}_edges.bin`` (rows: source, relation, destination; int32 or int64).

    The width of an id follows from the size of the file and the number of its edges in ``dataset.yaml``. Without
    mappings (rows: label, id), ids are labelled by themselves.
    """
    settings = read_settings(folder / MARIUS_CONFIG)
    files = {split: folder / "edges" / name for split, name in EDGES.items()}
    files = {split: path for split, path in files.items() if split != "valid" or path.is_file()}
    splits = {split: _edges(path, settings, f"num_{split}") for split, path in files.items()}
    entities, relations = (_marius_vocabulary(folder, kind, settings) for kind in LABELS)
    for split, path in files.items():
        refuse_unknown_ids(path, splits[split], entities, relations)
    mapped = [folder / mapping for mapping, _ in LABELS.values() if (folder / mapping).is_file()]
    return Dataset.build(
        folder.resolve().name,
        splits,
        entities=entities,
        relations=relations,
        files=(folder / MARIUS_CONFIG, *mapped, *files.values()),
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
        f"{path}: {len(content)} bytes are not the {key}: {count} edges of {MARIUS_CONFIG}, in rows of three int32 or "
        "int64. "
        "Is it cut short, or are its edges without relations?"
    )


def _marius_vocabulary(folder: Path, kind: str, settings: Mapping[str, Any]) -> Vocabulary:
    mapping, key = LABELS[kind]
    path, size = folder / mapping, settings.get(key)
    if not path.is_file():
        return numbered_labels(folder / MARIUS_CONFIG, key, size, kind)
    return vocabulary_by_id(path, read_mapping(path), kind, skip=0)


MARIUS = Layout(
    name="marius",
    summary="dataset.yaml, edges/train_edges.bin, edges/test_edges.bin, … and the mappings of nodes and relations",
    recognises=lambda folder: (folder / MARIUS_CONFIG).is_file() and (folder / "edges" / EDGES["train"]).is_file(),
    read=read_marius,
    needs=((MARIUS_CONFIG,), ("edges/train_edges.bin",), ("edges/test_edges.bin",)),
)


KBC_LABELS = {"entity": "ent_id", "relation": "rel_id"}

TIMES = "ts_id"
"""the file of the labels of times"""


def read_kbc(folder: Path) -> Dataset:
    """Read ``{train,valid,test}.pickle`` (rows: lhs, rel, rhs) and ``ent_id``, ``rel_id`` (rows: label, id).

    Rows of a temporal graph have a fourth id, and ``ts_id`` the label of each time, whose ids are in their order.
    Without those files, ids are labelled by themselves. Nothing in a pickle is executed.
    """
    files = {split: folder / f"{split}.pickle" for split in ("train", "valid", "test")}
    files = {split: path for split, path in files.items() if split != "valid" or path.is_file()}
    splits = {
        split: stored_triples(path, read_pickled(path, read_pickle), may_have_times=True)
        for split, path in files.items()
    }
    entities, relations = (_kbc_vocabulary(folder, kind, splits) for kind in KBC_LABELS)
    times = _times(folder, splits)
    for split, path in files.items():
        refuse_unknown_ids(path, splits[split], entities, relations)
    names = [*KBC_LABELS.values(), *([TIMES] if times is not None else [])]
    read_files = (*(folder / name for name in names if (folder / name).is_file()), *files.values())
    name = folder.resolve().name
    return Dataset.build(name, splits, entities=entities, relations=relations, files=read_files, times=times)


def _times(folder: Path, splits: dict[str, Triples]) -> Vocabulary | None:
    contexts = [triples.contexts for triples in splits.values() if triples.contexts is not None]
    if not contexts:
        return None
    if (path := folder / TIMES).is_file():
        return vocabulary_by_id(path, read_columns(path, ["label", "id"]), "time", skip=0)
    ids = np.concatenate(contexts)
    refuse_sparse(str(folder), "time", ids)
    return Vocabulary.numbered(int(ids.max()) + 1, "time")


def _kbc_vocabulary(folder: Path, kind: str, splits: dict[str, Triples]) -> Vocabulary:
    path = folder / KBC_LABELS[kind]
    if not path.is_file():
        return labels_of_ids(str(folder), kind, splits)
    return vocabulary_by_id(path, read_columns(path, ["label", "id"]), kind, skip=0)


KBC = Layout(
    name="kbc",
    summary="train.pickle, valid.pickle (optional), test.pickle, and ent_id, rel_id, ts_id (optional: label, id)",
    recognises=lambda folder: (folder / "train.pickle").is_file() and (folder / "test.pickle").is_file(),
    read=read_kbc,
    needs=(("train.pickle",), ("test.pickle",)),
)
