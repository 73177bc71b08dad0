"""The layout of labelled triples: a folder with train, valid and test files of head, relation, tail; or one such file.

``load_dataset`` finds ``LABELLED`` in the registry of layouts; other layouts find and read such files with
:func:`candidates`, :func:`find_needed` and :func:`read_files`. In ``RED_GNN`` train is in two files, in ``DACKGR`` the
relation comes last; folders of complex queries are refused (``BETAE``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.assumptions import Assumption
from kgeval.base.errors import DatasetError, InputError, counted
from kgeval.base.notes import Example, Note
from kgeval.data.columns import IN_PYTHON, MAX_WEAK, TRIPLE, UNSAID, Columns, meaning
from kgeval.data.dataset import SPLITS, Dataset
from kgeval.data.layouts import Layout
from kgeval.data.numbering import number
from kgeval.data.tables import FOURTH, N_TRIPLES, NamedTable, read_triples
from kgeval.data.text import COMPRESSED, rows
from kgeval.data.triples import TripleIndex, Triples
from kgeval.data.vocabulary import Vocabulary

STEMS = {"train": ("train", "training"), "valid": ("valid", "val", "dev", "validation"), "test": ("test", "testing")}
"""a split -> the words for it in names of files, alone or beside other words"""

ENDINGS = tuple(ending + pack for pack in ("", *COMPRESSED) for ending in (".txt", ".tsv", ".csv", ".nt", ".triples"))
LABELLED_ENDINGS = (*ENDINGS, ".parquet")


def read(folder: Path, needs: Sequence[str] = ("train", "test"), columns: Columns = UNSAID) -> Dataset:
    """Read a folder of labelled triples with PyKEEN's ids; the splits that are not needed may be missing."""
    place = folder.resolve()
    dataset = read_files(place.name, find_needed(folder, needs), columns=columns)
    fact = " is beside this folder, so the dataset looks inductive, and this is its training graph. "
    cure = "For inductive evaluation, give "
    beside = [
        Note("files", Example(name, "another folder"), fact, cure, Example(f"the folder {name}", "that one"), ".")
        for name in (f"{place.name}_ind", f"{place.name}-ind")
        if "train" in candidates(place.parent / name)
    ]
    notes = (*dataset.notes, *beside, *notes_on_unread_triples(folder, dataset))
    return replace(dataset, notes=notes, assumptions=(*dataset.assumptions, *_strangers(dataset)))


LABELLED = Layout(
    name="labels",
    summary="train, valid (optional), test: files of head, relation, tail, maybe confidence, time or label (text, "
    "compressed or not; N-Triples; Parquet)",
    recognises=lambda folder: (
        {"train", "test"} <= candidates(folder).keys()
        and not _is_red_gnn(folder)
        and not _relation_is_last(folder, unsure=(folder / "raw.kb").is_file())
    ),
    read=read,
    needs=tuple(tuple(f"{split}{ending}" for ending in LABELLED_ENDINGS) for split in ("train", "test")),
    general=True,
    has_columns=True,
)


def find_needed(
    folder: Path, needs: Sequence[str] = ("train", "test"), stems: Mapping[str, Sequence[str]] = STEMS
) -> dict[str, Path]:
    """Find the file of each split, by what it may be called."""
    by_split = candidates(folder, stems)
    for split, files in by_split.items():
        if len(files) > 1:
            names = " and ".join(file.name for file in files)
            raise DatasetError(
                f"folder {str(folder)!r} has {counted(len(files), 'file')} for the {split} split: {names}. Keep one."
            )
    for name in (stems[split][0] for split in needs if split not in by_split):
        raise DatasetError(f"folder {str(folder)!r} has no {name} file. Expected {name}.txt, .tsv, .csv or .parquet.")
    return {split: files[0] for split, files in by_split.items()}


