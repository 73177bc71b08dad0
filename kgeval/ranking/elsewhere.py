"""Ranks that were made elsewhere: a text file of them becomes a rank table, though their model is lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgeval.arrays import Float64Array, IntArray
from kgeval.corruption.candidates import SharedCandidates
from kgeval.errors import TableError, did_you_mean
from kgeval.graph.dataset import SPLITS, Dataset, Split
from kgeval.graph.headers import TRIPLE, columns
from kgeval.graph.known import known_answers
from kgeval.graph.layouts import as_dataset
from kgeval.graph.leaks import notes_on_leaks
from kgeval.graph.queries import Queries
from kgeval.graph.text import line_of, open_text, read_columns, rows
from kgeval.graph.triples import SIDES, Side
from kgeval.ranking.contest import Contest
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Ranked
from kgeval.ranking.table import RankTable
from kgeval.ranking.tabulate import tabulated

SETTINGS = {"": "", "raw": "raw", "f": "filtered", "filt": "filtered", "filtered": "filtered"}
"""what a name says about the filter; one that says nothing is raw where another column is filtered, else filtered"""

PLACES: dict[str, Side] = {
    "left": "head",
    "head": "head",
    "lhs": "head",
    "right": "tail",
    "tail": "tail",
    "rhs": "tail",
}
"""what a name says about the side that was predicted"""

_SIDE = "|".join(PLACES)

NAME = re.compile(rf"(?:(raw|filtered|filt|f)_?)?(?:({_SIDE})_)?ranks?(?:_({_SIDE}))?")
"""the name of a column of ranks: what it says about the filter, and about the side, before or after"""


def load_ranks(
    path: str | Path,
    dataset: Dataset | str | Path,
    *,
    split: Split = "test",
    filter: Sequence[Split] = SPLITS,
) -> RankTable:
    """Read ranks that another evaluator wrote, one row per triple, or per triple and side.

    The header names the columns, in any order: head, relation, tail (or ``h``, ``r``, ``t``), and ranks, filtered or
    raw, of one side each (``frank_left``, ``rank_left``, ``filtered_head_rank``, …; left is the head), or of the side
    that a column ``side`` names (``raw_rank``, ``filtered_rank``). Further columns, and lines before the header that
    begin with ``#``, are left aside. How many candidates there were is counted from the dataset: all entities but the
    known answers.

    A rank r says that r − 1 candidates are above the answer, a half one (2.5) that one ties. How many tied otherwise is
    not in the file. Where it has no filtered ranks, the table is one of the raw setting; where it has no raw ones, the
    raw columns are empty.

    Parameters
    ----------
    path
        a text file: tabs, spaces, or commas in a ``.csv``; each also ``.gz``
    dataset
        the graph that was ranked, or the folder or PyKEEN name of one
    split
        the split whose triples were ranked
    filter
        the splits whose triples were known answers

    Raises
    ------
    TableError
        with the line of a triple that the split does not have or that was ranked before, or of a rank that is none or
        beyond the number of candidates
    DatasetError
        if the file is missing or malformed
    """
    path, dataset = Path(path), as_dataset(dataset)
    file = _File.read(path)
    triples = _rows_of_split(file, dataset, split)
    is_filtered = any(column.setting == "filtered" for column in file.ranks)
    known = tuple(filter) if is_filtered else ()
    parts, notes = [], [*dataset.notes, *notes_on_leaks(dataset, split), _ABOUT.format(path)]
    for side in SIDES:
        places = file.places(side)
        ranked = {column.setting: file.numbers(column, places) for column in file.ranks if column.side in (side, None)}
        if not ranked or not len(places):
            continue
        parts.append(_side(file, dataset, _Ranked(split, side, triples[places], places, ranked), known))
    table = RankTable.concat(parts)
    missing = len(dataset.split(split)) - table.num_triples
    notes += [f"{missing} {split} triples are not in {path}."] if missing else []
    return RankTable(table.data, split, tuple(notes), filter=known)


_ABOUT = "the ranks were read from {}, which does not tell how many candidates tied: no tie policy but theirs is known."


class _Column(NamedTuple):
    """A column of ranks."""

    name: str
    setting: str
    """``"raw"`` or ``"filtered"``"""
    side: Side | None
    """nothing where a column of the file tells it"""


@dataclass(frozen=True)
class _File:
    path: Path
    skip: int
    """how many lines precede the first row"""
    table: pa.Table
    ranks: tuple[_Column, ...]

    @classmethod
    def read(cls, path: Path) -> _File:
        with open_text(path) as text:
            comments = sum(1 for _ in takewhile(lambda line: line.startswith("#"), text))
        header = next(rows(path, comments), None)
        if header is None:
            raise TableError(f"{path}: no header in it. Expected columns such as head, relation, tail, side, rank.")
        names = columns(path, header.cells)
        ranks = _rank_columns(path, names)
        table = read_columns(path, names, skip=header.end)
        if table.num_rows == 0:
            raise TableError(f"{path}: no ranks in it.")
        return cls(path, header.end, table, ranks)

    def places(self, side: Side) -> IntArray:
        """Find the rows that speak of a side."""
        if "side" not in self.table.column_names:
            return np.arange(self.table.num_rows)
        sides = np.array([PLACES.get(text.lower(), text) for text in self.table["side"].to_pylist()])
        wrong = ~np.isin(sides, SIDES)
        if wrong.any():
            row = int(np.argmax(wrong))
            self.refuse(row, f"side {str(sides[row])!r}. {did_you_mean(str(sides[row]), PLACES)}")
        return np.flatnonzero(sides == side)

    def numbers(self, column: _Column, places: IntArray) -> Float64Array:
        """Take ranks, which are whole numbers or halves from 1."""
        text = self.table[column.name].take(pa.array(places))
        spelled = np.asarray(pc.match_substring_regex(text, r"^\s*[0-9]{1,15}(\.[05]0*)?\s*$"))
        values = np.asarray(pc.if_else(pa.array(spelled), text.combine_chunks(), "0").cast(pa.float64()))
        if (values < 1).any():
            row = int(np.argmax(values < 1))
            what = f"the {column.name} {text[row].as_py()[:40]!r} is no rank: a whole number or a half, from 1."
            self.refuse(int(places[row]), what)
        return values

    def refuse(self, row: int, what: str) -> NoReturn:
        """Refuse a row, by its line."""
        raise TableError(f"{self.path}, line {line_of(self.path, row, self.skip)}: {what}")


class _Ranked(NamedTuple):
    """The ranks of one side."""

    split: Split
    side: Side
    triples: IntArray
    """int64[rank], rows of the split"""
    places: IntArray
    """int64[rank], rows of the file"""
    ranks: dict[str, Float64Array]
    """by setting, float64[rank]"""


def _rank_columns(path: Path, names: Sequence[str]) -> tuple[_Column, ...]:
    found = [(name, match) for name in names if (match := NAME.fullmatch(name))]
    settings = {SETTINGS[match[1] or ""] for _, match in found}
    silent = "raw" if "filtered" in settings else "filtered"
    ranks = tuple(
        _Column(name, SETTINGS[match[1] or ""] or silent, PLACES.get(match[2] or match[3])) for name, match in found
    )
    shown = f"found the columns {', '.join(map(repr, names))}"
    if not ranks:
        raise TableError(f"{path}: no column of ranks; {shown}. Expected rank, filtered_rank, frank_left, tail_rank, …")
    if len({column[1:] for column in ranks}) < len(ranks):
        raise TableError(f"{path}: two columns are the same ranks; {shown}. Keep one of them.")
    if any((column.side is None) != ("side" in names) for column in ranks):
        raise TableError(
            f"{path}: the side of each rank must be said once, by a column 'side' (head, tail) or by the names of the "
            f"ranks (head_rank, tail_rank); {shown}."
        )
    return ranks


def _rows_of_split(file: _File, dataset: Dataset, split: Split) -> IntArray:
    """Find the row in the split of each row of the file."""
    names = dict(zip(TRIPLE, (dataset.entities, dataset.relations, dataset.entities), strict=True))
    ids = np.stack([labels.ids(file.table[name]) for name, labels in names.items()], axis=1)
    triples = dataset.split(split).ids
    _, first, codes = np.unique(np.concatenate([triples, ids]), axis=0, return_index=True, return_inverse=True)
    found: IntArray = first[codes.ravel()[len(triples) :]]
    if (found >= len(triples)).any():
        row = int(np.argmax(found >= len(triples)))
        named = ", ".join(file.table[name][row].as_py() for name in TRIPLE)
        file.refuse(row, f"the triple ({named}) is not in the {split} split of dataset {dataset.name}.")
    return found


def _side(file: _File, dataset: Dataset, ranked: _Ranked, known: tuple[Split, ...]) -> RankTable:
    order = np.argsort(ranked.triples, kind="stable")
    again = np.flatnonzero(np.diff(ranked.triples[order]) == 0)
    if len(again):
        file.refuse(int(ranked.places[order[again + 1]].min()), f"its {ranked.side} was ranked in an earlier line.")
    counted = _candidates(dataset, ranked.split, ranked.side, known)
    counts = {}
    for setting in ("filtered", "raw"):
        if setting in ranked.ranks:
            counts[setting] = _counts(file, ranked, setting, counted[setting][ranked.triples])
    raw, filtered = counts.get("raw"), counts.get("filtered") or counts["raw"]
    unknown = np.full(len(order), np.nan)
    table = tabulated(dataset, ranked.split, ranked.triples, ranked.side, Ranked(unknown, filtered, raw or filtered))
    if raw is None:
        for name in ("raw_greater", "raw_tied", "raw_candidates"):
            table = table.set_column(table.column_names.index(name), name, pa.nulls(len(order), pa.int64()))
    return RankTable(table.take(pa.array(order)), ranked.split, filter=known)


def _candidates(dataset: Dataset, split: Split, side: Side, known: tuple[Split, ...]) -> dict[str, IntArray]:
    """Count the candidates of each triple of a split, by setting; int64[triple]."""
    queries = Queries.of(dataset.split(split), side)
    answers = known_answers(queries, [part for name, part in dataset.splits.items() if name in known])
    contest = Contest.of(queries, SharedCandidates(np.arange(len(dataset.entities))), answers)
    counted = {"filtered": contest.filtered_candidates, "raw": contest.raw_candidates}
    order = np.argsort(queries.triples)
    return {setting: numbers[order] for setting, numbers in counted.items()}


def _counts(file: _File, ranked: _Ranked, setting: str, candidates: IntArray) -> RankCounts:
    ranks = ranked.ranks[setting]
    tied = (ranks % 1 > 0).astype(np.int64)
    greater = np.floor(ranks).astype(np.int64) - 1
    beyond = greater + tied >= candidates
    if beyond.any():
        row = int(np.argmax(beyond))
        file.refuse(
            int(ranked.places[row]),
            f"the {setting} {ranked.side} rank {ranks[row]:g} is beyond its {candidates[row]} candidates. Was another "
            "dataset, or another filter, used?",
        )
    return RankCounts(greater, tied, candidates)
