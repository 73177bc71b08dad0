"""Tables of triples and other labels, from text, Parquet or memory; each column is named by its role, such as head.

The layouts call :func:`read_triples` for a file, ``Dataset.from_labels`` calls :func:`from_memory`; both make a
``NamedTable``, in whose columns ``numbering.py`` looks for labels, times, confidences and truth values. Ranks of other
programs are read by ``read_table`` and ``from_arrow`` (``rank_file.py``); further text, such as labels with their ids,
by ``read_text`` and ``read_pairs`` (``id_files.py``). Roles are in ``columns.py``. The end of the file reads N-Triples
(W3C, 2014).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.base.containers import read_parquet
from kgeval.base.errors import DatasetError, did_you_mean, refusing
from kgeval.data import SIDES, Side
from kgeval.data.columns import (
    IN_PYTHON,
    OPTION,
    ROLES,
    TRIPLE,
    UNSAID,
    Columns,
    is_header,
    place_of,
    resolve,
    unquoted,
)
from kgeval.data.text import (
    UNIT_SEPARATOR,
    WHOLE_NUMBER,
    Row,
    find_delimiters,
    line_of,
    open_text,
    read_columns,
    refuse_missing,
    rows,
)

NO_TIMES = (pa.types.is_floating, pa.types.is_boolean)
NO_LABELS = (*NO_TIMES, pa.types.is_temporal, pa.types.is_decimal)
"""Arrow's types that are refused as times, and as labels: it would spell their values in its own way"""


