"""Leak: in which way train gives the triple away, if it does."""

from __future__ import annotations

import numpy as np

from kgeval.analysis.audits.leaked import WAYS, leaks_of
from kgeval.analysis.audits.related import RelatedRelations
from kgeval.analysis.slices.slice import Categories, EvaluatedRows, Slice
from kgeval.data.dataset import Dataset
from kgeval.data.leaks import INVERSE_SHARE
from kgeval.errors import DatasetError


def _assign(rows: EvaluatedRows, dataset: Dataset) -> Categories:
    related = RelatedRelations.of(dataset, INVERSE_SHARE)
    if related.unknown:
        raise DatasetError(f"slice 'leak': {related.unknown} Leave it out.")
    leaks = leaks_of(related, rows.triples)
    ways = np.stack([leaks[way] for way in WAYS])
    # Of several ways the plainest names the leak, which argmax finds first.
    return Categories(np.where(ways.any(axis=0), 1 + ways.argmax(axis=0), 0), ("none", *WAYS))


LEAK = Slice(
    name="leak",
    title="train gives the triple away, and how: the rows of none are clean",
    rule="the first that holds: repeated, train has (h, r, t); reverse, it has (t, r', h), where r' is a reverse "
    "duplicate of r, or r itself and symmetric; duplicate, it has (h, r', t), where r' is a near-duplicate of r; "
    "inverse, it has (t, r', h), where r and r' are partners of an inverse rule; as kgeval audit finds them at 80%",
    source="Akrami et al., 2020; Dettmers et al., 2018",
    assign=_assign,
    of_triples=True,
)
