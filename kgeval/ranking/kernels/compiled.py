"""The compiled kernel: numba loops over tiles of candidates, scored and counted while they are in cache.

Every score is summed from the first dimension to the last, as the reference does; what runs side by side are the
candidates of a tile, whose sums do not touch each other. So the bits are the reference's.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
from numba import njit, prange

from kgeval.arrays import Float64Array, FloatArray, IntArray
from kgeval.ranking.kernels.base import Asked, Offered, Tally
from kgeval.scorers.similarity import Similarity

TILE = 64
"""candidates scored side by side"""

GROUP = 32
"""queries that a thread takes through a tile before it fetches the next"""

SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)
DOT, L1, L2, MODULUS = range(len(SIMILARITIES))


class CompiledKernel:
    """Scores and counts in one pass, in parallel over queries."""

    name = "compiled"

    def pairs(self, asked: Asked, offered: Offered, offsets: IntArray) -> Float64Array:
        """Score pairs canonically; float64[offered]."""
        scores = np.empty(len(offered.biases))
        code = SIMILARITIES.index(asked.similarity)
        vectors = np.ascontiguousarray(offered.vectors)
        _score_pairs(code, (asked.vectors, asked.offsets), (vectors, offered.biases), offsets, scores)
        return scores

    def count_vectors(self, asked: Asked, offered: Offered, first: int, tally: Tally) -> None:
        """Count a chunk of shared candidates into the tally."""
        _count_tiles(
            SIMILARITIES.index(asked.similarity),
            (asked.vectors, asked.offsets),
            (_tiles(offered.vectors), _tiles(offered.biases[:, None])[:, 0, :]),
            (first, len(offered.biases)),
            _tasks(tally),
            tally.counts,
            tally.undefined,
        )

    def count_scores(self, scores: Float64Array, starts: IntArray, tally: Tally) -> None:
        """Count finished scores into the tally."""
        _count_rows(scores, starts, tally.contest.widths, _tasks(tally), tally.counts, tally.undefined)


def _tasks(tally: Tally) -> tuple[IntArray, Float64Array, IntArray, IntArray, IntArray]:
    contest = tally.contest
    return (
        contest.queries.offsets,
        tally.thresholds,
        contest.answers,
        contest.known.offsets,
        contest.known.ids,
    )


def _tiles(vectors: FloatArray) -> Float64Array:
    """Lay vectors out as float64[tile, dim, TILE], the last tile filled up with zeros."""
    count, dim = vectors.shape
    padded = np.zeros((-(-count // TILE) * TILE, dim))
    padded[:count] = vectors
    return np.ascontiguousarray(padded.reshape(-1, TILE, dim).transpose(0, 2, 1))


@njit(cache=True, parallel=True)
def _count_tiles(similarity, asked, offered, span, tasks, counts, undefined):  # type: ignore[no-untyped-def]
    vectors, offsets = asked
    tiles, biases = offered
    first, size = span
    for group in prange(-(-len(vectors) // GROUP)):
        scores = np.empty(TILE)
        for tile in range(len(tiles)):
            width = min(TILE, size - tile * TILE)
            for query in range(group * GROUP, min(len(vectors), (group + 1) * GROUP)):
                _score_tile(similarity, vectors[query], tiles[tile], scores)
                for lane in range(TILE):
                    scores[lane] = scores[lane] + biases[tile, lane] + offsets[query]
                _count_row(query, scores[:width], first + tile * TILE, tasks, counts, undefined)


@njit(cache=True, parallel=True)
def _count_rows(scores, starts, widths, tasks, counts, undefined):  # type: ignore[no-untyped-def]
    for query in prange(len(widths)):
        _count_row(query, scores[starts[query] : starts[query] + widths[query]], 0, tasks, counts, undefined)


@njit(cache=True)
def _count_row(query, scores, first, tasks, counts, undefined):  # type: ignore[no-untyped-def]
    """Count the scores of the candidates at positions first, first + 1, … against each answer of a query."""
    task_offsets, thresholds, answers, known_offsets, known = tasks
    known = known[known_offsets[query] : known_offsets[query + 1]]
    begin, end = np.searchsorted(known, first), np.searchsorted(known, first + len(scores))
    holes = 0
    for score in scores:
        holes += np.isnan(score)
    undefined[query] |= holes > 0
    for task in range(task_offsets[query], task_offsets[query + 1]):
        threshold, answer = thresholds[task], answers[task]
        greater, tied = 0, 0
        for score in scores:
            greater += score > threshold
            tied += score == threshold
        if first <= answer < first + len(scores):
            tied -= 1
        counts[task, 0] += greater
        counts[task, 1] += tied
        for position in known[begin:end]:
            if position != answer:
                greater -= scores[position - first] > threshold
                tied -= scores[position - first] == threshold
        counts[task, 2] += greater
        counts[task, 3] += tied


@njit(cache=True)
def _score_tile(similarity, query, tile, scores):  # type: ignore[no-untyped-def]
    """Score a query against the candidates of a tile."""
    scores[:] = 0.0
    if similarity == DOT:
        _add_dot(query, tile, scores)
    elif similarity == L1:
        _subtract_l1(query, tile, scores)
    elif similarity == L2:
        _subtract_l2(query, tile, scores)
    else:
        _subtract_modulus(query, tile, scores)


@njit(cache=True)
def _add_dot(query, tile, scores):  # type: ignore[no-untyped-def]
    for k in range(len(query)):
        for lane in range(TILE):
            scores[lane] += query[k] * tile[k, lane]


@njit(cache=True)
def _subtract_l1(query, tile, scores):  # type: ignore[no-untyped-def]
    for k in range(len(query)):
        for lane in range(TILE):
            scores[lane] -= abs(query[k] - tile[k, lane])


@njit(cache=True)
def _subtract_l2(query, tile, scores):  # type: ignore[no-untyped-def]
    for k in range(len(query)):
        for lane in range(TILE):
            difference = query[k] - tile[k, lane]
            scores[lane] += difference * difference
    for lane in range(TILE):
        scores[lane] = -np.sqrt(scores[lane])


@njit(cache=True)
def _subtract_modulus(query, tile, scores):  # type: ignore[no-untyped-def]
    half = len(query) // 2
    for k in range(half):
        for lane in range(TILE):
            real = query[k] - tile[k, lane]
            imaginary = query[half + k] - tile[half + k, lane]
            scores[lane] -= np.sqrt(real * real + imaginary * imaginary)


@njit(cache=True, parallel=True)
def _score_pairs(similarity, asked, offered, row_offsets, out):  # type: ignore[no-untyped-def]
    queries, offsets = asked
    vectors, biases = offered
    for query in prange(len(queries)):
        tile = np.empty((queries.shape[1], TILE))
        scores = np.empty(TILE)
        for start in range(row_offsets[query], row_offsets[query + 1], TILE):
            width = min(TILE, row_offsets[query + 1] - start)
            for lane in range(width):
                for k in range(queries.shape[1]):
                    tile[k, lane] = vectors[start + lane, k]
            _score_tile(similarity, queries[query], tile, scores)
            for lane in range(width):
                out[start + lane] = scores[lane] + biases[start + lane] + offsets[query]