@dataclass(frozen=True, eq=False)
class NamedTable:
    """A table whose columns have their roles as names."""

    source: str | Path
    data: pa.Table
    """the columns: head, relation and tail as text, others as they were found"""
    origins: Mapping[str, str] = field(default_factory=dict)
    """a role -> its column in the source, and who says so"""
    unused: tuple[str, ...] = ()
    """the names of the columns that hold nothing of use"""
    skip: int = 0
    """how many lines of a text precede the first row"""
    delimiter: str | None = None
    """what separates the columns of a text; None where the table is no text"""
    separators: str = ""
    """other characters that cut the first rows into as many columns"""
    rows: IntArray | None = None
    """in a part of a file, the number of each row in the file; int64[row]"""
    header: tuple[str, ...] = ()
    """the names of the columns that were read; none without a header"""
    roles: tuple[str, ...] = ()
    """what these columns hold, as ``data`` calls them"""
    said: Columns = UNSAID
    """the columns as the user says them"""

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def __getitem__(self, role: str) -> pa.ChunkedArray:
        return self.data[role]

    def __contains__(self, role: str) -> bool:
        return role in self.data.column_names

    def place(self, row: int) -> str:
        """Name a row, counted from 0, as messages do."""
        row = row if self.rows is None else int(self.rows[row])
        if self.delimiter is None:
            return f"{self.source}, row {row + 1}"
        return f"{self.source}, line {line_of(Path(self.source), row, self.skip, delimiter=self.delimiter)}"

    def refuse(self, wrong: BoolArray, role: str, why: str) -> None:
        """Refuse the table if a row is ``wrong`` (bool[row]); the message names the first and its cell in a column."""
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DatasetError(f"{self.place(row)}: the {role} {self.data[role][row].as_py()!r:.60} {why}")

    def where(self, keep: BoolArray) -> NamedTable:
        """Keep the rows for which ``keep`` (bool[row]) holds; messages still name their lines in the file."""
        return replace(self, data=self.data.filter(pa.array(keep)), rows=np.flatnonzero(keep))

    def followed_by(self, other: NamedTable) -> NamedTable:
        """Append the rows of another table, which must hold the same; messages then count the rows of both."""
        if other.data.column_names != self.data.column_names:
            raise DatasetError(f"{other.source} and {self.source} are both train triples, but have different columns.")
        source, data = f"{self.source} and {Path(other.source).name}", pa.concat_tables([self.data, other.data])
        return replace(self, data=data, source=source, delimiter=None)

    def with_column(self, role: str, column: pa.ChunkedArray) -> NamedTable:
        return replace(self, data=self.data.set_column(self.data.column_names.index(role), role, column))

    def renamed(self, role: str, now: str) -> NamedTable:
        """Give a column the role that its cells show."""
        names = [now if name == role else name for name in self.data.column_names]
        origins = {name: origin for name, origin in self.origins.items() if name != role}
        origins[now] = f"{self.origins[role]}{BY_CELLS}"
        return replace(self, data=self.data.rename_columns(names), origins=origins)

    def with_roles(self, roles: Mapping[int, str]) -> NamedTable:
        """Take the columns at these places of the header as the parts of triples."""
        apart = [f"{name.lower()} (column {place}, not used)" for place, name in enumerate(self.header, 1)]
        others = [unused if role in roles.values() else role for role, unused in zip(self.roles, apart, strict=True)]
        now = [roles.get(place, role) for place, role in enumerate(others)]
        data = self.data.select([*self.roles]).rename_columns(now)
        where = {name: getattr(self, name) for name in ("skip", "delimiter", "separators", "rows")}
        return _named(self.source, data, now, self.header, self.said, **where)

    def text(self, role: str) -> pa.ChunkedArray:
        """Return a column as text; whole numbers are text too, and dates in a column of times; refuse other types."""
        column = self.data[role]
        none, expected = (NO_TIMES, "dates, text or whole numbers") if role == "time" else (NO_LABELS, "text")
        values = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        try:
            if any(holds(values) for holds in none):
                raise pa.ArrowInvalid(values)
            text = column.cast(pa.string())
        except pa.ArrowException as error:
            raise DatasetError(f"{self.source}: the column {role} holds {column.type}, not {expected}.") from error
        self.refuse(np.asarray(text.is_null()), role, "is an empty cell.")
        return text

    def rows_of(self, side: Side) -> BoolArray:
        """Find the rows of a side: all, if no column names it; bool[row]."""
        if "side" not in self:
            return np.ones(len(self), np.bool_)
        words = pc.utf8_lower(pc.utf8_trim_whitespace(self.text("side"))).to_pylist()
        sides = np.array([SIDE_WORDS.get(word, word) for word in words])
        wrong = ~np.isin(sides, SIDES)
        hint = did_you_mean(str(sides[wrong][0]), SIDE_WORDS) if wrong.any() else ""
        self.refuse(wrong, "side", f"is unknown. {hint}")
        return np.asarray((sides == side) != (self.said.side_is == "known"))

    def times(self) -> pa.ChunkedArray | None:
        """Take the column of times as text, if there is one."""
        ends = [name for name in map(str.lower, self.unused) if name in BEGIN | END]
        if BEGIN & {*ends} and END & {*ends} and not self.said.say_all:
            raise DatasetError(f"{self.source}: the columns {' and '.join(ends)} are an interval. {NO_INTERVALS}")
        if "time" not in self:
            return None
        text = pc.utf8_trim_whitespace(self.text("time"))
        self.refuse(np.asarray(pc.equal(text, "")), "time", "is empty, but every fact needs a time.")
        return text

    def confidences(self) -> Float64Array | None:
        """Take the column of confidences or grades, if there is one; float64[row], not negative."""
        if "confidence" not in self:
            return None
        column = self.data["confidence"].combine_chunks()
        if pa.types.is_string(column.type):
            spelled = pc.match_substring_regex(column, f"^{NUMBER.pattern}$", ignore_case=True)
            column = pc.if_else(spelled, pc.utf8_trim_whitespace(column), "nan")
        with refusing(self.source, "the column confidence has a cell that is not a number", pa.ArrowException):
            numbers = np.asarray(column.cast(pa.float64()).fill_null(np.nan), np.float64)
        option = "--columns …,time=… or …,label=… (in Python and in configurations columns)"
        why = f"is not a number from 0. If the column holds times or labels, say so: {option}."
        self.refuse(~((numbers >= 0) & (numbers < np.inf)), "confidence", why)
        return numbers

    def truths(self) -> BoolArray | None:
        """Take the column of labels, if there is one: which triples are true; bool[row]."""
        if "label" not in self:
            return None
        words = pc.utf8_lower(pc.utf8_trim_whitespace(self.data["label"].cast(pa.string()))).fill_null("")
        truths = [np.asarray(pc.is_in(words, pa.array(group))) for group in (TRUE, FALSE)]
        self.refuse(~(truths[0] | truths[1]), "label", "is neither true (1) nor false (0 or -1).")
        return truths[0]


