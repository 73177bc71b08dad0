"""``kgeval.predict``: the best answers of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from typing_extensions import Unpack

from kgeval.base.errors import refuse_unknown
from kgeval.base.progress import Progress
from kgeval.base.settings import takes
from kgeval.data.dataset import Dataset
from kgeval.data.loading import as_dataset
from kgeval.data.vocabulary import Labels
from kgeval.models.alignment import align
from kgeval.models.checkpoints import as_model
from kgeval.ranking.evaluation import Evaluation, RankingKeywords
from kgeval.ranking.model_predictions import ModelPredictions
from kgeval.ranking.predictions.prediction_table import PredictionTable
from kgeval.ranking.predictions.query_rows import read_queries

KnownPolicy = Literal["keep", "drop"]


@takes(Evaluation, RankingKeywords)
def predict(  # noqa: PLR0913
    model: Any,
    dataset: Dataset | str | Path,
    *,
    queries: Iterable[Sequence[Any]] | None = None,
    k: int = 10,
    known: KnownPolicy = "keep",
    entities: Labels | None = None,
    relations: Labels | None = None,
    time_labels: Labels | None = None,
    progress: Progress | bool | None = None,
    **settings: Unpack[RankingKeywords],
) -> PredictionTable:
    """Find the k best answers of queries among all entities, or among the candidates of a corruption, exactly.

    They are ordered by canonical score, descending, and equal scores by entity id, for every kernel and any division of
    the work. An entity whose score is minus infinity, such as one that is not in a list of predictions, is not an
    answer.

    Split, sides and restrictions choose the queries if none are given; ``unseen="worst"`` drops queries, as ``"drop"``
    does. A corruption of drawn negatives, which leave the answers out, is refused.

    Parameters
    ----------
    queries
        triples with ``"?"`` or None in the place of head or tail, by the labels or the ids of the dataset, in a
        temporal graph optionally with a time as the fourth part; by default all queries of the split
    k
        the number of answers for each query
    known
        ``"keep"`` keeps known answers and marks them; ``"drop"`` leaves them out, so that all predictions are new
    model, dataset, entities, relations, time_labels
        as :func:`kgeval.evaluate` takes them
    progress
        likewise; a function is called with the number of queries that were just answered
    {settings}

    Returns
    -------
    PredictionTable
        one row per (query, place), with the counts of a rank table

    Raises
    ------
    InputError
        if an argument is wrong, or a label is unknown, with the nearest one
    ScoreError
        if a score is NaN, with the query and the candidate

    Examples
    --------
    Bob and Eve tie at the last place; Bob's id is lower. Both have ``raw_tied`` 1.

    >>> from kgeval import Dataset
    >>> data = Dataset.from_labels(train=[("Ann", "knows", "Bob"), ("Bob", "knows", "Eve"), ("Eve", "knows", "Dan")])
    >>> def score(heads, relations, tails):
    ...     return [{"Ann": 0.1, "Bob": 0.5, "Dan": 0.9, "Eve": 0.5}[data.entities[tail]] for tail in tails]
    >>> table = predict(score, data, queries=[("Ann", "knows", "?")], k=2)
    >>> table.column("entity_label").tolist(), table.column("known").tolist(), table.column("raw_tied").tolist()
    (['Dan', 'Bob'], ['new', 'train'], [0, 1])
    """
    dataset = as_dataset(dataset)
    refuse_unknown("known: unknown value", known, get_args(KnownPolicy))
    evaluation = Evaluation.of_keywords(settings)
    rows = None if queries is None else read_queries(queries, dataset)
    model = as_model(model, dataset, nan=evaluation.nan)
    scorer = align(model, dataset, entities=entities, relations=relations, times=time_labels)
    aligned = ModelPredictions(scorer, dataset, evaluation.for_model(scorer))
    return aligned.predict(k, rows, drops_known=known == "drop", progress=progress)
