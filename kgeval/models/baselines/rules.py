"""The baselines that rank: by chance, popularity, type, symmetric or inverse relations, and random walks.

``Baseline.fit`` calls ``learn`` of a class: it takes a dataset and returns a scorer, mostly with a rule that lists some
entities for each query. The baselines of temporal graphs are in ``recurrence.py`` and ``combined.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from kgeval.base.arrays import FloatArray, IntArray
from kgeval.base.errors import DatasetError
from kgeval.base.threads import parallel_for
from kgeval.data.dataset import Dataset
from kgeval.data.entity_types import observed_entities
from kgeval.data.known import KnownAnswers
from kgeval.data.queries import Queries, Rows
from kgeval.data.relation_overlaps import PairedFacts
from kgeval.data.triples import SIDES, Triples, reverse
from kgeval.models.baselines import Baseline
from kgeval.models.scorer import SparseScorer, SparseScores


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
        types = {side: observed_entities([dataset.train], side, dataset) for side in SIDES}
        return scorer_of_rule(dataset, lambda queries: _one_for_listed(types[queries.side], queries.relations))


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
        facts = PairedFacts.of([dataset.train], len(dataset.entities), len(dataset.relations))
        overlaps = None if facts is None else facts.turned(least=self.threshold)
        if overlaps is None:
            fault = f"dataset {dataset.name} has too many pairs of relations"
            raise DatasetError(f"{fault} to search for inverse relations.")
        history = dataset.split(self.history)
        partners = overlaps.partners(history.relations)
        heads, _, tails = history.ids[partners.owners].T
        return scorer_of_implied(Triples(np.stack([tails, partners.ids, heads], axis=1)), dataset)


class PageRankBaseline(Baseline):
    """Entities near the anchor are ranked first, whatever the relation.

    A random walk on the train graph returns to the anchor with probability 1 − ``damping`` before each step. Edges
    have no direction, and several triples of two entities are one edge. The score of an entity is the share of time
    that the walk spends there, after ``iterations`` steps of the power iteration from the anchor. It is computed in
    float64 and stored in float32, so that entities that differ only by rounding tie. Entities that cannot be reached
    score 0, and so does the anchor, where every walk begins.

    Examples
    --------
    On a path a – b – c – d, walks from a: damping .5, two steps.

    >>> from kgeval import Dataset, Triples, Vocabulary
    >>> train, test = Triples.of([(0, 0, 1), (1, 0, 2), (3, 0, 2)]), Triples.of([(0, 0, 3)])
    >>> names = {"entities": Vocabulary(list("abcd")), "relations": Vocabulary(["near"], "relation")}
    >>> fitted = Baseline("ppr", damping=0.5, iterations=2).fit(Dataset.build("path", {"train": train}, **names))
    >>> fitted.scores(Queries.of(test, "tail"), np.arange(4))
    array([[0.   , 0.25 , 0.125, 0.   ]], dtype=float32)
    """

    title = "ranks entities first that are near the known entity of the query"
    rule = "personalised PageRank from the known entity of the query, on the undirected train graph"
    source = "Page et al., 1999; Shomer et al., 2024"

    baseline: Literal["ppr"] = "ppr"
    """random walks from the anchor over all relations"""
    damping: Annotated[float, Field(gt=0, lt=1)] = 0.85
    """the probability of continuing the walk; otherwise it returns to the anchor"""
    iterations: Annotated[int, Field(ge=1)] = 20
    """steps of the power iteration; ``damping`` to this power bounds the change by further steps"""

    def learn(self, dataset: Dataset) -> PageRankScorer:
        from scipy.sparse import csr_matrix

        size = len(dataset.entities)
        heads, tails = dataset.train.heads, dataset.train.tails
        ends = np.concatenate([heads, tails]) * size + np.concatenate([tails, heads])
        here, there = np.divmod(np.unique(ends), size)
        degrees = np.bincount(here, minlength=size)
        # Each edge is there in both directions; the pair (here, there) stands for the step from there to here.
        steps = csr_matrix((1 / degrees[there], (here, there)), shape=(size, size))
        return PageRankScorer(steps, len(dataset.relations), self.damping, self.iterations)


BATCH_VISITS = 2**19
"""the number of scores (anchors × entities) that a thread computes at a time, so that they stay in its cache"""


@dataclass(frozen=True, eq=False)
class PageRankScorer:
    """A scorer: an entity's score is the share of time that a random walk from the query's anchor spends there."""

    steps: Any
    """the probability of a step to the first entity from the second; sparse float64[entity, entity]"""
    num_relations: int
    damping: float
    iterations: int
    batch_visits: int = BATCH_VISITS

    @property
    def num_entities(self) -> int:
        return int(self.steps.shape[0])

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Walk once from each different anchor; float32[query, candidate]."""
        anchors, walks = np.unique(queries.anchors, return_inverse=True)
        scores = np.empty((len(queries), candidates.shape[-1]), np.float32)
        order = np.argsort(walks, kind="stable")
        starts = np.searchsorted(walks[order], np.arange(len(anchors) + 1))

        def fill(part: slice) -> None:
            visits = self._visits(anchors[part])
            rows = order[starts[part.start] : starts[part.stop]]
            walk = walks[rows] - part.start
            scores[rows] = visits[walk[:, None], candidates if candidates.ndim == 1 else candidates[rows]]

        parallel_for(fill, len(anchors), max(1, self.batch_visits // self.num_entities))
        return scores

    def _visits(self, anchors: IntArray) -> FloatArray:
        """Iterate from some anchors at once, for each with the same sums in the same order; float32[anchor, entity]."""
        columns = np.arange(len(anchors))
        visits = np.zeros((self.num_entities, len(anchors)))
        visits[anchors, columns] = 1
        for _ in range(self.iterations):
            visits = self.steps @ visits
            visits *= self.damping
            visits[anchors, columns] += 1 - self.damping
        visits[anchors, columns] = 0
        return np.ascontiguousarray(visits.T, np.float32)


def scorer_of_rule(dataset: Dataset, rule: Callable[[Queries], SparseScores]) -> SparseScorer:
    """Make a scorer of a dataset's entities by a rule, which lists entities and their scores for queries."""
    return SparseScorer(len(dataset.entities), len(dataset.relations), rule)


def scorer_of_implied(implied: Triples, dataset: Dataset) -> SparseScorer:
    """Make a scorer that lists, for each query, the answers that complete it to an implied triple."""
    answers = {side: KnownAnswers.of([implied], side) for side in SIDES}
    return scorer_of_rule(dataset, lambda it: _one_for_listed(answers[it.side].rows(it), np.arange(len(it))))


def _one_for_listed(rows: Rows, of_query: IntArray) -> SparseScores:
    """Score listed entities 1 and all others 0; ``of_query`` is the row of each query, int64[query]."""
    return SparseScores(rows, np.ones(len(rows.ids)), of_query)
