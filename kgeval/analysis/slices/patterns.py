"""Five patterns by which a triple may follow from train, each a yes/no slice ``pattern-…``.

The slice ``pattern`` takes the first that holds. The registry in ``slice.py`` finds the slices; ``annotation.py`` calls
them. To add a pattern, add an entry to ``FLAGS`` and declare a ``_flag``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgeval.analysis.slices.dataset_slices import count_pairs
from kgeval.analysis.slices.slice import Categories, EvaluatedRows, Slice
from kgeval.base.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Rows, starts_of_runs
from kgeval.data.triples import TripleIndex, Triples, find_sorted, reverse

SOURCE = "Cattaneo et al., 2024 (kg-topology-toolbox), over train"

BLOCK = 2**22
"""the number of entities between head and tail that are tried at a time, unless one pair has more"""


def is_symmetric(triples: Triples, dataset: Dataset) -> BoolArray:
    """Whether train has (t, r, h), and h ≠ t; bool[triple]."""
    return np.asarray(TripleIndex.of(dataset.train).contains(reverse(triples)) & (triples.heads != triples.tails))


def has_parallel(triples: Triples, dataset: Dataset) -> BoolArray:
    """Whether train has (h, r', t) with another relation r'; bool[triple]."""
    between = count_pairs((triples.heads, triples.tails), (dataset.train.heads, dataset.train.tails))
    return np.asarray(between > TripleIndex.of(dataset.train).contains(triples))


FLAGS: dict[str, Callable[[Triples, Dataset], BoolArray]] = {
    "loop": lambda triples, _: np.asarray(triples.heads == triples.tails),
    "symmetric": is_symmetric,
    "inverse": lambda triples, dataset: has_parallel(reverse(triples), dataset),
    "parallel": has_parallel,
    "composition": lambda triples, dataset: composed(triples, dataset.train, len(dataset.entities)),
}
"""the patterns, the most telling first: a function (triples, dataset) -> bool[triple] for each"""


def _flag(name: str, title: str, rule: str) -> Slice:
    def assign(rows: EvaluatedRows, dataset: Dataset) -> Categories:
        return Categories.of_flag(FLAGS[name](rows.triples, dataset))

    return Slice(f"pattern-{name}", title, rule, SOURCE, assign, of_triples=True)


def _first_pattern(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    holds = np.stack([flag(rows.triples, dataset) for flag in FLAGS.values()])
    codes = np.where(holds.any(axis=0), holds.argmax(axis=0), len(FLAGS))
    return Categories(codes, (*FLAGS, "none"))


PATTERN = Slice(
    name="pattern",
    title="first relation pattern by which the triple follows from train",
    rule=f"the first that holds: {', '.join(FLAGS)}; none: no pattern holds. If several may hold, use the slices "
    "pattern-…",
    source=SOURCE,
    assign=_first_pattern,
    of_triples=True,
)

LOOP = _flag("loop", "whether head and tail are the same entity", "h = t")

SYMMETRIC = _flag(
    "symmetric", "whether train has the triple with head and tail swapped", "h ≠ t, and (t, r, h) in train"
)

INVERSE = _flag(
    "inverse", "whether train has head and tail swapped under another relation", "(t, r', h) in train for an r' ≠ r"
)

PARALLEL = _flag(
    "parallel", "whether train has the same head and tail under another relation", "(h, r', t) in train for an r' ≠ r"
)

COMPOSITION = _flag(
    "composition",
    "whether two train triples connect head and tail",
    "(h, r1, x) and (x, r2, t) in train for any r1 and r2, and h, x and t all different",
)


def composed(pairs: Triples, edges: Triples, entities: int, *, block: int = BLOCK) -> BoolArray:
    """Whether a path (h, r1, x), (x, r2, t) leads from head to tail, with h, x and t all different; bool[triple].

    ``pairs`` has the heads and tails, ``edges`` the train triples. Either the successors of h or the predecessors of t
    are tried, whichever are fewer, each by one bisection.

    >>> edges = Triples.of([(0, 0, 1), (1, 1, 2), (2, 0, 2)])
    >>> composed(Triples.of([(0, 0, 2), (0, 0, 1), (1, 0, 2)]), edges, 3)
    array([ True, False, False])
    """
    keys, places = np.unique(pairs.heads * entities + pairs.tails, return_inverse=True)
    heads, tails = np.divmod(keys, entities)
    # Without loops, neither step of a path can stay at its entity, so that x differs from h and t.
    apart = edges.heads != edges.tails
    sources, targets = edges.heads[apart], edges.tails[apart]
    forwards, backwards = np.unique(sources * entities + targets), np.unique(targets * entities + sources)
    after, before = _spans(heads, forwards, entities), _spans(tails, backwards, entities)
    fewer = np.diff(after)[:, 0] <= np.diff(before)[:, 0]
    is_composed = np.zeros(len(keys), np.bool_)
    for chosen, spans, pool, ends, to in (
        (fewer, after, forwards, tails, backwards),
        (~fewer, before, backwards, heads, forwards),
    ):
        wanted = np.flatnonzero(chosen & (heads != tails))
        is_composed[wanted] = _any_continues(spans[wanted], pool % entities, ends[wanted] * entities, to, block)
    return np.asarray(is_composed[places.ravel()])


def _spans(entities: IntArray, keys: IntArray, size: int) -> IntArray:
    """Find where each entity's edges begin and end in ascending keys (entity · size + neighbour); int64[entity, 2]."""
    return np.stack([np.searchsorted(keys, entities * size), np.searchsorted(keys, (entities + 1) * size)], axis=1)


def _any_continues(spans: IntArray, pool: IntArray, prefixes: IntArray, keys: IntArray, block: int) -> BoolArray:
    """Whether any id of each span gives, added to the span's prefix, one of the ascending keys; bool[span].

    A span is a begin and an end (int64[span, 2]) in ``pool`` (int64[edge]), an array of ids.
    """
    continues = np.zeros(len(spans), np.bool_)
    blocks = np.cumsum(spans[:, 1] - spans[:, 0]) // block
    for part in np.split(np.arange(len(spans)), starts_of_runs(blocks)[1:]):
        between = Rows.spans(spans[part, 0], spans[part, 1], pool)
        hits = find_sorted(keys, prefixes[part][between.owners] + between.ids) >= 0
        continues[part] = np.bincount(between.owners[hits], minlength=len(part)) > 0
    return continues
