"""``kgeval.pykeen.evaluate``: rank a live PyKEEN model by the exact kernels, where it has vectors."""

from __future__ import annotations

from typing import Any

from typing_extensions import Unpack

from kgeval.base.errors import InputError
from kgeval.base.progress import Progress
from kgeval.base.settings import takes
from kgeval.data.loading import as_dataset
from kgeval.data.vocabulary import Labels
from kgeval.models.adapters.live_models import is_pykeen_model, labels_of_pykeen, mode_of_pykeen
from kgeval.pykeen.scoring import device_for, scorer_of
from kgeval.ranking.evaluation import Evaluation, EvaluationKeywords
from kgeval.ranking.protocols.protocol import Protocol, find_protocol
from kgeval.ranking.rank_table import RankTable


@takes(Evaluation, EvaluationKeywords)
def evaluate(
    model: Any,
    dataset: Any,
    *,
    entities: Labels | None = None,
    relations: Labels | None = None,
    protocol: str | Protocol = "standard",
    progress: Progress | bool | None = None,
    **settings: Unpack[EvaluationKeywords],
) -> RankTable:
    """Rank a split of a dataset with a live PyKEEN model.

    Parameters
    ----------
    model
        a ``pykeen.models.Model``; an inductive one scores the entities of the inference graph, in its mode
        ``"validation"`` on valid, and else ``"testing"``
    dataset
        a dataset object of PyKEEN, transductive or inductive; or a dataset as in :func:`kgeval.evaluate`
    entities, relations
        the labels of the model's ids, such as ``factory.entity_to_id``, if the dataset has other ids
    protocol, progress
        as in :func:`kgeval.evaluate`
    {settings}

    A model on a GPU is ranked there, unless ``device`` is given.

    Raises
    ------
    InputError
        if it is not a PyKEEN model, or if an argument is wrong

    Examples
    --------
    >>> from pykeen.datasets import Nations
    >>> from pykeen.models import DistMult
    >>> graph = Nations()
    >>> evaluate(DistMult(triples_factory=graph.training, random_seed=0), graph, sides="tail")
    RankTable(201 ranks of DistMult on nations, 201 test triples)
    """
    if not is_pykeen_model(model):
        raise InputError(
            f"kgeval.pykeen.evaluate takes a live PyKEEN model, not {model!r:.60}. For anything else, and for saved "
            "models, call kgeval.evaluate: it takes what kgeval.load_checkpoint reads from a folder."
        )
    data = as_dataset(dataset)
    evaluation = Evaluation.of_keywords(settings)
    mode = mode_of_pykeen(data, model, evaluation.split)
    device = device_for(model, device=evaluation.device, kernel=evaluation.kernel)
    resolved = find_protocol(protocol).resolve(evaluation.model_copy(update={"device": device}), data)
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
