"""Slices by what the dataset says of a row: its cardinality, what train names of it, and whether train leaks it.

A slice is declared below with its rule; the functions that divide and count rows follow. The registry in ``slice.py``
finds the slices, and ``annotation.py`` calls them: rows and a dataset go in, the category of each row comes out. To add
one, declare a :class:`Slice`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from kgeval.analysis.audits.searches import WAYS, RelatedRelations, leaks_of
from kgeval.analysis.slices.slice import Categories, EvaluatedRows, Slice
from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.errors import DatasetError
from kgeval.data.dataset import Dataset
from kgeval.data.leaks import INVERSE_SHARE, is_later
from kgeval.data.other_graphs import learned_triples
from kgeval.data.past import facts_of, last_times
from kgeval.data.triples import TripleIndex, Triples, find_sorted

CLASSES = ("1-1", "1-N", "N-1", "N-N")
"""the cardinalities: one or many heads for a tail, then one or many tails for a head"""

UNSEEN = "not in train"
"""the cardinality of a relation without triples to count"""

_of_triples = partial(Slice, of_triples=True)
_looking_back = partial(Slice, needs_times=True, looks_back=True)


def _assign_edge_cardinality(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    everything = all_triples(dataset)
    tails_per_head, heads_per_tail = count_heads(rows.triples, everything), count_tails(rows.triples, everything)
    return Categories(classes(tails_per_head > 1, heads_per_tail > 1), CLASSES)


CARDINALITY = _of_triples(
    name="cardinality",
    title="cardinality of the relation in train: 1-1, 1-N, N-1 or N-N",
    rule="1-N: a pair (h, r) has at least 1.5 tails on average in train; N-1: a pair (r, t) has at least 1.5 heads on "
    f"average; N-N: both; {UNSEEN!r}: train has no triple of the relation",
    source="Bordes et al., 2013",
    assign=lambda rows, dataset: _by_mean_numbers(rows, dataset.train, len(dataset.relations)),
)

CARDINALITY_ALL = _of_triples(
    name="cardinality-all",
    title="cardinality of the relation in all splits: 1-1, 1-N, N-1 or N-N",
    rule="as cardinality, but counted over the distinct triples of all splits",
    source="OpenKE (n-n.py)",
    assign=lambda rows, dataset: _by_mean_numbers(rows, all_triples(dataset), len(dataset.relations)),
    needs=(),
)

CARDINALITY_LIBKGE = _of_triples(
    name="cardinality-libkge",
    title="cardinality of the relation as LibKGE computes it",
    rule="as cardinality, but N means more than 1.5",
    source="LibKGE (index_relation_types)",
    assign=lambda rows, dataset: _by_mean_numbers(rows, dataset.train, len(dataset.relations), above=True),
)

EDGE_CARDINALITY = _of_triples(
    name="edge-cardinality",
    title="cardinality of the triple in all splits: 1-1, 1-N, N-1 or N-N",
    rule="1-N: the pair (h, r) of the triple has other tails in any split; N-1: the pair (r, t) has other heads; N-N: "
    "both",
    source="Cattaneo et al., 2024 (kg-topology-toolbox, triple_cardinality_same_rel)",
    assign=_assign_edge_cardinality,
    needs=(),
)

Count = Callable[[EvaluatedRows, Dataset], IntArray]
"""a function that counts something of each row; int64[row]"""

BINS = "in bins at the quartiles of the nonzero counts of the evaluated split; 0 is a separate bin"

QUANTILES = (0.25, 0.5, 0.75, 1)
"""where counts above 0 are divided, as shares of the split's rows"""


def _in_quarters(name: str, title: str, count: Count, *, of_triples: bool = False) -> Slice:
    def assign(rows: EvaluatedRows, dataset: Dataset) -> Categories:
        return quantile_bins(count(rows, dataset), count(rows.of_whole_split(), dataset))

    return Slice(name, title, f"the {title}, {BINS}", "kgeval", assign, of_triples=of_triples)


