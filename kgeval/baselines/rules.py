"""Rules that rank: by recency, chance, popularity and type, and by symmetric and inverse relations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from kgeval.arrays import IntArray
from kgeval.baselines.baseline import Baseline
from kgeval.data.dataset import Dataset
from kgeval.data.known import KnownAnswers, observed_types
from kgeval.data.labelled_triples import reverse
from kgeval.data.leaks import PairedFacts
from kgeval.data.queries import Queries, starts_of_runs
from kgeval.data.rows import Rows
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.errors import DatasetError, InputError
from kgeval.scorers.sparse_scorer import SparseScorer, SparseScores


class RecurrencyBaseline(Baseline):
    """An entity ranks higher, the later it last answered the query in train, before the time of the query.

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

    title = "ranks answers by how recently they completed the query in train"
    rule = "position (from 1) of the latest time before the query's at which train has the triple; else 0"
    source = "the strict baseline of Gastinger et al., 2024"

    baseline: Literal["recurrency"] = "recurrency"
    """answers to the same query at earlier times"""

    def check(self, dataset: Dataset) -> None:
        super().check(dataset)
        if dataset.times is None:
            raise DatasetError(f"dataset {dataset.name} has no times, which baseline {self.baseline} needs.")

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
            raise InputError("baseline recurrency needs the time of each query, but the queries have none.")
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


class RandomBaseline(Baseline):
    """All candidates tie: with the tie policy ``expected``, each metric is the expectation over random orders.

    Examples
    --------
    The expected reciprocal rank among N candidates is (1 + 1/2 + … + 1/N) / N.

    >>> from kgeval import evaluate, load_dataset, summarize
    >>> table = evaluate(Baseline("random"), load_dataset("nations"))
    >>> sizes = table.column("candidates")
    >>> bool((table.column("tied") == sizes - 1).all())
    True
    >>> found = summarize(table, ["mrr"], ties="expected")["mrr"]
    >>> round(found, 12) == round(float(np.mean([sum(1 / np.arange(1, n + 1)) / n for n in sizes])), 12)
    True
    """

    title = "ranks at random"
    rule = "0 for every entity"
    source = "Hoyt et al., 2022"
    learns_from = ()

    baseline: Literal["random"] = "random"
    """a random order of the candidates"""

    def learn(self, dataset: Dataset) -> SparseScorer:
        nothing = Rows.of([[]])
        return scorer_of_rule(dataset, lambda it: SparseScores(nothing, np.empty(0), np.zeros(len(it), np.int64)))


