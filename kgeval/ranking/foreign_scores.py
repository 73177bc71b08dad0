"""Foreign scores: those that another program computes of a split's triples in its own ids, ranked by a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray, IntArray, detached
from kgeval.base.errors import InputError
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.triples import TARGETS, Side, Triples
from kgeval.data.vocabulary import Labels, Vocabulary
from kgeval.ranking.engine import Ranked, UndefinedScore
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.finished_scores import Answers, UndefinedCell, rank_finished, score_matrix
from kgeval.ranking.model_ranking import ModelRanking, ranking_of


@dataclass(frozen=True)
class ForeignModel:
    """A model of which only the numbers of its ids are known: another program computes its scores."""

    num_entities: int
    num_relations: int

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class ForeignScores:
    """The ids of a foreign model beside those of a dataset, and what of the dataset its scores are ranked by."""

    ranking: ModelRanking
    rows: dict[tuple[int, ...], int]
    """the row in the split of each triple that the model knows, by its ids in the dataset"""
    forward: dict[Side, IntArray]
    """of each side the dataset's id of each answer of the model, -1 where it has none; int64[answer of the model]"""
    columns: dict[Side, tuple[IntArray, IntArray]]
    """of each side the column of each answer of the dataset, -1 where it has none, and those of all known answers"""

    @classmethod
    def of(
        cls, dataset: Dataset, evaluation: Evaluation, entities: Labels | None, relations: Labels | None
    ) -> ForeignScores:
        """Match the labels of the model's ids with the dataset; by default they are the dataset's."""
        own = [
            labels if given is None else Vocabulary.of(given, labels.kind)
            for given, labels in ((entities, dataset.entities), (relations, dataset.relations))
        ]
        model = ForeignModel(*map(len, own))
        ranking = ranking_of(model, dataset, evaluation, entities=own[0], relations=own[1])
        rows = {triple: row for row, triple in enumerate(dataset.split(evaluation.split)) if ranking.known[row]}
        forward: dict[Side, IntArray] = {}
        for side in TARGETS:
            reverse = ranking.scorer.answer_rows(side)
            forward[side] = np.full(model.num_relations if side == "relation" else model.num_entities, -1)
            forward[side][reverse[reverse >= 0]] = np.flatnonzero(reverse >= 0)
        found = cls(ranking, rows, forward, {})
        for side in ranking.sides:  # known answers are sorted now, and not in the first batch
            found.columns[side] = found._columns(side)
        return found

    def find(self, triples: Any) -> IntArray:
        """Find the row in the split of each triple of the model's ids; int64[triple].

        Raises
        ------
        InputError
            if they are no ids of the model, or one is no triple of the split that the model knows
        """
        dataset = self.ranking.dataset
        ids, width = np.asarray(detached(triples)), 3 if dataset.times is None else 4
        if ids.ndim != 2 or ids.shape[1] != width or ids.dtype.kind not in "iu":
            expected = "head, relation, tail" + ("" if width == 3 else ", time")
            raise InputError(f"triples: expected int[triple, {width}], {expected}; found {ids.dtype}{list(ids.shape)}.")
        ids = ids.astype(np.int64)
        for column, side in enumerate(("head", "relation", "tail")):
            ids[:, column] = self._to_dataset(side, ids[:, column])  # type: ignore[arg-type]
        rows = np.array([self.rows.get(tuple(row), -1) for row in ids.tolist()], np.int64)
        if (rows < 0).any():
            place = int(np.argmax(rows < 0))
            named, split = dataset.triple(*ids[place, :3].tolist()), self.ranking.evaluation.split
            raise InputError(
                f"triples[{place}], {named}, is not a {split} triple of dataset {dataset.name} that the model knows. "
                "Give another split=, or the labels of the model's ids with entities= and relations=."
            )
        return rows

    def _to_dataset(self, side: Side, ids: IntArray) -> IntArray:
        forward = self.forward[side]
        if len(wrong := np.flatnonzero((ids < 0) | (ids >= len(forward)))):
            what = f"{self.ranking.dataset.answers_of(side).kind} {ids[wrong[0]]}"
            raise InputError(f"triples[{wrong[0]}] names {what}, and the model's ids are 0 to {len(forward) - 1}.")
        return forward[ids]

    def rank(self, side: Side, rows: IntArray, scores: Any) -> Ranked:
        """Rank the answers of some rows of the split by scores [row, answer of the model], which stay where they are.

        Raises
        ------
        ScoreError
            if there is not a score for each answer of the model, or one is NaN
        """
        ranking, forward = self.ranking, self.forward[side]
        matrix = score_matrix(scores, len(forward))
        if len(matrix) != len(rows):
            raise InputError(
                f"there are {len(rows)} triples and {len(matrix)} rows of scores: give one row for each triple."
            )
        queries = _one_by_one(ranking.dataset.split(ranking.evaluation.split)[rows], side)
        candidates = np.flatnonzero(forward >= 0)
        columns, known_columns = self.columns[side]
        facts = ranking.facts.of(ranking.evaluation.filter, side)
        known = (*facts.spans(queries), known_columns)
        answers = Answers(queries.triples, columns[queries.answers], *known)
        compete = matrix if len(candidates) == len(forward) else matrix[:, candidates]
        with ranking.refusing_nan():
            try:
                return rank_finished(compete, answers, nan=ranking.evaluation.nan)
            except UndefinedCell as error:
                raise UndefinedScore(queries, error.answer, int(forward[candidates[error.column]])) from error

    def _columns(self, side: Side) -> tuple[IntArray, IntArray]:
        """Find the columns of answers among those that the dataset has."""
        rows = self.ranking.scorer.answer_rows(side)
        columns = np.where(rows >= 0, (np.cumsum(self.forward[side] >= 0) - 1)[rows], -1)
        return columns, columns[self.ranking.facts.of(self.ranking.evaluation.filter, side).answers]


def _one_by_one(triples: Triples, side: Side) -> Queries:
    """Make one query of each triple, in their order."""
    anchors, relations, answers = triples.queries_of_side(side)
    numbers = np.arange(len(triples) + 1)
    return Queries(side, anchors, relations, numbers, answers, numbers[:-1], triples.contexts)
