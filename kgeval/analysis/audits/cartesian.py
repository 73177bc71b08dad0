"""Cartesian relations: they link nearly all of their heads with nearly all of their tails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgeval.analysis.audits.finding import Finding, Found, Tally
from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.queries import starts_of_runs

KIND = "Cartesian relations"


@dataclass(frozen=True, eq=False)
class CartesianRelations:
    """Relations r with |P_r| / (|S_r| · |O_r|) of at least a threshold and more than one train triple.

    P_r are its pairs over all splits, S_r its distinct heads and O_r its distinct tails (Akrami et al., 2020).
    """

    ids: IntArray
    """int64[Cartesian relation], ascending"""
    pairs: IntArray
    """int64[relation], |P_r|"""
    possible: IntArray
    """int64[relation], |S_r| · |O_r|"""

    @classmethod
    def of(cls, dataset: Dataset, pairs: IntArray, threshold: float) -> CartesianRelations:
        """Count the heads and tails of each relation, of which the pairs are counted already."""
        heads, tails = (_distinct(dataset, column) for column in (0, 2))
        possible = heads * tails
        trained = np.bincount(dataset.train.relations, minlength=len(pairs))
        ids = np.flatnonzero((pairs / np.maximum(possible, 1) >= threshold) & (trained > 1))
        return cls(ids, pairs, possible)


def cartesian_found(dataset: Dataset, cartesian: CartesianRelations) -> Found:
    """List the Cartesian relations, the largest first."""
    findings = [
        Finding(KIND, dataset.relations[row], None, None, int(cartesian.pairs[row]), int(cartesian.possible[row]))
        for row in cartesian.ids.tolist()
    ]
    tally = Tally(KIND, len(findings), len(dataset.relations))
    return Found([tally], sorted(findings, key=lambda finding: -finding.count))


def _distinct(dataset: Dataset, column: int) -> IntArray:
    """Count the different entities in a column of each relation's triples in all splits; int64[relation]."""
    entities = len(dataset.entities)
    parts = (part.relations * entities + part.ids[:, column] for part in dataset.splits.values())
    keys = np.concatenate([np.empty(0, np.int64), *parts])
    keys.sort()
    return np.bincount(keys[starts_of_runs(keys)] // max(entities, 1), minlength=len(dataset.relations))
