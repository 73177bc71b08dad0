"""Folders with dictionaries of ids: OpenKE's, and those of the RotatE code and DGL-KE."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.data.dataset import SPLITS, Dataset, check_ids
from kgeval.data.io.id_files import UNIT_SEPARATOR, vocabulary_by_id
from kgeval.data.io.text import WHOLE_NUMBER, first_line, line_of, read_columns, rows
from kgeval.data.io.triple_files import TRIPLE
from kgeval.data.layout import Layout
from kgeval.data.layouts.labelled import candidates
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError

ENTITIES, RELATIONS = "entity2id.txt", "relation2id.txt"

NO_COUNT = "the first line of {} holds no count of rows: a file that was cut short would look whole."


def read_openke(folder: Path) -> Dataset:
    """Read ``entity2id.txt``, ``relation2id.txt`` and ``{train,valid,test}2id.txt`` (rows: head, tail, relation)."""
    entities = vocabulary(folder / ENTITIES, "entity")
    relations = vocabulary(folder / RELATIONS, "relation")
    files = {split: path for split in ("train", "valid", "test") if (path := folder / f"{split}2id.txt").is_file()}
    for split in ("train", "test"):
        if split not in files:
            raise DatasetError(f"folder {str(folder)!r} has no {split}2id.txt.")
    counted = (folder / ENTITIES, folder / RELATIONS, *files.values())
    uncounted = [path.name for path in counted if _count(path) is None]
    return Dataset.build(
        folder.resolve().name,
        {split: _triples(path, entities, relations) for split, path in files.items()},
        entities=entities,
        relations=relations,
        files=counted,
        notes=(NO_COUNT.format(" and ".join(uncounted)),) if uncounted else (),
    )


def vocabulary(path: Path, kind: str) -> Vocabulary:
    """Read the labels of ``entity2id.txt`` or ``relation2id.txt``."""
    announced = _count(path)
    skip = 0 if announced is None else 1
    table = _labelled(path, skip)
    _refuse_cut(path, table, announced)
    return vocabulary_by_id(path, table, kind, skip=skip)


def _labelled(path: Path, skip: int) -> pa.Table:
    """Read labels and ids: between them a tab or a space, or any number of spaces where the first row has no tab."""
    first = next(rows(path, skip, delimiter=UNIT_SEPARATOR), None)
    if first is None or "\t" in first.cells[0]:
        return read_columns(path, ["label", "id"], skip=skip)
    whole = read_columns(path, ["row"], skip=skip, delimiter=UNIT_SEPARATOR)["row"]
    cells = pc.extract_regex(whole, "^(?P<label>.*?) +(?P<id>[^ ]+) *$").combine_chunks()
    if cells.null_count:
        line = line_of(path, int(np.argmax(np.asarray(cells.is_null()))), skip)
        raise DatasetError(f"{path}, line {line}: expected a label, spaces and its id.")
    return pa.table(dict(zip(("label", "id"), cells.flatten(), strict=True)))


def _triples(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    announced = _count(path)
    skip = 0 if announced is None else 1
    table = read_columns(path, ["head", "tail", "relation"], skip=skip, kind=pa.int64())
    _refuse_cut(path, table, announced)
    if table.num_rows == 0:
        raise DatasetError(f"{path}: no triples in it.")
    triples = Triples(np.stack([table[column].to_numpy() for column in ("head", "relation", "tail")], axis=1))
    check_ids(triples, entities, relations, lambda row: f"{path}, line {line_of(path, row, skip)}: the triple")
    return triples


def _count(path: Path) -> int | None:
    """Read how many rows a file announces in its first line; None if that is a row already, which ends in an id."""
    cells = first_line(path).split()
    whole = bool(cells) and WHOLE_NUMBER.fullmatch(cells[-1]) is not None and cells[-1].isascii()
    if not whole or (len(cells) == 1 and int(cells[0]) < 0):
        raise DatasetError(f"{path}, line 1: expected the number of rows, found {' '.join(cells)[:40]!r}.")
    return int(cells[0]) if len(cells) == 1 else None


def _refuse_cut(path: Path, table: pa.Table, announced: int | None) -> None:
    if announced not in (None, table.num_rows):
        raise DatasetError(
            f"{path}: line 1 announces {announced} rows, {table.num_rows} follow. The file may be cut short."
        )


OPENKE = Layout(
    name="openke",
    summary="entity2id.txt, relation2id.txt, train2id.txt, valid2id.txt (optional), test2id.txt",
    recognises=lambda folder: (folder / ENTITIES).is_file() and (folder / "train2id.txt").is_file(),
    read=read_openke,
    needs=((ENTITIES,), (RELATIONS,), ("train2id.txt",), ("test2id.txt",)),
)


ENTITY_DICTIONARY, RELATION_DICTIONARY = "entities.dict", "relations.dict"
ENDINGS = (".txt", ".tsv")


def read_rotate(folder: Path) -> Dataset:
    """Read ``entities.dict``, ``relations.dict`` (rows: id, label) and ``{train,valid,test}.txt``, or ``.tsv``."""
    entities, relations = (
        _vocabulary(folder / ENTITY_DICTIONARY, "entity"),
        _vocabulary(folder / RELATION_DICTIONARY, "relation"),
    )
    found = _files(folder)
    files = {split: found.get(split, folder / f"{split}.txt") for split in SPLITS if split in found or split != "valid"}
    return Dataset.build(
        folder.resolve().name,
        {split: _labelled_triples(path, entities, relations) for split, path in files.items()},
        entities=entities,
        relations=relations,
        files=(folder / ENTITY_DICTIONARY, folder / RELATION_DICTIONARY, *files.values()),
    )


def _files(folder: Path) -> dict[str, Path]:
    files = {}
    for split, paths in candidates(folder).items():
        text = [path for path in paths if path.suffix in ENDINGS]
        if not text:
            raise DatasetError(
                f"{paths[0]}: the layout rotate, whose {ENTITY_DICTIONARY} and {RELATION_DICTIONARY} are beside it, "
                "reads .txt and .tsv. "
                "Convert it, or name the layout labels, in which kgeval makes the ids up."
            )
        files[split] = text[0]
    return files


def _vocabulary(path: Path, kind: str) -> Vocabulary:
    return vocabulary_by_id(path, read_columns(path, ["id", "label"]), kind, skip=0)


def _labelled_triples(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    table = read_columns(path, TRIPLE)
    if table.num_rows == 0:
        raise DatasetError(f"{path}: no triples in it.")
    ids = np.stack([entities.ids(table["head"]), relations.ids(table["relation"]), entities.ids(table["tail"])], axis=1)
    if (ids < 0).any():
        row, column = (int(index) for index in np.argwhere(ids < 0)[0])
        kind, missing = (ENTITY_DICTIONARY, RELATION_DICTIONARY)[column == 1], table[TRIPLE[column]][row].as_py()
        raise DatasetError(f"{path}, line {line_of(path, row)}: the {TRIPLE[column]} {missing!r} is not in {kind}.")
    return Triples(ids)


ROTATE = Layout(
    name="rotate",
    summary="entities.dict and relations.dict (id, label) beside train, valid (optional), test of labels (.txt, .tsv)",
    recognises=lambda folder: (folder / ENTITY_DICTIONARY).is_file() and "train" in candidates(folder),
    read=read_rotate,
    needs=(
        (ENTITY_DICTIONARY,),
        (RELATION_DICTIONARY,),
        *(tuple(f"{split}{ending}" for ending in ENDINGS) for split in ("train", "test")),
    ),
)
