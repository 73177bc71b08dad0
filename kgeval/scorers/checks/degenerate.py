"""A note on models most of whose vectors are equal, as before training or where a file was misread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from kgeval.arrays import FloatArray, IntArray
from kgeval.data.triples import SIDES, Side
from kgeval.scorers.family import Family, rows
from kgeval.scorers.scorer import Scorer, VectorScorer, entity_arrays
from kgeval.scorers.wrappers.entity_types import Typed
from kgeval.scorers.wrappers.reciprocal import Reciprocal
from kgeval.threads import slices

BATCH_ROWS = 1024
"""rows of a table that are looked at first, and at a time"""

Rows = Callable[[IntArray], FloatArray]


def notes_on_equal_rows(scorer: Scorer | VectorScorer, sides: Sequence[Side] = SIDES) -> list[str]:
    """Tell of which tables most rows are equal: of a checkpoint's arrays, or of a vector scorer's vectors of a side.

    Examples
    --------
    >>> from kgeval.scorers.families.products.distmult import DistMult
    >>> notes_on_equal_rows(DistMult(np.zeros((5, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])))
    ['5 of 5 rows of the array entity are zero: what they stand for cannot be told apart.']
    """
    notes = []
    for name, size, take in _tables(scorer, sides):
        sample = np.unique(np.linspace(0, size - 1, BATCH_ROWS).astype(np.int64))
        some, counts = np.unique(take(sample), axis=0, return_counts=True)
        if counts.max() == 1 or 2 * counts.max() <= counts.sum():
            continue
        most = some[counts.argmax()]
        count = sum(int((take(np.arange(size)[part]) == most).all(axis=1).sum()) for part in slices(size, BATCH_ROWS))
        alike = "equal" if most.any() else "zero"
        notes.append(f"{count} of {size} rows of {name} are {alike}: what they stand for cannot be told apart.")
    return notes


def _tables(scorer: Scorer | VectorScorer, sides: Sequence[Side]) -> Iterator[tuple[str, int, Rows]]:
    """Yield the name of each table of vectors, how many it has, and how to take some of them."""
    family = scorer.family if isinstance(scorer, Reciprocal | Typed) else scorer
    if isinstance(family, Family):
        yield "the array entity", len(family.entity), partial(rows, family.entity)
        yield "the array relation", len(family.relation), partial(rows, family.relation)
    elif isinstance(scorer, VectorScorer):
        for side in (side for side in SIDES if side in sides):
            yield f"the {side}s' vectors", scorer.num_entities, partial(_vectors, scorer, side)


def _vectors(scorer: VectorScorer, side: Side, ids: IntArray) -> FloatArray:
    return entity_arrays(scorer, side, ids)[0]
