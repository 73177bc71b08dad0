"""``kgeval.pykeen.evaluate``: rank a live PyKEEN model by the exact kernels, where it has vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kgeval.corruption.registry import Corruption
from kgeval.data.dataset import Split
from kgeval.data.known import KnownTimes
from kgeval.data.loading import as_dataset
from kgeval.data.triples import Side
from kgeval.data.vocabulary import Labels
from kgeval.errors import InputError
from kgeval.metrics.estimates.estimate import Estimate
from kgeval.progress import Progress
from kgeval.protocols.protocol import Protocol, find_protocol
from kgeval.pykeen.scoring import device_for, scorer_of
from kgeval.ranking.engine import NaNPolicy
from kgeval.ranking.evaluation import Evaluation, UnseenPolicy
from kgeval.ranking.kernels import KernelName
from kgeval.ranking.rank_table import RankTable
from kgeval.scorers.adapters.live_models import is_pykeen_model
from kgeval.scorers.matched_ids import labels_of_pykeen, mode_of_pykeen


def evaluate(  # noqa: PLR0913
    model: Any,
    dataset: Any,
    *,
    entities: Labels | None = None,
    relations: Labels | None = None,
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
    """Rank a split of a dataset with a live PyKEEN model.

    Parameters
    ----------
    model
        a ``pykeen.models.Model``; an inductive one scores the entities of the inference graph, in its mode
        ``"validation"`` on valid, and else ``"testing"``
    dataset
        a dataset object of PyKEEN, transductive or inductive; or what :func:`kgeval.evaluate` takes: one of kgeval, a
        folder, a name
    entities, relations
        the labels of the model's ids, such as ``factory.entity_to_id``, where the dataset numbers them otherwise
    split, sides, protocol, filter, times, corruption, unseen, nan
        as :func:`kgeval.evaluate` takes them
    batch_size, memory_limit, threads, kernel, device, estimate, progress
        as :func:`kgeval.evaluate` takes them; a model on a GPU is ranked there, unless ``device`` says otherwise

    Raises
    ------
    InputError
        if it is no PyKEEN model, or if an argument is wrong

    Examples
    --------
    >>> from pykeen.datasets import Nations
    >>> from pykeen.models import DistMult
    >>> graph = Nations()
    >>> evaluate(DistMult(triples_factory=graph.training, random_seed=0), graph, sides="tail")
    RankTable(201 ranks of 201 test triples)
    """
    if not is_pykeen_model(model):
        raise InputError(
            f"kgeval.pykeen.evaluate takes a live PyKEEN model, not {model!r:.60}. For anything else, and for saved "
            "models, call kgeval.evaluate: it takes what kgeval.load_checkpoint reads from a folder."
        )
    data = as_dataset(dataset)
    mode = mode_of_pykeen(data, model, split)
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
        device=device_for(model, device=device, kernel=kernel),
        estimate=estimate,
    )
    resolved = find_protocol(protocol).resolve(settings, data)
    scorer = scorer_of(model, mode=mode, sides=resolved.evaluation.sides)
    labels = labels_of_pykeen(data, scorer)
    return resolved.rank(
        scorer,
        data,
        entities=labels.get("entities") if entities is None else entities,
        relations=labels.get("relations") if relations is None else relations,
        progress=progress,
        title=type(model).__name__,
    )
