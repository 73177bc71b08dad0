"""Averages: over answers (micro), queries (macro), relations, or against popularity. Each is a way to weigh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from kgeval.arrays import Float64Array, IntArray

if TYPE_CHECKING:
    from kgeval.metrics.tables.selection import RowSelection

Average = Literal["micro", "macro", "relation", "strat"]

Weigh = Callable[["RowSelection"], Float64Array | None]
"""the weights of some answers or lists; nothing where all weigh the same"""


@dataclass(frozen=True)
class Weighing:
    """A way to average: the facts that ``kgeval list metrics`` prints, and the functions."""

    name: Average
    title: str
    formula: str
    """of values v of the answers, or of the lists"""
    source: str
    answers: Weigh
    lists: Weigh | None
    """nothing where lists, of which each has several answers, cannot be weighed so"""


def evenly(groups: IntArray) -> Float64Array:
    """Weigh rows so that each of their groups counts the same: the mean of the groups' means.

    >>> evenly(np.array([7, 7, 9]))
    array([0.5, 0.5, 1. ])
    """
    _, owners, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(1 / sizes[owners], np.float64)


def against_popularity(
    answers: IntArray, relations: IntArray, frequencies: tuple[IntArray, IntArray], exponents: tuple[float, float]
) -> Float64Array:
    """Weigh rows by 1 / (freq(e)^βe · freq(r)^βr), e the answer (Mohamed et al., 2020).

    Parameters
    ----------
    answers, relations
        of each row; int64[row]
    frequencies
        how often each entity and each relation occurs; int64[entity], int64[relation]
    exponents
        βe, βr: 0 weighs all alike, 1 makes every entity or relation count the same

    >>> against_popularity(np.array([0, 1]), np.array([0, 0]), (np.array([4, 1]), np.array([5])), (0.5, 0))
    array([0.5, 1. ])
    """
    entity, relation = frequencies
    return np.asarray(
        entity[answers].astype(float) ** -exponents[0] * relation[relations].astype(float) ** -exponents[1], np.float64
    )


WEIGHINGS: dict[str, Weighing] = {
    weighing.name: weighing
    for weighing in (
        Weighing(
            name="micro",
            title="the mean over answers; of ranks the usual one",
            formula="Σ v / #answers; of lists Σ m v / Σ m, m their answers",
            source="Bordes et al., 2013",
            answers=lambda _: None,
            lists=lambda sample: sample.unweighed.relevant.astype(np.float64),
        ),
        Weighing(
            name="macro",
            title="the mean over queries of their means; of lists the usual one",
            formula="Σ_q (Σ v / #answers of q) / #queries",
            source="Buckley and Voorhees, 2000",
            answers=lambda sample: evenly(sample.queries),
            lists=lambda _: None,
        ),
        Weighing(
            name="relation",
            title="the mean over relations of their means",
            formula="Σ_r (Σ v / #values of r) / #relations",
            source="—",
            answers=lambda sample: evenly(sample.relations),
            lists=lambda sample: evenly(sample.of_lists(sample.relations)),
        ),
        Weighing(
            name="strat",
            title="the mean over answers, weighed against the popularity of answer and relation",
            formula="Σ w v / Σ w, w = 1 / (freq(e)^βe · freq(r)^βr)",
            source="Mohamed et al., 2020",
            answers=lambda sample: sample.source.unpopularity[sample.rows],
            lists=None,
        ),
    )
}

AVERAGES: tuple[Average, ...] = tuple(weighing.name for weighing in WEIGHINGS.values())
