"""Tables with required columns and metadata, each in one Parquet file.

Tables of ranks, labels, predictions and answer sets are classes below ``StoredTable``, which name their columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.containers import read_parquet
from kgeval.base.errors import FileError, TableError, counted, did_you_mean, reason, visible
from kgeval.base.files import checked
from kgeval.base.notes import restored, stored
from kgeval.base.storage import replacing
from kgeval.base.tables.shown import Displayed, Parts
from kgeval.base.tables.table import Cell, Figure, Table

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Self


LABELS = pa.dictionary(pa.int32(), pa.string())
"""the type of a column of labels: dictionary-encoded text, as few different labels are repeated often"""


ROWS_SHOWN = 10
"""the most rows that ``str`` and notebooks show"""

MORE = "; .to_pandas() returns all."


@dataclass(frozen=True, eq=False, repr=False)
class StoredTable(Displayed):
    """A table that has at least the columns of its schema; further columns are kept as they are."""

    data: pa.Table
    """the columns"""

    _SCHEMA: ClassVar[pa.Schema]
    """the required columns and their types"""
    _FILE: ClassVar[str]
    """the name of the file in a run directory"""
    _KIND: ClassVar[str]
    """the name of such a table in messages, such as ``rank table``"""
    _KEY: ClassVar[str]
    """the key of the table's metadata in a Parquet file"""
    _NOUN: ClassVar[tuple[str, str]] = ("row", "rows")
    """the word for a row in messages, and its plural"""
    _SHOWN: ClassVar[tuple[str, ...]]
    """the columns that ``str`` and notebooks show, if the table has them"""
    _COMPUTED: ClassVar[tuple[str, ...]] = ()
    """the columns that are computed when they are asked for, and not stored"""
    _REQUIRED: ClassVar[tuple[str, ...]] = ()
    """the fields that the metadata of a file must have, as their defaults would be wrong for it"""

    def __post_init__(self) -> None:
        if len(set(self.columns)) < len(self.columns):
            twice = next(name for name in self.columns if self.columns.count(name) > 1)
            raise TableError(f"a {self._KIND} has one column of each name; found two {twice!r}.")
        for column in self._SCHEMA:
            if column.name not in self.data.column_names:
                names = ", ".join(self.data.column_names)
                raise TableError(f"a {self._KIND} needs the column {column.name!r}; found {names}.")

    def __len__(self) -> int:
        return int(self.data.num_rows)

    @property
    def columns(self) -> list[str]:
        """The names of the stored columns."""
        return list(self.data.column_names)

    @property
    def further(self) -> list[pa.Field]:
        """The stored columns beyond the schema."""
        return [field for field in self.data.schema if field.name not in self._SCHEMA.names]

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Return one column as an array (labels as strings)."""
        if name not in self.data.column_names:
            known = [*self.columns, *self._COMPUTED]
            raise TableError(f"a {self._KIND} has no column {name!r}. {did_you_mean(name, known)}")
        column = self.data.column(name)
        if pa.types.is_dictionary(column.type) and column.null_count:
            # In several chunks, pyarrow gives a missing value the value of another row.
            column = column.unify_dictionaries().combine_chunks()
            return np.asarray(column.to_numpy(zero_copy_only=False))
        return np.asarray(column.to_numpy())

    def ordered_codes(self, name: str) -> IntArray | None:
        """Return the position of each row's value in the order that the column declares, -1 where it is missing.

        The codes are int64[row]; None if the column declares no order.
        """
        kind = self.data.schema.field(name).type
        if not (pa.types.is_dictionary(kind) and kind.ordered):
            return None
        column = self.data.column(name).unify_dictionaries().combine_chunks()
        return np.asarray(column.indices.fill_null(-1), np.int64)

    def where(self, keep: BoolArray) -> Self:
        """Return a table of the rows for which ``keep`` (bool[row]) holds."""
        rows = np.asarray(keep)
        if rows.dtype != np.bool_ or rows.shape != (len(self),):
            raise TableError(f"where: expected bool of shape ({len(self)},), found {rows.dtype} of shape {rows.shape}.")
        return replace(self, data=self.data.filter(pa.array(rows)))

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with the columns of the table; labels are categorical."""
        frame: pd.DataFrame = self.data.to_pandas()
        return frame

    def to_parquet(self, path: str | Path) -> None:
        """Write the table; a failed write leaves nothing under that name."""
        with replacing(Path(path)) as partial:
            pq.write_table(self.data.replace_schema_metadata(self.metadata), partial)

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the table's file: the fields beside the rows, as JSON."""
        about = {name: kind.dump_python(getattr(self, name), mode="json") for name, kind in self._kinds().items()}
        if "notes" in about:
            about |= stored(vars(self)["notes"])
        return {self._KEY: json.dumps({"schema": 1, **about})}

    @classmethod
    def from_parquet(cls, path: str | Path) -> Self:
        """Read a table that :meth:`to_parquet` wrote: a file, or the folder of a run that has it."""
        if Path(path).is_dir():
            path = Path(path) / cls._FILE
            if not path.is_file():
                raise TableError(f"{str(path.parent)!r} is a folder without {cls._FILE}: no run with a {cls._KIND}.")
        try:
            data = read_parquet(Path(path))
            metadata = json.loads((data.schema.metadata or {}).get(cls._KEY.encode(), b"{}"))
            names = cls._SCHEMA.names
            typed = [cls._SCHEMA.field(field.name) if field.name in names else field for field in data.schema]
            return cls._of(data.cast(pa.schema(typed)), metadata)
        except FileNotFoundError as error:
            raise TableError(f"no such file {str(path)!r}.") from error
        except FileError:
            raise
        except TableError as error:
            raise TableError(f"{path}: {error}") from error
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TableError(f"{path}: not a readable {cls._KIND} ({reason(error)}).") from error

    @classmethod
    def is_in(cls, path: str | Path) -> bool:
        """Whether :meth:`to_parquet` wrote the file, by its metadata; its content may be damaged."""
        with suppress(pa.ArrowException, OSError, ValueError, FileError):
            checked(Path(path))
            return cls._KEY.encode() in (pq.read_metadata(path).metadata or {})
        return False

    def _parts(self) -> Parts:
        notes = (f"Note: {note}" for note in getattr(self, "notes", ()))
        return Parts([visible(str(getattr(self, "provenance", self._KIND)))], self._tables(), [self._size(), *notes])

    def _size(self) -> str:
        shown = f"{ROWS_SHOWN} of " if len(self) > ROWS_SHOWN else ""
        return f"{shown}{counted(len(self), *self._NOUN)}{f' shown{MORE}' if shown else '.'}"

    def _tables(self) -> list[Table]:
        return [replace(self, data=self.data.slice(0, ROWS_SHOWN))._table()]

    def _table(self) -> Table:
        """Lay out all rows: the columns of ``_SHOWN`` and those beyond the schema, columns of text first."""
        frame = self.to_pandas()
        names = dict.fromkeys([*self._SHOWN, *(field.name for field in self.further)])
        columns = {name: _cells(name, frame[name].tolist()) for name in names if name in frame}
        texts = [name for name, cells in columns.items() if all(isinstance(cell, str) for cell in cells)]
        ordered = [*texts, *(name for name in columns if name not in texts)]
        rows = list(zip(*(columns[name] for name in ordered), strict=True))
        return Table([name.removesuffix("_label") for name in ordered], rows, keys=len(texts))

    @classmethod
    def _of(cls, data: pa.Table, metadata: Mapping[str, Any]) -> Self:
        """Make a table of the columns and the metadata of a file; any error in them raises."""
        kinds = cls._kinds()
        if missing := [name for name in cls._REQUIRED if name not in metadata]:
            raise KeyError(missing[0])
        try:
            about = {name: kinds[name].validate_python(metadata[name]) for name in kinds.keys() & metadata.keys()}
            if "notes" in about:
                about["notes"] = restored(metadata)
        except ValidationError as error:
            raise ValueError("its metadata are not of kgeval") from error
        table = cls(data, **about)
        table._refuse_nonsense()
        return table

    @classmethod
    @cache
    def _kinds(cls) -> dict[str, TypeAdapter[Any]]:
        """The types of the fields that are kept in the file: all but ``data`` and ``work``."""
        kinds = get_type_hints(cls, include_extras=True)
        names = [field.name for field in fields(cls) if field.name not in ("data", "work")]
        return {name: TypeAdapter(kinds[name]) for name in names}

    def _refuse_nonsense(self) -> None:
        """Refuse impossible values in a table that was read."""


def _cells(name: str, values: list[Any]) -> list[Cell]:
    """Lay out a column: whole numbers without decimals, other ranks with one; a ``place`` as text: it names a row."""
    whole = all(value == value // 1 for value in values if isinstance(value, float))
    digits = 0 if whole else 1 if name == "rank" else None
    return [_cell(str(value) if name == "place" else value, digits) for value in values]


def _cell(value: Any, digits: int | None) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return Figure(None if np.isnan(value) else value, digits=digits)
    return value if isinstance(value, int) else visible(str(value))


def with_columns(table: pa.Table, columns: Mapping[str, Any]) -> pa.Table:
    """Add columns to a table; a column of the same name is replaced."""
    for name, column in columns.items():
        place = table.schema.get_field_index(name)
        table = table.append_column(name, column) if place < 0 else table.set_column(place, name, column)
    return table
