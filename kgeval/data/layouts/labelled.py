"""Folders of labelled triples: train, valid and test files of (head, relation, tail).

A file of labels, names, types or negatives is none of these; nor is one whose triples are all in the splits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from kgeval.data.dataset import Dataset
from kgeval.data.layout import Layout
from kgeval.data.numbering import number
from kgeval.data.text import rows
from kgeval.data.triple_files import common_header, read_triples
from kgeval.data.triples import TripleIndex, Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError, InputError

ENDINGS = (".txt", ".tsv", ".csv", ".txt.gz", ".tsv.gz", ".csv.gz")


def notes_on_unread_triples(folder: Path, dataset: Dataset) -> Iterator[str]:
    """Note the text files of a folder that hold triples of the dataset's labels which no split has."""
    read = {file.resolve() for file in dataset.files}
    for file in sorted(folder.iterdir()):
        ordinary = "neg" in file.name.lower() or file.resolve() in read  # of false triples, or of the splits
        if ordinary or not file.name.lower().endswith(ENDINGS) or not file.is_file():
            continue
        if example := _unknown_triple(file, dataset):
            yield (
                f"{file.name} beside the splits was not read. It has triples that are in no split, such as "
                f"({example}). If models may know them, add them to train."
            )


def _unknown_triple(file: Path, dataset: Dataset) -> str:
    """Find a triple that no split has among the first 100 rows of a file; none gives an empty text."""
    try:
        cells = [row.cells[:3] for row in islice(rows(file), 100) if len(row.cells) in (3, 4)]
    except InputError:  # no text, or one of binary data: no triples
        return ""
    if not cells:
        return ""
    heads, relations, tails = zip(*cells, strict=True)
    columns = [dataset.entities.ids(heads), dataset.relations.ids(relations), dataset.entities.ids(tails)]
    ids = np.stack(columns, axis=1)
    missing = (ids[:, 1] >= 0) | ((ids[:, 0] >= 0) & (ids[:, 2] >= 0))
    for triples in dataset.splits.values():
        near = triples.ids[np.isin(triples.heads, ids[:, 0])]  # no index of a large split for a few rows
        missing &= ~TripleIndex.of(Triples(near)).contains(Triples(ids))
    return ", ".join(cells[int(np.argmax(missing))]) if missing.any() else ""


STEMS = {"train": ("train",), "valid": ("valid", "val", "dev", "validation"), "test": ("test",)}
LABELLED_ENDINGS = (".txt", ".tsv", ".csv", ".nt", ".txt.gz", ".tsv.gz", ".csv.gz", ".nt.gz", ".parquet")


def find_needed(
    folder: Path, needs: Sequence[str] = ("train", "test"), stems: Mapping[str, Sequence[str]] = STEMS
) -> dict[str, Path]:
    """Find the file of each split, by what it may be called."""
    found = candidates(folder, stems)
    for split, files in found.items():
        if len(files) > 1:
            names = " and ".join(file.name for file in files)
            raise DatasetError(
                f"folder {str(folder)!r} has two files for the {split} split: {names}. Keep one of them."
            )
    for name in (stems[split][0] for split in needs if split not in found):
        raise DatasetError(f"folder {str(folder)!r} has no {name} file. Expected {name}.txt, .tsv, .csv or .parquet.")
    return {split: files[0] for split, files in found.items()}


def candidates(folder: Path, stems: Mapping[str, Sequence[str]] = STEMS) -> dict[str, list[Path]]:
    """List the files that could be each split, for the splits that have one."""
    found = {}
    for split, names in stems.items():
        paths = [folder / f"{name}{ending}" for name in names for ending in LABELLED_ENDINGS]
        if files := [path for path in paths if path.is_file()]:
            found[split] = files
    return found


def lacks_train(folder: Path, split: str) -> bool:
    return split in (files := candidates(folder)) and "train" not in files


def read(folder: Path, needs: Sequence[str] = ("train", "test")) -> Dataset:
    """Read a folder of labelled triples with PyKEEN's ids; the splits that are not needed may be missing."""
    place = folder.resolve()
    dataset = read_files(place.name, find_needed(folder, needs))
    inductive = "train" in candidates(place.parent / f"{place.name}_ind")
    beside = (
        f"{place.name}_ind is beside this folder, so the dataset looks inductive, and this is its training graph. For "
        f"inductive evaluation, give the folder {place.name}_ind."
    )
    notes = [*([beside] if inductive else []), *notes_on_unread_triples(folder, dataset)]
    return replace(dataset, notes=(*dataset.notes, *notes))


def read_files(
    name: str, files: Mapping[str, Path], relations: Vocabulary | None = None, further_train: Sequence[Path] = ()
) -> Dataset:
    """Read the files of the splits, and more of train; given relations keep their ids, and others come after them."""
    graph, header = _number_files(files, relations, further_train)
    pa.default_memory_pool().release_unused()  # the text of a large graph
    row = repr(" ".join(header))
    note = f"every split begins with the row {row}, which occurs nowhere else. It was read as a header, and left out."
    paths, notes = (*files.values(), *further_train), (note,) if header else ()
    return Dataset.build(name, **graph, files=paths, id_source="kgeval", notes=notes)


def _number_files(
    files: Mapping[str, Path], relations: Vocabulary | None, further_train: Sequence[Path]
) -> tuple[dict[str, Any], list[str]]:
    """Read and number the splits, whose text is dropped then; and the header that none of them says is one."""
    tables = {path: read_triples(path) for path in (*files.values(), *further_train)}
    if header := common_header(tables.values()):
        tables = {path: table.slice(1) for path, table in tables.items()}
    splits = {split: tables[path] for split, path in files.items()}
    for path in further_train:
        if tables[path].column_names != splits["train"].column_names:
            raise DatasetError(f"{path} and {files['train']} are both train triples, but have different columns.")
        splits["train"] = pa.concat_tables([splits["train"], tables[path]])
    if relations is not None:
        found = {label for table in splits.values() for label in table["relation"].unique().to_pylist()}
        relations = Vocabulary([*relations, *sorted(found.difference(relations))], "relation")
    return number(splits, files, relations=relations), header


LABELLED = Layout(
    name="labels",
    summary="train, valid (optional), test: files of head, relation, tail, maybe confidence or time (.txt, "
    ".tsv, .csv, .gz of these, .parquet, N-Triples as .nt)",
    recognises=lambda folder: {"train", "test"} <= candidates(folder).keys(),
    read=read,
    needs=tuple(tuple(f"{split}{ending}" for ending in LABELLED_ENDINGS) for split in ("train", "test")),
    general=True,
)


def _queries(folder: Path) -> list[Path]:
    return sorted(file for pattern in QUERIES for file in folder.glob(pattern))


def refuse_queries(folder: Path) -> NoReturn:
    triples = (
        "To evaluate its triples alone, which BetaE writes in both directions, use the layout labels (--layout labels)."
        if LABELLED.recognises(folder)
        else "It has no train and test files of triples."
    )
    raise DatasetError(
        f"folder {str(folder)!r} holds complex queries ({_queries(folder)[0].name}), as of BetaE or Query2box. kgeval "
        f"evaluates the prediction of single triples only. {triples}"
    )


QUERIES = ("*-queries.pkl", "*_ans_*.pkl")
"""the files of queries, of BetaE and of Query2box"""

BETAE = Layout(
    name="betae",
    summary="complex queries of BetaE or Query2box (train-queries.pkl): not supported, refused",
    recognises=lambda folder: bool(_queries(folder)),
    read=refuse_queries,
    needs=(QUERIES,),
)
