"""Triples of a file beside the splits of a dataset, in its ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgeval.base.errors import DatasetError, did_you_mean
from kgeval.data import SPLITS
from kgeval.data.labelled_triples import read_triple_ids
from kgeval.data.tables import read_triples
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary


def read_own(name: str, entities: Vocabulary, relations: Vocabulary, times: Vocabulary | None) -> Triples:
    """Read a file of labelled triples in the ids of a dataset, each triple once.

    Raises
    ------
    DatasetError
        if the file is missing or malformed, or has a label that the dataset does not have
    """
    path = Path(name)
    if not path.is_file():
        raise DatasetError(f"there is no split and no file {name!r}. {did_you_mean(name, SPLITS)}")
    table = read_triples(path, fourth=None if times is None else "time")
    ids = read_triple_ids(table, entities, relations).ids
    keep = np.ones(len(table), np.bool_) if (truths := table.truths()) is None else truths
    if times is None:
        return Triples(ids[keep]).distinct().triples
    if (column := table.times()) is None:
        raise DatasetError(f"{path}: no column 'time', but the dataset is temporal. Add the column.")
    contexts = times.ids(column)
    table.refuse(contexts < 0, "time", "is none of the dataset.")
    return Triples(ids[keep], contexts[keep]).distinct().triples
