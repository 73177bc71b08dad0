"""A baseline that has counted the train triples of a dataset: a scorer with the dataset's labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgeval.arrays import FloatArray, IntArray
from kgeval.data.queries import Queries
from kgeval.data.vocabulary import Vocabulary
from kgeval.scorers.scorer import Numbering, Scorer, refuse_other_queries


@dataclass(frozen=True, eq=False, repr=False)
class FittedBaseline:
    """A scorer of all entities of the dataset, those that train never has too."""

    settings: Mapping[str, Any]
    """the baseline's name and settings"""
    model: Scorer
    """the scores, in the ids of the dataset"""
    entities: Vocabulary
    relations: Vocabulary
    numbering: Numbering = "dataset"
    layouts: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title}: {len(self.entities)} entities, {len(self.relations)} relations)"

    @property
    def title(self) -> str:
        """What results call it."""
        return f"baseline {self.settings['baseline']}"

    @property
    def num_entities(self) -> int:
        """How many entities the dataset has."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """How many relations the dataset has."""
        return len(self.relations)

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Return the scores of candidates; float[query, candidate]."""
        refuse_other_queries(queries, candidates)
        return self.model.scores(queries, candidates)

    def describe(self) -> dict[str, Any]:
        """Tell what it is, as the manifest of a run does."""
        return dict(self.settings)
