"""Rules that rank as a model does: the facts that it knows, among the entities that it knows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kgeval.arrays import FloatArray, IntArray
from kgeval.baselines.label_baseline import TripleRule
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.scorers.adapters.array_scorers import CallableScorer
from kgeval.scorers.aligned import Aligned


def knowing_alike(rule: TripleRule, scorer: Aligned, dataset: Dataset) -> CallableScorer:
    """Let a rule in the ids of a dataset know the same entities and relations as an aligned scorer."""
    entities, relations = (np.flatnonzero(rows >= 0) for rows in (scorer.entity_rows, scorer.relation_rows))

    def score(heads: IntArray, relation: IntArray, tails: IntArray) -> FloatArray:
        return rule(Triples(np.stack([entities[heads], relations[relation], entities[tails]], axis=1)))

    labels = _among(dataset.entities, entities), _among(dataset.relations, relations)
    return CallableScorer(score, entities=labels[0], relations=labels[1])


def _among(labels: Vocabulary, ids: IntArray) -> Vocabulary:
    return Vocabulary(labels.labels.take(pa.array(ids)), labels.kind)
