"""Files of labelled triples, text or Parquet: the columns head, relation and tail, in any order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgeval.data.text import UNIT_SEPARATOR, line_of, read_columns, refuse_missing, rows
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError, reason
from kgeval.files.containers import read_parquet

TRIPLE = ("head", "relation", "tail")

ALIASES = {
    **dict.fromkeys(("h", "head", "subject", "source", "from", "head_id", "subject_id", "source_id"), "head"),
    **dict.fromkeys(
        ("r", "rel", "relation", "predicate", "edge", "relation_id", "predicate_id", "edge_id"), "relation"
    ),
    **dict.fromkeys(("t", "tail", "object", "target", "to", "tail_id", "object_id", "target_id"), "tail"),
}
"""What the columns of a triple are called, in lower case."""


def is_header(cells: Sequence[str]) -> bool:
    """Whether the first row of a file names columns rather than a triple.

    It does if it names all three columns, or two of them in whole words: then the third is missing or misspelt. A
    letter alone may well be an entity.

    >>> is_header(["t", "h", "r"]), is_header(["head", "rel_type", "tail"]), is_header(["h", "likes", "t"])
    (True, True, False)
    """
    names = [_folded(cell) for cell in cells]
    columns = {ALIASES[name] for name in names if name in ALIASES}
    in_words = {ALIASES[name] for name in names if name in ALIASES and len(name) > 1}
    return len(columns) == 3 or len(in_words) == 2


def common_header(tables: Collection[pa.Table]) -> list[str]:
    """Return the first row that all splits of a graph have in common, if its labels occur nowhere else; else nothing.

    Such a row names columns, whatever it calls them: no triple stands first in every split and is all that its entities
    and its relation have.
    """
    first, *others = ([table[column][0].as_py() for column in TRIPLE] for table in tables)
    if not others or any(row != first for row in others):
        return []
    rests = [table.slice(1) for table in tables]
    entities = [rest[column] for rest in rests for column in ("head", "tail")]
    relations = [rest["relation"] for rest in rests]
    unique = all(
        not pc.any(pc.is_in(column, value_set=pa.array(labels))).as_py()
        for labels, columns in ((first[::2], entities), (first[1:2], relations))
        for column in columns
    )
    return first if unique and all(rest.num_rows for rest in rests) else []


def columns(path: str | Path, names: Sequence[str]) -> list[str]:
    """Give each column of a file its own name: head, relation and tail, and others as they are, in lower case."""
    folded = [_folded(name) for name in names]
    columns = [ALIASES.get(name, name) for name in folded]
    found = f"found the columns {', '.join(map(repr, names))}" if names else "found no columns"
    for name, count in Counter(columns).items():
        if count > 1:
            same = " and ".join(repr(own) for own, column in zip(names, columns, strict=True) if column == name)
            raise DatasetError(f"{path}: {count} columns are the {name} ({same}); {found}. Keep one of them.")
    if missing := [name for name in TRIPLE if name not in columns]:
        aliases = {name: [alias for alias, column in ALIASES.items() if column == name] for name in TRIPLE}
        known = "; ".join(f"{name}: {', '.join(names)}" for name, names in aliases.items())
        raise DatasetError(
            f"{path}: no column is the {' or the '.join(missing)}; {found}. Name them (in any order, in either case) "
            f"by one of {known}."
        )
    return columns


def _folded(name: str) -> str:
    return name.strip().strip('"').lower()


TIME = ("time", "date", "timestamp")
"""what a column of times is called, the first being kgeval's own name"""

BEGIN, END = (
    {stem + suffix for stem in stems for suffix in ("", "_time", "_date", "time", "date")}
    for stems in (("begin", "start", "since", "valid_from"), ("end", "until", "valid_to", "valid_until"))
)
"""What columns of the two ends of an interval are called."""

NO_INTERVALS = (
    "Facts with a time interval (from begin to end) are not supported. Give each fact one time, or leave both columns "
    "out."
)

DATE = re.compile(r"\s*[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ].*)?)?\s*")
"""dates that sort as text, in the fourth column of a file without a header"""

NUMBER = re.compile(r"\s*[-+]?[0-9.]+(e[-+]?[0-9]+)?\s*", re.IGNORECASE)
"""a number: a fourth column of confidences, not of labels"""


def read_times(path: str | Path, table: pa.Table) -> pa.ChunkedArray | None:
    """Take the column of times of a file of triples as text, if it has one."""
    ends = [name for name in table.column_names if name in BEGIN | END]
    if BEGIN & {*ends} and END & {*ends}:
        raise DatasetError(f"{path}: the columns {' and '.join(ends)} are an interval. {NO_INTERVALS}")
    names = [name for name in TIME if name in table.column_names]
    if not names:
        return None
    if len(names) > 1:
        raise DatasetError(f"{path}: {len(names)} columns are the time ({' and '.join(names)}). Keep one of them.")
    column = table[names[0]]
    values = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_floating(values) or pa.types.is_boolean(values):
        raise DatasetError(
            f"{path}: the column {names[0]} holds {column.type}: times are dates, text or whole numbers."
        )
    text = column.cast(pa.string())
    empty = pc.or_kleene(pc.is_null(text), pc.equal(text, "")).to_numpy()
    if empty.any():
        raise DatasetError(
            f"{path}, row {int(empty.argmax()) + 1}: the {names[0]} is empty, but every fact needs a time."
        )
    return text


