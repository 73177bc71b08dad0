"""Patterns: which facts in train a triple follows from: itself reversed, another between its entities, or a path."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgeval.analysis.slices.composition import composed
from kgeval.analysis.slices.occurrences import count_pairs
from kgeval.analysis.slices.slice import Categories, EvaluatedRows, Slice
from kgeval.arrays import BoolArray
from kgeval.data.dataset import Dataset
from kgeval.data.lookup import TripleIndex
from kgeval.data.triples import Triples

SOURCE = "Cattaneo et al., 2024 (kg-topology-toolbox), over train"


def is_loop(triples: Triples, _: Dataset) -> BoolArray:
    """Whether head and tail are one entity; bool[triple]."""
    return np.asarray(triples.heads == triples.tails)


def is_symmetric(triples: Triples, dataset: Dataset) -> BoolArray:
    """Whether train has (t, r, h), of triples that are no loops; bool[triple]."""
    return np.asarray(TripleIndex.of(dataset.train).contains(_swapped(triples)) & (triples.heads != triples.tails))


def has_inverse(triples: Triples, dataset: Dataset) -> BoolArray:
    """Whether train has (t, r', h) of another relation r'; bool[triple]."""
    return has_parallel(_swapped(triples), dataset)


def has_parallel(triples: Triples, dataset: Dataset) -> BoolArray:
    """Whether train has (h, r', t) of another relation r'; bool[triple]."""
    between = count_pairs((triples.heads, triples.tails), (dataset.train.heads, dataset.train.tails))
    return np.asarray(between > TripleIndex.of(dataset.train).contains(triples))


def has_composition(triples: Triples, dataset: Dataset) -> BoolArray:
    """Whether train has a path (h, r1, x), (x, r2, t) over a third entity, of what is no loop; bool[triple]."""
    return composed(triples, dataset.train, len(dataset.entities))


def _swapped(triples: Triples) -> Triples:
    return Triples(triples.ids[:, ::-1])


Flag = Callable[[Triples, Dataset], BoolArray]

FLAGS: dict[str, Flag] = {
    "loop": is_loop,
    "symmetric": is_symmetric,
    "inverse": has_inverse,
    "parallel": has_parallel,
    "composition": has_composition,
}
"""the patterns, those that tell most of a triple first"""

NONE = "none"


def _first_pattern(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    holds = np.stack([flag(rows.triples, dataset) for flag in FLAGS.values()])
    codes = np.where(holds.any(axis=0), holds.argmax(axis=0), len(FLAGS))
    return Categories(codes, (*FLAGS, NONE))


def _flag(name: str, title: str, rule: str) -> Slice:
    return Slice(
        name=f"pattern-{name}",
        title=title,
        rule=rule,
        source=SOURCE,
        assign=lambda rows, dataset: Categories.of_flag(FLAGS[name](rows.triples, dataset)),
        of_triples=True,
    )


PATTERN = Slice(
    name="pattern",
    title="the first pattern in train that the triple follows from",
    rule=f"the first that holds of {', '.join(FLAGS)}; {NONE} where none does. Several may hold of one triple: the "
    "slices pattern-… tell each by itself",
    source=SOURCE,
    assign=_first_pattern,
    of_triples=True,
)

LOOP = _flag("loop", "whether head and tail are one entity", "h = t")

SYMMETRIC = _flag("symmetric", "whether train has the triple reversed", "h ≠ t, and (t, r, h) in train")

INVERSE = _flag("inverse", "whether train has the reverse under another relation", "(t, r', h) in train for an r' ≠ r")

PARALLEL = _flag(
    "parallel", "whether train has the same pair under another relation", "(h, r', t) in train for an r' ≠ r"
)

COMPOSITION = _flag(
    "composition",
    "whether two facts in train lead from head to tail",
    "(h, r1, x) and (x, r2, t) in train for any r1 and r2, and h, x and t all different",
)
