"""The fingerprint of a graph: equal for the same labels and facts, whatever their order, their ids and their files.

Tables of ranks store it (``RankTable.graph``) and so do manifests, so that comparisons know which graph was ranked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from kgeval.data.dataset import Dataset
    from kgeval.data.vocabulary import Vocabulary

Hashes = npt.NDArray[np.uint64]

PRIME = np.uint64(0x9E3779B97F4A7C15)


def fingerprint(dataset: Dataset) -> str:
    """Return a digest of all entities and relations, of the facts of each split, and of what their rows say.

    Labels are hashed, hashes of a fact are mixed in the order of its columns, and those of all facts are summed: no
    order of labels or rows counts. Entities without facts count, as they are candidates.

    >>> from kgeval import Dataset
    >>> one, other = (Dataset.from_labels(train=rows) for rows in ([("a", "r", "b")], [("b", "r", "a")]))
    >>> fingerprint(one) == fingerprint(one), fingerprint(one) == fingerprint(other)
    (True, False)
    """
    return sha256("\n".join(_parts(dataset)).encode()).hexdigest()[:32]


def digests_of_facts(dataset: Dataset) -> dict[str, str]:
    """Return the digest of the facts of each split, where repetitions and labels without facts do not count."""
    parts = [*_parts(replace(dataset, multiplicity={}))][2:]
    return dict(zip(dataset.splits, parts, strict=False))


def _parts(dataset: Dataset) -> Iterator[str]:
    entities, relations = _hashes(dataset.entities), _hashes(dataset.relations)
    times = None if dataset.times is None else _hashes(dataset.times)
    yield from (f"{len(labels)} {labels.sum():x}" for labels in (entities, relations))
    for split, triples in dataset.splits.items():
        columns = [entities[triples.heads], relations[triples.relations], entities[triples.tails]]
        columns += [] if times is None or triples.contexts is None else [times[triples.contexts]]
        often = dataset.multiplicity.get(split, np.ones(len(triples), np.int64))
        yield f"{split} {len(triples)} {(_mixed(columns) * often.astype(np.uint64)).sum():x}"
    further: dict[str, Any] = {f"false {split}": (triples, None) for split, triples in dataset.negatives.items()}
    weighted = {f"{split} weights": (it.triples, it.labels) for split, it in dataset.confidences.items()}
    for name, (triples, weights) in {**further, **weighted}.items():
        columns = [entities[triples.heads], relations[triples.relations], entities[triples.tails]]
        columns += [] if weights is None else [np.asarray(weights, np.float64).view(np.uint64)]
        yield f"{name} {len(triples)} {_mixed(columns).sum():x}"
    if dataset.training_graph is not None:
        yield from _parts(dataset.training_graph)


def _hashes(labels: Vocabulary) -> Hashes:
    from pandas.util import hash_array

    hashes: Any = hash_array(labels.labels.to_numpy(zero_copy_only=False), categorize=False)
    return np.asarray(hashes, np.uint64)


def _mixed(columns: list[Hashes]) -> Hashes:
    """Mix the hashes of the columns of each row; uint64[row]."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed = (mixed ^ column) * PRIME
        mixed ^= mixed >> np.uint64(29)
    return mixed