def times_in_order(columns: Mapping[str, pa.ChunkedArray]) -> Vocabulary:
    """Label the times of all splits in their order: whole numbers by their value, all else as text, as dates sort."""
    labels = pc.unique(pa.chunked_array([chunk for column in columns.values() for chunk in column.chunks], pa.string()))
    whole = pc.all(pc.match_substring_regex(labels, "^-?[0-9]{1,18}$"), min_count=0).as_py()
    order = pc.sort_indices(labels.cast(pa.int64()) if whole else labels)
    return Vocabulary(labels.take(order), "time")


NO_LABELS = (pa.types.is_floating, pa.types.is_boolean, pa.types.is_temporal, pa.types.is_decimal)
"""Types that Arrow would spell in its own way: text and whole numbers are labels, these are not."""

YEAR = re.compile("[0-9]{4}|##")
"""A time in the fourth or fifth column: a year, or YAGO's sign for unknown parts of a date."""

N_TRIPLE = (
    r"\s*(?P<head><[^<>]*>|_:\S+)\s*(?P<relation><[^<>]*>)"
    r'\s*(?P<tail><[^<>]*>|_:\S+?|".*"[^\s"]*)\s*\.\s*(?:#.*)?'
)
"""A line of the W3C's N-Triples: subject, predicate, object (a literal perhaps) and a full stop."""


NEEDED = re.compile("|".join([*TRIPLE, "side", "confidence"]))
"""The names of columns that are refused where they are nested; other nested columns are left out."""


def read_triples(path: Path) -> pa.Table:
    """Read a file of labelled triples: text (``.txt``, ``.tsv``, ``.csv``, ``.nt``, each also ``.gz``) or ``.parquet``.

    Text whose first line is one of N-Triples is read as such, and so is ``.nt``. The columns of Parquet files, and of
    text with a header, are found by their names, in any order. Text without a header has head, relation, tail, and a
    fourth column ``confidence`` if the first row ends in a number, or ``time`` if it ends in a date.
    """
    table = read_parquet_triples(path) if path.suffix.lower() == ".parquet" else _read_text(path)
    if table.num_rows == 0:
        raise DatasetError(f"{path}: no triples in it. Expected rows of head, relation, tail.")
    return table


def _read_text(path: Path) -> pa.Table:
    first = next(rows(path), None)
    if first is not None and (
        path.name.lower().endswith((".nt", ".nt.gz")) or re.fullmatch(N_TRIPLE, " ".join(first.cells))
    ):
        return _read_n_triples(path)
    if first is not None and is_header(first.cells):
        return read_columns(path, columns(path, first.cells), skip=first.end)
    if first is not None and len(first.cells) == 5 and any(map(YEAR.search, first.cells[3:])):
        raise DatasetError(f"{path}, line {first.line}: 5 columns, the last of a time. {NO_INTERVALS}")
    return read_columns(path, [*TRIPLE, *_fourth(first.cells if first is not None else ())])


def _read_n_triples(path: Path) -> pa.Table:
    """Read lines of N-Triples: an IRI is a label without its brackets; blank nodes and literals are unchanged."""
    lines = read_columns(path, ["line"], delimiter=UNIT_SEPARATOR)["line"]
    comments = pc.match_substring_regex(lines, r"^\s*(#|$)")
    cells = pc.extract_regex(lines, f"^{N_TRIPLE}$").combine_chunks()
    damaged = np.asarray(pc.and_(cells.is_null(), pc.invert(comments.combine_chunks())))
    if damaged.any():
        line = line_of(path, int(np.argmax(damaged)), delimiter=UNIT_SEPARATOR)
        raise DatasetError(f"{path}, line {line}: expected a line of N-Triples, '<subject> <predicate> <object> .'.")
    columns = cells.drop_null().flatten()
    return pa.table(
        {
            name: pc.replace_substring_regex(column, r"^<(.*)>$", r"\1")
            for name, column in zip(TRIPLE, columns, strict=True)
        }
    )


def _fourth(cells: Sequence[str]) -> list[str]:
    """Name the fourth column of a row: a number is a confidence, a date a time; otherwise it has no name."""
    kinds = ((NUMBER, "confidence"), (DATE, TIME[0]))
    return [name for pattern, name in kinds if len(cells) == 4 and pattern.fullmatch(cells[3])]


def read_parquet_triples(
    path: Path, rename: Callable[[Path, list[str]], list[str]] = columns, needed: re.Pattern[str] = NEEDED
) -> pa.Table:
    """Read a Parquet file whose columns head, relation and tail are labels; ``rename`` gives columns those names."""
    refuse_missing(path)
    try:
        table = read_parquet(path)
        nested = [field for field in pq.read_schema(path) if field.name not in table.column_names]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DatasetError(f"{path}: not a readable Parquet file ({reason(error)}).") from error
    for field in nested:
        if needed.fullmatch(field.name):
            raise DatasetError(f"{path}: the column {field.name} holds {field.type}, not text or numbers.")
    table = table.rename_columns(rename(path, table.column_names))
    for name in TRIPLE:
        table = table.set_column(table.column_names.index(name), name, _as_text(path, name, table.column(name)))
    return table


def _as_text(path: Path, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    values = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if any(holds(values) for holds in NO_LABELS):
        raise DatasetError(f"{path}: the column {name} holds {column.type}, not text.")
    try:
        text = column.cast(pa.string())
    except pa.ArrowException as error:
        raise DatasetError(f"{path}: the column {name} holds {column.type}, not text.") from error
    if text.null_count:
        raise DatasetError(f"{path}: the column {name} has empty cells.")
    return text
