"""A file of ranks that another evaluator wrote, text or Parquet, and its rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NoReturn, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.text import line_of, open_text, read_columns, rows
from kgeval.data.triple_files import NEEDED, is_header, read_parquet_triples
from kgeval.data.triple_files import columns as named_columns
from kgeval.data.triples import SIDES, Side
from kgeval.errors import TableError, did_you_mean
from kgeval.paths import exists_safely
from kgeval.ranking.rank_columns import (
    NAME,
    PLACES,
    ColumnNames,
    RankColumn,
    RankSetting,
    column_names,
    rank_columns,
    rename,
)
from kgeval.ranking.rank_table import RankTable


@dataclass(frozen=True)
class RankFile:
    """The rows of a file of ranks."""

    path: Path
    skip: int
    """how many lines precede the first row"""
    separator: str | None
    """what separates columns; None for tabs, spaces or commas, as the file has them"""
    table: pa.Table
    ranks: tuple[RankColumn, ...]
    notes: tuple[str, ...]
    """what the file left open"""

    @classmethod
    def read(
        cls,
        path: Path,
        *,
        columns: ColumnNames | None = None,
        separator: str | None = None,
        setting: RankSetting | None = None,
    ) -> RankFile:
        """Read a file of ranks, whose columns are named by its header or by ``columns``."""
        if setting is not None and setting not in get_args(RankSetting):
            raise TableError(f"unknown setting {setting!r} of ranks. {did_you_mean(setting, get_args(RankSetting))}")
        chosen = column_names(columns)
        if path.suffix.lower() == ".parquet":
            table = _read_parquet(path, chosen)
            ranks, notes = rank_columns(path, table.column_names, setting)
            return cls(path, 0, separator, _as_texts(path, table, ranks), ranks, notes)
        with open_text(path) as text:
            skip = sum(1 for _ in takewhile(lambda line: line.startswith("#"), text))
        separator = _separator_character(separator) if separator else _semicolon(path, skip)
        first = next(rows(path, skip, delimiter=separator), None)
        if first is None:
            raise TableError(f"{path}: no header in it. Expected columns such as head, relation, tail, side, rank.")
        if isinstance(chosen, list):
            names = named_columns(path, chosen)
        else:
            cells = [cell.strip().strip('"') for cell in first.cells]
            names = _header(path, first.cells) if chosen is None else named_columns(path, rename(path, cells, chosen))
            skip = first.end
        ranks, notes = rank_columns(path, names, setting)
        table = read_columns(path, names, skip=skip, delimiter=separator)
        if table.num_rows == 0:
            raise TableError(f"{path}: no ranks in it.")
        return cls(path, skip, separator, table, ranks, notes)

    def rows_of(self, side: Side) -> IntArray:
        """Find the rows of a side; int64[row]."""
        if "side" not in self.table.column_names:
            return np.arange(self.table.num_rows)
        sides = np.array([PLACES.get(text.strip().lower(), text) for text in self.table["side"].to_pylist()])
        wrong = ~np.isin(sides, SIDES)
        if wrong.any():
            row = int(np.argmax(wrong))
            self.refuse(row, f"side {str(sides[row])!r}. {did_you_mean(str(sides[row]), PLACES)}")
        return np.flatnonzero(sides == side)

    def numbers(self, column: RankColumn, places: IntArray) -> Float64Array:
        """Take ranks, which are whole numbers or halves from 1; 0 for what is none; float64[place]."""
        text = pc.utf8_trim_whitespace(self.table[column.name].take(pa.array(places)).combine_chunks())
        spelled = pc.match_substring_regex(text, r"^[0-9]{1,15}(\.[05]?0*)?$")
        values = np.asarray(pc.if_else(spelled, text, "0").cast(pa.float64()))
        return np.where(values < 1, 0.0, values)

    def refuse(self, row: int, what: str) -> NoReturn:
        if self.path.suffix.lower() == ".parquet":
            raise TableError(f"{self.path}, row {row + 1}: {what}")
        line = line_of(self.path, row, self.skip, delimiter=self.separator)
        raise TableError(f"{self.path}, line {line}: {what}")


def is_foreign(path: Path) -> bool:
    """Whether a file is a Parquet file that kgeval did not write."""
    if path.suffix.lower() != ".parquet" or not exists_safely(path) or not path.is_file():
        return False
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError, ValueError):
        return False
    return "greater" not in schema.names and not any(key.startswith(b"kgeval") for key in schema.metadata or {})


def _read_parquet(path: Path, chosen: list[str] | dict[str, str] | None) -> pa.Table:
    """Read the columns of a Parquet file, named by what they hold; head, relation and tail as text."""
    if isinstance(chosen, list):
        what = f"{path}: a Parquet file has names for its columns. Name what they hold"
        raise TableError(f"{what}: columns={{'head': 'subj', …}} (--columns head=subj,…).")
    if RankTable.is_in(path):
        raise TableError(f"{path}: kgeval's own ranks. RankTable.from_parquet reads it.")
    if chosen is None:
        table = read_parquet_triples(path, needed=re.compile(f"{NEEDED.pattern}|{NAME.pattern}"))
    else:
        needed = re.compile("|".join(map(re.escape, map(str, chosen.values()))))
        table = read_parquet_triples(path, lambda path, found: named_columns(path, rename(path, found, chosen)), needed)
    if table.num_rows == 0:
        raise TableError(f"{path}: no ranks in it.")
    return table


def _as_texts(path: Path, table: pa.Table, ranks: Sequence[RankColumn]) -> pa.Table:
    """Write the ranks and the sides of a Parquet file as a text file has them."""
    sides = ["side"] if "side" in table.column_names else []
    for name in [column.name for column in ranks] + sides:
        column = table[name]
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        fits = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not fits and (name == "side" or not (pa.types.is_integer(kind) or pa.types.is_floating(kind))):
            expected = "text" if name == "side" else "numbers"
            raise TableError(f"{path}: the column {name} holds {column.type}, not {expected}.")
        if column.null_count:
            row = int(np.argmax(np.asarray(column.is_null()))) + 1
            raise TableError(f"{path}, row {row}: the column {name} is empty. Leave the row out of the file.")
        table = table.set_column(table.column_names.index(name), name, column.cast(pa.string()))
    return table


def _separator_character(separator: str) -> str:
    r"""Read a separator, given as a character or by its name.

    >>> _separator_character(r"\t") == _separator_character("tab") == chr(9)
    True
    """
    named = {"\\t": "\t", "tab": "\t", "space": " ", "comma": ",", "semicolon": ";"}
    if len(character := named.get(separator, separator)) != 1:
        raise TableError(f"separator {separator!r}: expected one character, or {', '.join(list(named)[1:])}.")
    return character


def _semicolon(path: Path, skip: int) -> str | None:
    """Find whether semicolons separate columns: where the first row has some, and nothing else that could."""
    with open_text(path) as text:
        line = next((line for number, line in enumerate(text) if number >= skip and line.strip()), "")
    return ";" if ";" in line and not set("\t, ") & set(line) else None


def _header(path: Path, cells: list[str]) -> list[str]:
    semicolons = any(";" in cell for cell in cells)
    row = " ".join(cells).split(";") if semicolons else cells
    if not is_header(row) and any(re.fullmatch(r"\s*[0-9]+(\.[05])?\s*", cell) for cell in row):
        shown = ", ".join(map(repr, row))
        separated = " and what separates them: separator=';' (--separator ';')" if semicolons else ""
        raise TableError(
            f"{path}: its first row is not a header: it holds a number: {shown}. Name the columns in their order, for "
            f"instance columns='{_columns_like(row)}' (--columns){separated}."
        )
    return named_columns(path, cells)


def _columns_like(cells: Sequence[str]) -> str:
    """Name columns that a row without a header may have, one name for each, for a hint.

    >>> _columns_like(["a", "likes", "b", "tail", "7", "3"])
    'head,relation,tail,side,raw_rank,filtered_rank'
    >>> _columns_like(["a", "likes", "b", "3", ".333", "1", "1.0"])
    'head,relation,tail,frank_left,frr_left,frank_right,frr_right'
    """
    after = [cell.strip().lower() for cell in cells[3:]]
    has_reciprocals = any(re.fullmatch(r"0?\.[0-9]+(e-?[0-9]+)?", cell) for cell in after)
    known = WITH_SIDES if PLACES.keys() & {*after} else WITH_RECIPROCALS if has_reciprocals else RANKS_ALONE
    ranks = known.get(len(after)) or known[0]
    further = [f"column{number}" for number in range(4 + len(ranks), len(cells) + 1)]
    return ",".join(["head", "relation", "tail", *ranks, *further])


RANKS_ALONE = {
    0: ["head_rank", "tail_rank"],
    1: ["tail_rank"],
    4: ["raw_head_rank", "filtered_head_rank", "raw_tail_rank", "filtered_tail_rank"],
}
WITH_RECIPROCALS = {
    0: RANKS_ALONE[0],
    4: ["frank_left", "frr_left", "frank_right", "frr_right"],
    8: [f"{kind}_{side}" for side in ("left", "right") for kind in ("frank", "rank", "frr", "rr")],
}
WITH_SIDES = {0: ["side", "raw_rank", "filtered_rank"], 1: ["side", "rank"], 2: ["side", "rank"]}
"""the columns after the triple in some known files, by their number, the usual ones by 0; those of Akrami et al. (2020)
have the ranks' reciprocals too"""