SIDE_WORDS: dict[str, Side] = {
    **dict.fromkeys(("left", "head", "lhs"), "head"),
    **dict.fromkeys(("right", "tail", "rhs"), "tail"),
}
"""the word for a side -> the side"""

TRUE, FALSE = ["1", "+1", "1.0", "true"], ["0", "-1", "0.0", "-1.0", "false"]
"""how labels are spelled"""

TRUE_OR_FALSE = {"1", "+1", "0", "-1"}
"""the numbers that may be truth values in a column without a name"""

BEGIN, END = (
    {stem + suffix for stem in stems for suffix in ("", "_time", "_date", "time", "date")}
    for stems in (("begin", "start", "since", "valid_from"), ("end", "until", "valid_to", "valid_until"))
)
"""the names of columns with the two ends of an interval of time"""

FOURTH = "fourth column"
"""the name of a fourth column without a name until its cells show its role"""

FIRST_YEAR = 1000
"""decimals from here on may be years"""

FIRST_ROWS = 100
"""how many rows show whether the first column counts them"""

BY_CELLS = ", by its cells"
"""the end of the origin of a column whose role its cells show"""

DATE = re.compile(r"\s*[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ].*)?)?\s*", re.IGNORECASE)
"""the pattern of dates that sort as text"""

NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?\s*", re.IGNORECASE)

YEAR = re.compile("(?<![0-9])[0-9]{4}(?![0-9])|##")
"""a time in the fourth or fifth column: a year, or YAGO's sign for unknown parts of a date"""

NO_INTERVALS = "Facts with a time interval (begin to end) are not supported. Give each one time, or leave both out."


def read_triples(path: str | Path, columns: Columns = UNSAID, *, fourth: str | None = None) -> NamedTable:
    """Read a file of labelled triples: text, compressed or not, or ``.parquet``.

    Text whose first line is one of N-Triples is read as such, and so is ``.nt``. Otherwise ``columns`` or a header name
    the columns, in any order. Without these they are head, relation, tail, and perhaps a fourth one: dates are times,
    truth values labels, and other numbers confidences, unless whole numbers could also be times. ``fourth`` is its role
    if that is known, or ``FOURTH`` if all splits together shall decide it (:func:`with_fourth_named`).
    """
    table = read_table(Path(path), columns, fourth=fourth or FOURTH)
    if not len(table):
        raise DatasetError(f"{path}: no triples in it. Expected rows of head, relation, tail.")
    return table if fourth else with_fourth_named({"": table})[""]


def read_table(path: Path, columns: Columns = UNSAID, *, comments: bool = False, fourth: str = FOURTH) -> NamedTable:
    """Read a table of triples; ``comments`` are lines before the first row that begin with ``#``."""
    columns.check()
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path, columns)
    with open_text(path) as text:
        skip = sum(1 for _ in takewhile(lambda line: line.startswith("#"), text)) if comments else 0
    fitting = columns.separator or find_delimiters(path, skip)
    delimiter = fitting[0]
    first = next(rows(path, skip, delimiter=delimiter), Row(1, skip, []))
    if columns.order and not columns.header and is_header(first.cells):
        _refuse_two_names(path, first, columns)
    if not columns.are_given and not comments and is_n_triples(path, first.cells):
        return NamedTable(path, read_n_triples(path), dict.fromkeys(TRIPLE, N_TRIPLES))
    header = [*map(unquoted, first.cells)] if _has_header(first.cells, columns) else []
    roles = resolve(path, header, columns) if header and not columns.order else _by_place(path, first, columns, fourth)
    read = partial(read_columns, path, delimiter=delimiter, free=True)
    data = read(roles, skip=first.end if header else skip)
    if header and not columns.are_given and not columns.header and _are_labels(header, roles, data):
        header, roles = [], _by_place(path, first, columns, fourth)
        data = read(roles, skip=skip)
    skip = first.end if header else skip
    place = {"skip": skip, "delimiter": delimiter, "separators": fitting[1:]}
    return _named(path, data, roles, header, columns, **place)


