"""``kgeval.evaluate``: rank the answers of a dataset by the rules of a protocol.

The user calls it with a model and a dataset; it returns a ``RankTable``. ``evaluation`` checks the settings;
``protocols.protocol`` completes them and ranks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typing_extensions import Unpack

from kgeval.base.progress import Progress
from kgeval.base.settings import takes
from kgeval.data.dataset import Dataset
from kgeval.data.loading import as_dataset
from kgeval.data.vocabulary import Labels
from kgeval.models.adapters.calling import ScoreFunction
from kgeval.models.alignment import align
from kgeval.models.checkpoints import as_model
from kgeval.ranking.evaluation import Evaluation, EvaluationKeywords
from kgeval.ranking.protocols.protocol import Protocol, find_protocol
from kgeval.ranking.rank_table import RankTable


@takes(Evaluation, EvaluationKeywords)
def evaluate(
    model: ScoreFunction | Any,
    dataset: Dataset | str | Path,
    *,
    entities: Labels | None = None,
    relations: Labels | None = None,
    time_labels: Labels | None = None,
    protocol: str | Protocol = "standard",
    progress: Progress | bool | None = None,
    **settings: Unpack[EvaluationKeywords],
) -> RankTable:
    """Rank the true answer of every triple and side of a split among its candidates.

    Parameters
    ----------
    model
        a checkpoint (``kgeval.load_checkpoint``), or the path of one that needs no options; any scorer, a live PyKEEN
        model, or a callable ``f(heads, relations, tails) -> scores`` of equally long id arrays or tensors, such as a
        PyTorch module, with ``times`` as the fourth for facts at a time; higher is more plausible
    dataset
        the graph, or the folder or PyKEEN name of one, as ``kgeval.load_dataset`` takes it; or a PyKEEN dataset
    entities, relations
        the label of each of the model's ids, if it has no labels and its ids are not the dataset's: a list, an
        array or a ``Vocabulary``, or a dictionary of the id of each label
    time_labels
        the labels of a temporal model's time ids, given likewise
    protocol
        the rules for ties, competing entities and filtered answers: the name of a framework, such as ``"libkge"``, in
        any case, or a ``Protocol``.
        :func:`kgeval.framework_metrics` then computes what that framework prints
    progress
        ``True`` shows a bar on a terminal, or else a line on standard error every ten seconds; a function is
        called with the number of answers that were just ranked
    {settings}

    Returns
    -------
    RankTable
        one row per (triple, side)

    Raises
    ------
    InputError
        if an argument is wrong, with the nearest valid value; if model and dataset do not fit together
    ScoreError
        if a score is NaN, with the triple and the candidate

    Examples
    --------
    The classic example: Italy is second among its candidates, Thomas first.

    >>> import numpy as np
    >>> from kgeval import Dataset, ScoreTable, Triples, Vocabulary, summarize
    >>> people = Vocabulary(["Jack", "Italy", "Thomas", "Ireland", "Germany", "China"])
    >>> test = Triples.of([(0, 0, 1), (0, 1, 2)])
    >>> relations = Vocabulary(["born_in", "friend_with"], "relation")
    >>> data = Dataset.build("classic", {"test": test}, entities=people, relations=relations)
    >>> scores = ScoreTable(test, tail=np.array([
    ...     [-np.inf, 0.753, 0.234, 0.789, 0.695, 0.456],
    ...     [-np.inf, 0.293, 0.901, 0.201, 0.156, 0.345],
    ... ]))
    >>> table = evaluate(scores, data)
    >>> table.column("greater")
    array([1, 0])
    >>> summary = summarize(table, ["hits@1", "hits@3", "mrr"])
    >>> summary["hits@1"], summary["hits@3"], summary["mrr"]
    (0.5, 1.0, 0.75)
    """
    dataset = as_dataset(dataset)
    evaluation = Evaluation.of_keywords(settings)
    model = as_model(model, dataset, nan=evaluation.nan, history=evaluation.history)
    resolved = find_protocol(protocol).resolve(evaluation, dataset)
    scorer = align(model, dataset, entities=entities, relations=relations, times=time_labels)
    return resolved.rank(scorer, dataset, progress=progress)