ANSWER_DEGREE = _in_quarters(
    "answer-degree",
    "number of train triples with the answer as head or tail",
    lambda rows, dataset: degrees(dataset.train, len(dataset.entities))[rows.answers],
)

ANCHOR_DEGREE = _in_quarters(
    "anchor-degree",
    "number of train triples with the anchor (the known entity of the query) as head or tail",
    lambda rows, dataset: degrees(dataset.train, len(dataset.entities))[rows.anchors],
)

ANSWER_POPULARITY = _in_quarters(
    "answer-popularity",
    "number of train triples with the answer on this side of this relation",
    lambda rows, dataset: count_answers(rows, dataset.train),
)

RELATION_FREQUENCY = _in_quarters(
    "relation-frequency",
    "number of train triples of the relation",
    lambda rows, dataset: np.bincount(dataset.train.relations, minlength=len(dataset.relations))[rows.relations],
    of_triples=True,
)

NAMES = ("answer, anchor, pair", "answer, anchor", "answer", "anchor, pair", "anchor", "none")
"""which of answer, anchor and the pair of anchor and relation train contains; it has the pair only with the anchor"""


def _assign_seen(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    there = degrees(dataset.train, len(dataset.entities)) > 0
    pair = count_queries(rows, dataset.train) > 0
    codes = 3 * ~there[rows.answers] + np.where(pair, 0, np.where(there[rows.anchors], 1, 2))
    return Categories(codes, NAMES)


SEEN = Slice(
    name="seen",
    title="whether train contains the answer, the anchor, and the pair of anchor and relation",
    rule="those that train contains: the answer and the anchor in any triple, and the pair of the query, (h, r) or (r, "
    "t); none: train contains none of them",
    source="kgeval",
    assign=_assign_seen,
)


def _assign_half_links(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    query, answer = count_queries(rows, dataset.train) > 0, count_answers(rows, dataset.train) > 0
    return Categories(2 * ~query + ~answer, ("both", "query only", "answer only", "none"))


HALF_LINKS = Slice(
    name="half-links",
    title="which half of the triple train contains: anchor and relation (query), relation and answer (answer), or both",
    rule="query: train has the anchor, on its side of the relation; answer: it has the answer, on the other side",
    source="arXiv:2606.18001",
    assign=_assign_half_links,
)


NEW_RELATIONS = _of_triples(
    name="new-relations",
    title="whether the relation is new to models of an inductive dataset",
    rule="in the training graph: a train triple of the graph that models learn from has the relation; new: none has",
    source="kgeval",
    assign=lambda rows, dataset: Categories(
        1 - np.isin(rows.relations, learned_triples(dataset).relations), ("in the training graph", "new")
    ),
    needs=(),
    needs_training_graph=True,
)


SEEN_TIME = _of_triples(
    name="seen-time",
    title="whether train has facts of the time of the query",
    rule="for temporal graphs: yes if a train triple has the time of the query; no if the model has to extrapolate",
    source="kgeval",
    assign=lambda rows, dataset: Categories.of_flag(
        np.isin(np.asarray(rows.triples.contexts), np.asarray(dataset.train.contexts))
    ),
    needs_times=True,
)

PERIOD = Slice.of_periods("period", "4")


def _last_times(rows: EvaluatedRows, facts: Triples) -> IntArray:
    """Find the last time before the query at which ``facts`` has each row's triple, or -1; int64[row]."""
    index = TripleIndex.of(facts)
    times, past = (np.asarray(part.contexts) for part in (rows.triples, facts))
    return last_times(index.find(rows.triples), times, index.find(facts), past)


def _assign_recurrence(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    facts, size = facts_of(dataset, rows.history), len(dataset.relations)
    asked, answered = (
        (it.anchors * size + it.relations) * 2 + it.tails for it in (rows, replace(rows, split=facts).of_whole_split())
    )
    last = last_times(asked, np.asarray(rows.triples.contexts), answered, np.tile(np.asarray(facts.contexts), 2))
    codes = np.where(_last_times(rows, facts) >= 0, 0, np.where(last >= 0, 1, 2))
    return Categories(codes, ("fact", "query only", "neither"))


RECURRENCE = _looking_back(
    name="recurrence",
    title="whether the history has the fact before the time of the query, or other answers to the query",
    rule="fact: the history (train, train and valid, or what was observed) has (h, r, t) at a time before the query's; "
    "query only: it has other answers to the query before; neither: it has no answer",
    source="Gastinger et al., 2024",
    assign=_assign_recurrence,
)

AGES = (0, 1, 7, 30, 100)
"""the largest age of each bin, in snapshots (times of the dataset); the first bin stays empty"""


def _assign_age(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    last = _last_times(rows, facts_of(dataset, rows.history))
    codes, names = limited_bins(np.asarray(rows.triples.contexts) - last, AGES)
    return Categories(np.where(last < 0, len(names), codes - 1), (*names[1:], f"over {AGES[-1]}", "never"))


LAST_TIME = _looking_back(
    name="last-time",
    title="how many snapshots before the query's time the history last has the fact",
    rule="the number of the dataset's times from the last at which the history (train, train and valid, or what was "
    "observed) has (h, r, t) to the query's: 1, 2–7, 8–30, 31–100, over 100; never: it has it at no time before",
    source="kgeval",
    assign=_assign_age,
    of_triples=True,
)

LIMITS = (0, 1, 10, 100, 1000)
"""the largest number of each bin; a further bin has all greater numbers"""


def _assign_train_answers(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    others = count_queries(rows, dataset.train) - TripleIndex.of(dataset.train).contains(rows.triples)
    codes, names = limited_bins(others, LIMITS)
    return Categories(codes, (*names, f"over {LIMITS[-1]}"))


KNOWN_ANSWERS = Slice(
    name="known-answers",
    title="number of other answers to the query in train",
    rule="the number of other entities that complete (h, r, ?) or (?, r, t) to a train triple: 0, 1, 2–10, 11–100, "
    "101–1000, over 1000",
    source="kgeval",
    assign=_assign_train_answers,
)


def _assign_leak(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    related = RelatedRelations.of(dataset, INVERSE_SHARE)
    if related.unknown:
        raise DatasetError(f"slice 'leak': {related.unknown} Leave it out.")
    leaks = leaks_of(related, rows.triples, later=is_later(rows.split, dataset.train))
    ways = np.stack([leaks[way] for way in WAYS])
    # If a triple leaks in several ways, argmax finds the first of WAYS, the plainest.
    return Categories(np.where(ways.any(axis=0), 1 + ways.argmax(axis=0), 0), ("none", *WAYS))


LEAK = _of_triples(
    name="leak",
    title="whether and how a train triple leaks the triple; none: no leak",
    rule="the first that holds: repeated: train has (h, r, t); reverse: it has (t, r', h), where r' is a reverse "
    "duplicate of r, or r itself if r is symmetric; duplicate: it has (h, r', t), where r' is a near-duplicate of r; "
    "inverse: it has (t, r', h), where r' is an inverse of r; as 'kgeval audit' finds such relations at 80 %. None "
    "leaks where all are later than train, as in forecasting",
    source="Akrami et al., 2020; Dettmers et al., 2018",
    assign=_assign_leak,
)


def _by_mean_numbers(rows: EvaluatedRows, triples: Triples, relations: int, *, above: bool = False) -> Categories:
    """Divide rows by the mean numbers of heads and tails of their relation in ``triples``.

    Many means at least 1.5, or, with ``above``, more than 1.5.
    """
    sizes = np.bincount(triples.relations, minlength=relations)
    ends = [np.unique(column * relations + triples.relations) for column in (triples.heads, triples.tails)]
    heads, tails = (np.bincount(pairs % relations, minlength=relations) for pairs in ends)
    # size / heads ≥ 3/2 in whole numbers, to avoid rounding; + above makes it > 3/2.
    codes = classes(2 * sizes >= 3 * heads + above, 2 * sizes >= 3 * tails + above)
    codes[sizes == 0] = len(CLASSES)
    return Categories(codes[rows.relations], (*CLASSES, UNSEEN))


def classes(tails_per_head: BoolArray, heads_per_tail: BoolArray) -> IntArray:
    """Number the cardinality in ``CLASSES``, given whether there are many tails, and many heads; int64[row]."""
    return 2 * heads_per_tail.astype(np.int64) + tails_per_head


def all_triples(dataset: Dataset) -> Triples:
    """Collect the triples of all splits, each once, at whatever times."""
    return Triples.concatenated([triples.without_contexts() for triples in dataset.splits.values()]).distinct().triples


def quantile_bins(counts: IntArray, of_split: IntArray) -> Categories:
    """Divide counts at the quartiles of the counts above 0 of the whole split; 0 is a separate bin.

    If many counts are equal, there are fewer than four bins above 0.

    >>> quantile_bins(np.array([0, 1, 7]), np.array([0, 1, 1, 2, 3, 5, 8, 9, 9]))
    Categories(codes=array([0, 1, 3]), names=('0', '1', '2–3', '4–8', '9'))
    """
    positive = of_split[of_split > 0]
    if not len(positive):
        return limited_bins(counts, [0])
    limits = np.unique(np.quantile(positive, QUANTILES, method="inverted_cdf")).astype(int).tolist()
    return limited_bins(counts, [0, *limits], least=int(positive.min()))


def limited_bins(counts: IntArray, limits: Sequence[int], *, least: int = 1) -> Categories:
    """Divide counts into bins, each up to and with a limit; the first limit is 0, and greater counts get a last code.

    ``least`` is the first count that the second bin names.

    >>> limited_bins(np.array([0, 4, 10]), [0, 1, 10]).names
    ('0', '1', '2–10')
    """
    firsts = [0, least, *(limit + 1 for limit in limits[1:])]
    names = [str(last) if first == last else f"{first}–{last}" for first, last in zip(firsts, limits, strict=False)]
    return Categories(np.searchsorted(limits, counts), tuple(names))


def count_queries(rows: EvaluatedRows, train: Triples) -> IntArray:
    """Count the answers that the query of each row has in train; int64[row]."""
    return np.where(rows.tails, count_heads(rows.triples, train), count_tails(rows.triples, train))


def count_answers(rows: EvaluatedRows, train: Triples) -> IntArray:
    """Count the train triples that have each row's answer on the same side of the same relation; int64[row]."""
    return np.where(rows.tails, count_tails(rows.triples, train), count_heads(rows.triples, train))


def count_heads(triples: Triples, among: Triples) -> IntArray:
    """Count the triples of ``among`` with the head and the relation of each triple; int64[triple]."""
    return count_pairs((triples.heads, triples.relations), (among.heads, among.relations))


def count_tails(triples: Triples, among: Triples) -> IntArray:
    """Count the triples of ``among`` with the tail and the relation of each triple; int64[triple]."""
    return count_pairs((triples.tails, triples.relations), (among.tails, among.relations))


def degrees(triples: Triples, entities: int) -> IntArray:
    """Count the triples that name each entity, a loop once; int64[entity].

    >>> degrees(Triples.of([(0, 0, 1), (1, 0, 1)]), 3)
    array([1, 2, 0])
    """
    ends = [triples.heads, triples.tails[triples.heads != triples.tails]]
    return np.bincount(np.concatenate(ends), minlength=entities)


def count_pairs(pairs: tuple[IntArray, IntArray], among: tuple[IntArray, IntArray]) -> IntArray:
    """Count how often each pair of ids occurs ``among`` other pairs; both have two columns; int64[row].

    >>> count_pairs((np.array([0, 1]), np.array([5, 5])), (np.array([1, 1, 0]), np.array([5, 5, 6])))
    array([0, 2])
    """
    size = 1 + max(int(column.max(initial=0)) for column in (pairs[1], among[1]))
    keys, counts = np.unique(among[0] * size + among[1], return_counts=True)
    return np.append(counts, 0)[find_sorted(keys, pairs[0] * size + pairs[1])]  # the 0 for pairs not found
