"""Folders of facebookresearch/kbc and tkbc: pickled arrays of ids, and files that give labels their ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgeval.data.dataset import Dataset
from kgeval.data.io.binary_ids import labels_of_ids, read_pickled, refuse_sparse, refuse_unknown_ids, stored_triples
from kgeval.data.io.id_files import vocabulary_by_id
from kgeval.data.io.text import read_columns
from kgeval.data.layout import Layout
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.pickles.pickled import read_pickle

LABELS = {"entity": "ent_id", "relation": "rel_id"}

TIMES = "ts_id"
"""the file of the labels of times"""


def read(folder: Path) -> Dataset:
    """Read ``{train,valid,test}.pickle`` (rows: lhs, rel, rhs) and ``ent_id``, ``rel_id`` (rows: label, id).

    Rows of a temporal graph have a fourth id, and ``ts_id`` the label of each time, whose ids are in their order.
    Without those files, ids are labelled by themselves. Nothing in a pickle is executed.

    Raises
    ------
    DatasetError
        if a file is missing, damaged or malformed, or names an id that there is not
    """
    files = {split: folder / f"{split}.pickle" for split in ("train", "valid", "test")}
    files = {split: path for split, path in files.items() if split != "valid" or path.is_file()}
    splits = {split: _triples(path) for split, path in files.items()}
    entities, relations = (_vocabulary(folder, kind, splits) for kind in LABELS)
    times = _times(folder, splits)
    for split, path in files.items():
        refuse_unknown_ids(path, splits[split], entities, relations)
    names = [*LABELS.values(), *([TIMES] if times is not None else [])]
    read_files = (*(folder / name for name in names if (folder / name).is_file()), *files.values())
    name = folder.resolve().name
    return Dataset.build(name, splits, entities=entities, relations=relations, files=read_files, times=times)


def _triples(path: Path) -> Triples:
    return stored_triples(path, read_pickled(path, read_pickle), may_have_times=True)


def _times(folder: Path, splits: dict[str, Triples]) -> Vocabulary | None:
    """Read the labels of times, if the triples have times."""
    contexts = [triples.contexts for triples in splits.values() if triples.contexts is not None]
    if not contexts:
        return None
    if (path := folder / TIMES).is_file():
        return vocabulary_by_id(path, read_columns(path, ["label", "id"]), "time", skip=0)
    ids = np.concatenate(contexts)
    refuse_sparse(str(folder), "time", ids)
    return Vocabulary.numbered(int(ids.max()) + 1, "time")


def _vocabulary(folder: Path, kind: str, splits: dict[str, Triples]) -> Vocabulary:
    path = folder / LABELS[kind]
    if not path.is_file():
        return labels_of_ids(str(folder), kind, splits)
    return vocabulary_by_id(path, read_columns(path, ["label", "id"]), kind, skip=0)


LAYOUT = Layout(
    name="kbc",
    summary="train.pickle, valid.pickle (optional), test.pickle, and ent_id, rel_id, ts_id (optional: label, id)",
    recognises=lambda folder: (folder / "train.pickle").is_file() and (folder / "test.pickle").is_file(),
    read=read,
    needs=(("train.pickle",), ("test.pickle",)),
)
