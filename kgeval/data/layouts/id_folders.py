"""Layouts of ids beside files of labels: those of OpenKE, the RotatE code, LibKGE, Marius, kbc with tkbc, and RE-Net.

Each framework has a function that reads its folder and, below it, a ``Layout``, which the registry of layouts finds.
:func:`_graph` has the steps that all but the RotatE code's share. A framework's files come in, a ``Dataset`` goes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.errors import DatasetError
from kgeval.base.files import free_memory, read_bytes
from kgeval.base.notes import Example, Note
from kgeval.base.pickled import read_pickled
from kgeval.base.settings_text import flat
from kgeval.data import id_files
from kgeval.data.columns import TRIPLE
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.id_files import (
    LabelFiles,
    announced_rows,
    labels_of_ids,
    read_counted,
    read_graph_settings,
    stored_triples,
)
from kgeval.data.labelled_triples import known_ids, read_triple_ids
from kgeval.data.layouts import Layout
from kgeval.data.layouts.labelled import candidates
from kgeval.data.tables import NamedTable, read_text
from kgeval.data.text import WHOLE_NUMBER, Row, first_line, further_columns, line_of, refuse_missing, rows
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary


def read_openke(folder: Path) -> Dataset:
    """Read ``entity2id.txt``, ``relation2id.txt`` and ``{train,valid,test}2id.txt`` (rows: head, tail, relation)."""
    decode = partial(_rows_of_ids, names=("head", "tail", "relation"), counted=True)
    dataset = _graph(folder, "{}2id.txt".format, decode, id_files.OPENKE)
    uncounted = Example.path(" and ".join(path.name for path in dataset.files if announced_rows(path) is None))
    fault = " is not the number of rows: a file that was cut short is not noticed."
    note = Note("files", "the first line of ", uncounted, fault)
    return replace(dataset, notes=(note,) if uncounted else ())


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
    named = {split: _text_file(paths) for split, paths in candidates(folder).items()}
    files = without_missing_valid({split: named.get(split, folder / f"{split}.txt") for split in SPLITS})
    splits = {}
    for split, path in files.items():
        _refuse_empty(table := read_text(path, TRIPLE))
        are_ids = (known_ids(table, "head", entities) < 0).all()  # as in DGL-KE's udd
        labels = [Vocabulary.numbered(len(it), it.kind) if are_ids else it for it in (entities, relations)]
        splits[split] = read_triple_ids(table, *labels)
    read = (*id_files.ROTATE.paths(folder).values(), *files.values())
    return Dataset.build(folder.resolve().name, splits, entities=entities, relations=relations, files=read)


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


def _text_file(paths: Sequence[Path]) -> Path:
    for path in paths:
        if path.suffix in ENDINGS:
            return path
    why = "beside entities.dict and relations.dict it is in the layout rotate, which reads .txt and .tsv only"
    raise DatasetError(f"{paths[0]}: {why}. Convert it, or use the layout labels (--layout labels).")


CONFIG = "dataset.yaml"
"""the file of a dataset's settings, in LibKGE and in Marius"""

LABEL = 2**7
"""the memory that the label of an id may take while it is made, in bytes"""


def read_libkge(folder: Path) -> Dataset:
    """Read the ``train``, ``valid`` (optional) and ``test`` files (rows: subject, predicate, object), and the labels.

    Where there are no files of labels, ids are labelled by themselves.
    """
    block = read_graph_settings(folder / CONFIG).get("dataset")
    if not isinstance(block, dict):
        raise DatasetError(f"{folder / CONFIG}: no block 'dataset' in it. Is it the configuration of a LibKGE dataset?")
    settings = dict(flat(block))
    sizes = {"entity": "num_entities", "relation": "num_relations"}

    def file(name: str) -> str:
        return str(settings.get(f"files.{name}.filename", f"{name}.del"))

    label_files = LabelFiles(file("entity_ids"), file("relation_ids"))
    decode = partial(_rows_of_ids, names=("subject", "predicate", "object"))
    numbers = _numbers(folder / CONFIG, settings, sizes)
    check = partial(_check_size, CONFIG, settings, sizes)
    dataset = _graph(folder, file, decode, label_files, numbers, settings=[folder / CONFIG], check=check)
    return replace(dataset, name=str(settings.get("name") or dataset.name))


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
    settings, sizes = read_graph_settings(folder / CONFIG), {"entity": "num_nodes", "relation": "num_relations"}

    decode, numbers = partial(_edges, settings=settings), _numbers(folder / CONFIG, settings, sizes)
    return _graph(folder, EDGES.__getitem__, decode, MAPPINGS, numbers, settings=[folder / CONFIG])


