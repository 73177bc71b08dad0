"""LibKGE's folders: ``dataset.yaml``, which names the files of triples of ids and of the labels of those ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.data.dataset import Dataset, check_ids
from kgeval.data.io.binary_ids import numbered_labels, read_settings
from kgeval.data.io.id_files import vocabulary_by_id
from kgeval.data.io.text import line_of, read_columns
from kgeval.data.layout import Layout
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError

CONFIG = "dataset.yaml"


def read(folder: Path) -> Dataset:
    """Read the ``train``, ``valid`` (optional) and ``test`` files (rows: subject, predicate, object), and the labels.

    Where there are no files of labels, ids are labelled by themselves.

    Raises
    ------
    DatasetError
        if the configuration is none, or a file is missing or malformed, with the line
    """
    settings = _settings(folder / CONFIG)
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
        files=(folder / CONFIG, *files.values()),
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
            raise DatasetError(f"{path}: {len(labels)} {kind} labels, but {CONFIG} says {key}: {size}.")
        return labels
    return numbered_labels(folder / CONFIG, key, size, kind)


def _triples(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    table = read_columns(path, ["subject", "predicate", "object"], kind=pa.int64())
    if table.num_rows == 0:
        raise DatasetError(f"{path}: no triples in it.")
    triples = Triples(np.stack([column.to_numpy() for column in table.columns], axis=1))
    check_ids(triples, entities, relations, lambda row: f"{path}, line {line_of(path, row)}: the triple")
    return triples


LAYOUT = Layout(
    name="libkge",
    summary="dataset.yaml, train.del, valid.del (optional), test.del, entity_ids.del, relation_ids.del",
    recognises=lambda folder: (folder / CONFIG).is_file() and any(folder.glob("*.del")),
    read=read,
    needs=((CONFIG,),),
)