def read_text(
    path: Path, names: Sequence[str], *, skip: int = 0, delimiter: str | None = None, **options: Any
) -> NamedTable:
    """Read a text whose columns are known, with the options of :func:`~kgeval.data.text.read_columns`."""
    delimiter = delimiter or find_delimiters(path, skip)[0]
    data = read_columns(path, names, skip=skip, delimiter=delimiter, **options)
    return NamedTable(path, data, skip=skip, delimiter=delimiter)


DIVISIONS: Mapping[str, Callable[[pa.ChunkedArray], pa.ChunkedArray]] = {
    "a tab": partial(pc.split_pattern, pattern="\t", max_splits=1),
    "a comma": partial(pc.split_pattern, pattern=",", max_splits=1, reverse=True),
    "spaces": partial(pc.ascii_split_whitespace, max_splits=1, reverse=True),
}
"""a separator of two cells -> the function that divides lines at the first tab, the last comma or the last spaces"""


def read_pairs(path: Path, names: Sequence[str], between: str, *, skip: int = 0) -> NamedTable:
    """Read a text of two columns, of which one may contain the separator ``between`` them, a key of ``DIVISIONS``."""
    table = read_text(path, ["line"], skip=skip, delimiter=UNIT_SEPARATOR)
    cells = DIVISIONS[between](pc.utf8_rtrim(table["line"], " "))
    wrong = np.asarray(pc.list_value_length(cells)) != 2
    if wrong.any():
        place = table.place(int(np.argmax(wrong)))
        raise DatasetError(f"{place}: expected a {names[0]}, {between} and its {names[1]}.")
    return replace(table, data=pa.table({name: pc.list_element(cells, place) for place, name in enumerate(names)}))


def _refuse_two_names(path: Path, first: Row, columns: Columns) -> NoReturn:
    """Refuse columns that the user names by their order, though the file has a header."""
    order = ",".join(columns.order)
    fault = f"{path}, line {first.line}: the first row names the columns: {', '.join(first.cells)}"
    which = f"say which is which: {OPTION}. If the row is a triple: --columns {order},header=none."
    raise DatasetError(f"{fault}. Leave --columns out, or {which}")


def _has_header(cells: Sequence[str], columns: Columns) -> bool:
    """Whether the first row of a file names its columns; with further columns allowed, it does if it has no number."""
    if columns.header:
        return columns.header == "all"
    if columns.names:
        return not columns.are_places or is_header(cells)
    return not columns.order and (
        is_header(cells) or (columns.further is not None and not any(map(NUMBER.fullmatch, cells)))
    )


def _are_labels(header: Sequence[str], roles: Sequence[str], data: pa.Table) -> bool:
    """Whether a first row with numbered words, such as ``node1``, is a triple: they occur below it as well."""
    used = zip(header, roles, strict=True)
    numbered = [name for name, role in used if role in ("head", "tail") and re.search("[0-9]", name)]
    return any(pc.index(data[role], name).as_py() >= 0 for name in numbered for role in ("head", "tail"))


def _by_place(source: str | Path, row: Row, columns: Columns, fourth: str = FOURTH) -> list[str]:
    """Return the role of each column of a table without a header."""
    if columns.order:
        return resolve(source, columns.order, columns._replace(order=()))
    if columns.names:
        return resolve(source, [str(number) for number in range(1, len(row.cells) + 1)], columns)
    if len(row.cells) == 5 and any(map(YEAR.search, row.cells[3:])):
        raise DatasetError(f"{source}, line {row.line}: 5 columns, the last of a time. {NO_INTERVALS}")
    if columns.further is not None:
        shown = f"its first row names no columns: {', '.join(map(repr, row.cells))}" if row.cells else "no header in it"
        example = "columns='head,relation,tail,head_rank,tail_rank' (--columns)"
        raise DatasetError(f"{source}: {shown}. Name the columns in their order, such as {example}.")
    roles = [role for role in TRIPLE if role not in columns.constants]
    if len(row.cells) != len(roles) + 1:
        return roles
    last = row.cells[-1]
    tells = NUMBER.fullmatch(last) or DATE.fullmatch(last) or last.strip().lower() in ("true", "false")
    return [*roles, fourth] if tells or fourth != FOURTH else roles


