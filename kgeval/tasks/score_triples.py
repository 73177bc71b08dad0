"""The scores of triples: for each, the same number as in a ranking."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import Float64Array
from kgeval.corruption.candidates import Candidates
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.rows import Rows
from kgeval.data.triples import EntitySide, Triples, triple_of
from kgeval.errors import ScoreError
from kgeval.ranking.engine import Engine, UndefinedScore
from kgeval.ranking.kernels import kernel
from kgeval.ranking.ranking_task import RankingTask
from kgeval.scorers.aligned import Aligned


def score_triples(scorer: Aligned, triples: Triples, dataset: Dataset, *, side: EntitySide = "tail") -> Float64Array:
    """Score triples that the scorer knows; float64[triple].

    The score is that of the answer in a ranking task without candidates, so it is the number that ranks are computed
    from, bit for bit: the canonical score of vectors, or the score that the model returns. A model with inverse
    relations scores a triple differently as an answer to (h, r, ?) and to (?, r, t): ``side`` chooses one.

    Raises
    ------
    ScoreError
        if a score is NaN or infinite, with the triple

    Examples
    --------
    >>> from kgeval import load_dataset
    >>> from kgeval.scorers.alignment import align
    >>> data = load_dataset("nations")
    >>> score_triples(align(lambda h, r, t: h - t, data), Triples.of([(3, 0, 1), (0, 1, 5)]), data)
    array([ 2., -5.])
    """
    queries = Queries.of(triples, side)
    no_rows = Rows.sized(np.zeros(len(queries), np.int64), np.empty(0, np.int64))
    task = RankingTask.of(queries, Candidates(no_rows), no_rows)
    scores = np.empty(len(triples))
    try:
        scores[queries.triples] = Engine(kernel("compiled")).rank(scorer, task).scores
    except UndefinedScore as error:
        triple = dataset.triple(*triple_of(side, error.anchor, error.relation, error.candidate))
        raise ScoreError(f"the model's score of {triple} is NaN: it cannot be classified. Fix the model.") from error
    if not np.isfinite(scores).all():
        row = int(np.argmax(~np.isfinite(scores)))
        triple = dataset.triple(*triples.ids[row])
        raise ScoreError(f"the model's score of {triple} is {scores[row]}: labelled triples need finite scores.")
    return scores
