"""Rules that rank as a model does: the facts that it knows, among the entities that it knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kgeval.arrays import FloatArray, IntArray
from kgeval.graph.dataset import Dataset
from kgeval.graph.queries import Queries
from kgeval.graph.triples import Triples
from kgeval.graph.vocabulary import Vocabulary
from kgeval.scorers.adapters import CallableScorer
from kgeval.scorers.alignment import Aligned
from kgeval.scorers.base import Numbering
from kgeval.scoring.floors import Rule


@dataclass(frozen=True, eq=False)
class KnowingAlike:
    """A rule as a scorer that knows the same entities and relations as another."""

    model: CallableScorer
    """the rule, in ids of what is known"""
    entities: Vocabulary
    relations: Vocabulary
    numbering: Numbering = "dataset"
    layouts: tuple[str, ...] = ()

    @classmethod
    def of(cls, rule: Rule, scorer: Aligned, dataset: Dataset) -> KnowingAlike:
        """Let a rule in the ids of a dataset know what an aligned scorer knows."""
        entities, relations = (np.flatnonzero(rows >= 0) for rows in (scorer.entity_rows, scorer.relation_rows))

        def score(heads: IntArray, relation: IntArray, tails: IntArray) -> FloatArray:
            return rule(Triples(np.stack([entities[heads], relations[relation], entities[tails]], axis=1)))

        model = CallableScorer(score, num_entities=len(entities), num_relations=len(relations))
        return cls(model, _among(dataset.entities, entities), _among(dataset.relations, relations))

    @property
    def num_entities(self) -> int:
        """How many entities it knows."""
        return self.model.num_entities

    @property
    def num_relations(self) -> int:
        """How many relations it knows."""
        return self.model.num_relations

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Score by the rule, in ids of what is known."""
        return self.model.scores(queries, candidates)


def _among(labels: Vocabulary, ids: IntArray) -> Vocabulary:
    return Vocabulary(labels.labels.take(pa.array(ids)), labels.kind)