def _read_parquet(path: Path, columns: Columns) -> NamedTable:
    refuse_missing(path)
    if columns.order:
        raise DatasetError(f"{path}: a Parquet file has names for its columns. Say which is which: {OPTION}.")
    with refusing(path, "not a readable Parquet file", pa.ArrowException, OSError, ValueError):
        data, schema = read_parquet(path), pq.read_schema(path)
    roles = resolve(path, schema.names, columns)
    kept = []
    for role, column in zip(roles, schema, strict=True):
        if column.name in data.column_names:
            kept.append(role)
        elif role in ROLES or columns.is_further(role):
            raise DatasetError(f"{path}: the column {role} holds {column.type}, not text or numbers.")
    return _named(path, data.rename_columns(kept), roles, schema.names, columns)


def from_arrow(data: pa.Table, source: str | Path, columns: Columns) -> NamedTable:
    """Make a ``NamedTable`` of a table in memory, by the names of its columns."""
    roles, header = resolve(source, data.column_names, columns), data.column_names
    return _named(source, data.rename_columns(roles), roles, header, columns)


def from_memory(rows: Any, source: str, columns: Columns = UNSAID) -> NamedTable:
    """Lay labelled triples in memory out as the table that a file of them would be; ``source`` names it in messages.

    The columns of a data frame have names, unless these are numbers; so have the parts of dictionaries, named tuples
    and structured arrays. Those of other rows are head, relation, tail, and perhaps a time as text, or a number as in a
    file.
    """
    columns.check()
    header: list[str] = []
    if isinstance(rows, pa.Table):
        rows = rows.to_pandas()
    if hasattr(rows, "columns") and hasattr(rows, "to_numpy"):  # a data frame, of pandas or polars
        header, rows = [str(name) for name in rows.columns], rows.to_numpy()
        header = [] if columns.order or (all(map(str.isdecimal, header)) and not columns.names) else header
    elif (fields := _fields_of(rows, source)) and not columns.order:
        header = [*map(str, fields)]
        rows = [[row[field] for field in fields] if isinstance(row, Mapping) else row for row in rows]
    try:
        listed = [row if isinstance(row, str) else tuple(row) for row in rows]
    except TypeError as error:
        raise DatasetError(f"{source}: expected rows of head, relation, tail, found {rows!r:.60}.") from error
    first = [] if not listed else [*map(str, listed[0])]
    roles = resolve(source, header, columns) if header else _by_place(source, Row(1, 1, first), columns)
    if len(first) == 4 and not (header or columns.are_given) and isinstance(listed[0][3], str):
        if {row[3] for row in listed if len(row) == 4} <= TRUE_OR_FALSE:
            fault = "the fourth column is text of 1, 0 or -1, which may be labels or times"
            raise DatasetError(f"{source}: {fault}. Give numbers, or columns='head,relation,tail,label' or '…,time'.")
        roles[3:] = ["time"]
    for row, cells in enumerate(listed):
        if isinstance(cells, str) or len(cells) != len(roles):
            raise DatasetError(f"{source}, row {row + 1}: expected {', '.join(roles)}, found {cells!r:.60}.")
    held: list[Sequence[Any]] = [*zip(*listed, strict=True)] or [()] * len(roles)
    used = {role: cells for role, cells in zip(roles, held, strict=True) if role in (*ROLES, FOURTH) or _is_text(cells)}
    data = pa.table({role: _column(cells, role, source) for role, cells in used.items()})
    return _named(source, data, roles, header, columns)


def _is_text(cells: Sequence[Any]) -> bool:
    return all(isinstance(cell, str) for cell in cells)


