"""The audit of lists: whether they were made with knowledge of the evaluated split, and lists that have no answer.

Every ranking of a model that has lists notes what is found. Lists may know the split without intent: candidates that
are filtered as ranks are, by all known answers but the one asked for, lack the other answers of the split. Two tests
find that; each accuses at most one in a thousand of the files that were made without this knowledge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import numpy as np
from scipy.stats import norm

from kgeval.base.arrays import BoolArray
from kgeval.base.errors import counted
from kgeval.base.provenance import percent
from kgeval.data.dataset import Dataset
from kgeval.data.known import known_answers
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.models.adapters.prediction_lists import PredictionLists
from kgeval.models.aligned import Aligned

ALARM = 1e-3
"""the p-value below which lists are accused"""

ACCUSED = "the lists seem to be made with knowledge of"


def notes_on_knowledge(scorer: Aligned, triples: Triples, sides: Sequence[Side], split: str) -> list[str]:
    """Accuse lists that name the answers of a split as only its knowledge explains."""
    queries = [of_query for side in sides for of_query in _answers_named(scorer, triples, side)]
    own = [named for named, _ in queries if (named != named[0]).any()]
    # A list that is twice as long as the answers has room for all of them.
    common = [named[0] for named, length in queries if (named == named[0]).all() and length >= 2 * len(named)]
    found = _own_answers_alone(own, split) or _one_answer_alone(common, split)
    why = "If a model chose from candidates filtered so, its ranks are too good; if its order was, they are right."
    return [f"{ACCUSED} {split}: {found} {why} Honest: kgeval predict --out-format candidates."] if found else []


def _answers_named(scorer: Aligned, triples: Triples, side: Side) -> Iterator[tuple[BoolArray, int]]:
    """Yield which answers of a query the list of each of its triples names, bool[triple, triple]; and its length."""
    queries = Queries.per_triple(triples, side, as_given=True)
    listed, _ = scorer.listed(queries)
    times = () if queries.contexts is None else (queries.contexts,)
    keys = np.stack([queries.anchors, queries.relations, *times])
    _, groups, sizes = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    for members in np.split(np.argsort(groups.ravel(), kind="stable"), np.cumsum(sizes)[:-1]):
        if len(members) > 1:
            rows = [np.isin(queries.answers[members], listed.row(member)) for member in members]
            yield np.stack(rows), int(listed.lengths[members].min())


def _own_answers_alone(queries: Sequence[BoolArray], split: str) -> str:
    """Test whether lists made for triples name their own answers more often than other answers of their query.

    If lists do not know which triple asks, any list of a query may be that of any of its triples: the number of own
    answers that they name has the mean and the variance of a random assignment (Hoeffding, 1951).
    """
    sizes = np.array([len(named) for named in queries])
    own, all_named = (np.array([count(named) for named in queries]) for count in (np.trace, np.sum))
    centred = (named - named.mean(0) - named.mean(1)[:, None] + named.mean() for named in queries)
    variance = sum(float((of_query**2).sum()) / (len(of_query) - 1) for of_query in centred)
    if not variance or (p := norm.sf((own - all_named / sizes).sum() / np.sqrt(variance))) > ALARM:
        return ""
    shares = own.sum() / sizes.sum(), (all_named - own).sum() / (sizes * (sizes - 1)).sum()
    several = f"for {counted(len(queries), 'query')} with several {split} answers, {percent(shares[0])} of the lists"
    return f"{several} name their own answer, and {percent(shares[1])} a given other answer (p = {p:.1g})."


def _one_answer_alone(queries: Sequence[BoolArray], split: str) -> str:
    """Test whether lists of whole queries name several answers less often than if each were named by chance.

    Good answers are named together more often than by chance, so that the test is conservative.
    """
    sizes, named = np.array([len(it) for it in queries]), np.array([int(it.sum()) for it in queries])
    share = named.sum() / max(sizes.sum(), 1)
    chances = 1 - (1 - share) ** sizes - sizes * share * (1 - share) ** (sizes - 1)
    seen = int((named > 1).sum())
    odds = np.r_[1.0, np.zeros(seen)]  # of 0, 1, … lists that name several answers
    for chance in chances:
        odds = odds * (1 - chance) + np.r_[0, odds[:-1]] * chance
    if (p := odds.sum()) > ALARM:
        return ""
    several = f"of {counted(len(queries), 'list')} for queries with several {split} answers, {seen:,} name two or more"
    return f"{several}; if each were named by chance, {chances.sum():.0f} would (p = {p:.1g})."


def notes_on_no_answer(lists: PredictionLists, dataset: Dataset, sides: Sequence[Side], split: str) -> list[str]:
    """Count the lists of queries that no triple answers, right if they are empty; and take the F1 of all lists as sets.

    Known answers of other splits are left out of the lists.
    """
    lengths, triples = list[int](), [*dataset.splits.values()]
    for side, of_side in lists.sides.items():
        every = Queries.of(Triples.concatenated(triples), side)
        answered = {*zip(every.anchors.tolist(), every.relations.tolist(), strict=True)}
        rows = [row for key, row in of_side.places.items() if key[:2] not in answered and side in sides]
        lengths += of_side.rows.lengths[rows].tolist()
    if not lengths:
        return []
    scores = [float(not length) for length in lengths]
    for side in sides:
        queries = Queries.of(dataset.split(split), side)
        (listed, _), known = lists.listed(queries), known_answers(queries, triples)
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
