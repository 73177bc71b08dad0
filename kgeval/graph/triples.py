"""Triples: (head, relation, tail) as rows of ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from kgeval.arrays import IntArray
from kgeval.errors import DatasetError

Side = Literal["head", "tail"]
"""The side of a triple that is predicted."""

SIDES: tuple[Side, ...] = get_args(Side)


@dataclass(frozen=True, eq=False)
class Triples:
    """Rows of (head id, relation id, tail id).

    Examples
    --------
    >>> triples = Triples.of([(0, 0, 1), (1, 0, 2), (0, 0, 1)])
    >>> triples.tails
    array([1, 2, 1])
    >>> triples.distinct().triples.ids.tolist()
    [[0, 0, 1], [1, 0, 2]]
    """

    ids: IntArray
    """int64[triple, 3], columns head, relation, tail"""

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, int]] | npt.ArrayLike) -> Triples:
        """Take rows of three ids, refusing any other shape and negative ids."""
        ids = np.asarray(rows if hasattr(rows, "__array__") else list(rows))  # type: ignore[arg-type]
        if ids.size == 0:
            return cls(np.empty((0, 3), np.int64))
        if ids.ndim != 2 or ids.shape[1] != 3 or ids.dtype.kind not in "iu":
            raise DatasetError(f"triples must be integer ids of shape (n, 3), not {ids.dtype} of shape {ids.shape}.")
        if ids.min() < 0:
            row = int(np.flatnonzero((ids < 0).any(axis=1))[0])
            raise DatasetError(f"triple {row} is {tuple(ids[row].tolist())}: ids start at 0.")
        return cls(np.ascontiguousarray(ids, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def heads(self) -> IntArray:
        """The head of each triple; int64[triple]."""
        return self.ids[:, 0]

    @property
    def relations(self) -> IntArray:
        """The relation of each triple; int64[triple]."""
        return self.ids[:, 1]

    @property
    def tails(self) -> IntArray:
        """The tail of each triple; int64[triple]."""
        return self.ids[:, 2]

    def asked(self, side: Side) -> Asked:
        """Split each triple into the question about one side and its answer."""
        if side == "tail":
            return Asked(self.heads, self.relations, self.tails)
        return Asked(self.tails, self.relations, self.heads)

    def distinct(self) -> Distinct:
        """Keep the first of equal triples, in their order."""
        if len(self) == 0:
            return Distinct(self, 0)
        order = np.lexsort((self.tails, self.relations, self.heads))
        ordered = self.ids[order]
        first = np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)]
        keep = np.sort(order[first])
        return Distinct(Triples(self.ids[keep]), len(self) - len(keep))


class Asked(NamedTuple):
    """Triples as questions: (anchor, relation, ?) with one answer each; int64[triple] all three."""

    anchors: IntArray
    relations: IntArray
    answers: IntArray


class Distinct(NamedTuple):
    """Triples without repetitions, and how many repetitions were left out."""

    triples: Triples
    repeated: int