def candidates(folder: Path, stems: Mapping[str, Sequence[str]] = STEMS) -> dict[str, list[Path]]:
    """List the files that could be each split, for the splits that have one, by their names without the ending.

    If no name is the word for a split alone, names count that have it beside other words, which must be the same for
    train and test: ``wikidata5m_transductive_train.txt``.
    """
    words = {word: split for split, names in stems.items() for word in names}
    groups: dict[str, dict[str, list[Path]]] = {}
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        ending = next((ending for ending in LABELLED_ENDINGS if file.name.lower().endswith(ending)), "")
        stem = file.name[: len(file.name) - len(ending)].lower()
        parts = [stem] if stem in words else re.split(r"[-_. ]", stem)
        stems_in = [part for part in parts if part in words]
        is_one = len(stems_in) == 1 and not any(part.startswith("neg") for part in parts)
        if is_one and (ending or not file.suffix) and file.is_file():
            others = " ".join(part for part in parts if part not in words)
            groups.setdefault(others, {}).setdefault(words[stems_in[0]], []).append(file)
    alone = groups.pop("", {})
    if alone or stems is not STEMS:
        return {split: alone[split] for split in stems if split in alone}
    whole = [group for group in groups.values() if {"train", "test"} <= group.keys()]
    return {split: files for split in stems if (files := [file for group in whole for file in group.get(split, ())])}


def lacks_train(folder: Path, splits: Collection[str]) -> bool:
    """Whether a folder has these splits and no train."""
    return {*splits} <= (files := candidates(folder)).keys() and "train" not in files


def read_files(
    name: str,
    files: Mapping[str, Path],
    relations: Vocabulary | None = None,
    further_train: Sequence[Path] = (),
    columns: Columns = UNSAID,
) -> Dataset:
    """Read the files of the splits, and further train files; given relations keep their ids, and new ones follow."""
    splits = {split: read_triples(path, columns.of_split(split), fourth=FOURTH) for split, path in files.items()}
    splits, assumptions = _without_header(splits, columns)
    if not columns.are_given:
        _refuse_other_order(splits.values())
    for path in further_train:
        splits["train"] = splits["train"].followed_by(read_triples(path, columns.of_split("train"), fourth=FOURTH))
    if relations is not None:
        labels = {label for table in splits.values() for label in table["relation"].unique().to_pylist()}
        relations = Vocabulary([*relations, *sorted(labels.difference(relations))], "relation")
    graph = number(splits, relations=relations)
    del splits
    pa.default_memory_pool().release_unused()  # the text of a large graph
    graph["assumptions"] = (*assumptions, *graph["assumptions"])
    return Dataset.build(name, **graph, files=(*files.values(), *further_train), id_source="kgeval")


def _without_header(
    tables: Mapping[str, NamedTable], columns: Columns
) -> tuple[dict[str, NamedTable], list[Assumption]]:
    """Leave out a first row that names the columns in unknown words, if the user says what they hold; else ask.

    A row with which all splits begin is such a row, unless its relation occurs again. So is a row with which several
    splits begin, if its labels occur nowhere else. In one split alone, it is taken as a triple, with an assumption.
    """
    rows = {
        split: tuple(table[role][0].as_py() for role in TRIPLE)
        for split, table in tables.items()
        if not table.header and N_TRIPLES not in table.origins.values()
    }
    if not rows or columns.header:
        return {**tables}, []
    first, count = Counter(rows.values()).most_common(1)[0]
    heading = {split for split, row in rows.items() if row == first}
    named = [role for role in ("relation", "head", "tail") if role not in columns.constants]
    if count == 1:
        return {**tables}, [] if columns.are_given else [*_triples_that_may_be_headers(tables, rows, named)]
    rests = [table.data.slice(int(split in heading)) for split, table in tables.items()]
    if not all(rest.num_rows for rest in rests):
        return {**tables}, []
    is_alone = not _occurs(first, rests, named)
    begins_all = count == len(tables) and "relation" in named and not _occurs(first, rests, ["relation"])
    is_surely = is_alone or [*first] == [*map(str, range(len(first)))]  # pandas numbers columns so
    if not (is_surely or begins_all):
        return {**tables}, []
    if not columns.are_given:
        _refuse_header(first, count, is_alone=is_alone)
    if not is_surely:
        fault = f"all splits begin with the row {' '.join(first)!r}: it may be a header or a triple"
        raise DatasetError(f"{fault}. Say which: --columns …,header=all or …,header=none {IN_PYTHON}.")
    without = {split: tables[split].where(np.arange(len(tables[split])) > 0) for split in heading}
    taken = f"the first row {' '.join(first)!r}"
    left_out = Assumption("header", taken, "usual", f"of {count} splits", "--columns …,header=none")
    return {**tables, **without}, [left_out]


