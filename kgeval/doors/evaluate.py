"""``kgeval.evaluate``: rank the answers of a dataset by the rules of a protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kgeval.checkpoints import as_model
from kgeval.corruption.registry import Corruption
from kgeval.data.dataset import Dataset, Split
from kgeval.data.known import KnownTimes
from kgeval.data.loading import as_dataset
from kgeval.data.triples import Side
from kgeval.data.vocabulary import Labels
from kgeval.metrics.estimates.estimate import Estimate
from kgeval.progress import Progress
from kgeval.protocols.protocol import Protocol, find_protocol
from kgeval.ranking.engine import NaNPolicy
from kgeval.ranking.evaluation import Evaluation, UnseenPolicy
from kgeval.ranking.kernels import KernelName
from kgeval.ranking.rank_table import RankTable
from kgeval.scorers.alignment import align


def evaluate(  # noqa: PLR0913
    model: Any,
    dataset: Dataset | str | Path,
    *,
    entities: Labels | None = None,
    relations: Labels | None = None,
    time_labels: Labels | None = None,
    split: Split = "test",
    sides: Side | Sequence[Side] | None = None,
    protocol: str | Protocol = "standard",
    filter: Split | Sequence[Split] | None = None,
    times: KnownTimes = "same",
    corruption: Corruption | None = None,
    unseen: UnseenPolicy = "error",
    nan: NaNPolicy = "error",
    batch_size: int | None = None,
    memory_limit: int | str | None = None,
    threads: int | None = None,
    kernel: KernelName = "auto",
    device: str = "auto",
    estimate: Estimate | None = None,
    progress: Progress | bool | None = None,
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
        the label of each of the model's ids, where it has none of its own and its ids are not the dataset's: a list, an
        array or a ``Vocabulary``, or a dictionary of the id of each label
    time_labels
        likewise, of the ids of a temporal model's times
    split, sides
        which triples, and what is predicted of each: ``"head"``, ``"tail"``, ``"relation"``, or several. By default
        head and tail, or those that the model answers. Relations are ranked among all relations
    protocol
        whose rules decide which scores tie with an answer's, which entities compete, and which answers are filtered:
        the name of a framework, such as ``"libkge"``, in any case, or a ``Protocol``.
        :func:`kgeval.framework_metrics` then computes what that framework prints
    filter
        the splits whose triples are known answers: *other* known answers of a query never count against an answer.
        An empty filter is the raw setting; the raw counts are kept in any case. By default as the protocol says
        of the evaluated split: all, but for PyKEEN and LibKGE, which do not know test while they validate
    times
        of a temporal graph, the facts that are known: those of the same time as the query, ``"same"`` (the time-aware
        filter), or of ``"all"`` times (the static one)
    corruption
        which candidates compete; by default as the protocol says: all entities, or the fixed negatives of OGB
    unseen
        what to do with triples that name something the model does not know: ``"error"``, ``"drop"`` or ``"worst"``
    nan
        what to do with scores that are not a number: ``"error"``, or ``"worst"`` to take them as minus infinity
    batch_size, memory_limit, threads, kernel, device
        how the work is cut and done; no rank of a vector model depends on them. ``memory_limit`` is what the blocks of
        work may take besides model and graph, as ``"2GB"`` or bytes; by default a quarter of the free memory.
        ``device`` is ``"cpu"``, a GPU (``"cuda"``, ``"cuda:1"``), several (``"cuda:0,cuda:1"``), or ``"auto"``: a GPU
        where torch sees one and there is enough to do
    estimate
        ``kgeval.Estimate(error=0.005)`` ranks, exactly, only as many triples as it takes to know a metric within that
        error; the table says so, and :func:`kgeval.summarize` gives estimates of the whole with their intervals
    progress
        ``True`` shows a bar on a terminal, and elsewhere a line on standard error every ten seconds; a function is
        called with the number of answers that were just ranked

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
    settings = Evaluation.of(
        split=split,
        sides=sides,
        filter=filter,
        times=times,
        corruption=corruption,
        unseen=unseen,
        nan=nan,
        batch_size=batch_size,
        memory_limit=memory_limit,
        threads=threads,
        kernel=kernel,
        device=device,
        estimate=estimate,
    )
    model = as_model(model, dataset, nan=nan)
    resolved = find_protocol(protocol).resolve(settings, dataset)
    scorer = align(model, dataset, entities=entities, relations=relations, times=time_labels)
    return resolved.rank(scorer, dataset, progress=progress)
