"""The label table: what a classification or a prediction of confidences keeps, one row per labelled triple."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgeval.arrays import BoolArray, Float64Array
from kgeval.atomic import replacing
from kgeval.errors import TableError, did_you_mean, reason
from kgeval.graph.dataset import Dataset
from kgeval.graph.headers import TRIPLE
from kgeval.metrics.labelled import ScoredLabels
from kgeval.scoring.labelled import Labelled

if TYPE_CHECKING:
    import pandas as pd

LABELS = pa.dictionary(pa.int32(), pa.string())

SCHEMA = pa.schema(
    [
        ("split", LABELS),
        ("head", pa.int64()),
        ("relation", pa.int64()),
        ("tail", pa.int64()),
        ("label", pa.float64()),
        ("given", pa.bool_()),
        ("known", pa.bool_()),
        ("score", pa.float64()),
        ("head_label", LABELS),
        ("relation_label", LABELS),
        ("tail_label", LABELS),
    ]
)
"""``label``: 1, 0 or a confidence; ``given``: whether the triple is of the split, not a negative of it; ``known``:
whether any split holds it; ``score``: the model's. Each floor adds a column of its scores, under its name."""


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Labelled triples with the scores of a model, and of the floors beside it."""

    data: pa.Table
    """the columns of ``SCHEMA``, and one for each floor"""
    notes: tuple[str, ...] = ()
    """what a reader of the results should know"""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """of floors that do not learn theirs from validation"""

    def __post_init__(self) -> None:
        for column in SCHEMA:
            if column.name not in self.data.column_names:
                found = ", ".join(self.data.column_names)
                raise TableError(f"a label table needs the column {column.name!r}; found {found}.")

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def __repr__(self) -> str:
        return f"LabelTable({len(self)} labelled triples)"

    @property
    def floors(self) -> Mapping[str, float | None]:
        """The floors whose scores it holds, each with the threshold from which on it calls a triple true, if any."""
        return {name: self.thresholds.get(name) for name in self.data.column_names if name not in SCHEMA.names}

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Return one column as an array.

        Raises
        ------
        TableError
            if there is no such column, with the nearest one
        """
        if name not in self.data.column_names:
            raise TableError(f"a label table has no column {name!r}. {did_you_mean(name, self.data.column_names)}")
        return np.asarray(self.data.column(name).to_numpy())

    def where(self, keep: BoolArray) -> LabelTable:
        """Keep some rows (bool[row])."""
        return replace(self, data=self.data.filter(pa.array(keep)))

    def scored(self, split: str, scores: str = "score") -> ScoredLabels:
        """Return what the metrics read of one split, with the scores of the model or of a floor."""
        everything = ScoredLabels(self.column(scores), self.column("label"), self.column("relation_label").astype(str))
        return everything[self.column("split") == split]

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with the columns of the table; splits and labels are categorical."""
        frame: pd.DataFrame = self.data.to_pandas()
        return frame

    def to_parquet(self, path: str | Path) -> None:
        """Write the table; a failed write leaves nothing under that name.

        Raises
        ------
        RunError
            if the file cannot be written
        """
        about = json.dumps({"schema": 1, "notes": self.notes, "thresholds": dict(self.thresholds)})
        with replacing(Path(path)) as partial:
            pq.write_table(self.data.replace_schema_metadata({"kgeval_labels": about}), partial)

    @classmethod
    def from_parquet(cls, path: str | Path) -> LabelTable:
        """Read a table that :meth:`to_parquet` wrote.

        Raises
        ------
        TableError
            if the file is missing, damaged, or holds no label table
        """
        try:
            data = pq.read_table(path, partitioning=None)  # a folder that is called key=value is no column
            about = json.loads((data.schema.metadata or {})[b"kgeval_labels"])
            types = {name: SCHEMA.field(name).type for name in SCHEMA.names}
            data = data.cast(pa.schema([(name, types.get(name, pa.float64())) for name in data.column_names]))
            thresholds = {str(name): float(value) for name, value in about["thresholds"].items()}
            return cls(data, tuple(map(str, about["notes"])), thresholds)
        except FileNotFoundError as error:
            raise TableError(f"no such file {str(path)!r}.") from error
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TableError(f"{path}: not a readable label table ({reason(error)}).") from error

    @classmethod
    def build(
        cls, dataset: Dataset, parts: Mapping[str, Labelled], scores: Mapping[str, Float64Array], **about: Any
    ) -> LabelTable:
        """Put the labelled triples of each split together with columns of scores, one value per triple, end to end."""
        ids = np.concatenate([part.rows.triples.ids for part in parts.values()])
        codes = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part.rows) for part in parts.values()])
        columns = {
            "split": pa.DictionaryArray.from_arrays(codes, list(parts)),
            **{name: pa.array(np.ascontiguousarray(ids[:, place])) for place, name in enumerate(TRIPLE)},
            "label": np.concatenate([part.rows.labels for part in parts.values()]),
            "given": np.concatenate([part.given for part in parts.values()]),
            "known": np.concatenate([part.known for part in parts.values()]),
            **scores,
            "head_label": dataset.entities.column(ids[:, 0]),
            "relation_label": dataset.relations.column(ids[:, 1]),
            "tail_label": dataset.entities.column(ids[:, 2]),
        }
        return cls(pa.table(columns), **about)
