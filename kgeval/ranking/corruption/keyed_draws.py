"""Keyed draws without replacement: the draw for a query depends only on its key and on the numbers that may be drawn.

So batches, shards and models do not change a draw. The corruptions of ``drawn`` call ``draw`` and ``draw_weighted``
with the numbers to avoid, and get an ascending row of numbers for each query. A key is a seed and a side (the argument
``key``), with the anchor (the entity of the query) and the relation. numba compiles the loops.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from kgeval.base.arrays import IntArray
from kgeval.base.compiling import njit
from kgeval.base.threads import parallel_for, threads
from kgeval.data.queries import Rows


def draw(count: int, size: int, avoid: Rows, key: tuple[int, int], anchors: IntArray, relations: IntArray) -> Rows:
    """Draw up to ``count`` of ``0 … size - 1`` for each query, none of which is in its row of ``avoid``.

    Robert Floyd's algorithm (Bentley and Floyd, 1987) over the numbers that are left, with the SplitMix64 generator
    (Steele, Lea and Flood, 2014) seeded by ``(*key, anchor, relation)``.

    >>> one = np.array([7]), np.array([2])
    >>> draw(3, 5, Rows.of([[1, 3]]), (0, 0), *one).row(0)
    array([0, 2, 4])
    """
    count, left = min(count, size), size - avoid.lengths
    rows = Rows.sized(np.minimum(count, left), np.empty(int(np.minimum(count, left).sum()), np.int64))
    arrays = (avoid.offsets, avoid.ids), (anchors, relations), rows.offsets, rows.ids
    share = -(-len(anchors) // threads()) or 1
    parallel_for(lambda part: _draw_rows(part.start, part.stop, key, size, *arrays), len(anchors), share)
    return rows


@njit(cache=True, nogil=True)
def _draw_rows(begin, end, key, size, avoided, queries, offsets, out):  # type: ignore[no-untyped-def]
    avoid_offsets, avoid_ids = avoided
    anchors, relations = queries
    seen = np.full(size, -1, np.int64)
    start = keyed(*key)
    for query in range(begin, end):
        avoid = avoid_ids[avoid_offsets[query] : avoid_offsets[query + 1]]
        row = out[offsets[query] : offsets[query + 1]]
        left = size - len(avoid)
        state = mix(mix(start + uint64(anchors[query])) + uint64(relations[query]))
        for index in range(len(row)):
            last = left - len(row) + index
            state, value = below(state, last + 1)
            number = np.int64(value)
            if seen[number] == query:
                number = last
            seen[number] = query
            row[index] = number
        row.sort()
        # The row has places among the numbers that may be drawn: step over those to avoid.
        skipped = 0
        for index in range(len(row)):
            while skipped < len(avoid) and avoid[skipped] - skipped <= row[index]:
                skipped += 1
            row[index] += skipped


def draw_weighted(
    count: int, weights: IntArray, avoid: Rows, key: tuple[int, int], anchors: IntArray, relations: IntArray
) -> Rows:
    """Draw up to ``count`` numbers for each query, one after the other, none of which is in its row of ``avoid``.

    Each draw takes number ``i`` with probability ``weights[i]`` over the sum of the weights that are left; weights of 0
    are never drawn. The sums of the weights are kept in a binary indexed tree (Fenwick, 1994): the weights of drawn and
    avoided numbers are taken out, and put back for the next query. The generator is the same as in :func:`draw`.

    Weights are int64[number], at least 0; rows of ``avoid`` and of the result ascend, and a row is short where fewer
    numbers are left.

    >>> one = np.array([7]), np.array([2])
    >>> draw_weighted(3, np.array([1, 5, 0, 2, 9]), Rows.of([[1]]), (0, 0), *one).row(0)
    array([0, 3, 4])
    """
    weights = np.ascontiguousarray(weights, np.int64)
    possible = weights > 0
    left = possible.sum() - np.bincount(avoid.owners[possible[avoid.ids]], minlength=len(avoid))
    lengths = np.minimum(min(count, len(weights)), left)
    rows = Rows.sized(lengths, np.empty(int(lengths.sum()), np.int64))
    _draw_weighted_rows(key, weights, (avoid.offsets, avoid.ids), (anchors, relations), rows.offsets, rows.ids)
    return rows


@njit(cache=True)
def _draw_weighted_rows(key, weights, avoided, queries, offsets, out):  # type: ignore[no-untyped-def]
    avoid_offsets, avoid_ids = avoided
    anchors, relations = queries
    tree, total = _tree(weights), weights.sum()
    top = 1
    while 2 * top <= len(weights):
        top *= 2
    start = keyed(*key)
    for query in range(len(anchors)):
        avoid = avoid_ids[avoid_offsets[query] : avoid_offsets[query + 1]]
        row = out[offsets[query] : offsets[query + 1]]
        left = total
        for number in avoid:
            _add(tree, number, -weights[number])
            left -= weights[number]
        state = mix(mix(start + uint64(anchors[query])) + uint64(relations[query]))
        for index in range(len(row)):
            state, value = below(state, left)
            number = _find(tree, top, np.int64(value))
            _add(tree, number, -weights[number])
            left -= weights[number]
            row[index] = number
        for number in row:
            _add(tree, number, weights[number])
        for number in avoid:
            _add(tree, number, weights[number])
        row.sort()


@njit(cache=True)
def _tree(weights):  # type: ignore[no-untyped-def]
    """Build the tree: node ``i``, from 1, holds the sum of the ``i & -i`` weights that end there."""
    size = len(weights)
    tree = np.zeros(size + 1, np.int64)
    tree[1:] = weights
    for node in range(1, size + 1):
        parent = node + (node & -node)
        if parent <= size:
            tree[parent] += tree[node]
    return tree


@njit(cache=True)
def _add(tree, number, weight):  # type: ignore[no-untyped-def]
    node = number + 1
    while node < len(tree):
        tree[node] += weight
        node += node & -node


@njit(cache=True)
def _find(tree, top, value):  # type: ignore[no-untyped-def]
    """Find i with cumsum(weights)[i − 1] ≤ value < cumsum(weights)[i], by descending the tree.

    ``top`` is the largest power of two ≤ len(weights).
    """
    place, step = 0, top
    while step > 0:
        node = place + step
        if node < len(tree) and tree[node] <= value:
            place = node
            value -= tree[node]
        step >>= 1
    return place


@njit(cache=True)
def keyed(seed: int, side: int) -> int:
    """Return the part of the key that all queries share; the loops then mix in the anchor and relation of each."""
    return mix(mix(seed) + uint64(side))  # type: ignore[no-any-return]


@njit(cache=True)
def mix(z: int) -> int:
    """Scramble 64 bits, different values to different ones."""
    z = uint64(z) + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))  # type: ignore[no-any-return]


@njit(cache=True)
def below(state: int, bound: int) -> tuple[int, int]:
    """Draw from 0 … bound - 1 without bias; return the new state too."""
    bound = uint64(bound)
    rest = (uint64(0) - bound) % bound  # 2^64 mod bound: values beyond the last whole multiple are rejected
    while True:
        state = uint64(state) + uint64(0x9E3779B97F4A7C15)
        value = mix(state)
        if value >= rest:
            return state, value % bound
