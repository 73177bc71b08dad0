"""The audit of lists: whether they were made with knowledge of the evaluated split, and lists that have no answer.

A list holds the ordered answers that a model (such as a language model) predicts for a query. Every ranking of such a
model notes what is found here. Lists may know the split without intent: candidates that are filtered as ranks are, by
all known answers but the one asked for, lack the other answers of the split. Two sign tests find that; together, they
accuse at most one in a thousand of the files that were made without this knowledge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import numpy as np

from kgeval.base.arrays import BoolArray, IntArray
from kgeval.base.notes import Note, amount
from kgeval.base.tables.table import p_text
from kgeval.data.dataset import Dataset
from kgeval.data.known import known_answers
from kgeval.data.queries import Queries, Rows
from kgeval.data.triples import Side, Triples
from kgeval.models.aligned import Aligned

ALARM = 1e-3
"""the largest share that may be accused among files made without knowledge of the split; each of two tests takes half
of it"""


def notes_on_knowledge(scorer: Aligned, triples: Triples, sides: Sequence[Side], split: str) -> list[str]:
    """Accuse lists that name the answers of a split as only knowledge of the split explains.

    The first test takes pairs of lists for two answers of one query. If the lists do not know which triple asks, they
    may be exchanged: they name their own answers as often as each other's. The second test takes pairs of queries of
    one relation, each with one list for all of its answers. Without knowledge, a list names two answers of its own
    query at least as often as two answers of the other query. No list is in two pairs of one test.
    """
    exchanged, crossed = list[int](), list[int]()
    for side in sides:
        common: list[tuple[int, IntArray, IntArray]] = []
        for relation, answers, lists in _several_answers(scorer, triples, side):
            named = np.stack([np.isin(answers, listed) for listed in lists])
            if (named != named[0]).any():
                exchanged += [_own_more(named[at : at + 2, at : at + 2]) for at in range(0, len(answers) - 1, 2)]
            elif all(np.array_equal(listed, lists[0]) for listed in lists):
                common.append((relation, answers, lists[0]))
        for pair in zip(common[::2], common[1::2], strict=False):
            if pair[0][0] == pair[1][0]:
                names = [[np.isin(answers, listed).sum() > 1 for _, answers, _ in pair] for _, _, listed in pair]
                crossed.append(-_own_more(np.array(names)))
    own, others = "their own answers rather than each other's", "two answers of each other's query, not of their own"
    found = _evidence(exchanged, f"two {split} answers of one query", own)
    found = found or _evidence(crossed, f"queries with several {split} answers", others)
    why = "If a model chose from candidates filtered so, its ranks are too good; if its order was, they are right."
    fault = f"the lists seem to be made with knowledge of {split}: {found} {why}"
    return [Note("faulty-lists", f"{fault} Honest: kgeval predict --out-format candidates.")] if found else []


def _several_answers(scorer: Aligned, triples: Triples, side: Side) -> Iterator[tuple[int, IntArray, list[IntArray]]]:
    """Yield the relation, answers and lists of queries with several answers; a triple of several times counts once."""
    first = np.sort(np.unique(triples.ids, axis=0, return_index=True)[1])
    queries = Queries.per_triple(triples[first], side, as_given=True)
    listed, _ = scorer.listed(queries)
    times = () if queries.contexts is None else (queries.contexts,)
    keys = np.stack([queries.relations, queries.anchors, *times])
    _, groups, sizes = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    for rows in np.split(np.argsort(groups.ravel(), kind="stable"), np.cumsum(sizes)[:-1]):
        if len(rows) > 1:
            yield int(queries.relations[rows[0]]), queries.answers[rows], [listed.row(row) for row in rows]


def _own_more(named: BoolArray) -> int:
    """Count how many more of their own answers than of each other's two lists name; bool[list, owner of the answer]."""
    return int(np.trace(named.astype(int)) - np.trace(named[::-1].astype(int)))


def _evidence(differences: Sequence[int], what: str, named: str) -> str:
    """Say how many pairs of lists differ in one direction, if a sign test finds that they are too many."""
    from scipy.stats import binom

    more, differing = sum(it > 0 for it in differences), sum(it != 0 for it in differences)
    p = binom.sf(more - 1, differing, 0.5)
    half = f"without this knowledge, at most half of them would (p {p_text(p)})"
    return "" if p > ALARM / 2 else f"of {differing:,} pairs of lists for {what}, {more:,} name {named}; {half}."


def notes_on_no_answer(scorer: Aligned, dataset: Dataset, sides: Sequence[Side], split: str) -> list[str]:
    """Count the lists of queries that no triple answers, which should be empty; and compute the F1 of lists as sets.

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
    empty = f" for queries that no triple answers, {lengths.count(0):,} of them empty, which is right"
    of_sets = f"As sets, all {len(scores):,} lists have the macro F1 {np.mean(scores):.6f}."
    return [Note("lists", amount(len(lengths), "list"), f"{empty}. {of_sets}")]


def set_f1(listed: Set[int], answers: Set[int]) -> float:
    """Take F1 as LM-KBC does (Singhania et al., 2022): the precision of no answer is 1, the recall of none is 1.

    >>> set_f1({1, 2}, {2, 3}), set_f1(set(), set()), set_f1({1}, set())
    (0.5, 1.0, 0.0)
    """
    precision = len(listed & answers) / len(listed) if listed else 1.0
    recall = len(listed & answers) / len(answers) if answers else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