MARIUS = Layout(
    name="marius",
    summary="dataset.yaml, edges/train_edges.bin, edges/test_edges.bin, … and the mappings of nodes and relations",
    recognises=lambda folder: (folder / CONFIG).is_file() and (folder / EDGES["train"]).is_file(),
    read=read_marius,
    needs=((CONFIG,), (EDGES["train"],), (EDGES["test"],)),
)


def _edges(path: Path, split: str, settings: Mapping[str, Any]) -> Triples:
    refuse_missing(path)
    content, key = read_bytes(path), f"num_{split}"
    count = settings.get(key)
    for width in (4, 8):
        if isinstance(count, int) and not isinstance(count, bool) and len(content) == 3 * width * count:
            return stored_triples(path, np.frombuffer(content, f"<i{width}").reshape(-1, 3))
    fault = f"{len(content)} bytes are not the {key}: {count} edges of {CONFIG}, in rows of three int32 or int64"
    raise DatasetError(f"{path}: {fault}. It may be cut short, or its edges may have no relations.")


def read_kbc(folder: Path) -> Dataset:
    """Read ``{train,valid,test}.pickle`` (rows: lhs, rel, rhs) and ``ent_id``, ``rel_id`` (rows: label, id).

    Rows of a temporal graph have a fourth id, the time; ``ts_id`` has the labels of the times, whose ids are in the
    order of time. Ids without a file of labels are labelled by themselves. Nothing in a pickle is executed.
    """

    def decode(path: Path, _: str) -> Triples:
        refuse_missing(path)
        return stored_triples(path, read_pickled(path), may_have_times=True)

    return _graph(folder, "{}.pickle".format, decode, id_files.KBC, partial(labels_of_ids, folder))


KBC = Layout(
    name="kbc",
    summary="train.pickle, valid.pickle (optional), test.pickle, and ent_id, rel_id, ts_id (optional: label, id)",
    recognises=lambda folder: (folder / "train.pickle").is_file() and (folder / "test.pickle").is_file(),
    read=read_kbc,
    needs=(("train.pickle",), ("test.pickle",)),
)

STAT = "stat.txt"
"""RE-Net's file with the numbers of entities and relations"""

SIZES = {"entity": "entities", "relation": "relations"}
"""a kind of labels -> the name of its number, in the order of ``stat.txt``"""

FACT = ("subject", "relation", "object", "time")


def read_renet(folder: Path) -> Dataset:
    """Read ``{train,valid,test}.txt`` (rows: subject, relation, object, time, perhaps more) and ``stat.txt``.

    Labels are in ``entity2id.txt`` and ``relation2id.txt`` (rows: label, id, perhaps more); ids without them are
    labelled by themselves, as many as ``stat.txt`` says. Times are whole numbers in units of the files.
    """
    numbers = first_line(folder / STAT).split()
    if len(numbers) < 2 or not all(cell.isascii() and WHOLE_NUMBER.fullmatch(cell) for cell in numbers[:2]):
        found = f"found {' '.join(numbers)[:40]!r}"
        raise DatasetError(f"{folder / STAT}, line 1: expected the numbers of entities and of relations, {found}.")
    sizes = dict(zip(SIZES.values(), map(int, numbers), strict=False))
    made_up, check = _numbers(folder / STAT, sizes, SIZES), partial(_check_size, STAT, sizes, SIZES)
    varied: list[str] = []

    def decode(path: Path, _: str) -> Triples:
        further = further_columns(path, len(FACT))[:1]
        table = read_text(path, FACT, kind=pa.int64(), untyped=further)
        _refuse_empty(table)
        varied.extend(path.name for name in further if len(pc.unique(table[name])) > 1)
        ids = np.stack([table[name].to_numpy() for name in FACT], axis=1)
        return Triples(ids[:, :3], ids[:, 3])

    dataset = _graph(folder, "{}.txt".format, decode, id_files.RENET, made_up, settings=[folder / STAT], check=check)
    files = Example.path(" and ".join(varied))
    note = Note("files", "the fifth column of ", files, " is not the same in all rows. It was not read.")
    return replace(dataset, notes=(note,) if varied else ())


def _holds_facts(path: Path) -> bool:
    """Whether the first row of a file is four or five whole numbers."""
    first = next(rows(path), Row(0, 0, [])).cells if path.is_file() else []
    return len(first) in (4, 5) and all(map(WHOLE_NUMBER.fullmatch, first[:4]))


