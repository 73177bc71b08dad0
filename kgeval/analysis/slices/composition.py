"""Composition: which pairs of entities two steps through a graph connect, found within bounded memory."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import BoolArray, IntArray
from kgeval.data.queries import starts_of_runs
from kgeval.data.rows import Rows
from kgeval.data.triples import Triples

BLOCK = 2**22
"""how many entities in between are tried at a time, unless one pair has more"""


def composed(pairs: Triples, edges: Triples, entities: int) -> BoolArray:
    """Whether a path (h, r1, x), (x, r2, t) leads from head to tail, with h, x and t all different; bool[triple].

    Of the successors of h and the predecessors of t, the fewer are tried, each by one bisection.

    >>> edges = Triples.of([(0, 0, 1), (1, 1, 2), (2, 0, 2)])
    >>> composed(Triples.of([(0, 0, 2), (0, 0, 1), (1, 0, 2)]), edges, 3)
    array([ True, False, False])
    """
    keys, places = np.unique(pairs.heads * entities + pairs.tails, return_inverse=True)
    heads, tails = np.divmod(keys, entities)
    # Without loops, no path of two steps can rest on the way.
    apart = edges.heads != edges.tails
    sources, targets = edges.heads[apart], edges.tails[apart]
    forwards, backwards = np.unique(sources * entities + targets), np.unique(targets * entities + sources)
    after, before = _spans(heads, forwards, entities), _spans(tails, backwards, entities)
    fewer = np.diff(after)[:, 0] <= np.diff(before)[:, 0]
    found = np.zeros(len(keys), np.bool_)
    for chosen, spans, pool, ends, to in (
        (fewer, after, forwards, tails, backwards),
        (~fewer, before, backwards, heads, forwards),
    ):
        wanted = np.flatnonzero(chosen & (heads != tails))
        found[wanted] = _any_continues(spans[wanted], pool % entities, ends[wanted] * entities, to)
    return np.asarray(found[places.ravel()])


def _spans(entities: IntArray, keys: IntArray, size: int) -> IntArray:
    """Find where the neighbours of entities begin and end among ascending keys; int64[entity, 2]."""
    return np.stack([np.searchsorted(keys, entities * size), np.searchsorted(keys, (entities + 1) * size)], axis=1)


def _any_continues(spans: IntArray, pool: IntArray, prefixes: IntArray, keys: IntArray) -> BoolArray:
    """Whether any id of each span of the pool gives, with the prefix, one of the ascending keys; bool[span]."""
    found = np.zeros(len(spans), np.bool_)
    blocks = np.cumsum(spans[:, 1] - spans[:, 0]) // BLOCK
    for part in np.split(np.arange(len(spans)), starts_of_runs(blocks)[1:]):
        between = Rows.spans(spans[part, 0], spans[part, 1], pool)
        sought = prefixes[part][between.owners] + between.ids
        places = np.minimum(np.searchsorted(keys, sought), max(len(keys) - 1, 0))
        hits = keys[places] == sought if len(keys) else np.zeros(0, np.bool_)
        found[part] = np.bincount(between.owners[hits], minlength=len(part)) > 0
    return found