def _triples_that_may_be_headers(
    tables: Mapping[str, NamedTable], rows: Mapping[str, Sequence[str]], named: Sequence[str]
) -> Iterator[Assumption]:
    """Say that the first row of one split alone, whose labels occur nowhere else, was taken as a triple."""
    for split, row in rows.items():
        rests = [table.data.slice(int(other == split)) for other, table in tables.items()]
        if len({*row}) == len(row) and all(rest.num_rows for rest in rests) and not _occurs(row, rests, named):
            taken = f"none in {Path(tables[split].source).name}, whose first row {' '.join(row)!r} is a triple"
            yield Assumption("header", taken, "usual", "", f"--columns header={split}")


def _occurs(row: Sequence[str], rests: Sequence[pa.Table], roles: Sequence[str]) -> bool:
    """Whether labels of a row occur in other rows: its relation as a relation, its head and tail as either."""
    alike = {"relation": ["relation"], "head": ["head", "tail"], "tail": ["head", "tail"]}
    cells = [(row[TRIPLE.index(role)], column) for role in roles for column in alike[role] if column in roles]
    return any(pc.index(rest[column], label).as_py() >= 0 for rest in rests for label, column in cells)


def _refuse_header(first: Sequence[str], count: int, *, is_alone: bool) -> NoReturn:
    meant = {of.role: (name, of.rank) for name in first if (of := meaning(name)) is not None}
    all_known = {*TRIPLE} <= meant.keys()
    sure = {role for role, (_, rank) in meant.items() if rank < MAX_WEAK or all_known}
    names = ",".join(f"{role}={meant[role][0] if role in sure else '…'}" for role in TRIPLE)
    row = f"{count} splits begin with the row {' '.join(first)!r}{', which occurs nowhere else' * is_alone}"
    words = "may be labels" if all_known else "kgeval does not know"
    raise DatasetError(
        f"{row}: it names the columns, in words that {words}. Say which is which: --columns {names}, or what they hold "
        "in their order: head,relation,tail; if all rows have one relation, relation='NAME'; if the row is a triple, "
        f"header=none {IN_PYTHON}."
    )


def _refuse_other_order(tables: Collection[NamedTable]) -> None:
    """Refuse files of which some have a header, with the columns in another order than files without a header have."""
    without = [table.source for table in tables if table.origins["head"] == "column '1'"]
    for table in tables if without else ():
        order = ",".join(role for role in table.data.column_names if role in TRIPLE)
        if order != ",".join(TRIPLE):
            fault = f"{without[0]} has no header, and by that of {table.source} the columns are {order}"
            raise DatasetError(f"{fault}. Give both the header, or none and --columns {order} {IN_PYTHON}.")


def notes_on_unread_triples(folder: Path, dataset: Dataset) -> Iterator[str]:
    """Note the text files of a folder that hold triples of the dataset's labels which no split has."""
    read = {file.resolve() for file in dataset.files}
    for file in sorted(folder.iterdir()):
        ordinary = "neg" in file.name.lower() or file.resolve() in read  # of false triples, or of the splits
        if ordinary or not file.name.lower().endswith(ENDINGS) or not file.is_file():
            continue
        if example := _unknown_triple(file, dataset):
            fact = " beside the splits was not read. It has triples that are in no split"
            such, cure = Example(f", such as ({example})"), ". If models may know them, add them to train."
            yield Note("files", Example.path(file.name), fact, such, cure)


def _strangers(dataset: Dataset) -> Iterator[Assumption]:
    """Say if most test triples name an entity that train lacks, as if the graph of test is missing."""
    known = np.concatenate([dataset.train.heads, dataset.train.tails])
    strangers = int((~np.isin(dataset.test.ids[:, ::2], known)).any(axis=1).sum())
    if not len(dataset.train) or 2 * strangers <= len(dataset.test):
        return
    share = f"{strangers:,} of {len(dataset.test):,} test triples have an entity that is in no train triple"
    files = "msg.txt (InGram), observe.txt (MTDEA), test-graph.txt (HM) or the folder X_ind (GraIL)"
    yield Assumption("graph of test", "train", "usual", share, f"add {files}")


def _unknown_triple(file: Path, dataset: Dataset) -> str:
    """Find a triple that no split has among the first 100 rows of a file; none gives an empty text."""
    cells: list[list[str]] = []
    with suppress(InputError):  # no text, or one of binary data: no triples
        cells = [row.cells[:3] for row in islice(rows(file), 100) if len(row.cells) in (3, 4)]
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


