"""Folders of facebookresearch/kbc: pickled arrays of ids, and files that give labels their ids."""

from __future__ import annotations

from pathlib import Path

from kgeval.data.dataset import Dataset
from kgeval.data.io.binary_ids import labels_of_ids, read_pickled, refuse_unknown_ids, stored_triples
from kgeval.data.io.id_files import vocabulary_by_id
from kgeval.data.io.text import read_columns
from kgeval.data.layout import Layout
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.pickles.pickled import read_pickle

LABELS = {"entity": "ent_id", "relation": "rel_id"}


def read(folder: Path) -> Dataset:
    """Read ``{train,valid,test}.pickle`` (rows: lhs, rel, rhs) and ``ent_id``, ``rel_id`` (rows: label, id).

    Without those files, ids are labelled by themselves. Nothing in a pickle is executed.

    Raises
    ------
    DatasetError
        if a file is missing, damaged or malformed, or names an id that there is not
    """
    files = {split: folder / f"{split}.pickle" for split in ("train", "valid", "test")}
    files = {split: path for split, path in files.items() if split != "valid" or path.is_file()}
    splits = {split: stored_triples(path, read_pickled(path, read_pickle)) for split, path in files.items()}
    entities, relations = (_vocabulary(folder, kind, splits) for kind in LABELS)
    for split, path in files.items():
        refuse_unknown_ids(path, splits[split], entities, relations)
    labelled = [folder / name for name in LABELS.values() if (folder / name).is_file()]
    name = folder.resolve().name
    return Dataset.build(name, splits, entities=entities, relations=relations, files=(*labelled, *files.values()))


def _vocabulary(folder: Path, kind: str, splits: dict[str, Triples]) -> Vocabulary:
    path = folder / LABELS[kind]
    if not path.is_file():
        return labels_of_ids(str(folder), kind, splits)
    return vocabulary_by_id(path, read_columns(path, ["label", "id"]), kind, skip=0)


LAYOUT = Layout(
    name="kbc",
    summary="train.pickle, valid.pickle (optional), test.pickle, and ent_id, rel_id (optional: label, id)",
    recognises=lambda folder: (folder / "train.pickle").is_file() and (folder / "test.pickle").is_file(),
    read=read,
    needs=(("train.pickle",), ("test.pickle",)),
)
