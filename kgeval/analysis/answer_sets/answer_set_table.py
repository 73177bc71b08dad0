"""The table of answer sets: one row per (triple, side, entity in the set)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kgeval.analysis.answer_sets.scored_split import ScoredSplit, SideTask
from kgeval.arrays import Float64Array, IntArray
from kgeval.provenance import UNKNOWN
from kgeval.ranking.kernels.collectors import BestAnswers
from kgeval.storage.parquet_tables import LABELS, Columns

SCHEMA = pa.schema(
    [
        ("triple", pa.int64()),
        ("side", LABELS),
        ("anchor", pa.int64()),
        ("relation", pa.int64()),
        ("place", pa.int64()),
        ("entity", pa.int64()),
        ("score", pa.float64()),
        ("is_answer", pa.bool_()),
        ("anchor_label", LABELS),
        ("relation_label", LABELS),
        ("entity_label", LABELS),
    ]
)
"""Ids are those of the dataset; ``triple`` is the row in the split, ``side`` what is sought of it."""


@dataclass(frozen=True, eq=False)
class AnswerSetTable(Columns):
    """The sets of all rows, each by score, descending, and where scores are equal by entity id.

    An entity whose score is minus infinity has no place: it is in a set only where all candidates are.
    """

    SCHEMA = SCHEMA
    FILE = "answer-sets.parquet"
    KIND = "table of answer sets"
    KEY = "kgeval_answer_sets"
    REQUIRED = ("split", "coverage", "nonconformity", "model", "dataset")

    split: str = "test"
    coverage: float = 0.0
    """with which probability a set was to have its answer"""
    nonconformity: str = UNKNOWN
    model: str = UNKNOWN
    dataset: str = UNKNOWN

    def __repr__(self) -> str:
        return f"AnswerSetTable({len(self)} entities, {self.coverage:g} coverage by {self.nonconformity})"


def list_sets(split: ScoredSplit, lowest: Float64Array, sizes: IntArray) -> pa.Table:
    """List the candidates that score at least ``lowest`` (float64[row]), of which there are int64[row]."""
    # The search finds the others alone: an answer that is a known one is added by itself.
    added = split.answer_is_known & (split.scores >= lowest)
    rows = np.flatnonzero(added)
    parts = [(rows, _answers(split)[rows], split.scores[rows])]
    parts += [_entries_in_sets(side, best, lowest) for side, best in split.best(sizes - added)]
    rows, entities, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((entities, -scores, rows))
    return _columns(split, rows[order], entities[order], scores[order])


def _entries_in_sets(
    side: SideTask, best: BestAnswers, lowest: Float64Array
) -> tuple[IntArray, IntArray, Float64Array]:
    """Take the best others that are in the sets: rows, entities and scores; [entry] each."""
    owners = side.task.queries.owners
    scores = best.scores[owners]
    answers, places = np.nonzero((scores >= lowest[side.rows, None]) & (scores > -np.inf))
    entities = side.task.candidates.ids_of(0)[best.positions[owners[answers], places]]
    return side.rows[answers], entities, scores[answers, places]


def _answers(split: ScoredSplit) -> IntArray:
    """Take the entity of each answer; int64[row]."""
    column = split.ranks.column
    return np.where(column("side").astype(str) == "head", column("head"), column("tail"))


def _columns(split: ScoredSplit, rows: IntArray, entities: IntArray, scores: Float64Array) -> pa.Table:
    """Lay out the entries, which are sorted by row."""
    dataset, column = split.dataset, split.ranks.column
    anchors = np.where(column("side").astype(str) == "head", column("tail"), column("head"))[rows]
    relations = column("relation")[rows]
    sides = split.ranks.data.column("side").combine_chunks().take(pa.array(rows))
    places = 1 + np.arange(len(rows)) - np.searchsorted(rows, rows)
    columns = [
        *(column("triple")[rows], sides, anchors, relations, places, entities, scores),
        _answers(split)[rows] == entities,
        *(dataset.entities.column(anchors), dataset.relations.column(relations), dataset.entities.column(entities)),
    ]
    return pa.table([pa.array(values) if isinstance(values, np.ndarray) else values for values in columns], SCHEMA)