def read_file(path: Path, columns: Columns = UNSAID) -> Dataset:
    """Read one file of triples with a column ``split``: train, valid (validation, dev) and test."""
    table = read_triples(path, columns)
    if "split" not in table:
        fault = f"{str(path)!r} is a file without a column 'split', which says in which split each triple is"
        raise DatasetError(f"{fault}. Add the column, or give a folder with train, valid and test files.")
    words = pc.utf8_lower(pc.utf8_trim_whitespace(table.text("split"))).to_numpy(zero_copy_only=False)
    split_of_word = {word: split for split, names in STEMS.items() for word in names}
    names = np.array([split_of_word.get(word, "") for word in words])
    table.refuse(names == "", "split", f"is none of {', '.join(split_of_word)}.")
    splits: dict[str, NamedTable] = {split: table.where(names == split) for split in SPLITS if (names == split).any()}
    return Dataset.build(path.name.split(".")[0], **number(splits), files=(path,), id_source="kgeval")


FACTS = {"facts": ("facts",)}


def read_red_gnn(folder: Path, columns: Columns = UNSAID) -> Dataset:
    """Read ``facts`` and ``train`` as train, beside ``valid`` (optional) and ``test``."""
    facts = find_needed(folder, ("facts",), FACTS)["facts"]
    files = find_needed(folder)
    dataset = read_files(folder.resolve().name, files, further_train=(facts,), columns=columns)
    file, train = (Example.path(path.name) for path in (facts, files["train"]))
    fact = " together are read as train, as in RED-GNN's code. To read "
    note = Note("files", file, " and ", train, fact, train, " alone, use the layout labels (--layout labels).")
    return replace(dataset, notes=(*dataset.notes, note))


RED_GNN = Layout(
    name="red-gnn",
    summary="facts and train, which together are train; valid (optional), test",
    recognises=lambda folder: "facts" in candidates(folder, FACTS) and {"train", "test"} <= candidates(folder).keys(),
    read=read_red_gnn,
    needs=(tuple(f"facts{ending}" for ending in ENDINGS), *LABELLED.needs),
    general=True,
    has_columns=True,
)


def _is_red_gnn(folder: Path) -> bool:
    """Whether a folder has all files that RED-GNN's code opens; with ``facts`` alone it may be an ordinary graph."""
    lists = {"entities": ("entities",), "relations": ("relations",)}
    return len(candidates(folder, {**STEMS, **FACTS, **lists})) == 6


DACKGR_FILES = ("train.triples", "dev.triples", "test.triples")


def _relation_is_last(folder: Path, *, unsure: bool) -> bool:
    """Whether a folder has DacKGR's files and, by the labels of the first rows, its columns: head, tail, relation.

    The second column has the tails if more heads occur in it than in the third; if equally many do, return ``unsure``.
    """
    files = [folder / name for name in DACKGR_FILES]
    if not all(file.is_file() for file in files):
        return False
    triples = [row.cells[:3] for file in files for row in islice(rows(file), 1000) if len(row.cells) == 3]
    heads, second, last = ({row[place] for row in triples} for place in range(3))
    shared = len(heads & second) - len(heads & last)
    return shared > 0 or (unsure and shared == 0)


def read_dackgr(folder: Path, columns: Columns = UNSAID) -> Dataset:
    """Read the splits, whose columns are head, tail and relation."""
    return read(folder, columns=columns if columns.are_given else columns._replace(order=("head", "tail", "relation")))


DACKGR = Layout(
    name="dackgr",
    summary="sparse graphs of DacKGR, and MultiHopKG: train.triples, dev.triples, test.triples of head, tail, relation",
    recognises=partial(_relation_is_last, unsure=True),
    read=read_dackgr,
    needs=tuple((name,) for name in DACKGR_FILES),
    general=True,
    has_columns=True,
)

QUERIES = ("*-queries.pkl", "*_ans_*.pkl")
"""the file patterns of complex queries (of several triples), in BetaE and in Query2box"""


def refuse_queries(folder: Path) -> NoReturn:
    """Refuse a folder of complex queries."""
    fault = f"folder {str(folder)!r} holds complex queries ({_queries(folder)[0].name}), as of BetaE or Query2box"
    raise DatasetError(f"{fault}; kgeval evaluates single triples. For those beside them: --layout labels.")


def _queries(folder: Path) -> list[Path]:
    return sorted(file for pattern in QUERIES for file in folder.glob(pattern))


BETAE = Layout(
    name="betae",
    summary="complex queries of BetaE or Query2box (train-queries.pkl): not supported, refused",
    recognises=lambda folder: bool(_queries(folder)),
    read=refuse_queries,
    needs=(QUERIES,),
)
