"""A file of ranks that another evaluator wrote: its rows, and the setting (raw or filtered) and side of each column.

``kgeval.load_ranks`` makes a rank table of it. The file is text, Parquet or JSON. To recognise another name of a
column, add it to ``NAME``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.assumptions import Assumption
from kgeval.base.errors import TableError, did_you_mean
from kgeval.base.files import exists_safely
from kgeval.base.notes import Note
from kgeval.data.columns import ColumnNames, Columns, separator_character
from kgeval.data.dataset import Dataset
from kgeval.data.tables import SIDE_WORDS, NamedTable, from_arrow, read_table
from kgeval.data.triples import Side
from kgeval.models.checkpoints.locate import JSON_ENDINGS
from kgeval.models.checkpoints.readers.language_models import RANKS, ranks_in
from kgeval.ranking.rank_table import COUNTS, SCHEMA, RankTable

RankSetting = Literal["filtered", "raw"]

SETTINGS: dict[str, RankSetting] = {"raw": "raw", "f": "filtered", "filt": "filtered", "filtered": "filtered"}
"""the word in the name of a column -> whether its ranks are filtered"""

_SIDE = "|".join(SIDE_WORDS)

NAME = re.compile(
    rf"(?:(raw|filtered|filt|f)_?)?(?:({_SIDE})_)?"
    rf"(?:(ranks?)|(greater)|(tied)|((?:n_|num_)?candidates))(?:_({_SIDE}))?"
)
"""the pattern of the names of columns of ranks or counts: words for the filter, and for the side, before or after"""


@dataclass(frozen=True)
class RankFile:
    """The rows of a file of ranks."""

    table: NamedTable
    ranks: tuple[RankColumnNames, ...]
    notes: tuple[str, ...]
    """notes on what the file does not say"""

    @classmethod
    def read(
        cls,
        path: Path,
        dataset: Dataset | None = None,
        *,
        columns: ColumnNames | None = None,
        separator: str | None = None,
        setting: RankSetting | None = None,
    ) -> RankFile:
        """Read a file of ranks, whose columns are named by its header or by ``columns``.

        A JSON file, or a folder of JSON files, has records, in which the dataset's names may stand for labels.
        """
        if setting is not None and setting not in get_args(RankSetting):
            raise TableError(f"unknown setting {setting!r} of ranks. {did_you_mean(setting, get_args(RankSetting))}")
        if RankTable.is_in(path):
            raise TableError(f"{path}: kgeval's own ranks. RankTable.from_parquet reads it.")
        named = Columns.of(columns)._replace(further=NAME)
        named = named._replace(separator=separator_character(separator)) if separator else named
        if dataset is not None and (path.is_dir() or not JSON_ENDINGS.isdisjoint(map(str.lower, path.suffixes))):
            records = ranks_in(path, dataset)
            if {*RANKS} <= {*records.columns} and not named.are_given:
                raise TableError(f"{path}: two ranks. Say which: --columns rank=rank or --columns rank=pred_rank.")
            table = from_arrow(pa.Table.from_pandas(records), path, named)
        else:
            table = read_table(path, named, comments=True)
        if not len(table):
            raise TableError(f"{path}: no ranks in it.")
        return cls(table, *_rank_columns(table, setting))

    @property
    def assumptions(self) -> Iterator[Assumption]:
        """Say what files of ranks leave open: what a column of sides names, and whether the best rank is 1."""
        column, said = self.table.origins.get("side"), self.table.said
        if column and not said.side_is:
            yield Assumption("side", f"{column} names what is predicted", "usual", "", "--columns side_is=known")
        if not self.has_ties and not said.best_rank:
            yield Assumption("ranks", "from 1", "usual", "", "--columns best_rank=0")

    @property
    def has_ties(self) -> bool:
        """Whether all numbers of ties are known."""
        return all(group.has_ties for group in self.ranks)

    def numbers(self, name: str, rows: IntArray) -> Float64Array:
        """Read ranks or counts, which are whole numbers or halves from 0; −1 for any other text; float64[row]."""
        text = pc.utf8_trim_whitespace(self.table[name].take(pa.array(rows)).cast(pa.string())).combine_chunks()
        spelled = pc.match_substring_regex(text, r"^[0-9]{1,15}(\.[05]?0*)?$").fill_null(False)  # noqa: FBT003
        numbers = np.asarray(pc.if_else(spelled, text, "-1").cast(pa.float64()))
        from_0 = self.table.said.best_rank == "0" and bool((match := NAME.fullmatch(name)) and match[3])
        return numbers + (from_0 & (numbers >= 0))


@dataclass(frozen=True)
class RankColumnNames:
    """The columns of the ranks of one setting and side."""

    setting: RankSetting
    side: Side | None
    """the side of the ranks; None if a column of the file names the side of each row"""
    names: Mapping[str, str]
    """``rank``, ``greater``, ``tied`` or ``candidates``, if the file has it -> the name of its column in ``table``"""

    @property
    def has_ties(self) -> bool:
        return "greater" in self.names and "tied" in self.names


def is_foreign(path: Path) -> bool:
    """Whether a file is a Parquet file that kgeval did not write."""
    if path.suffix.lower() != ".parquet" or not exists_safely(path) or not path.is_file():
        return False
    try:
        metadata = pq.read_metadata(path)
    except (pa.ArrowException, OSError, ValueError):
        return False
    is_own = any(key.startswith(b"kgeval") for key in metadata.metadata or {})
    return not (is_own or {*SCHEMA.names} <= {*metadata.schema.to_arrow_schema().names})


def _rank_columns(table: NamedTable, wanted: RankSetting | None) -> tuple[tuple[RankColumnNames, ...], tuple[str, ...]]:
    """Group the columns of ranks and counts by their setting and side; also return notes on what they leave open."""
    matches = {name: match for name in table.origins if (match := NAME.fullmatch(name))}
    shown = f"found {', '.join(f'{origin} as {role}' for role, origin in table.origins.items())}"
    if table.unused:
        shown += f", and not used {', '.join(map(repr, table.unused))}"
    of_ranks = {SETTINGS[match[1]] for match in matches.values() if match[1] and match[3]}
    default, notes = _unnamed_setting(of_ranks, wanted)
    groups: dict[tuple[RankSetting, Side | None], dict[str, str]] = {}
    for name, match in matches.items():
        what = "rank" if match[3] else COUNTS[next(place for place in range(3) if match[4 + place])]
        unnamed = default if what == "rank" or not of_ranks else "filtered"
        setting = SETTINGS.get(match[1], unnamed)
        group = groups.setdefault((setting, SIDE_WORDS.get(match[2] or match[7])), {})
        if group.setdefault(what, name) != name:
            raise TableError(f"{table.source}: two columns have the same meaning; {shown}. Keep one of them.")
    ranks = [RankColumnNames(*key, group) for key, group in groups.items()]
    if not any({"rank", "greater"} & group.names.keys() for group in ranks):
        expected = "rank, filtered_rank, frank_left, tail_rank, …, or greater and tied"
        which = "--columns head_rank=…,tail_rank=…, or --columns rank=… beside a column of sides (in Python columns=)"
        raise TableError(f"{table.source}: no column of ranks; {shown}. Expected {expected}. Say which: {which}.")
    if any((group.side is None) != ("side" in table) for group in ranks):
        ways = "by a column 'side' (head, tail) or by the names of the ranks (head_rank, tail_rank)"
        column = next((name for name in table.unused if _holds_sides(table, name)), "…")
        which = "" if "side" in table else f" Say which: --columns side={column} (in Python columns=)."
        raise TableError(f"{table.source}: the side of each rank must be given once: {ways}; {shown}.{which}")
    for columns in ranks:
        if not columns.has_ties and "rank" not in columns.names:
            present, lacking = " and ".join(columns.names.values()), "tied" if "greater" in columns.names else "greater"
            raise TableError(f"{table.source}: {present} without {lacking}; {shown}. Add that column, or ranks.")
    if wanted not in {None, *(group.setting for group in ranks)}:
        raise TableError(f"{table.source}: no {wanted} ranks in it; {shown}.")
    # The raw setting has no filtered ranks; the filtered one keeps the raw ones beside them.
    return tuple(group for group in ranks if wanted != "raw" or group.setting == "raw"), notes


def _holds_sides(table: NamedTable, name: str) -> bool:
    cells = pc.unique(table[name.lower()]).to_pylist() if name.lower() in table else []
    return bool(cells) and all(str(cell).strip().lower() in SIDE_WORDS for cell in cells)


def _unnamed_setting(named: set[RankSetting], wanted: RankSetting | None) -> tuple[RankSetting, tuple[str, ...]]:
    """Choose the setting of columns whose names do not say it: the one that no other column's name says."""
    if named:
        return "raw" if "filtered" in named else "filtered", ()
    if wanted is not None:
        return wanted, ()
    unsaid = "the file does not say whether its ranks are filtered; they were read as filtered"
    return "filtered", (Note("files", f"{unsaid}. If they are raw, use --setting raw (in Python setting='raw')."),)
