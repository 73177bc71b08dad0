"""Degrees: how much of a graph hangs on few entities, and what is too rare to be measured or learned."""

from __future__ import annotations

import math

import numpy as np

from kgeval.analysis.audits.finding import Finding, Found, Tally
from kgeval.arrays import IntArray
from kgeval.data.dataset import Dataset

HUBS = 0.01
"""the share of the entities that are hubs: of those that appear, rounded up"""

FEW = 10
"""the number of test triples from which on a relation has enough of them"""

SHOWN = 10
"""how many hubs are findings of their own"""


def degrees_found(dataset: Dataset) -> Found:
    """Find the triples at hubs and the greatest of these, entities that appear once, and rarely tested relations."""
    degrees, rare = _degrees(dataset), _rarely_tested(dataset)
    hubs = np.argsort(-degrees, kind="stable")[: math.ceil(HUBS * np.count_nonzero(degrees))]
    triples = sum(len(part) for part in dataset.splits.values())
    listed = [
        Finding("triples at hubs", dataset.entities[hub], None, None, _triples_of(np.array([hub]), dataset), triples)
        for hub in hubs[:SHOWN].tolist()
    ]
    tallies = [
        Tally("triples at hubs", _triples_of(hubs, dataset), triples),
        Tally("entities that appear once", int((degrees == 1).sum()), len(degrees)),
    ]
    if len(dataset.test):
        tallies.append(Tally("relations with few test triples", len(rare), len(dataset.relations)))
    return Found(tallies, [*listed, *rare])


def _degrees(dataset: Dataset) -> IntArray:
    """Count the places that each entity has in the triples of all splits: two of them in a loop; int64[entity]."""
    size = len(dataset.entities)
    degrees = np.zeros(size, np.int64)
    for part in dataset.splits.values():
        degrees += np.bincount(part.heads, minlength=size) + np.bincount(part.tails, minlength=size)
    return degrees


def _triples_of(entities: IntArray, dataset: Dataset) -> int:
    """Count the triples of all splits that have one of some entities."""
    there = np.zeros(len(dataset.entities), np.bool_)
    there[entities] = True
    return sum(int((there[part.heads] | there[part.tails]).sum()) for part in dataset.splits.values())


def _rarely_tested(dataset: Dataset) -> list[Finding]:
    """List the relations with fewer than ten test triples, the fewest first; none where there is no test split."""
    if not len(dataset.test):
        return []
    tested = np.bincount(dataset.test.relations, minlength=len(dataset.relations))
    order = np.argsort(tested, kind="stable")
    return [
        Finding(
            "relations with few test triples", dataset.relations[row], None, "test", int(tested[row]), len(dataset.test)
        )
        for row in order[tested[order] < FEW].tolist()
    ]
