"""The baselines of temporal graphs: how recently or how often an answer completed its query before the query's time.

``Baseline.fit`` calls ``learn_from`` with a dataset and a history (the facts that a model has seen); the scorers that
it returns look answers up in ``PastAnswers`` (``kgeval.data.past``).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.data import History
from kgeval.data.dataset import Dataset
from kgeval.data.past import PastAnswers, facts_of
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.models.baselines import Baseline
from kgeval.models.scorer import Scorer, SparseScorer, SparseScores


class HistoryBaseline(Baseline):
    """A baseline that scores an answer by the facts with which it completed the query before the query's time."""

    needs_times = True

    def learn_from(self, dataset: Dataset, history: History) -> Scorer:
        facts, size = facts_of(dataset, history), len(dataset.relations)
        past = {side: self.past(facts, side, dataset) for side in SIDES}

        def rule(queries: Queries) -> SparseScores:
            answered = past[queries.side]
            rows, last = answered.before(self.keys(queries.anchors, queries.relations, size), queries.times)
            return SparseScores(rows, self.scores_of(answered, last), np.arange(len(queries)))

        return SparseScorer(len(dataset.entities), size, rule)

    def past(self, facts: Triples, side: Side, dataset: Dataset) -> PastAnswers:
        """Sort the facts by the queries of a side."""
        anchors, relations, answers = facts.queries_of_side(side)
        keys = self.keys(anchors, relations, len(dataset.relations))
        return PastAnswers.of(keys, answers, np.asarray(facts.contexts), len(dataset.times or ()))

    def keys(self, anchors: IntArray, relations: IntArray, size: int) -> IntArray:
        """Give queries numbers, int64[query]; equal numbers have the same past. ``size`` is the number of relations."""
        return anchors * size + relations

    @abstractmethod
    def scores_of(self, past: PastAnswers, last: IntArray) -> Float64Array:
        """Return the score of each answer, float64[answer], by its last fact (int64[answer], into the past's facts)."""


class RecurrencyBaseline(HistoryBaseline):
    """An entity ranks higher, the later it last answered the query in the history, before the time of the query.

    It is for temporal graphs whose future is predicted. If the times of train and test overlap, it still uses earlier
    times only.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> train = [("Ada", "visits", "Rome", "2014-01-01"), ("Ada", "visits", "Oslo", "2014-01-02")]
    >>> data = Dataset.from_labels(train=train, test=[("Ada", "visits", "Rome", "2014-01-03")])
    >>> table = evaluate(Baseline("recurrency"), data, sides="tail")
    >>> table.column("score"), table.column("greater")
    (array([1.]), array([1]))
    """

    title = "ranks answers by how recently they completed the query in the history"
    rule = "position (from 1) of the latest time before the query's at which the history has the triple; else 0"
    source = "the strict baseline of Gastinger et al., 2024"

    baseline: Literal["recurrency"] = "recurrency"
    """answers to the same query at earlier times"""

    def scores_of(self, past: PastAnswers, last: IntArray) -> Float64Array:
        return np.asarray(1.0 + past.times[last])


class FrequencyBaseline(HistoryBaseline):
    """An entity ranks higher, the more often it answered the query in the history, before the time of the query."""

    title = "ranks answers by how often they completed the query in the history"
    rule = "number of times before the query's at which the history has the triple"
    source = "kgeval"

    baseline: Literal["frequency"] = "frequency"
    """counts of answers to the same query at earlier times"""

    def scores_of(self, past: PastAnswers, last: IntArray) -> Float64Array:
        return past.counts[last].astype(np.float64)


class EdgeBankBaseline(HistoryBaseline):
    """Entities that the history joins to the anchor, before the time of the query, come first, all tied.

    The relation and the direction do not matter, as in TGB, whose graphs have every fact both ways round.
    """

    title = "ranks an answer first if the history has a fact of it and the known entity"
    rule = "1 if the history has a fact of both entities, of any relation, before the query's time, else 0"
    source = "EdgeBank with unlimited memory: Poursafaei et al., 2022; TGB 2.0"

    baseline: Literal["edgebank"] = "edgebank"
    """pairs of entities at earlier times"""

    def past(self, facts: Triples, side: Side, dataset: Dataset) -> PastAnswers:
        turned = Triples(facts.ids[:, ::-1], facts.contexts)
        return super().past(Triples.concatenated([facts, turned]), side, dataset)

    def keys(self, anchors: IntArray, relations: IntArray, size: int) -> IntArray:
        return anchors

    def scores_of(self, past: PastAnswers, last: IntArray) -> Float64Array:
        return np.ones(len(last))
