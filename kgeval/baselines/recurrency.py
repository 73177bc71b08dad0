"""Recurrency: of the answers that train gave to the query before its time, the most recent comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np

from kgeval.baselines.baseline import Baseline
from kgeval.baselines.rules import scorer_of_rule
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries, starts_of_runs
from kgeval.data.rows import Rows
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.errors import DatasetError, InputError
from kgeval.scorers.sparse_scorer import SparseScorer, SparseScores


class RecurrencyBaseline(Baseline):
    """An answer comes the higher, the later it last completed the query before the query's own time.

    It is for temporal graphs whose future is predicted; where times of train and test mix, it still looks back only.

    >>> from kgeval import Dataset, evaluate
    >>> train = [("Ada", "visits", "Rome", "2014-01-01"), ("Ada", "visits", "Oslo", "2014-01-02")]
    >>> data = Dataset.from_labels(train=train, test=[("Ada", "visits", "Rome", "2014-01-03")])
    >>> table = evaluate(Baseline("recurrency"), data, sides="tail")
    >>> table.column("score"), table.column("greater")
    (array([1.]), array([1]))
    """

    title: ClassVar[str] = "how recently train had it"
    rule: ClassVar[str] = (
        "the number of the latest time, before the query's, at which train has the triple, from 1; else 0"
    )
    source: ClassVar[str] = "the strict baseline of Gastinger et al., 2024"

    baseline: Literal["recurrency"] = "recurrency"
    """answers to the same query at earlier times"""

    def check(self, dataset: Dataset) -> None:
        super().check(dataset)
        if dataset.times is None:
            raise DatasetError(f"dataset {dataset.name} has no times, which baseline {self.baseline} looks back in.")

    def learn(self, dataset: Dataset) -> SparseScorer:
        rules = {side: looking_back(dataset.train, side) for side in SIDES}
        return scorer_of_rule(dataset, lambda queries: rules[queries.side](queries))


def looking_back(train: Triples, side: Side) -> Callable[[Queries], SparseScores]:
    """Make the rule that lists the answers to each query at earlier times, by the latest of these."""
    anchors, relations, answers = train.queries_of_side(side)
    times = train.contexts if train.contexts is not None else np.zeros(len(train), np.int64)
    size = 1 + int(relations.max(initial=0))
    order = np.lexsort((times, answers, relations, anchors))
    known, answers, times = (anchors * size + relations)[order], answers[order], times[order]

    def rule(queries: Queries) -> SparseScores:
        if queries.contexts is None:
            raise InputError("baseline recurrency looks back from the time of a query, and the queries name none.")
        keys = np.where(queries.relations < size, queries.anchors * size + queries.relations, -1)
        starts, stops = np.searchsorted(known, keys, "left"), np.searchsorted(known, keys, "right")
        facts = Rows.spans(starts, stops, np.arange(len(known)))
        facts = facts.where(times[facts.ids] < queries.contexts[facts.owners])
        firsts = starts_of_runs(facts.owners, answers[facts.ids])
        latest = np.append(firsts[1:], len(facts.ids))[: len(firsts)] - 1
        chosen = facts.ids[latest]
        rows = Rows.sized(np.bincount(facts.owners[latest], minlength=len(queries)), answers[chosen])
        return SparseScores(rows, 1.0 + times[chosen], of_query=np.arange(len(queries)))

    return rule