class PopularityBaseline(Baseline):
    """Entities are ranked by how often train has them with the relation on the predicted side.

    Examples
    --------
    >>> from kgeval import Dataset, Triples, Vocabulary
    >>> train, test = Triples.of([(0, 0, 1), (2, 0, 1), (1, 0, 2)]), Triples.of([(1, 0, 1)])
    >>> names = {"entities": Vocabulary(["a", "b", "c"]), "relations": Vocabulary(["likes"], "relation")}
    >>> fitted = Baseline("popularity").fit(Dataset.build("d", {"train": train, "test": test}, **names))
    >>> fitted.scores(Queries.of(test, "tail"), np.arange(3))
    array([[0., 2., 1.]])
    """

    title = "ranks answers by how often train has them on this side of this relation"
    rule = "number of train triples with the answer on this side of this relation"
    source = "Safavi and Koutra, 2020"

    baseline: Literal["popularity"] = "popularity"
    """counts of answers, by relation and side"""

    def learn(self, dataset: Dataset) -> SparseScorer:
        size, counts = len(dataset.entities), {}
        for side in SIDES:
            _, relations, answers = dataset.train.queries_of_side(side)
            keys, frequencies = np.unique(relations * size + answers, return_counts=True)
            rows = Rows.sized(np.bincount(keys // size, minlength=len(dataset.relations)), keys % size)
            counts[side] = rows, frequencies.astype(np.float64)
        return scorer_of_rule(dataset, lambda queries: SparseScores(*counts[queries.side], queries.relations))


class TypesBaseline(Baseline):
    """Entities that train has with the relation on the predicted side come first, all tied; then all others, tied."""

    title = "ranks answers first that train has on this side of this relation"
    rule = "1 if train has the entity on this side of this relation, else 0"
    source = "Krompaß et al., 2015"

    baseline: Literal["types"] = "types"
    """entities of the type that train shows for the relation"""

    def learn(self, dataset: Dataset) -> SparseScorer:
        types = {side: observed_types([dataset.train], side, dataset) for side in SIDES}
        return scorer_of_rule(dataset, lambda queries: _alike(types[queries.side], queries.relations))


def scorer_of_implied(implied: Triples, dataset: Dataset) -> SparseScorer:
    """Make a scorer that lists, for each query, the answers that complete it to an implied triple."""
    answers = {side: KnownAnswers.of([implied], side) for side in SIDES}
    return scorer_of_rule(dataset, lambda it: _alike(answers[it.side].rows(it), np.arange(len(it))))


def scorer_of_rule(dataset: Dataset, rule: Callable[[Queries], SparseScores]) -> SparseScorer:
    return SparseScorer(len(dataset.entities), len(dataset.relations), rule)


def _alike(rows: Rows, of_query: IntArray) -> SparseScores:
    """Score what is listed 1, and the others 0."""
    return SparseScores(rows, np.ones(len(rows.ids)), of_query)


class SymmetricBaseline(Baseline):
    """An entity is ranked first if train has the reversed triple, (t, r, h), for symmetric and other relations."""

    title = "ranks an answer first if train has the triple with head and tail swapped"
    rule = "1 if (t, r, h) is in train, else 0"
    source = "Akrami et al., 2020"

    baseline: Literal["symmetric"] = "symmetric"
    """train triples with head and tail swapped, for any relation"""

    def learn(self, dataset: Dataset) -> SparseScorer:
        return scorer_of_implied(reverse(dataset.train), dataset)


class InverseBaseline(Baseline):
    """An entity is ranked first if train has the reversed pair, (t, r2, h), with a partner r2 of the relation.

    Two relations are partners if at least the share ``threshold`` of the train pairs of one of them, reversed, are
    pairs of the other. A symmetric relation is its own partner. Dettmers et al. find partners in train and look for the
    reversed pair in train and valid. Their threshold is .99 minus the share of valid and test in the dataset; in their
    code it is .8.

    Examples
    --------
    >>> from kgeval import Dataset, evaluate
    >>> train = [("Ada", "parent", "Bob"), ("Bob", "child", "Ada"), ("Eva", "parent", "Dan"), ("Zoe", "likes", "Dan")]
    >>> data = Dataset.from_labels(train=train, test=[("Dan", "child", "Eva")])
    >>> table = evaluate(Baseline("inverse"), data, sides="tail")
    >>> table.column("greater"), table.column("tied"), table.column("candidates")
    (array([0]), array([0]), array([5]))
    """

    title = "ranks an answer first if train has head and tail swapped under an inverse relation"
    rule = "1 if (t, r2, h) is in train (option history) for an inverse r2 of the relation, else 0"
    source = "Dettmers et al., 2018, section 5, with history=train+valid"

    baseline: Literal["inverse"] = "inverse"
    """rules r1(h, t) ⇒ r2(t, h), found in train"""
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.8
    """the least share of the pairs of one relation that the other must have in reverse, for them to be partners"""
    history: Literal["train", "train+valid"] = "train"
    """where the reversed pair is looked for; partners are found in train"""

    def learn(self, dataset: Dataset) -> SparseScorer:
        train = dataset.train
        facts = PairedFacts.of([train], len(dataset.entities), len(dataset.relations))
        overlaps = None if facts is None else facts.turned(least=self.threshold)
        if overlaps is None:
            raise DatasetError(
                f"dataset {dataset.name} has too many pairs of relations to search for inverse relations."
            )
        history = dataset.split(self.history)
        partners = overlaps.partners(history.relations)
        heads, _, tails = history.ids[partners.owners].T
        return scorer_of_implied(Triples(np.stack([tails, partners.ids, heads], axis=1)), dataset)