def _fields_of(rows: Any, source: str) -> Sequence[str]:
    """Return the names of the parts of rows, which dictionaries, named tuples and structured arrays have."""
    if isinstance(rows, np.ndarray) and rows.dtype.names:
        return tuple(rows.dtype.names)
    first = rows[0] if isinstance(rows, Sequence) and rows and not isinstance(rows, str) else None
    if not isinstance(first, Mapping):
        return tuple(getattr(first, "_fields", ()))
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping) or row.keys() != first.keys():
            raise DatasetError(f"{source}, row {place + 1}: its keys are not those of row 1, {', '.join(first)}.")
    return tuple(first)


def _column(cells: Sequence[Any], role: str, source: str) -> pa.Array:
    """Make a column of cells: text, in which only times and fourth columns may be numbers; or numbers."""
    is_text = role in (*TRIPLE, "split", "side", "time", FOURTH)
    if role in ("time", FOURTH):
        cells = [str(cell) if isinstance(cell, int | float) else cell for cell in cells]
    for row, cell in enumerate(cells):
        if is_text and not isinstance(cell, str):
            fault = f"{source}, row {row + 1}: the {role} is {cell!r:.60} of type {type(cell).__name__}"
            raise DatasetError(f"{fault}: labels are text. Give str(label); for triples of ids, call Dataset.build.")
    if is_text:
        with refusing(source, f"the {role} of a row is not Unicode text", UnicodeEncodeError):
            return pa.array(cells, pa.string())
    with refusing(source, f"the column {role} has a cell that is not a number", pa.ArrowException, TypeError):
        return pa.array(cells)


def _named(
    source: str | Path, data: pa.Table, roles: Sequence[str], header: Sequence[str], columns: Columns, **place: Any
) -> NamedTable:
    """Make a ``NamedTable`` of columns that are named by their ``roles``; add constants and the origin of each."""
    names = header or [str(number) for number in range(1, len(roles) + 1)]
    by_role = dict(zip(roles, names, strict=True))
    joined = {part for column in columns.names.values() for part in column.split("+")}
    idle = [role for role in by_role if role not in (*ROLES, FOURTH) and not columns.is_further(role)]
    unused = [role for role in idle if by_role[role] not in joined]
    option = {role: " (option)" * bool(columns.order or role in columns.names) for role in by_role}
    origins = {role: f"column {name!r}{option[role]}" for role, name in by_role.items() if role not in idle}
    for role, column in columns.names.items():
        if role not in data.column_names:
            parts = [data[roles[place_of(source, role, part, names)]].cast(pa.string()) for part in column.split("+")]
            data = data.append_column(role, pc.binary_join_element_wise(*parts, ":"))
            origins[role] = f"columns {column!r} (option)"
    for role, text in columns.constants.items():
        data = data.append_column(role, pa.repeat(text, len(data)))
        origins[role] = f"{text!r} in every row (option)"
    kept = [place for place, role in enumerate(roles) if header and role in data.column_names]
    place |= {"header": tuple(names[place] for place in kept), "roles": tuple(roles[place] for place in kept)}
    table = NamedTable(source, data, origins, tuple(by_role[role] for role in unused), said=columns, **place)
    for role in TRIPLE:
        table = table.with_column(role, table.text(role)) if role in table else table
    return table


def with_fourth_named(tables: Mapping[str, NamedTable]) -> dict[str, NamedTable]:
    """Give the fourth column without a name, in all splits, the role that the cells of all of them show."""
    unnamed = {split: table for split, table in tables.items() if FOURTH in table}
    if not unnamed:
        return {**tables}
    cells = pa.chunked_array([chunk for table in unnamed.values() for chunk in table[FOURTH].chunks], pa.string())
    table = next(iter(unnamed.values()))
    first = table["head"][:FIRST_ROWS].to_pylist()  # numbers of rows are no heads
    counts = len(first) > 1 and first in ([*map(str, range(start, start + len(first)))] for start in (0, 1))
    role = _role_of_cells(f"{table.source}: the {FOURTH}", cells, ["_,head,relation,tail"] * counts)
    return {**tables, **{split: table.renamed(FOURTH, role) for split, table in unnamed.items()}}


