"""Prediction of confidences: the facts of a weighted graph are scored and ranked, by a model and by baselines.

``kgeval.runs`` calls the task with a model and a dataset. It returns ``ConfidenceTables``, whose metrics
``kgeval.metrics.confidence_metrics`` computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import Self

from kgeval.base.arrays import FloatArray, IntArray
from kgeval.base.notes import Note
from kgeval.base.progress import Progress
from kgeval.data.columns import TRIPLE
from kgeval.data.dataset import Dataset
from kgeval.data.loading import as_dataset
from kgeval.data.provenance import LabelProvenance, percent
from kgeval.data.triples import EntitySide, LabelledTriples, TripleIndex, Triples, reverse
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.metrics.confidence_metrics import RankedFacts
from kgeval.metrics.kinds import ConfidenceOptions
from kgeval.metrics.labels.fitted import ConfidenceMapping
from kgeval.metrics.labels.scored_labels import ScoredLabels
from kgeval.metrics.ranks.ties import Ties
from kgeval.metrics.selection import MetricOptions, TableView
from kgeval.models.adapters.calling import ScoreFunction
from kgeval.models.adapters.functions import CallableScorer
from kgeval.models.aligned import Aligned
from kgeval.models.alignment import align
from kgeval.models.baselines import TripleRule, confidences_of_train, label_baselines
from kgeval.ranking.corruption.generator import ReadOnce
from kgeval.ranking.evaluation import EntitySides, Evaluation
from kgeval.ranking.model_ranking import ranking_of
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.tasks.classification import LABELLED_SPLITS, Unseen, score_labelled
from kgeval.ranking.tasks.label_table import LabelTable
from kgeval.ranking.tasks.labelled_split import LabelledSplit, NegativesFromFiles, labelled_split


class Confidences(ConfidenceOptions, ReadOnce):
    """Prediction of the confidences of a weighted graph. It is its own configuration, and a function to its tables."""

    mapping: ConfidenceMapping = ConfidenceMapping()
    """how scores become confidences"""
    negatives: NegativesFromFiles | None = None
    """false triples, of confidence 0: the errors are computed with them too"""
    sides: EntitySides = ("head", "tail")
    """the sides that are ranked; nDCG is computed from the tails alone"""
    side: EntitySide = "tail"
    """which answer a fact is scored as; it matters to models with inverse relations only"""
    unseen: Unseen = "error"
    """facts with an entity or relation that the model does not know: error, or drop (leave out)"""
    rank_baselines: bool = True
    """whether the baseline is ranked too: it then scores every entity for every query"""

    def with_overrides(self, options: Mapping[str, Any]) -> Self:
        """Return the task with another ``mapping``, by its kind, or ``high_confidence``, where options name one."""
        changed = {name: options[name] for name in ("mapping", "high_confidence") if name in options}
        if "mapping" in changed:
            changed["mapping"] = ConfidenceMapping(kind=changed["mapping"])
        return self.model_copy(update=changed)

    def source(self, dataset: Dataset) -> NegativesFromFiles | None:
        """Return the source of the negatives; None for those that the dataset calls false, if it has some."""
        return self.negatives

    def read(self, dataset: Dataset) -> dict[str, LabelledSplit]:
        confidences_of_train(dataset)  # refuses a dataset without them
        return {split: labelled_split(dataset, split, self.negatives) for split in LABELLED_SPLITS}

    def __call__(
        self,
        model: ScoreFunction | Any,
        dataset: Dataset | str | Path,
        *,
        progress: Progress | None = None,
        title: str | None = None,
        **labels_of_ids: Labels | None,
    ) -> ConfidenceTables:
        """Score the facts of validation and test, and rank those of test among all entities.

        ``title`` is the name of the model in the result, by default the model's own title. ``labels_of_ids`` are the
        labels of the model's ids: ``entities`` and ``relations``.
        """
        dataset = as_dataset(dataset)
        task = self.prepare(dataset)
        scorer, labels = score_labelled(task, model, dataset, title, **labels_of_ids)
        labels = replace(labels, notes=(*labels.notes, *notes_on_reversed(dataset)))
        ranking = Evaluation(sides=self.sides, unseen=self.unseen)
        ranks = {"score": ranking_of(scorer, dataset, ranking, progress=progress).rank(title)}
        if self.rank_baselines:
            for baseline in label_baselines(self.kind):
                rule = baseline.triple_rule(dataset, task.content(dataset)["valid"].rows)
                known = align(as_scorer(rule, scorer, dataset), dataset)
                ranks[baseline.baseline] = ranking_of(known, dataset, ranking).rank(baseline.baseline)
        return ConfidenceTables(labels, ranks)


@dataclass(frozen=True, eq=False)
class ConfidenceTables:
    """The result of a prediction of confidences: the facts with their scores, and the ranks of the test facts."""

    labels: LabelTable
    ranks: Mapping[str, RankTable]
    """the rank tables: the model's under ``score``, each baseline's under its name"""

    @property
    def predictors(self) -> list[str]:
        return ["score", *self.labels.baselines]

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.labels.notes, *self.ranks["score"].notes]))

    @property
    def provenance(self) -> LabelProvenance:
        ranks = self.ranks["score"].provenance
        return replace(self.labels.provenance, filter=ranks.filter, candidates=ranks.candidates)

    def facts(self, split: str, scores: str = "score", *, negatives: bool = False) -> ScoredLabels:
        labels = self.labels if negatives else self.labels.where(self.labels.column("is_positive"))
        return labels.scored(split, scores)

    def ranked(self, scores: str = "score", *, ties: Ties = "realistic", seed: int = 0) -> RankedFacts | None:
        if scores not in self.ranks:
            return None
        table = self.ranks[scores]
        weights = self._test_confidences.largest(_triples(table))
        view = TableView(table, MetricOptions(ties, seed))
        ranks = replace(view.ranks, ties=ties, weights=weights, draws=view.draws_for(ties))
        tails = table.column("side") == "tail"
        pairs = np.stack([table.column("head"), table.column("relation")], 1)
        queries: IntArray = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        # nDCG is computed from tails alone: rows of heads belong to no list (-1).
        relations = table.column("relation_label").astype(str)
        return RankedFacts(ranks, weights, table.column("score"), np.where(tails, queries, -1), relations)

    @cached_property
    def _test_confidences(self) -> LabelledTriples:
        """The confidences of the test facts; of a repeated fact, the largest counts."""
        test = self.labels.where(self.labels.column("is_positive") & (self.labels.column("split") == "test"))
        return LabelledTriples(_triples(test), test.column("label"))


def _triples(table: RankTable | LabelTable) -> Triples:
    return Triples(np.stack([table.column(name) for name in TRIPLE], axis=1))


def as_scorer(rule: TripleRule, scorer: Aligned, dataset: Dataset) -> CallableScorer:
    """Make a scorer of a baseline's rule, which knows the same entities and relations as the model beside it.

    Both are then ranked among the same candidates. ``rule`` takes triples in the ids of the dataset.
    """
    entities, relations = (np.flatnonzero(rows >= 0) for rows in (scorer.entity_rows, scorer.relation_rows))

    def score(heads: IntArray, relation: IntArray, tails: IntArray) -> FloatArray:
        return rule(Triples(np.stack([entities[heads], relations[relation], entities[tails]], axis=1)))

    known = Vocabulary(dataset.entities.take(entities)), Vocabulary(dataset.relations.take(relations), "relation")
    return CallableScorer(score, entities=known[0], relations=known[1])


def notes_on_reversed(dataset: Dataset) -> list[str]:
    """Count the test facts that are in train with head and tail swapped."""
    test = dataset.confidences["test"]
    swapped = int(TripleIndex.of(dataset.train).contains(reverse(test.triples)).sum())
    if not swapped:
        return []
    share = f"the reverse of {swapped:,} of {len(test):,} test triples ({percent(swapped / len(test))}) is in train"
    return [Note("leaks", f"{share}: compare with the baseline 'same or reversed', which learns nothing.")]
