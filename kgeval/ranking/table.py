"""The rank table: what an evaluation keeps, one row per (triple, side). Every number is a function of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kgeval.arrays import BoolArray
from kgeval.atomic import replacing
from kgeval.errors import TableError, did_you_mean, reason
from kgeval.graph.triples import SIDES

if TYPE_CHECKING:
    import pandas as pd

LABELS = pa.dictionary(pa.int32(), pa.string())

SCHEMA = pa.schema(
    [
        ("triple", pa.int64()),
        ("head", pa.int64()),
        ("relation", pa.int64()),
        ("tail", pa.int64()),
        ("side", LABELS),
        ("score", pa.float64()),
        ("greater", pa.int64()),
        ("tied", pa.int64()),
        ("candidates", pa.int64()),
        ("raw_greater", pa.int64()),
        ("raw_tied", pa.int64()),
        ("raw_candidates", pa.int64()),
        ("head_label", LABELS),
        ("relation_label", LABELS),
        ("tail_label", LABELS),
    ]
)
"""Ids are those of the dataset; ``triple`` is the row in the split, each once; ``side`` is what was predicted."""


@dataclass(frozen=True, eq=False)
class RankTable:
    """The ranks of a split.

    The optimistic rank of a row is ``1 + greater``, the pessimistic one ``1 + greater + tied``, the realistic one their
    mean; the ``raw_`` columns hold the same before known answers were taken out, or nothing where that is not known.
    """

    data: pa.Table
    """the columns of ``SCHEMA``"""
    split: str = "test"
    notes: tuple[str, ...] = ()
    """what a reader of the ranks should know: dropped triples, short candidate lists, …"""
    work: Mapping[str, Any] = field(default_factory=dict)
    """how the counts were made: the kernel, and how many comparisons needed a canonical score"""
    filter: tuple[str, ...] | None = None
    """the splits whose triples were known answers; nothing where that is not known"""
    protocol: str = "standard"
    """whose rules they were ranked by"""

    def __post_init__(self) -> None:
        for column in SCHEMA:
            if column.name not in self.data.column_names:
                raise TableError(
                    f"a rank table needs the column {column.name!r}; found {', '.join(self.data.column_names)}."
                )

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def __repr__(self) -> str:
        return f"RankTable({len(self)} ranks of {self.num_triples} {self.split} triples)"

    @property
    def num_triples(self) -> int:
        """How many different triples were ranked."""
        return int(pc.count_distinct(self.data.column("triple"), mode="all").as_py())

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.data.column_names)

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Return one column as an array (labels and sides as strings).

        Raises
        ------
        TableError
            if there is no such column, with the nearest one
        """
        if name not in self.data.column_names:
            raise TableError(f"a rank table has no column {name!r}. {did_you_mean(name, self.columns)}")
        return np.asarray(self.data.column(name).to_numpy())

    def where(self, keep: BoolArray) -> RankTable:
        """Keep some rows (bool[row])."""
        return replace(self, data=self.data.filter(pa.array(keep)), work={})

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with the columns of the table; sides and labels are categorical."""
        frame: pd.DataFrame = self.data.to_pandas()
        return frame

    def to_parquet(self, path: str | Path) -> None:
        """Write the table; a failed write leaves nothing under that name.

        Raises
        ------
        RunError
            if the file cannot be written
        """
        about = json.dumps(
            {
                "schema": 1,
                "split": self.split,
                "filter": self.filter,
                "protocol": self.protocol,
                "notes": self.notes,
            }
        )
        with replacing(Path(path)) as partial:
            pq.write_table(self.data.replace_schema_metadata({"kgeval": about}), partial)

    @classmethod
    def from_parquet(cls, path: str | Path) -> RankTable:
        """Read a table that :meth:`to_parquet` wrote.

        Raises
        ------
        TableError
            if the file is missing, damaged, or holds no rank table
        """
        try:
            data = pq.read_table(path, partitioning=None)  # a folder that is called key=value is no column
            about = json.loads((data.schema.metadata or {}).get(b"kgeval", b"{}"))
            data = data.select([name for name in SCHEMA.names if name in data.column_names])
            data = data.cast(pa.schema([SCHEMA.field(name) for name in data.column_names]))
        except FileNotFoundError as error:
            raise TableError(f"no such file {str(path)!r}.") from error
        except (pa.ArrowException, OSError, ValueError) as error:
            raise TableError(f"{path}: not a readable rank table ({reason(error)}).") from error
        notes = about.get("notes", []) if isinstance(about, dict) else None
        splits = about.get("filter") if isinstance(about, dict) else None
        if (
            not isinstance(notes, list)
            or not isinstance(splits, list | None)
            or not all(isinstance(about.get(key, ""), str) for key in ("split", "protocol"))
        ):
            raise TableError(f"{path}: not a readable rank table (its metadata are not kgeval's).")
        filtered = None if splits is None else tuple(map(str, splits))
        split, protocol = about.get("split", "test"), about.get("protocol", "standard")
        table = cls(data, split, tuple(map(str, notes)), filter=filtered, protocol=protocol)
        try:
            table.refuse_nonsense()
        except TableError as error:
            raise TableError(f"{path}: {error}") from error
        return table

    def refuse_nonsense(self) -> None:
        """Refuse empty cells, counts that cannot be, and sides that there are not.

        Raises
        ------
        TableError
            with the column or row
        """
        for name in SCHEMA.names:
            if name != "score" and not name.endswith("_label") and self._holes(name):
                raise TableError(f"the column {name} has empty cells.")
        for prefix in ("", "raw_"):
            if prefix and self.knows_no_raw:
                continue
            greater, tied, candidates = (self.column(prefix + name) for name in ("greater", "tied", "candidates"))
            wrong = (greater < 0) | (tied < 0) | (candidates < 1) | (greater >= candidates - tied)
            if wrong.any():
                raise TableError(f"row {int(np.argmax(wrong))}: its {prefix}counts cannot be.")
        for side in np.unique(self.column("side").astype(str)):
            if side not in SIDES:
                raise TableError(f"unknown side {str(side)!r}. {did_you_mean(side, SIDES)}")

    def _holes(self, name: str) -> bool:
        """Whether cells are empty; the raw counts may all be unknown, where ranks were made elsewhere."""
        if name.startswith("raw_") and self.knows_no_raw:
            return False
        return bool(self.data.column(name).null_count)

    @property
    def knows_no_raw(self) -> bool:
        """Whether the raw counts are unknown."""
        raw = (self.data.column(f"raw_{name}") for name in ("greater", "tied", "candidates"))
        return len(self) > 0 and all(column.null_count == len(self) for column in raw)

    @classmethod
    def concat(cls, tables: Sequence[RankTable]) -> RankTable:
        """Put the shards of one evaluation together.

        Raises
        ------
        TableError
            if there are none, if they rank different splits or filter by different ones, or if a triple and side is
            ranked twice
        """
        splits = {table.split for table in tables}
        if len(splits) != 1:
            raise TableError(
                f"cannot concatenate the ranks of {' and '.join(sorted(splits)) or 'no table'}: one split only."
            )
        if len({table.filter for table in tables}) > 1:
            raise TableError("cannot concatenate ranks that were filtered by different splits.")
        if len({table.protocol for table in tables}) > 1:
            raise TableError("cannot concatenate ranks of different protocols.")
        data = pa.concat_tables([table.data for table in tables]).unify_dictionaries().combine_chunks()
        again = data.num_rows - data.group_by(["side", "head", "relation", "tail"]).aggregate([]).num_rows
        if again:
            raise TableError(
                f"cannot concatenate these ranks: {again} of {data.num_rows} are of a triple and side that is already "
                "there, and would count twice. Give each shard once."
            )
        notes = dict.fromkeys(note for table in tables for note in table.notes)
        return replace(tables[0], data=data, notes=tuple(notes), work={})
