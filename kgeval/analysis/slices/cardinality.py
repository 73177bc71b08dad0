"""Cardinality: whether a head has one or many tails, and a tail one or many heads, on the mean of the relation."""

from __future__ import annotations

import numpy as np

from kgeval.analysis.slices.slice import Categories, EvaluatedRows, Slice, count_heads, count_tails
from kgeval.arrays import BoolArray, IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.triples import TripleIndex, Triples

CLASSES = ("1-1", "1-N", "N-1", "N-N")
"""one or many heads for a tail, then one or many tails for a head"""

UNSEEN = "not in train"
"""the class of a relation without triples to count"""


def classes(tails_per_head: BoolArray, heads_per_tail: BoolArray) -> IntArray:
    """Number the class of what has many tails for a head, or many heads for a tail; int64[row]."""
    return 2 * heads_per_tail.astype(np.int64) + tails_per_head


def all_triples(dataset: Dataset) -> Triples:
    """Collect the triples of all splits, each once."""
    parts: list[Triples] = []
    for triples in dataset.splits.values():
        new = np.ones(len(triples), np.bool_)
        for earlier in parts:
            new &= ~TripleIndex.of(earlier).contains(triples)
        parts.append(Triples(triples.ids[new]))
    return Triples(np.concatenate([part.ids for part in parts]))


def _assign(rows: EvaluatedRows, triples: Triples, relations: int, *, above: bool = False) -> Categories:
    """Divide rows by their relation's mean numbers, which are many from 1.5, or only above that."""
    sizes = np.bincount(triples.relations, minlength=relations)
    ends = [np.unique(column * relations + triples.relations) for column in (triples.heads, triples.tails)]
    heads, tails = (np.bincount(pairs % relations, minlength=relations) for pairs in ends)
    # size / heads ≥ 3/2 in whole numbers, which cannot be rounded; a triple more is asked for where 3/2 is not many.
    codes = classes(2 * sizes >= 3 * heads + above, 2 * sizes >= 3 * tails + above)
    codes[sizes == 0] = len(CLASSES)
    return Categories(codes[rows.relations], (*CLASSES, UNSEEN))


def _of_edges(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    everything = all_triples(dataset)
    tails_per_head, heads_per_tail = count_heads(rows.triples, everything), count_tails(rows.triples, everything)
    return Categories(classes(tails_per_head > 1, heads_per_tail > 1), CLASSES)


CARDINALITY = Slice(
    name="cardinality",
    title="the relation is 1-1, 1-N, N-1 or N-N, over train",
    rule="N where the tails of a pair (h, r), for 1-N, or the heads of a pair (r, t), for N-1, are at least 1.5 on the "
    f"mean over the relation's pairs in train; {UNSEEN!r} where train has no triple of the relation",
    source="Bordes et al., 2013",
    assign=lambda rows, dataset: _assign(rows, dataset.train, len(dataset.relations)),
    of_triples=True,
)

CARDINALITY_ALL = Slice(
    name="cardinality-all",
    title="the relation is 1-1, 1-N, N-1 or N-N, over all splits",
    rule="as cardinality, but counted over the triples of all splits, each once",
    source="OpenKE (n-n.py)",
    assign=lambda rows, dataset: _assign(rows, all_triples(dataset), len(dataset.relations)),
    needs=(),
    of_triples=True,
)

CARDINALITY_LIBKGE = Slice(
    name="cardinality-libkge",
    title="the relation is 1-1, 1-N, N-1 or N-N, by LibKGE's limit",
    rule="as cardinality, but N is above 1.5, and 1.5 is 1",
    source="LibKGE (index_relation_types)",
    assign=lambda rows, dataset: _assign(rows, dataset.train, len(dataset.relations), above=True),
    of_triples=True,
)

EDGE_CARDINALITY = Slice(
    name="edge-cardinality",
    title="the triple itself is 1-1, 1-N, N-1 or N-N",
    rule="1-N where its pair (h, r) has other tails, N-1 where its pair (r, t) has other heads, N-N where both; over "
    "the triples of all splits, of which it is one",
    source="Cattaneo et al., 2024 (kg-topology-toolbox, triple_cardinality_same_rel)",
    assign=_of_edges,
    needs=(),
    of_triples=True,
)
