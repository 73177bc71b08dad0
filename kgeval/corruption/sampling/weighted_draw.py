"""Keyed weighted sampling without replacement: exact, in whole numbers, from a tree of sums."""

from __future__ import annotations

import numpy as np
from numba import uint64

from kgeval.arrays import IntArray
from kgeval.compiling import njit
from kgeval.corruption.sampling.uniform_draw import below, keyed, mix
from kgeval.data.rows import Rows


def draw_weighted(
    count: int, weights: IntArray, avoid: Rows, key: tuple[int, int], anchors: IntArray, relations: IntArray
) -> Rows:
    """Draw up to ``count`` numbers for each query, one after the other, none of which is in its row of ``avoid``.

    Each draw takes number ``i`` with probability ``weights[i]`` over the weights that are left; weights of 0 are never
    drawn. The sums of the weights are kept in a binary indexed tree (Fenwick, 1994), from which what is drawn or
    avoided is taken out, and put back for the next query. The generator is that of
    :func:`kgeval.corruption.sampling.uniform_draw.draw`.

    Parameters
    ----------
    count
        how many numbers to draw for each query
    weights
        the weight of each number, at least 0; a number is an index into them, here an entity id. int64[number]
    avoid
        one ascending row of numbers to leave out per query
    key
        seed and side
    anchors, relations
        what seeds the generator of each query together with ``key``; int64[query]

    Returns
    -------
    Rows
        one ascending row per query; a short one where fewer numbers are left

    Examples
    --------
    >>> one = np.array([7]), np.array([2])
    >>> draw_weighted(3, np.array([1, 5, 0, 2, 9]), Rows.of([[1]]), (0, 0), *one).row(0)
    array([0, 3, 4])
    """
    weights = np.ascontiguousarray(weights, np.int64)
    possible = weights > 0
    left = possible.sum() - np.bincount(avoid.owners[possible[avoid.ids]], minlength=len(avoid))
    lengths = np.minimum(min(count, len(weights)), left)
    rows = Rows.sized(lengths, np.empty(int(lengths.sum()), np.int64))
    seed, side = map(np.uint64, key)
    _draw_rows((seed, side), weights, (avoid.offsets, avoid.ids), (anchors, relations), rows.offsets, rows.ids)
    return rows


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
def _draw_rows(key, weights, avoided, queries, offsets, out):  # type: ignore[no-untyped-def]
    seed, side = key
    avoid_offsets, avoid_ids = avoided
    anchors, relations = queries
    tree, total = _tree(weights), weights.sum()
    top = 1
    while 2 * top <= len(weights):
        top *= 2
    start = keyed(seed, side)
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
