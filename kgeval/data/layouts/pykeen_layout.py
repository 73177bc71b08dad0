"""PyKEEN's datasets: by name, or as dataset and ``TriplesFactory`` objects in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kgeval.data.dataset import Dataset
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError, did_you_mean, nearest


def names() -> list[str]:
    """List the datasets that PyKEEN knows by name."""
    from pykeen.datasets import dataset_resolver

    return sorted(dataset_resolver.lookup_dict)


def read_named(name: str, **options: Any) -> Dataset:
    """Load a PyKEEN dataset by name; PyKEEN downloads those that it does not bundle.

    Raises
    ------
    DatasetError
        if there is neither a folder nor a PyKEEN dataset of that name, or if PyKEEN could not load it
    """
    from pykeen.datasets import dataset_resolver

    key = dataset_resolver.normalize(name)
    if key not in dataset_resolver.lookup_dict:
        here = [entry.name for entry in Path().iterdir() if entry.is_dir() and not entry.name.startswith(".")]
        near = nearest(name, [*dataset_resolver.lookup_dict, *here])
        hint = did_you_mean(name, near or dataset_resolver.lookup_dict)  # a folder that is not near may be anything
        raise DatasetError(f"no folder and no PyKEEN dataset is called {name!r}. {hint}")
    try:
        return from_dataset(dataset_resolver.make(key, options), key)
    except Exception as error:  # PyKEEN downloads and unpacks here: whatever goes wrong is told as one message
        raise DatasetError(f"PyKEEN could not load the dataset {name!r}: {error}") from error


def from_dataset(data: Any, name: str | None = None) -> Dataset:
    """Take a dataset object of PyKEEN, with its ids and labels; an inductive one by its inference graph.

    The inference graph is train: its entities compete, and its triples are known answers.
    """
    if hasattr(data, "inductive_inference"):
        parts = (data.inductive_inference, data.inductive_testing, data.inductive_validation)
    else:
        parts = (data.training, data.testing, data.validation)
    return replace(from_factories(name or _name(data), *parts), id_source="PyKEEN")


def _name(data: Any) -> str:
    """Call a dataset as PyKEEN does, by the name that it is loaded by; its class where it has no such name."""
    return str(data.get_normalized_name()) if hasattr(data, "get_normalized_name") else type(data).__name__


def from_factories(name: str, training: Any, testing: Any, validation: Any = None) -> Dataset:
    """Take PyKEEN's triples factories with their ids and labels.

    Parameters
    ----------
    name
        what to call the dataset
    training, testing, validation
        ``pykeen.triples.CoreTriplesFactory`` objects over the same ids; one without labels is labelled by its ids

    Raises
    ------
    DatasetError
        if the factories number their entities or relations differently
    """
    factories = {"train": training, "valid": validation, "test": testing}
    splits = {split: factory for split, factory in factories.items() if factory is not None}
    for split, factory in splits.items():
        for mapping in ("entity_to_id", "relation_to_id"):
            if getattr(factory, mapping, None) != getattr(training, mapping, None):
                raise DatasetError(f"{name}: the {split} factory's {mapping} differs from the train factory's.")
    return Dataset.build(
        name,
        {split: Triples.of(factory.mapped_triples.numpy()) for split, factory in splits.items()},
        entities=_vocabulary(training, "entity"),
        relations=_vocabulary(training, "relation"),
    )


def to_factories(dataset: Dataset, *, inverse: bool = False) -> dict[str, Any]:
    """Give the splits as PyKEEN triples factories with the same ids and labels, for training."""
    import torch
    from pykeen.triples import TriplesFactory

    entity_to_id = {label: index for index, label in enumerate(dataset.entities)}
    relation_to_id = {label: index for index, label in enumerate(dataset.relations)}
    return {
        split: TriplesFactory(
            mapped_triples=torch.from_numpy(triples.ids),
            entity_to_id=entity_to_id,
            relation_to_id=relation_to_id,
            create_inverse_triples=inverse and split == "train",
        )
        for split, triples in dataset.splits.items()
    }


def _vocabulary(factory: Any, kind: str) -> Vocabulary:
    size = int(factory.num_entities if kind == "entity" else factory.real_num_relations)
    label_to_id = getattr(factory, f"{kind}_to_id", None)
    if label_to_id is None:
        return Vocabulary.numbered(size, kind)
    labels = [""] * size
    for label, index in label_to_id.items():
        labels[index] = str(label)
    return Vocabulary(labels, kind)
