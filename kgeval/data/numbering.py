"""Ids for labels: tables of labelled triples become vocabularies and triples of ids.

The layouts of labelled files and ``Dataset.from_labels`` call :func:`number`, and give its result to ``Dataset.build``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.base.arrays import IntArray
from kgeval.base.errors import DatasetError, first_few
from kgeval.base.notes import Example, Note, amount
from kgeval.data.column_choice import settled
from kgeval.data.column_order import customs_of_columns
from kgeval.data.columns import TRIPLE
from kgeval.data.labelled_triples import read_column_ids
from kgeval.data.tables import DATE, N_TRIPLES, NUMBER, NamedTable, with_fourth_named
from kgeval.data.text import BLANKS
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary

Codes = npt.NDArray[np.int32]
"""the number of the label in each row, in the order of first occurrence; int32[row]"""


def number(
    tables: Mapping[str, NamedTable], *, entities: Vocabulary | None = None, relations: Vocabulary | None = None
) -> dict[str, Any]:
    """Give ids to the labels of a graph, given by split; return the arguments of ``Dataset.build`` by name.

    Ids follow the sorted labels of the first split, then those that occur only in the others: the ids that PyKEEN
    gives. Given vocabularies are used as they are. Triples that a truth column marks as false become ``negatives``.
    """
    tables, assumptions = settled(with_fourth_named(tables))
    tables, notes = _with_blank_nodes_apart(tables)
    notes += _notes_on_columns(tables)
    ids: dict[str, IntArray] = {split: np.empty((len(table), 3), np.int64) for split, table in tables.items()}
    entities = _fill_in_ids("entity", entities, ("head", "tail"), tables, ids, notes)
    relations = _fill_in_ids("relation", relations, ("relation",), tables, ids, notes)
    confidences = _of_all_splits("confidences", "a fourth column", NamedTable.confidences, tables)
    timed = _of_all_splits("times", "its", NamedTable.times, tables)
    times = times_in_order(timed, notes) if timed else None
    splits = {split: Triples(rows, None if times is None else times.ids(timed[split])) for split, rows in ids.items()}
    negatives = {}
    for split, truths in ((split, table.truths()) for split, table in tables.items()):
        if truths is not None and not truths.all():
            splits[split], negatives[split] = splits[split][truths], splits[split][~truths]
            confidences |= {split: confidences[split][truths]} if confidences else {}
    notes += _notes_on_negatives(negatives)
    return {
        "splits": splits,
        "entities": entities,
        "relations": relations,
        "times": times,
        "confidences": confidences,
        "negatives": negatives,
        "notes": tuple(notes),
        "assumptions": (*assumptions, *dict.fromkeys(customs_of_columns(tables, ids, entities, relations))),
    }


def _fill_in_ids(
    kind: str,
    labels: Vocabulary | None,
    columns: Sequence[str],
    tables: Mapping[str, NamedTable],
    ids: Mapping[str, IntArray],
    notes: list[str],
) -> Vocabulary:
    """Fill in the ids of some columns, by given labels, or by sorted labels: of the first split, then of the others."""
    places = [(split, column) for split in tables for column in columns]
    if labels is not None:
        for split, column in places:
            ids[split][:, TRIPLE.index(column)] = read_column_ids(tables[split], column, labels)
        return labels
    codes, texts = _trimmed(kind, *encode([tables[split][column] for split, column in places]), notes)
    notes += _notes_on_labels(kind, texts, dict(zip(places, codes, strict=True)), tables)
    known = 1 + max(int(column.max(initial=-1)) for column in codes[: len(columns)])
    parts = (np.asarray(pc.sort_indices(part), np.int64) for part in (texts[:known], texts[known:]))
    order = np.concatenate([start + part for start, part in zip((0, known), parts, strict=True)])
    id_of_code = np.empty(len(order), np.int32)
    id_of_code[order] = np.arange(len(order), dtype=np.int32)
    for (split, column), rows in zip(places, codes, strict=True):
        ids[split][:, TRIPLE.index(column)] = id_of_code[rows]
    return Vocabulary.of_distinct(texts.take(pa.array(order)), kind)


def encode(columns: Sequence[pa.ChunkedArray]) -> tuple[list[Codes], pa.Array]:
    """Number the distinct labels of string columns without nulls, over all columns, by their first occurrence.

    Returns the code of each row, int32[row], column by column, and string[code].
    """
    chunks = [chunk for column in columns for chunk in column.chunks]
    encoded = pa.chunked_array(chunks, pa.string()).dictionary_encode()  # its chunks have one dictionary
    codes = np.concatenate([np.empty(0, np.int32), *(np.asarray(chunk.indices) for chunk in encoded.chunks)])
    labels = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], pa.string())
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1]), labels


def _trimmed(kind: str, codes: list[Codes], labels: pa.Array, notes: list[str]) -> tuple[list[Codes], pa.Array]:
    """Cut white space around numbers, and around labels that differ by it alone, with a note; renumber the codes."""
    cut = pc.utf8_trim(labels, BLANKS)
    if cut.equals(labels):
        return codes, labels
    indices = np.asarray(cut.dictionary_encode().indices)
    is_twin = pa.array((np.bincount(indices) > 1)[indices])
    is_id = pc.match_substring_regex(cut, "^-?[0-9]+$")
    twins = labels.filter(pc.and_not(is_twin, is_id))
    if len(twins):
        examples = first_few([repr(label) for label in twins[:4].to_pylist()], 3)
        fault = amount(len(twins), f"{kind} label"), " that differ by blanks alone were taken as one"
        notes.append(Note("files", *fault, Example(f": {examples}"), "."))
    encoded = pc.if_else(pc.or_(is_twin, is_id), cut, labels).dictionary_encode()
    renumbered = np.asarray(encoded.indices)
    return [renumbered[rows] for rows in codes], encoded.dictionary


def _notes_on_labels(
    kind: str, labels: pa.Array, codes: Mapping[tuple[str, str], Codes], tables: Mapping[str, NamedTable]
) -> Iterator[str]:
    """Note cells without text."""
    empty = np.flatnonzero(np.asarray(pc.equal(pc.utf8_trim(labels, BLANKS), "")))
    rows = {place: np.flatnonzero(np.isin(cells, empty)) for place, cells in codes.items()} if len(empty) else {}
    places = [tables[split].place(int(there[0])) for (split, _), there in rows.items() if len(there)]
    if places:
        cells, first = amount(sum(map(len, rows.values())), f"{kind} cell"), Example(f", the first in {places[0]}")
        cure = "the empty text is a label as any other. Fill the cells, or leave the rows out."
        yield Note("files", cells, " without text", first, f": {cure}")


def times_in_order(columns: Mapping[str, pa.ChunkedArray], notes: list[str]) -> Vocabulary:
    """Label the times of all splits in their order: numbers by their value, all else as text, as dates sort.

    A note names a time such as 9.5.2014 or t10, which may sort in another order as text.
    """
    labels = pc.unique(pa.chunked_array([chunk for column in columns.values() for chunk in column.chunks], pa.string()))
    forms = f"^{NUMBER.pattern}$", f"^({DATES})$"
    is_number, is_date = (pc.match_substring_regex(labels, form, ignore_case=True) for form in forms)
    kind = pa.float64() if pc.all(is_number, min_count=0).as_py() else pa.string()
    if kind == pa.string() and len(others := labels.filter(pc.invert(is_date))):
        fault = "times that are neither numbers nor dates such as 2014-05-13", Example(f", here {others[0].as_py()!r}")
        cure = "If that is not the order of time, write numbers or such dates: returning facts and periods follow it."
        notes.append(Note("times", *fault, f", have the order of text. {cure}"))
    # Numbers that float64 cannot tell apart are sorted by their text.
    keys = pa.table({"value": labels.cast(kind), "label": labels})
    return Vocabulary(labels.take(pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])), "time")


DATES = f"{DATE.pattern}|[0-9]{{4}}"
"""the pattern of times that sort as text: dates, and years beside them"""


def _of_all_splits(
    what: str, need: str, read: Callable[[NamedTable], Any], tables: Mapping[str, NamedTable]
) -> dict[str, Any]:
    """Read a column of each split; refuse it if only some splits have it."""
    there = {split: column for split, table in tables.items() if (column := read(table)) is not None}
    for split, table in tables.items() if there else ():
        if split not in there:
            having = Path(tables[next(iter(there))].source).name
            raise DatasetError(f"{table.source}: no {what}, but {having} has them. Give every split {need}.")
    return there


def _notes_on_negatives(negatives: Mapping[str, Triples]) -> Iterator[str]:
    if negatives:
        counts = ", ".join(f"{len(triples):,} of {split}" for split, triples in negatives.items())
        note = f"triples whose label says that they are false: {counts}. They are neither ranked nor known answers"
        yield Note("negatives", f"{note}; kgeval classify takes them as negatives.")


def _notes_on_columns(tables: Mapping[str, NamedTable]) -> Iterator[str]:
    """Note columns that are not used."""
    unused = {split: table.unused for split, table in tables.items() if table.unused}
    for names in dict.fromkeys(unused.values()):
        of = ", ".join(Path(tables[split].source).name for split, others in unused.items() if others == names)
        yield Note("files", f"columns not used: {', '.join(names)} (of ", Example.path(of), ").")


def _with_blank_nodes_apart(tables: Mapping[str, NamedTable]) -> tuple[dict[str, NamedTable], list[str]]:
    """Rename blank nodes that several files of N-Triples name alike, as they differ; note them, and literals."""
    if any(N_TRIPLES not in table.origins.values() for table in tables.values()):
        return {**tables}, []
    ends = [pa.concat_arrays([*table["head"].chunks, *table["tail"].chunks]) for table in tables.values()]
    blanks = (pc.unique(labels.filter(pc.starts_with(labels, "_:"))).to_pylist() for labels in ends)
    shared = [label for label, count in Counter(chain.from_iterable(blanks)).items() if count > 1]
    literals = sum(len(pc.unique(labels.filter(pc.starts_with(labels, '"')))) for labels in ends)
    separate = {**tables}
    for split, role in product(separate if shared else (), ("head", "tail")):
        labels = separate[split][role]
        renamed = pc.binary_join_element_wise(labels, f" of {Path(tables[split].source).name}", "")
        is_shared = pc.is_in(labels, value_set=pa.array(shared))
        separate[split] = separate[split].with_column(role, pc.if_else(is_shared, renamed, labels))
    of_one_name = " of one name in several files", Example(f", such as {next(iter(shared), '')}")
    why = ": a blank node belongs to its file, so these are different entities."
    notes = {
        Note("files", amount(len(shared), "blank node"), *of_one_name, why): len(shared),
        Note("files", amount(literals, "literal"), " among the tails: entities as any other."): literals,
    }
    return separate, [note for note, count in notes.items() if count]