def _role_of_cells(what: str, column: pa.ChunkedArray, ways: Sequence[str]) -> str:
    """Tell times, truth values and confidences apart, where no name does; refuse what may be two of these.

    ``ways`` are further columns, in their order, as which the table can be read.
    """
    cells = pc.unique(pc.utf8_lower(pc.utf8_trim_whitespace(column))).to_pylist()
    plain = {cell.removesuffix(".0") for cell in cells}
    if DATE.fullmatch(cells[0]):
        return "time"
    is_truth = plain <= TRUE_OR_FALSE and not {"0", "-1"} <= plain and (plain & {"0", "-1"} or plain == {*cells})
    if is_truth or plain <= {"true", "false"}:
        return "label"
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError:
        return "confidence"  # whose reader names the cell that is no number
    are_whole = all(map(WHOLE_NUMBER.fullmatch, plain))
    if max(numbers) > 1 and (are_whole or min(numbers) >= FIRST_YEAR):
        every = [*ways, *(f"head,relation,tail,{name}" for name in ("time", "weight", "_"))]
        options = " or ".join(f"--columns {columns}" for columns in every)
        fault = f"{what} holds {'whole ' * are_whole}numbers, such as {cells[0]}, which may be times or weights"
        raise DatasetError(f"{fault}. Say which: {options} {IN_PYTHON}.")
    return "confidence"


N_TRIPLES = "N-Triples"
"""the origin of columns that the grammar of N-Triples names"""

N_TRIPLE = (
    r"\s*(?P<head><[^<>]*>|_:\S+)\s*(?P<relation><[^<>]*>)"
    r'\s*(?P<tail><[^<>]*>|_:\S+?|".*"[^\s"]*)\s*\.\s*(?:#.*)?'
)
"""A line of the W3C's N-Triples: subject, predicate, object (a literal perhaps) and a full stop."""

ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([tbnrf\"'\\]))")
CHARACTERS = dict(zip("tbnrf\"'\\", "\t\b\n\r\f\"'\\", strict=True))
"""the letter of an escape -> its character"""


def is_n_triples(path: Path, cells: Sequence[str]) -> bool:
    """Whether a file is one of N-Triples, by its ending or its first row."""
    names = {suffix.lower() for suffix in path.suffixes[-2:]}
    return ".nt" in names or re.fullmatch(N_TRIPLE, " ".join(cells)) is not None


def read_n_triples(path: Path) -> pa.Table:
    """Read lines of N-Triples: an IRI is a label without its brackets, and escapes stand for their characters."""
    lines = read_columns(path, ["line"], delimiter=UNIT_SEPARATOR)["line"]
    comments = pc.match_substring_regex(lines, r"^\s*(#|$)")
    cells = pc.extract_regex(lines, f"^{N_TRIPLE}$").combine_chunks()
    damaged = np.asarray(pc.and_(cells.is_null(), pc.invert(comments.combine_chunks())))
    if damaged.any():
        line = line_of(path, int(np.argmax(damaged)), delimiter=UNIT_SEPARATOR)
        raise DatasetError(f"{path}, line {line}: expected a line of N-Triples, '<subject> <predicate> <object> .'.")
    columns = (pc.replace_substring_regex(column, r"^<(.*)>$", r"\1") for column in cells.drop_null().flatten())
    with refusing(path, "an escape stands for no character", ValueError, OverflowError):
        return pa.table(dict(zip(TRIPLE, map(_unescaped, columns), strict=True)))


def _unescaped(labels: pa.Array) -> pa.Array:
    """Put the characters in place of their escapes, which few labels have."""
    escaped = np.flatnonzero(np.asarray(pc.match_substring(labels, "\\")))
    if not len(escaped):
        return labels

    def character(escape: re.Match[str]) -> str:
        return CHARACTERS.get(escape[3]) or chr(int(escape[1] or escape[2], 16))

    texts = [ESCAPE.sub(character, labels[row].as_py()) for row in escaped.tolist()]
    return pc.replace_with_mask(labels, pc.match_substring(labels, "\\"), pa.array(texts, pa.string()))
