"""Generated graphs, and models whose numbers are whole or halves: exact in any order of sums, with many ties."""

from __future__ import annotations

import numpy as np

from kgeval import Dataset, Triples, VectorScorer, Vocabulary

GRAPHS = {"small": (30, 3, 300), "wide": (200, 2, 450), "tall": (60, 12, 750)}
"""entities, relations, and triples before repeated ones are left out"""


def graph(name: str) -> Dataset:
    """Make a random graph; a fifth of its triples are test."""
    entities, relations, count = GRAPHS[name]
    rng = np.random.default_rng(len(name) + entities)
    rows = np.unique(np.stack([rng.integers(0, top, count) for top in (entities, relations, entities)], 1), axis=0)
    rows = rng.permutation(rows)
    first, second = len(rows) * 6 // 10, len(rows) * 8 // 10
    parts = {"train": rows[:first], "valid": rows[first:second], "test": rows[second:]}
    return Dataset.build(
        name,
        {split: Triples(part) for split, part in parts.items()},
        entities=Vocabulary([f"e{row:03}" for row in range(entities)]),
        relations=Vocabulary([f"r{row:02}" for row in range(relations)], "relation"),
    )


class ExactModel(VectorScorer):
    """Scores by vectors of a few small numbers: products of anchor and relation, or their sum for distances."""

    similarity = "dot"

    def __init__(self, dataset: Dataset, similarity: str, *, biased: bool) -> None:
        rng = np.random.default_rng(7)
        self.num_entities, self.num_relations = len(dataset.entities), len(dataset.relations)
        self.similarity = similarity
        self.vectors = rng.integers(-2, 3, (self.num_entities, 4)) / 2
        self.moves = rng.integers(-2, 3, (self.num_relations, 4)) / 2
        self.biases = rng.integers(-2, 3, self.num_entities) / 2 * biased
        if similarity == "cosine":  # a direction needs a length
            self.vectors[:, 0], self.moves[:, 0] = 1, 1

    num_entities = 0
    num_relations = 0

    def query_vectors(self, queries):
        anchors, moves = self.vectors[queries.anchors], self.moves[queries.relations]
        return anchors * moves if self.similarity in ("dot", "cosine") else anchors + moves

    def entity_vectors(self, side, ids):
        return self.vectors[ids].astype(np.float32)

    def entity_biases(self, side, ids):
        return self.biases[ids]

    def query_offsets(self, queries):
        return queries.relations * 0.5 * bool(self.biases.any())
