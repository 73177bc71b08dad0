"""Folders of the RotatE code and of DGL-KE: labelled triples, whose labels two dictionaries give their ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgeval.errors import DatasetError
from kgeval.graph.dataset import Dataset
from kgeval.graph.headers import TRIPLE
from kgeval.graph.layouts import Layout
from kgeval.graph.numbering import by_id
from kgeval.graph.text import line_of, read_columns
from kgeval.graph.triples import Triples
from kgeval.graph.vocabulary import Vocabulary

ENTITIES, RELATIONS = "entities.dict", "relations.dict"


def read(folder: Path) -> Dataset:
    """Read ``entities.dict``, ``relations.dict`` (rows: id, label) and ``{train,valid,test}.txt``.

    Raises
    ------
    DatasetError
        if a file is missing; or with the line that names an id twice, or a label that the dictionaries do not have
    """
    entities, relations = _vocabulary(folder / ENTITIES, "entity"), _vocabulary(folder / RELATIONS, "relation")
    files = {split: folder / f"{split}.txt" for split in ("train", "valid", "test")}
    files = {split: path for split, path in files.items() if split != "valid" or path.is_file()}
    return Dataset.build(
        folder.resolve().name,
        {split: _triples(path, entities, relations) for split, path in files.items()},
        entities=entities,
        relations=relations,
        files=(folder / ENTITIES, folder / RELATIONS, *files.values()),
    )


def _vocabulary(path: Path, kind: str) -> Vocabulary:
    return by_id(path, read_columns(path, ["id", "label"]), kind, skip=0)


def _triples(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    table = read_columns(path, TRIPLE)
    if table.num_rows == 0:
        raise DatasetError(f"{path}: no triples in it.")
    ids = np.stack([entities.ids(table["head"]), relations.ids(table["relation"]), entities.ids(table["tail"])], axis=1)
    if (ids < 0).any():
        row, column = (int(index) for index in np.argwhere(ids < 0)[0])
        kind, missing = (ENTITIES, RELATIONS)[column == 1], table[TRIPLE[column]][row].as_py()
        raise DatasetError(f"{path}, line {line_of(path, row)}: the {TRIPLE[column]} {missing!r} is not in {kind}.")
    return Triples(ids)


LAYOUT = Layout(
    name="rotate",
    summary="entities.dict and relations.dict (id, label) beside train.txt, valid.txt (optional), test.txt of labels",
    recognises=lambda folder: (folder / ENTITIES).is_file() and (folder / "train.txt").is_file(),
    read=read,
)
