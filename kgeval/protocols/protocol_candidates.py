"""The candidates of a protocol: the entities that compete, and the corruption that chooses among them."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import BoolArray
from kgeval.corruption import AllEntities, OGBNegatives
from kgeval.corruption.generator import Corruption
from kgeval.data.dataset import Dataset, Split
from kgeval.errors import DatasetError


def in_train(dataset: Dataset) -> BoolArray:
    """Return whether each entity occurs in train; bool[entity]."""
    occurs = np.zeros(len(dataset.entities), np.bool_)
    occurs[dataset.train.heads] = occurs[dataset.train.tails] = True
    return occurs


def up_to_the_last_of_train(dataset: Dataset) -> BoolArray:
    """Return whether each entity's label is at most the largest label in train; bool[entity]."""
    last = max((dataset.entities[int(index)] for index in np.flatnonzero(in_train(dataset))), default="")
    return np.array([label <= last for label in dataset.entities], np.bool_)


def all_entities(corruption: Corruption | None, _dataset: Dataset, _split: Split) -> Corruption:
    return corruption or AllEntities()


def fixed_negatives(corruption: Corruption | None, dataset: Dataset, split: Split) -> Corruption:
    """Return the corruption of the evaluation, by default OGB's fixed negatives; OGB's lists are used as listed."""
    if corruption is None:
        files = [file for file in dataset.files if file.match(f"split/*/{split}.pt")]
        if not files:
            raise DatasetError(
                f"the protocol 'ogb' ranks among the fixed negatives of OGB's split/<name>/{split}.pt, and dataset "
                f"{dataset.name} has no such file. Give the folder of a dataset that has it, or say which candidates "
                "compete: evaluation: {corruption: {kind: all}} in a configuration, corruption=AllEntities() in Python."
            )
        corruption = OGBNegatives(path=str(files[0]))
    if isinstance(corruption, OGBNegatives) and "as_listed" not in corruption.model_fields_set:
        return corruption.model_copy(update={"as_listed": True})
    return corruption
