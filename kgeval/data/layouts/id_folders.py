"""Folders of ids and their labels: OpenKE's, the RotatE code's and DGL-KE's, LibKGE's, Marius's, kbc's and tkbc's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.data.dataset import SPLITS, Dataset, check_ids
from kgeval.data.io import id_files
from kgeval.data.io.binary_ids import (
    labels_of_ids,
    numbered_labels,
    read_settings,
    refuse_unknown_ids,
    stored_triples,
)
from kgeval.data.io.id_files import announced_rows, read_vocabulary, refuse_cut
from kgeval.data.io.text import line_of, read_columns, refuse_missing
from kgeval.data.io.triple_files import TRIPLE
from kgeval.data.layout import Layout
from kgeval.data.layouts.labelled import candidates
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError
from kgeval.files.opening import read_bytes
from kgeval.pickles.pickled import read_pickle


def without_missing_valid(files: Mapping[str, Path]) -> dict[str, Path]:
    """Keep the files of splits that must be there, and valid if it is there."""
    return {split: path for split, path in files.items() if split != "valid" or path.is_file()}


def _id_triples(
    path: Path, names: Sequence[str], entities: Vocabulary, relations: Vocabulary, *, counted: bool = False
) -> Triples:
    """Read rows of three ids, the relation last if the file is ``counted``, as OpenKE's are."""
    announced = announced_rows(path) if counted else None
    skip = 0 if announced is None else 1
    table = read_columns(path, names, skip=skip, kind=pa.int64())
    refuse_cut(path, table, announced)
    _refuse_empty(path, table)
    order = (0, 2, 1) if counted else (0, 1, 2)
    triples = Triples(np.stack([table[column].to_numpy() for column in order], axis=1))
    check_ids(triples, entities, relations, lambda row: f"{path}, line {line_of(path, row, skip)}: the triple")
    return triples


def _refuse_empty(path: Path, table: pa.Table) -> None:
    if table.num_rows == 0:
        raise DatasetError(f"{path}: no triples in it.")


def read_openke(folder: Path) -> Dataset:
    """Read ``entity2id.txt``, ``relation2id.txt`` and ``{train,valid,test}2id.txt`` (rows: head, tail, relation)."""
    entities, relations = id_files.OPENKE.read_both(folder)
    files = without_missing_valid({split: folder / f"{split}2id.txt" for split in SPLITS})
    names = ("head", "tail", "relation")
    splits = {split: _id_triples(path, names, entities, relations, counted=True) for split, path in files.items()}
    read = (*id_files.OPENKE.paths(folder).values(), *files.values())
    uncounted = " and ".join(path.name for path in read if announced_rows(path) is None)
    note = f"the first line of {uncounted} holds no count of rows: a file that was cut short would look whole."
    name, notes = folder.resolve().name, (note,) if uncounted else ()
    return Dataset.build(name, splits, entities=entities, relations=relations, files=read, notes=notes)


OPENKE = Layout(
    name="openke",
    summary="entity2id.txt, relation2id.txt, train2id.txt, valid2id.txt (optional), test2id.txt",
    recognises=lambda folder: (folder / "entity2id.txt").is_file() and (folder / "train2id.txt").is_file(),
    read=read_openke,
    needs=(("entity2id.txt",), ("relation2id.txt",), ("train2id.txt",), ("test2id.txt",)),
)


ENDINGS = (".txt", ".tsv")


def read_rotate(folder: Path) -> Dataset:
    """Read ``entities.dict``, ``relations.dict`` (rows: id, label) and ``{train,valid,test}.txt``, or ``.tsv``."""
    entities, relations = id_files.ROTATE.read_both(folder)
    found = {split: _text_file(paths) for split, paths in candidates(folder).items()}
    files = without_missing_valid({split: found.get(split, folder / f"{split}.txt") for split in SPLITS})
    splits = {split: _labelled_triples(path, entities, relations) for split, path in files.items()}
    read = (*id_files.ROTATE.paths(folder).values(), *files.values())
    return Dataset.build(folder.resolve().name, splits, entities=entities, relations=relations, files=read)


