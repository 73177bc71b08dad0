"""``kgeval.answers``: for each test query a set that contains the answer with a chosen probability.

``kgeval answers`` and users call it. It ranks validation and test (``scored_split.py``), measures how badly each answer
fits its query (``nonconformity.py``), computes limits from the validation answers (``limits.py``), and puts the
candidates within the limit into each test row's set (``answer_sets.py``). ``answers_of_ranks`` does the same from
stored ranks, without scoring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import Unpack

from kgeval.analysis.answer_sets.answer_sets import AnswerSets, AnswerSetTable, entries_of_sets
from kgeval.analysis.answer_sets.limits import COLUMNS, CalibratedLimits, calibrate, notes_on_filter, notes_on_limits
from kgeval.analysis.answer_sets.nonconformity import RANK, find_nonconformity, pessimistic_ranks
from kgeval.analysis.answer_sets.scored_split import ScoredSplit
from kgeval.base.arrays import BoolArray
from kgeval.base.errors import InputError, MetricError
from kgeval.base.notes import Note
from kgeval.base.progress import Progress, reporting
from kgeval.base.settings import names_among, takes
from kgeval.base.threads import bound_threads
from kgeval.data.dataset import Dataset
from kgeval.data.loading import as_dataset
from kgeval.data.vocabulary import Labels
from kgeval.models.adapters.calling import ScoreFunction
from kgeval.models.alignment import align
from kgeval.models.checkpoints import as_model
from kgeval.ranking.evaluation import Evaluation, WorkKeywords
from kgeval.ranking.model_ranking import ranking_of
from kgeval.ranking.rank_table import RankTable


@takes(Evaluation, WorkKeywords)
def answers(  # noqa: PLR0913
    model: ScoreFunction | Any,
    dataset: Dataset | str | Path,
    *,
    coverage: float = 0.9,
    nonconformity: str = "rank",
    per: str | Sequence[str] = (),
    list_sets: bool = False,
    entities: Labels | None = None,
    relations: Labels | None = None,
    progress: Progress | bool | None = None,
    **settings: Unpack[WorkKeywords],
) -> AnswerSets:
    """Compute a set of entities for each test query that contains the answer with probability ``coverage``.

    Split conformal prediction (Angelopoulos and Bates, 2023; for knowledge graphs Zhu et al., 2025): a candidate is in
    the set if it conforms at least as well as all but the worst answers of the validation triples. This holds for any
    model, if validation and test triples are exchangeable, and on average over both.

    Parameters
    ----------
    coverage
        between 0 and 1
    nonconformity
        ``"rank"``, ``"gap"`` (below the best score) or ``"softmax"``
    per
        ``"relation"`` or ``"side"``, or both: each relation, side or pair of them is calibrated separately, but those
        with too few validation triples are pooled
    list_sets
        whether the entities are listed, not only counted
    model, dataset, entities, relations
        as :func:`kgeval.evaluate` takes them
    progress
        likewise, for the ranking of both splits
    {settings}

    The filter is used for validation and test; ``unseen="worst"`` drops triples, as ``"drop"`` does.

    Returns
    -------
    AnswerSets
        coverage and sizes, and the sets if they are listed

    Raises
    ------
    InputError
        if an argument is wrong, or the dataset has no validation or test triples
    ScoreError
        if a score is NaN, with the query and the candidate

    Examples
    --------
    The worst of nine validation answers has rank 3, so a set has three places. In the set of the test query, d and e
    tie for the third and the fourth place: both are left out.

    >>> from kgeval import Dataset
    >>> scores = {"a": 9, "b": 8, "c": 7, "d": 6, "e": 6, "f": 5}
    >>> valid = [(f"q{row}", "likes", answer) for row, answer in enumerate("abbabacbb")]
    >>> data = Dataset.from_labels(train=[(e, "is", e) for e in scores], valid=valid, test=[("q0", "likes", "c")])
    >>> def score(heads, relations, tails):
    ...     return [scores.get(data.entities[tail], 0) for tail in tails]
    >>> found = answers(score, data, coverage=0.9, sides="tail", list_sets=True)
    >>> found.limits[0].limit, found.sizes, found.sets.column("entity_label")
    (3.0, array([2]), array(['b', 'c'], dtype=object))
    """
    request = SetRequest.of(coverage, nonconformity, per)
    dataset = as_dataset(dataset)
    evaluation = Evaluation.of_keywords(settings)
    if evaluation.unseen == "worst":
        evaluation = evaluation.model_copy(update={"unseen": "drop"})
    evaluation.require_entities("answer sets")
    if missing := [name for name in ("valid", "test") if not len(dataset.splits.get(name, ()))]:
        why = "answer sets are calibrated on valid and computed for test"
        raise InputError(f"dataset {dataset.name} has no {missing[0]} triples: {why}.")
    model = as_model(model, dataset, nan=evaluation.nan, history=evaluation.history)
    scorer = align(model, dataset, entities=entities, relations=relations)
    evaluation = evaluation.for_model(scorer)
    total = sum(len(dataset.split(name)) for name in ("valid", "test")) * len(evaluation.sides)
    with reporting(total, progress=progress) as report, bound_threads(evaluation.threads):
        valid, test = (
            ScoredSplit.of(ranking_of(scorer, dataset, evaluation.model_copy(update={"split": name}), progress=report))
            for name in ("valid", "test")
        )
        return _answer_sets(valid, test, request, list_sets=list_sets)


def _answer_sets(valid: ScoredSplit, test: ScoredSplit, request: SetRequest, *, list_sets: bool) -> AnswerSets:
    measure = find_nonconformity(request.nonconformity).measure
    calibration, measured = measure(valid).values, measure(test)
    limits = calibrate(valid.ranks, calibration, test.ranks, coverage=request.coverage, per=request.per)
    lowest = measured.lowest_scores(limits.of_rows)
    sets = _counted_sets(valid.ranks, test.ranks, request, limits, measured.values <= limits.of_rows)
    sets = replace(sets, sizes=test.count_from(lowest))
    if not list_sets:
        return sets
    listed = AnswerSetTable(
        entries_of_sets(test, lowest, sets.sizes),
        split=test.ranks.split,
        coverage=sets.target,
        nonconformity=sets.nonconformity,
        model=test.ranks.model,
        dataset=test.ranks.dataset,
    )
    return replace(sets, listed=listed)


def answers_of_ranks(
    valid: RankTable, test: RankTable, *, coverage: float = 0.9, per: str | Sequence[str] = ()
) -> AnswerSets:
    """Compute the coverage and sizes of sets by rank from stored ranks, without scoring.

    The sets are those that :func:`kgeval.answers` makes by ``"rank"``. If the limit is rank r, a set has r entities, or
    all candidates; if candidates tie across the last place, this is an upper bound of its size.

    Parameters
    ----------
    valid, test
        the ranks of two splits by one model, under one filter, in a temporal graph at the same times
    coverage, per
        as :func:`kgeval.answers` takes them

    Raises
    ------
    InputError
        if an argument is wrong, if the tables have different models, datasets or filters, if both have the same split,
        or if one is a sample of its split or has ranks of relations
    """
    request = SetRequest.of(coverage, RANK.name, per)
    for name in ("model", "dataset", "filter", "times", "candidates"):
        here, there = (getattr(table, name) for table in (valid, test))
        if here != there:
            raise InputError(f"the {name} of the validation ranks is {here!r}, that of the test ranks {there!r}.")
    if valid.split == test.split:
        problem = f"both ranks are of the {test.split} triples"
        raise InputError(f"{problem}. Sets are calibrated on one split and computed for another: rank valid and test.")
    _refuse_unfit_ranks(valid)
    _refuse_unfit_ranks(test)
    limits = calibrate(valid, pessimistic_ranks(valid), test, coverage=request.coverage, per=request.per)
    sets = _counted_sets(valid, test, request, limits, pessimistic_ranks(test) <= limits.of_rows)
    bound = Note("ties", "sizes are upper bounds: a set is smaller if candidates tie across its last place.")
    return replace(sets, notes=(*sets.notes, bound))


@dataclass(frozen=True)
class SetRequest:
    """The coverage of sets, their nonconformity, and the columns by which they are calibrated."""

    coverage: float
    nonconformity: str
    per: tuple[str, ...]

    @classmethod
    def of(cls, coverage: Any, nonconformity: str, per: str | Sequence[str]) -> SetRequest:
        """Check the arguments of :func:`answers`."""
        number = isinstance(coverage, float | int | np.number) and not isinstance(coverage, bool)
        if not number or not 0 < coverage < 1:
            raise InputError(f"coverage: expected a probability between 0 and 1, such as 0.9; found {coverage!r:.40}.")
        columns = names_among("per: cannot calibrate per", per, COLUMNS, MetricError)
        return cls(float(coverage), find_nonconformity(nonconformity).name, tuple(dict.fromkeys(columns)))


def _counted_sets(
    valid: RankTable, test: RankTable, request: SetRequest, limits: CalibratedLimits, covered: BoolArray
) -> AnswerSets:
    """Make the sets of the test rows from their limits, which are ranks; the sizes are upper bounds.

    For other limits, the caller replaces the sizes. ``covered`` (bool[row]) says which sets have the answer.
    """
    notes = (*valid.notes, *test.notes, *notes_on_filter(test), *notes_on_limits(limits, request.per, request.coverage))
    at_most = np.minimum(limits.of_rows, test.column("candidates")).astype(np.int64)
    return AnswerSets(
        test,
        request.coverage,
        request.nonconformity,
        request.per,
        limits.of_groups,
        covered,
        at_most,
        tuple(dict.fromkeys(notes)),
    )


def _refuse_unfit_ranks(table: RankTable) -> None:
    """Refuse ranks of a sample, and of relations."""
    if table.sampling is not None:
        problem = f"the {table.split} ranks are of {table.num_triples:,} of {table.sampling.num_triples:,} triples"
        raise InputError(f"{problem}, sampled for an estimate. Coverage needs all: rank the whole split.")
    if (table.column("side") == "relation").any():
        problem = f"the {table.split} ranks include relations, and there are no answer sets of relations yet"
        raise InputError(f"{problem}. Rank heads and tails only.")
