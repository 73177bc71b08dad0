"""Candidates: the entities that compete, and the corruption that chooses them, where a framework means others."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import BoolArray
from kgeval.corruption import AllEntities, OGBNegatives
from kgeval.corruption.registry import Corruption
from kgeval.data.dataset import Dataset, Split
from kgeval.errors import DatasetError


def in_train(dataset: Dataset) -> BoolArray:
    """Take the entities that occur in train; bool[entity]."""
    seen = np.zeros(len(dataset.entities), np.bool_)
    seen[dataset.train.heads] = seen[dataset.train.tails] = True
    return seen


def up_to_the_last_of_train(dataset: Dataset) -> BoolArray:
    """Take the entities up to the last one of train, in the order of their labels; bool[entity]."""
    last = max((dataset.entities[int(index)] for index in np.flatnonzero(in_train(dataset))), default="")
    return np.array([label <= last for label in dataset.entities], np.bool_)


def all_entities(said: Corruption | None, _dataset: Dataset, _split: Split) -> Corruption:
    """Corrupt as was said, or else with every entity."""
    return said or AllEntities()


def fixed_negatives(said: Corruption | None, dataset: Dataset, split: Split) -> Corruption:
    """Corrupt as was said, or else with the fixed negatives in the dataset's own file; lists of OGB as they are.

    Raises
    ------
    DatasetError
        if nothing was said, and the dataset was not read from the files of the Open Graph Benchmark
    """
    if said is None:
        files = [file for file in dataset.files if file.match(f"split/*/{split}.pt")]
        if not files:
            raise DatasetError(
                f"the protocol 'ogb' ranks among the fixed negatives of OGB's split/<name>/{split}.pt, and dataset "
                f"{dataset.name} has no such file. Give the folder of a dataset that has it, or say which candidates "
                "compete: evaluation: {corruption: {kind: all}} in a configuration, corruption=AllEntities() in Python."
            )
        said = OGBNegatives(path=str(files[0]))
    if isinstance(said, OGBNegatives) and "as_listed" not in said.model_fields_set:
        return said.model_copy(update={"as_listed": True})
    return said
