"""Tables of fixed columns, and of what is said about them, as one Parquet file each."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgeval.arrays import BoolArray
from kgeval.atomic import replacing
from kgeval.errors import TableError, did_you_mean, reason

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Self

LABELS = pa.dictionary(pa.int32(), pa.string())
"""the type of labels, of which there are few and many of each"""


@dataclass(frozen=True, eq=False)
class Columns:
    """A table that has at least the columns of its schema."""

    data: pa.Table
    """the columns"""

    SCHEMA: ClassVar[pa.Schema]
    FURTHER: ClassVar[pa.DataType | None] = None
    """the type of further columns, which are not read without one"""
    KIND: ClassVar[str]
    """what it is called in messages"""
    KEY: ClassVar[str]
    """where in a file is said what there is to say about it"""

    def __post_init__(self) -> None:
        for column in self.SCHEMA:
            if column.name not in self.data.column_names:
                found = ", ".join(self.data.column_names)
                raise TableError(f"a {self.KIND} needs the column {column.name!r}; found {found}.")

    def __len__(self) -> int:
        return int(self.data.num_rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.data.column_names)

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Return one column as an array (labels as strings).

        Raises
        ------
        TableError
            if there is no such column, with the nearest one
        """
        if name not in self.data.column_names:
            raise TableError(f"a {self.KIND} has no column {name!r}. {did_you_mean(name, self.columns)}")
        return np.asarray(self.data.column(name).to_numpy())

    def where(self, keep: BoolArray) -> Self:
        """Keep some rows (bool[row])."""
        return replace(self, data=self.data.filter(pa.array(keep)))

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with the columns of the table; labels are categorical."""
        frame: pd.DataFrame = self.data.to_pandas()
        return frame

    def to_parquet(self, path: str | Path) -> None:
        """Write the table; a failed write leaves nothing under that name.

        Raises
        ------
        RunError
            if the file cannot be written
        """
        about = json.dumps({"schema": 1, **self._about()})
        with replacing(Path(path)) as partial:
            pq.write_table(self.data.replace_schema_metadata({self.KEY: about}), partial)

    @classmethod
    def from_parquet(cls, path: str | Path) -> Self:
        """Read a table that :meth:`to_parquet` wrote.

        Raises
        ------
        TableError
            if the file is missing, damaged, or holds no such table
        """
        try:
            data = pq.read_table(path, partitioning=None)  # a folder that is called key=value is no column
            about = json.loads((data.schema.metadata or {}).get(cls.KEY.encode(), b"{}"))
            types = {name: cls.SCHEMA.field(name).type for name in cls.SCHEMA.names}
            data = data.select([name for name in data.column_names if name in types or cls.FURTHER is not None])
            data = data.cast(pa.schema([(name, types.get(name, cls.FURTHER)) for name in data.column_names]))
            return cls._of(data, about)
        except FileNotFoundError as error:
            raise TableError(f"no such file {str(path)!r}.") from error
        except TableError as error:
            raise TableError(f"{path}: {error}") from error
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TableError(f"{path}: not a readable {cls.KIND} ({reason(error)}).") from error

    def _about(self) -> dict[str, Any]:
        """What is said about the table, in plain data."""
        raise NotImplementedError

    @classmethod
    def _of(cls, data: pa.Table, about: Any) -> Self:
        """Make a table of what was read; whatever cannot be read raises."""
        raise NotImplementedError
