"""Candidates: the entities that compete, where a framework means others than all."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import BoolArray
from kgeval.graph.dataset import Dataset


def in_train(dataset: Dataset) -> BoolArray:
    """Take the entities that occur in train; bool[entity]."""
    seen = np.zeros(len(dataset.entities), np.bool_)
    seen[dataset.train.heads] = seen[dataset.train.tails] = True
    return seen


def up_to_the_last_of_train(dataset: Dataset) -> BoolArray:
    """Take the entities up to the last one of train, in the order of their labels; bool[entity]."""
    last = max((dataset.entities[int(index)] for index in np.flatnonzero(in_train(dataset))), default="")
    return np.array([label <= last for label in dataset.entities], np.bool_)
