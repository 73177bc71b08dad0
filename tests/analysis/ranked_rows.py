"""Rank tables and graphs for slices, which read triples and sides, and no rank."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from kgeval import Dataset, RankTable, Triples, Vocabulary
from kgeval.ranking.rank_table import to_rank_columns
from kgeval.ranking.ranking_task import RankCounts, Ranked


def graph_of(train=(), valid=(), test=(), *, entities=8, relations=3):
    """A graph of triples of ids, labelled with them."""
    splits = {"train": train, "valid": valid, "test": test}
    return Dataset.build(
        "made",
        {split: Triples.of(list(triples)) for split, triples in splits.items()},
        entities=Vocabulary([f"e{index}" for index in range(entities)]),
        relations=Vocabulary([f"r{index}" for index in range(relations)], "relation"),
    )


def ranked(dataset, split="test"):
    """A table of the triples of a split, of which each is the first of two candidates on both sides."""
    rows = np.arange(len(dataset.split(split)))
    nothing = np.zeros(len(rows), np.int64)
    counts = RankCounts(nothing, nothing, nothing + 2)
    sides = [
        to_rank_columns(dataset, split, rows, side, Ranked(nothing * 1.0, counts, counts)) for side in ("head", "tail")
    ]
    return RankTable(pa.concat_tables(sides).unify_dictionaries().combine_chunks(), split, dataset=dataset.name)


@st.composite
def graphs(draw):
    """Small dense graphs with loops, triples in two splits, and entities and relations that train does not name."""
    entities, relations = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    triple = st.tuples(st.integers(0, entities - 1), st.integers(0, relations - 1), st.integers(0, entities - 1))
    train = draw(st.lists(triple, min_size=1, max_size=24))
    valid = draw(st.lists(triple, max_size=4))
    test = draw(st.lists(triple, min_size=1, max_size=8))
    return graph_of(train, valid, test, entities=entities, relations=relations)
