"""Vector scorers of the tests: two functions, of queries and of entities."""

from __future__ import annotations

from kgeval import VectorScorer


class ByVectors(VectorScorer):
    """Thirty entities and four relations, whose vectors are what two functions return."""

    num_entities, num_relations = 30, 4
    similarity = "dot"

    def __init__(self, of_queries, of_entities, similarity="dot"):
        self.of_queries, self.of_entities, self.similarity = of_queries, of_entities, similarity

    def query_vectors(self, queries):
        return self.of_queries(queries.anchors, queries.relations)

    def entity_vectors(self, side, ids):
        return self.of_entities(ids)
