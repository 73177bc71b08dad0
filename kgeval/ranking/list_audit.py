"""The audit of lists: whether they were made with knowledge of the evaluated split, and lists that have no answer.

Every ranking of a model that has lists notes what is found. Lists may know the split without intent: candidates that
are filtered as ranks are, by all known answers but the one asked for, lack the other answers of the split. Two sign
tests find that; together, they accuse at most one in a thousand of the files that were made without this knowledge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.stats import binom

from kgeval.base.arrays import IntArray
from kgeval.base.errors import counted
from kgeval.base.tables.table import p_text
from kgeval.data.dataset import Dataset
from kgeval.data.known import known_answers
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import Side, Triples
from kgeval.models.aligned import Aligned

T = TypeVar("T")

ALARM = 1e-3
"""the largest share of files made without knowledge of the split that are accused, half of it by each of two tests"""

ACCUSED = "the lists seem to be made with knowledge of"


class Asked(NamedTuple):
    """A query with several answers in the evaluated split, and the lists that its triples ask for."""

    relation: int
    anchor: int
    answers: Sequence[int]
    lists: Sequence[IntArray]
    """for each answer, what the list of its triple names"""

    @property
    def has_one_list(self) -> bool:
        return all(np.array_equal(listed, self.lists[0]) for listed in self.lists)


def notes_on_knowledge(scorer: Aligned, triples: Triples, sides: Sequence[Side], split: str) -> list[str]:
    """Accuse lists that name the answers of a split as only its knowledge explains."""
    sided = [list(_several_answers(scorer, triples, side)) for side in sides]
    found = _own_answers(sided, split) or _answers_together(sided, split)
    cure = "If a model chose from candidates that were filtered so, its ranks are too good; if its finished order was "
    cure += "filtered, they are right. For candidates without this knowledge: kgeval predict --out-format candidates."
    return [f"{ACCUSED} {split}: {found} {cure}"] if found else []


def _several_answers(scorer: Aligned, triples: Triples, side: Side) -> Iterator[Asked]:
    """Yield the queries with several answers; a triple that holds at several times counts at the first."""
    first = np.sort(np.unique(triples.ids, axis=0, return_index=True)[1])
    queries = Queries.per_triple(triples[first], side, as_given=True)
    listed, _ = scorer.listed(queries)
    times = () if queries.contexts is None else (queries.contexts,)
    keys = np.stack([queries.relations, queries.anchors, *times])
    asked, groups, sizes = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(groups.ravel(), kind="stable"), np.cumsum(sizes)[:-1])
    for (relation, anchor, *_), rows in zip(asked.T.tolist(), members, strict=True):
        if len(rows) > 1:
            yield Asked(relation, anchor, queries.answers[rows].tolist(), [listed.row(row) for row in rows])


def _own_answers(sided: Sequence[Sequence[Asked]], split: str) -> str:
    """Test whether two lists, made for two answers of one query, name their own answers rather than each other's.

    Lists that do not know which triple asks may be exchanged.
    """
    pairs = [
        [[answer in listed for answer in answers] for listed in lists]
        for queries in sided
        for asked in queries
        for answers, lists in zip(_pairs(asked.answers), _pairs(asked.lists), strict=True)
    ]
    own, other = _own_and_other(pairs)
    several = f"of {own + other:,} pairs of lists for two {split} answers of one query, {own:,} name their own answers"
    half = "rather than each other's; without this knowledge, half of them would"
    p = binom.sf(own - 1, own + other, 0.5)
    return "" if p > ALARM / 2 else f"{several} {half} (p {p_text(p)})."


def _answers_together(sided: Sequence[Sequence[Asked]], split: str) -> str:
    """Test whether lists name two answers of their query less often than those of another query of their relation.

    A list that does not know the answers names them for the query that they answer at least as often as for another.
    """
    pairs = []
    for queries in sided:
        alone = {(asked.relation, asked.anchor): asked for asked in queries if asked.has_one_list}
        ordered = sorted(alone.values(), key=lambda asked: (asked.relation, len(asked.answers)))
        for _, of_relation in groupby(ordered, lambda asked: asked.relation):
            pairs += [
                [[bool(np.isin(asked.answers, naming.lists[0]).sum() > 1) for asked in pair] for naming in pair]
                for pair in _pairs([*of_relation])
            ]
    own, other = _own_and_other(pairs)
    several = f"of {own + other:,} pairs of lists for queries with several {split} answers, {other:,} name two answers"
    half = "of each other's query rather than of their own; without this knowledge, at most half of them would"
    p = binom.sf(other - 1, own + other, 0.5)
    return "" if p > ALARM / 2 else f"{several} {half} (p {p_text(p)})."


def _pairs(items: Sequence[T]) -> Iterator[tuple[T, T]]:
    return zip(items[::2], items[1::2], strict=False)


def _own_and_other(pairs: Sequence[Sequence[Sequence[bool]]]) -> tuple[int, int]:
    """Count the pairs of lists that name more of what is their own, and of what is each other's.

    ``pairs`` (bool[pair, list, whose]) says what each list names. No list is in two pairs, so that the sign test is
    exact.

    >>> _own_and_other([[[True, False], [False, False]], [[True, True], [True, True]]])
    (1, 0)
    """
    named = np.array(pairs, np.int64).reshape(-1, 2, 2)
    more = named.trace(axis1=1, axis2=2) - named[:, ::-1].trace(axis1=1, axis2=2)
    return int((more > 0).sum()), int((more < 0).sum())


def notes_on_no_answer(scorer: Aligned, dataset: Dataset, sides: Sequence[Side], split: str) -> list[str]:
    """Count the lists of queries that no triple answers, right if they are empty; and take the F1 of all lists as sets.

    Known answers of other splits are left out of the lists. Each text that names no entity is a wrong answer.
    """
    lengths, triples = list[int](), [*dataset.splits.values()]
    for side, of_side in scorer.lists.sides.items() if scorer.lists else ():
        every = scorer.map_queries(Queries.of(Triples.concatenated(triples), side))
        answered = {*zip(every.anchors.tolist(), every.relations.tolist(), strict=True)}
        rows = [row for key, row in of_side.places.items() if key[:2] not in answered and side in sides]
        lengths += of_side.rows.lengths[rows].tolist()
    if not lengths:
        return []
    scores = [float(not length) for length in lengths]
    for side in sides:
        queries = Queries.of(dataset.split(split), side)
        (listed, _), known = scorer.listed(queries), known_answers(queries, triples)
        listed = Rows(listed.offsets, np.where(listed.ids < 0, -1 - np.arange(len(listed.ids)), listed.ids))
        for query, answers in enumerate(np.split(queries.answers, queries.offsets[1:-1])):
            scores.append(set_f1({*listed.row(query)} - ({*known.row(query)} - {*answers}), {*answers}))
    found = f"{counted(len(lengths), 'list')} for queries that no triple answers, {lengths.count(0):,} of them empty"
    return [f"{found}, which is right. As sets, all {len(scores):,} lists have the macro F1 {np.mean(scores):.6f}."]


def set_f1(listed: Set[int], answers: Set[int]) -> float:
    """Take F1 as LM-KBC does (Singhania et al., 2022): the precision of no answer is 1, the recall of none is 1.

    >>> set_f1({1, 2}, {2, 3}), set_f1(set(), set()), set_f1({1}, set())
    (0.5, 1.0, 0.0)
    """
    precision = len(listed & answers) / len(listed) if listed else 1.0
    recall = len(listed & answers) / len(answers) if answers else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
