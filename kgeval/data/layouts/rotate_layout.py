"""Folders of the RotatE code and of DGL-KE: labelled triples, and two dictionaries of the ids of the labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.io.headers import TRIPLE
from kgeval.data.io.id_files import vocabulary_by_id
from kgeval.data.io.text import line_of, read_columns
from kgeval.data.layout import Layout
from kgeval.data.layouts.label_layout import candidates
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError

ENTITIES, RELATIONS = "entities.dict", "relations.dict"
ENDINGS = (".txt", ".tsv")


def read(folder: Path) -> Dataset:
    """Read ``entities.dict``, ``relations.dict`` (rows: id, label) and ``{train,valid,test}.txt``, or ``.tsv``.

    Raises
    ------
    DatasetError
        if a file is missing, or has another ending; or with the line that names an id twice, or a label that the
        dictionaries do not have
    """
    entities, relations = _vocabulary(folder / ENTITIES, "entity"), _vocabulary(folder / RELATIONS, "relation")
    found = _files(folder)
    files = {split: found.get(split, folder / f"{split}.txt") for split in SPLITS if split in found or split != "valid"}
    return Dataset.build(
        folder.resolve().name,
        {split: _triples(path, entities, relations) for split, path in files.items()},
        entities=entities,
        relations=relations,
        files=(folder / ENTITIES, folder / RELATIONS, *files.values()),
    )


def _files(folder: Path) -> dict[str, Path]:
    """Find the file of each split that has one."""
    files = {}
    for split, paths in candidates(folder).items():
        text = [path for path in paths if path.suffix in ENDINGS]
        if not text:
            raise DatasetError(
                f"{paths[0]}: the layout rotate, whose {ENTITIES} and {RELATIONS} are beside it, reads .txt and .tsv. "
                "Convert it, or name the layout labels, in which kgeval makes the ids up."
            )
        files[split] = text[0]
    return files


def _vocabulary(path: Path, kind: str) -> Vocabulary:
    return vocabulary_by_id(path, read_columns(path, ["id", "label"]), kind, skip=0)


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
    summary="entities.dict and relations.dict (id, label) beside train, valid (optional), test of labels (.txt, .tsv)",
    recognises=lambda folder: (folder / ENTITIES).is_file() and "train" in candidates(folder),
    read=read,
    needs=(
        (ENTITIES,),
        (RELATIONS,),
        *(tuple(f"{split}{ending}" for ending in ENDINGS) for split in ("train", "test")),
    ),
)