def _text_file(paths: Sequence[Path]) -> Path:
    for path in paths:
        if path.suffix in ENDINGS:
            return path
    raise DatasetError(
        f"{paths[0]}: the layout rotate, whose entities.dict and relations.dict are beside it, reads .txt and .tsv. "
        "Convert it, or name the layout labels, in which kgeval makes the ids up."
    )


def _labelled_triples(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    table = read_columns(path, TRIPLE)
    _refuse_empty(path, table)
    ids = np.stack([entities.ids(table["head"]), relations.ids(table["relation"]), entities.ids(table["tail"])], axis=1)
    if (ids < 0).any():
        row, column = (int(index) for index in np.argwhere(ids < 0)[0])
        kind, missing = ("entities", "relations")[column == 1], table[TRIPLE[column]][row].as_py()
        raise DatasetError(
            f"{path}, line {line_of(path, row)}: the {TRIPLE[column]} {missing!r} is not in {kind}.dict."
        )
    return Triples(ids)


ROTATE = Layout(
    name="rotate",
    summary="entities.dict and relations.dict (id, label) beside train, valid (optional), test of labels (.txt, .tsv)",
    recognises=lambda folder: (folder / "entities.dict").is_file() and "train" in candidates(folder),
    read=read_rotate,
    needs=(
        ("entities.dict",),
        ("relations.dict",),
        *(tuple(f"{split}{ending}" for ending in ENDINGS) for split in ("train", "test")),
    ),
)


CONFIG = "dataset.yaml"
"""of LibKGE and of Marius"""


def read_libkge(folder: Path) -> Dataset:
    """Read the ``train``, ``valid`` (optional) and ``test`` files (rows: subject, predicate, object), and the labels.

    Where there are no files of labels, ids are labelled by themselves.
    """
    block = read_settings(folder / CONFIG).get("dataset")
    if not isinstance(block, dict):
        raise DatasetError(f"{folder / CONFIG}: no block 'dataset' in it. Is it the configuration of a LibKGE dataset?")
    settings = _flat(block)

    def file(name: str) -> Path:
        return folder / str(settings.get(f"files.{name}.filename", f"{name}.del"))

    labels = {kind: file(f"{kind}_ids") for kind in ("entity", "relation")}
    entities, relations = (_libkge_vocabulary(folder / CONFIG, settings, path, kind) for kind, path in labels.items())
    files = without_missing_valid({split: file(split) for split in SPLITS})
    names = ("subject", "predicate", "object")
    return Dataset.build(
        str(settings.get("name") or folder.resolve().name),
        {split: _id_triples(path, names, entities, relations) for split, path in files.items()},
        entities=entities,
        relations=relations,
        files=(folder / CONFIG, *(path for path in labels.values() if path.is_file()), *files.values()),
    )


def _flat(block: dict[Any, Any]) -> dict[str, Any]:
    """Join the keys of nested blocks by dots."""
    flat = {}
    for key, value in block.items():
        inner = {f"{key}.{name}": item for name, item in _flat(value).items()} if isinstance(value, dict) else {}
        flat.update(inner or {str(key): value})
    return flat


def _libkge_vocabulary(config: Path, settings: Mapping[str, Any], path: Path, kind: str) -> Vocabulary:
    key = {"entity": "num_entities", "relation": "num_relations"}[kind]
    size = settings.get(key)
    if not path.is_file():
        return numbered_labels(config, key, size, kind)
    labels = read_vocabulary(path, kind)
    if size not in (None, len(labels)):
        raise DatasetError(f"{path}: {len(labels)} {kind} labels, but {CONFIG} says {key}: {size}.")
    return labels


LIBKGE = Layout(
    name="libkge",
    summary="dataset.yaml, train.del, valid.del (optional), test.del, entity_ids.del, relation_ids.del",
    recognises=lambda folder: (folder / CONFIG).is_file() and any(folder.glob("*.del")),
    read=read_libkge,
    needs=((CONFIG,),),
)


MAPPINGS = replace(id_files.MARIUS, entities="nodes/node_mapping.txt", relations="edges/relation_mapping.txt")
EDGES = {"train": "edges/train_edges.bin", "valid": "edges/validation_edges.bin", "test": "edges/test_edges.bin"}


def read_marius(folder: Path) -> Dataset:
    """Read ``edges/{train,validation,test}_edges.bin`` (rows: source, relation, destination; int32 or int64).

    The width of an id follows from the size of the file and the number of its edges in ``dataset.yaml``. Without
    mappings (rows: label, id), ids are labelled by themselves.
    """
    settings = read_settings(folder / CONFIG)
    files = without_missing_valid({split: folder / name for split, name in EDGES.items()})
    splits = {split: _edges(path, settings, f"num_{split}") for split, path in files.items()}
    mapped = MAPPINGS.in_folder(folder)
    labels = {
        kind: MAPPINGS.read(mapped[kind], kind)
        if kind in mapped
        else numbered_labels(folder / CONFIG, key, settings.get(key), kind)
        for kind, key in (("entity", "num_nodes"), ("relation", "num_relations"))
    }
    return _binary_graph(folder, (folder / CONFIG, *mapped.values()), files, splits, labels)


def _edges(path: Path, settings: Mapping[str, Any], key: str) -> Triples:
    refuse_missing(path)
    content, count = read_bytes(path), settings.get(key)
    for width in (4, 8):
        if isinstance(count, int) and not isinstance(count, bool) and len(content) == 3 * width * count:
            return stored_triples(path, np.frombuffer(content, f"<i{width}").reshape(-1, 3))
    raise DatasetError(
        f"{path}: {len(content)} bytes are not the {key}: {count} edges of {CONFIG}, in rows of three int32 or int64. "
        "Is it cut short, or are its edges without relations?"
    )


def _binary_graph(
    folder: Path,
    label_files: Sequence[Path],
    files: Mapping[str, Path],
    splits: Mapping[str, Triples],
    labels: Mapping[str, Vocabulary],
) -> Dataset:
    entities, relations, times = labels["entity"], labels["relation"], labels.get("time")
    for split, path in files.items():
        refuse_unknown_ids(path, splits[split], entities, relations)
    name, read = folder.resolve().name, (*label_files, *files.values())
    return Dataset.build(name, splits, entities=entities, relations=relations, files=read, times=times)


MARIUS = Layout(
    name="marius",
    summary="dataset.yaml, edges/train_edges.bin, edges/test_edges.bin, … and the mappings of nodes and relations",
    recognises=lambda folder: (folder / CONFIG).is_file() and (folder / EDGES["train"]).is_file(),
    read=read_marius,
    needs=((CONFIG,), (EDGES["train"],), (EDGES["test"],)),
)


def read_kbc(folder: Path) -> Dataset:
    """Read ``{train,valid,test}.pickle`` (rows: lhs, rel, rhs) and ``ent_id``, ``rel_id`` (rows: label, id).

    Rows of a temporal graph have a fourth id, and ``ts_id`` the label of each time, whose ids are in their order.
    Without those files, ids are labelled by themselves. Nothing in a pickle is executed.
    """
    files = without_missing_valid({split: folder / f"{split}.pickle" for split in SPLITS})
    splits = {}
    for split, path in files.items():
        refuse_missing(path)
        splits[split] = stored_triples(path, read_pickle(path), may_have_times=True)
    timed = any(triples.contexts is not None for triples in splits.values())
    paths = {kind: path for kind, path in id_files.KBC.paths(folder).items() if kind != "time" or timed}
    labels = {
        kind: id_files.KBC.read(path, kind) if path.is_file() else labels_of_ids(folder, kind, splits)
        for kind, path in paths.items()
    }
    return _binary_graph(folder, [path for path in paths.values() if path.is_file()], files, splits, labels)


KBC = Layout(
    name="kbc",
    summary="train.pickle, valid.pickle (optional), test.pickle, and ent_id, rel_id, ts_id (optional: label, id)",
    recognises=lambda folder: (folder / "train.pickle").is_file() and (folder / "test.pickle").is_file(),
    read=read_kbc,
    needs=(("train.pickle",), ("test.pickle",)),
)
