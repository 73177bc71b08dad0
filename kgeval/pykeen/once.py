"""One call: a live PyKEEN model and a dataset in, its ranks out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kgeval.graph.dataset import Dataset
from kgeval.graph.layouts import as_dataset
from kgeval.graph.readers.pykeen import from_factories
from kgeval.pykeen.scoring import scorer_of
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.table import RankTable


def evaluate(model: Any, dataset: Any, **options: Any) -> RankTable:
    """Rank a split of a dataset with a live PyKEEN model.

    Parameters
    ----------
    model
        a ``pykeen.models.Model``; an inductive one is asked about the entities of the inference graph
    dataset
        a dataset object of PyKEEN, transductive or inductive; or what :func:`kgeval.evaluate` takes: one of kgeval, a
        folder, a name
    options
        those of :func:`kgeval.evaluate`

    Examples
    --------
    >>> from pykeen.datasets import Nations
    >>> from pykeen.models import DistMult
    >>> graph = Nations()
    >>> evaluate(DistMult(triples_factory=graph.training, random_seed=0), graph, sides="tail")
    RankTable(201 ranks of 201 test triples)
    """
    settings = Evaluation(**options)
    if hasattr(dataset, "inductive_inference"):
        return settings(scorer_of(model, mode="testing"), _inductive(dataset), title=type(model).__name__)
    scorer = scorer_of(model, sides=settings.sides)
    return settings(scorer, _transductive(dataset), title=type(model).__name__)


def _transductive(dataset: Any) -> Dataset:
    if isinstance(dataset, (Dataset, str, Path)) or not hasattr(dataset, "training"):
        return as_dataset(dataset)
    return from_factories(_name(dataset), dataset.training, dataset.testing, dataset.validation)


def _inductive(dataset: Any) -> Dataset:
    """Take the inference graph as train: its entities compete, and its triples are known answers."""
    graph, test, valid = dataset.inductive_inference, dataset.inductive_testing, dataset.inductive_validation
    return from_factories(_name(dataset), graph, test, valid)


def _name(dataset: Any) -> str:
    """Call a dataset as PyKEEN does, by the name that it is loaded by; its class where it has no such name."""
    return str(dataset.get_normalized_name()) if hasattr(dataset, "get_normalized_name") else type(dataset).__name__
