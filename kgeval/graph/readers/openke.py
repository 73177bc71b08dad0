"""OpenKE's folders: numbered entities and relations, and triples of ids, each file beginning with its count."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from kgeval.errors import DatasetError
from kgeval.graph.dataset import Dataset, check_ids
from kgeval.graph.layouts import Layout
from kgeval.graph.numbering import by_id
from kgeval.graph.text import first_line, line_of, read_columns
from kgeval.graph.triples import Triples
from kgeval.graph.vocabulary import Vocabulary

ENTITIES, RELATIONS = "entity2id.txt", "relation2id.txt"


def read(folder: Path) -> Dataset:
    """Read ``entity2id.txt``, ``relation2id.txt`` and ``{train,valid,test}2id.txt`` (rows: head, tail, relation).

    Raises
    ------
    DatasetError
        if a file is missing or disagrees with its own count; or with the line that names an id that there is not, or
        names an id twice
    """
    entities = vocabulary(folder / ENTITIES, "entity")
    relations = vocabulary(folder / RELATIONS, "relation")
    files = {split: path for split in ("train", "valid", "test") if (path := folder / f"{split}2id.txt").is_file()}
    for split in ("train", "test"):
        if split not in files:
            raise DatasetError(f"folder {str(folder)!r} has no {split}2id.txt.")
    return Dataset.build(
        folder.resolve().name,
        {split: _triples(path, entities, relations) for split, path in files.items()},
        entities=entities,
        relations=relations,
        files=(folder / ENTITIES, folder / RELATIONS, *files.values()),
    )


def vocabulary(path: Path, kind: str) -> Vocabulary:
    """Read the labels of ``entity2id.txt`` or ``relation2id.txt``.

    Raises
    ------
    DatasetError
        if the file is missing or disagrees with its own count; or with the line of an id that is out of place
    """
    return by_id(path, _counted(path, ["label", "id"], pa.string()), kind, skip=1)


def _triples(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    table = _counted(path, ["head", "tail", "relation"], pa.int64())
    if table.num_rows == 0:
        raise DatasetError(f"{path}: no triples in it.")
    triples = Triples(np.stack([table[column].to_numpy() for column in ("head", "relation", "tail")], axis=1))
    check_ids(triples, entities, relations, lambda row: f"{path}, line {line_of(path, row, skip=1)}: the triple")
    return triples


def _counted(path: Path, names: list[str], kind: pa.DataType) -> pa.Table:
    count = first_line(path).strip()
    if not re.fullmatch(r"[0-9]{1,18}", count):
        raise DatasetError(f"{path}, line 1: expected the number of rows, found {count[:40]!r}.")
    table = read_columns(path, names, skip=1, kind=kind)
    if table.num_rows != int(count):
        raise DatasetError(
            f"{path}: line 1 announces {count} rows, {table.num_rows} follow. The file may be cut short."
        )
    return table


LAYOUT = Layout(
    name="openke",
    summary="entity2id.txt, relation2id.txt, train2id.txt, valid2id.txt (optional), test2id.txt",
    recognises=lambda folder: (folder / ENTITIES).is_file() and (folder / "train2id.txt").is_file(),
    read=read,
    needs=((ENTITIES,), (RELATIONS,), ("train2id.txt",), ("test2id.txt",)),
)
