"""Averages: over answers (micro), queries (macro), relations, or weighed against popularity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.numerics.sums import numbered

Average = Literal["micro", "macro", "relation", "strat"]


class Weighable(Protocol):
    """Answers, and the ranked lists of their queries, as an average sees them."""

    @property
    def queries(self) -> IntArray:
        """The query of each answer; int64[row]."""

    @property
    def relations(self) -> IntArray:
        """The relation of each answer; int64[row]."""

    @property
    def unpopularity(self) -> Float64Array:
        """The weight of each answer against its popularity; float64[row]."""

    @property
    def answers_per_list(self) -> IntArray:
        """How many answers each list has; int64[list]."""

    def of_lists(self, column: IntArray) -> IntArray:
        """Return the value that a column of the answers has for each list; int64[list]."""


Weigh = Callable[[Weighable], Float64Array | None]
"""the weights of some answers or lists; ``None`` where all weigh the same"""


@dataclass(frozen=True)
class Weighing:
    """A way to average: what ``kgeval list metrics`` prints of it, and its functions."""

    name: Average
    title: str
    formula: str
    """of values v of the answers, or of the lists"""
    source: str
    answers: Weigh
    lists: Weigh | None
    """``None`` where lists, of which each has several answers, cannot be weighed so"""


def evenly(groups: IntArray) -> Float64Array:
    """Weigh rows so that each of their groups counts the same: the mean of the groups' means.

    >>> evenly(np.array([7, 7, 9]))
    array([0.5, 0.5, 1. ])
    """
    _, group_ids = numbered(groups)
    return np.asarray(1 / np.bincount(group_ids)[group_ids], np.float64)


def against_popularity(
    answers: IntArray, relations: IntArray, frequencies: tuple[IntArray, IntArray], exponents: tuple[float, float]
) -> Float64Array:
    """Weigh rows by 1 / (freq(e)^βe · freq(r)^βr), e the answer (Mohamed et al., 2020); float64[row].

    ``frequencies`` are int64[entity] and int64[relation]; of the exponents βe and βr, 0 weighs all alike, 1 makes every
    entity or relation count the same.

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
            lists=lambda rows: rows.answers_per_list.astype(np.float64),
        ),
        Weighing(
            name="macro",
            title="the mean over queries of their means; of lists the usual one",
            formula="Σ_q (Σ v / #answers of q) / #queries",
            source="Buckley and Voorhees, 2000",
            answers=lambda rows: evenly(rows.queries),
            lists=lambda _: None,
        ),
        Weighing(
            name="relation",
            title="the mean over relations of their means",
            formula="Σ_r (Σ v / #values of r) / #relations",
            source="—",
            answers=lambda rows: evenly(rows.relations),
            lists=lambda rows: evenly(rows.of_lists(rows.relations)),
        ),
        Weighing(
            name="strat",
            title="the mean over answers, weighed against the popularity of answer and relation",
            formula="Σ w v / Σ w, w = 1 / (freq(e)^βe · freq(r)^βr)",
            source="Mohamed et al., 2020",
            answers=lambda rows: rows.unpopularity,
            lists=None,
        ),
    )
}

AVERAGES: tuple[Average, ...] = tuple(weighing.name for weighing in WEIGHINGS.values())
