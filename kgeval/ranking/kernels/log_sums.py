"""Log-sums: of each query, the logarithm of the sum of the exponentials of its candidates' scores so far.

``Engine.log_sums`` fills them, for the conformal score ``softmax``. Scores are canonical and are added up one by one in
the order of the candidates, so that no block, thread or kernel changes a bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array
from kgeval.base.compiling import njit
from kgeval.data.queries import Rows
from kgeval.ranking.kernels.collectors import Collector, Kernel
from kgeval.ranking.kernels.compiled import arrays_of, run_loop, score
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors

GROUP = 16
"""the number of queries that a thread takes at a time"""


@dataclass(frozen=True, eq=False)
class LogSums(Collector):
    """log Σ exp(s) over the candidates that were scanned and are no known answers, with the largest score taken out."""

    largest: Float64Array
    """float64[query], the largest score"""
    sums: Float64Array
    """float64[query], Σ exp(s − largest)"""
    undefined: BoolArray
    """bool[query], whether a candidate's score was NaN"""
    known: Rows
    """the positions of each query's known answers, ascending"""

    @classmethod
    def empty(cls, known: Rows) -> LogSums:
        """Begin with no candidates."""
        return cls(np.full(len(known), -np.inf), np.zeros(len(known)), np.zeros(len(known), np.bool_), known)

    @property
    def values(self) -> Float64Array:
        """The logarithms; float64[query], −∞ where there is no candidate."""
        with np.errstate(divide="ignore"):
            return self.largest + np.log(self.sums)

    def scan_shared(self, kernel: Kernel, queries: QueryVectors, entities: EntityVectors, first: int) -> None:
        arrays = arrays_of(queries, entities)
        run_loop(_score_and_add, len(self.sums), arrays, first, self._arrays, group=GROUP)

    def scan_scores(self, kernel: Kernel, scores: Float64Array) -> None:
        run_loop(_add_rows, len(self.sums), scores, self._arrays, group=GROUP)

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.largest, self.sums, self.undefined, self.known.offsets, self.known.ids


@njit(cache=True, nogil=True)
def _score_and_add(begin, end, arrays, first, sums):  # type: ignore[no-untyped-def]
    everyone = np.arange(len(arrays.entities))
    row = np.empty(len(everyone))
    for query in range(begin, end):
        score(arrays, query, everyone, row)
        _add_row(query, row, first, sums)


@njit(cache=True, nogil=True)
def _add_rows(begin, end, finished, sums):  # type: ignore[no-untyped-def]
    for query in range(begin, end):
        _add_row(query, finished[query], 0, sums)


@njit(cache=True)
def _add_row(query, row, first, found):  # type: ignore[no-untyped-def]
    largest, sums, undefined, known_offsets, known = found
    positions = known[known_offsets[query] : known_offsets[query + 1]]
    place = np.searchsorted(positions, first)
    top, total = largest[query], sums[query]
    for lane in range(len(row)):
        value = row[lane]
        undefined[query] |= np.isnan(value)
        if place < len(positions) and positions[place] == first + lane:
            place += 1
        elif value == -np.inf:  # adds nothing, also where the largest is −∞
            pass
        elif value == top:
            total += 1.0
        elif value > top:
            total = total * np.exp(top - value) + 1.0
            top = value
        else:
            total += np.exp(value - top)
    largest[query], sums[query] = top, total
