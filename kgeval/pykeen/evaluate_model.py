"""One call: a live PyKEEN model and a dataset in, its ranks out."""

from __future__ import annotations

from typing import Any

from kgeval.data.loading import as_dataset
from kgeval.data.vocabulary import Labels
from kgeval.errors import InputError
from kgeval.pykeen.scoring import scorer_of
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.rank_table import RankTable
from kgeval.scorers.adapters.live_model import is_pykeen_model
from kgeval.scorers.model_labels import labels_of_pykeen


def evaluate(
    model: Any,
    dataset: Any,
    *,
    entities: Labels | None = None,
    relations: Labels | None = None,
    **options: Any,
) -> RankTable:
    """Rank a split of a dataset with a live PyKEEN model.

    Parameters
    ----------
    model
        a ``pykeen.models.Model``; an inductive one is asked about the entities of the inference graph
    dataset
        a dataset object of PyKEEN, transductive or inductive; or what :func:`kgeval.evaluate` takes: one of kgeval, a
        folder, a name
    entities, relations
        the labels of the model's ids, such as ``factory.entity_to_id``, where the dataset numbers them otherwise
    options
        those of :func:`kgeval.evaluate`

    Raises
    ------
    InputError
        if it is no PyKEEN model, or if an option is wrong

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
    settings = Evaluation(**options)
    data, mode = as_dataset(dataset), "testing" if hasattr(dataset, "inductive_inference") else None
    scorer = scorer_of(model, mode=mode, sides=settings.sides)
    labels = labels_of_pykeen(data, scorer)
    return settings(
        scorer,
        data,
        entities=labels.get("entities") if entities is None else entities,
        relations=labels.get("relations") if relations is None else relations,
        title=type(model).__name__,
    )