RENET = Layout(
    name="renet",
    summary="forecasting, of RE-Net, RE-GCN, CyGNet and others: stat.txt, train.txt, valid.txt (optional), test.txt of "
    "subject, relation, object, time ids; entity2id.txt, relation2id.txt (optional)",
    recognises=lambda folder: (folder / STAT).is_file() and _holds_facts(folder / "train.txt"),
    read=read_renet,
    needs=((STAT,), ("train.txt",), ("test.txt",)),
)

MadeUp = Callable[[str, Mapping[str, Triples]], Vocabulary]
"""a function from (kind, splits) to labels, for a kind of labels without a file"""


def _graph(
    folder: Path,
    file: Callable[[str], str],
    decode: Callable[[Path, str], Triples],
    label_files: LabelFiles,
    made_up: MadeUp | None = None,
    *,
    settings: Sequence[Path] = (),
    check: Callable[[Path, Vocabulary], None] = lambda *_: None,
) -> Dataset:
    """Read the ``file`` of each split by ``decode(path, split)``, and the labels; then check the ids."""
    paths = without_missing_valid({split: folder / file(split) for split in SPLITS})
    splits = {split: decode(path, split) for split, path in paths.items()}
    timed = any(triples.contexts is not None for triples in splits.values())
    places = {kind: path for kind, path in label_files.paths(folder).items() if kind != "time" or timed}
    labels = {
        kind: made_up(kind, splits) if made_up and not path.is_file() else label_files.read(path, kind)
        for kind, path in places.items()
    }
    for kind, path in places.items():
        check(path, labels[kind])
    if timed and label_files.times is None:
        splits, labels["time"] = _labelled_times(splits)
    return Dataset.build(
        folder.resolve().name,
        splits,
        entities=labels["entity"],
        relations=labels["relation"],
        times=labels.get("time"),
        files=(*settings, *(path for path in places.values() if path.is_file()), *paths.values()),
        where=lambda split, row: _where(paths[split], row, counted=label_files.counted),
    )


def _labelled_times(splits: Mapping[str, Triples]) -> tuple[dict[str, Triples], Vocabulary]:
    """Number the times of all splits in their order, and label them by their values."""
    times = {split: np.asarray(triples.contexts) for split, triples in splits.items()}
    values = np.unique(np.concatenate([*times.values()]))
    numbered = {split: Triples(it.ids, np.searchsorted(values, times[split])) for split, it in splits.items()}
    return numbered, Vocabulary(pa.array(values).cast(pa.string()), "time")


def _where(path: Path, row: int, *, counted: bool) -> str:
    if path.suffix in (".bin", ".pickle"):
        return f"{path}, row {row + 1}: the triple"
    return f"{path}, line {line_of(path, row, int(counted and announced_rows(path) is not None))}: the triple"


def _numbers(file: Path, settings: Mapping[str, Any], sizes: Mapping[str, str]) -> MadeUp:
    """Return a function that labels ids by themselves, as many as the settings in a file say."""

    def numbered(kind: str, _: object) -> Vocabulary:
        key = sizes[kind]
        size = settings.get(key)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise DatasetError(f"{file}: without a file of {kind} labels it must say {key}; found {size!r:.60}.")
        if size > free_memory() // LABEL:
            raise DatasetError(f"{file}: {key}: {size} do not fit into memory.")
        return Vocabulary.numbered(size, kind)

    return numbered


def _check_size(
    source: str, settings: Mapping[str, Any], sizes: Mapping[str, str], path: Path, labels: Vocabulary
) -> None:
    """Refuse labels that are not as many as the settings of a file, the ``source``, say."""
    key = sizes[labels.kind]
    if settings.get(key) not in (None, len(labels)):
        raise DatasetError(f"{path}: {len(labels)} {labels.kind} labels, but {source} says {key}: {settings[key]}.")


def _rows_of_ids(path: Path, _: str, names: Sequence[str], *, counted: bool = False) -> Triples:
    """Read rows of three ids, the relation last if the file is ``counted``, as OpenKE's are."""
    read = partial(read_text, names=names, kind=pa.int64())
    table = read_counted(path, read) if counted else read(path)
    _refuse_empty(table)
    return Triples(np.stack([table[name].to_numpy() for name in (TRIPLE if counted else names)], axis=1))


def _refuse_empty(table: NamedTable) -> None:
    if not len(table):
        raise DatasetError(f"{table.source}: no triples in it.")


def without_missing_valid(files: Mapping[str, Path]) -> dict[str, Path]:
    """Keep the files of splits that must be there, and valid if it is there."""
    return {split: path for split, path in files.items() if split != "valid" or path.is_file()}
