"""Negatives from a file: hard negatives, or those that ``kgeval negatives`` exported."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kgeval.arrays import IntArray
from kgeval.corruption.candidates import Candidates
from kgeval.corruption.generator import CorruptionGenerator, size_range
from kgeval.data.dataset import Dataset
from kgeval.data.io.headers import TRIPLE
from kgeval.data.io.triple_files import read_triples
from kgeval.data.known import KnownAnswers
from kgeval.data.labelled_triples import false_rows, read_triple_ids
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.errors import DatasetError, did_you_mean, nearest


class FileNegatives(CorruptionGenerator):
    """Corrupt a triple with the entities that the negatives of a file put in the answer's place.

    A negative (h', r, t) belongs to the query (?, r, t), and (h, r, t') to (h, r, ?).
    With a column ``side`` (head or tail: the side that was corrupted) it belongs to that side only. With a column of
    confidences the file may hold true triples too: only rows of confidence 0 are negatives.

    >>> FileNegatives(path="negatives.tsv")
    FileNegatives(kind='file', path='negatives.tsv')
    """

    kind: Literal["file"] = "file"
    """the negatives of a file"""
    path: str
    """text or Parquet with the columns head, relation, tail and optionally side: a header names them, in any order"""

    @property
    def files(self) -> tuple[Path, ...]:
        """The file of negatives."""
        return (Path(self.path),)

    def read(self, dataset: Dataset) -> dict[Side, KnownAnswers]:
        """Read the negatives of each side; a negative completes its query just as a known triple does.

        Raises
        ------
        DatasetError
            if the file is missing or malformed, or names an entity or relation that the dataset does not know
        """
        table = read_triples(Path(self.path))
        self._refuse_misspelt_side(table.column_names)
        triples = read_triple_ids(Path(self.path), table, dataset.entities, dataset.relations)
        false = false_rows(Path(self.path), table)
        sides = self._sides(table["side"]) if "side" in table.column_names else None
        parts = {side: false if sides is None else false & (sides == side) for side in SIDES}
        return {side: KnownAnswers.of([Triples(triples.ids[part])], side) for side, part in parts.items()}

    def widths(self, queries: Queries, dataset: Dataset) -> IntArray:
        """Count the negatives of each query."""
        negatives: KnownAnswers = self.content(dataset)[queries.side]
        return negatives.lengths(queries)

    def candidates(self, queries: Queries, known: Rows, dataset: Dataset) -> Candidates:
        """Collect the entities of the file's negatives for each query."""
        return Candidates(self.content(dataset)[queries.side].rows(queries))

    def notes(self, queries: Queries, dataset: Dataset) -> tuple[str, ...]:
        """Note how many queries have no negatives.

        Raises
        ------
        DatasetError
            if none of the negatives fits a query
        """
        without = int((self.widths(queries, dataset) == 0).sum())
        if len(queries) and without == len(queries):
            count = len(self.content(dataset)[queries.side].answers)
            raise DatasetError(f"{self.path}: none of its {count} negatives fits a {queries.side} query of the split.")
        note = f"{without} {queries.side} queries have no negatives in {self.path}; their answers rank 1 of 1."
        return (note,) if without else ()

    def describe(self, dataset: Dataset, sizes: IntArray) -> str:
        """Describe how many the file has for a query."""
        return f"{size_range(sizes)} of file {Path(self.path).name}"

    def _refuse_misspelt_side(self, columns: list[str]) -> None:
        """Without its side, a negative would silently belong to both."""
        for name in columns:
            if name not in {*TRIPLE, "side"} and nearest(name, ["side"]):
                raise DatasetError(f"{self.path}: unknown column {name!r}. Did you mean 'side'?")

    def _sides(self, column: pa.ChunkedArray) -> npt.NDArray[np.str_]:
        sides: npt.NDArray[np.str_] = np.array([str(side) for side in column.to_pylist()])
        wrong = ~np.isin(sides, SIDES)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DatasetError(
                f"{self.path}, row {row + 1}: side {str(sides[row])!r}. {did_you_mean(str(sides[row]), SIDES)}"
            )
        return sides