NOTED_SHARE = 0.01
"""the share of ranks that contradict their side from which on there is a note: ties alone cause a few"""


def notes_on_exchanged_sides(head: RankTable, tail: RankTable) -> list[str]:
    """Write a note if the ranks of two sides fit far better after an exchange.

    The filter removes known answers only: raw rank − filtered rank is at most the number of other known answers, which
    differs between head and tail queries. There is a note if at least twice as many ranks contradict that as after an
    exchange of the sides. The rows of each table are in ascending order of triples.
    """
    if head.knows_no_raw or tail.knows_no_raw:
        return []
    _, *rows = np.intersect1d(head.column("triple"), tail.column("triple"), return_indices=True)
    moved, known = zip(*(_moved_and_known(*side) for side in zip((head, tail), rows, strict=True)), strict=True)
    here = sum(np.count_nonzero(places > answers) for places, answers in zip(moved, known, strict=True))
    exchanged = sum(np.count_nonzero(places > answers) for places, answers in zip(moved, known[::-1], strict=True))
    ranks = 2 * len(rows[0])
    if here < NOTED_SHARE * ranks or 2 * exchanged > here:
        return []
    return [
        f"head and tail ranks are probably exchanged: in {here:,} of {ranks:,} rows the filter removes more "
        f"candidates than there are known answers, and in {exchanged:,} rows after an exchange. Name the columns with "
        "--columns (in Python columns=)."
    ]


def _moved_and_known(table: RankTable, rows: IntArray) -> tuple[IntArray, IntArray]:
    """By how many places the filter moved each answer, and how many other known answers there are; int64[row] both."""
    moved = table.column("raw_greater") - table.column("greater")
    return moved[rows], (table.column("raw_candidates") - table.column("candidates"))[rows]
