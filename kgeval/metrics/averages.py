"""Averages: over answers (micro), queries (macro), relations, or weighed against popularity."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.metrics.numerics.sums import numbered

Average = Literal["micro", "macro", "relation", "strat"]


class Weighing(NamedTuple):
    """A way to average, as ``kgeval list metrics`` prints it; a selection of rows computes the weights."""

    name: Average
    title: str
    formula: str
    """of values v of the answers, or of the lists"""
    source: str
    lists: bool = True
    """whether lists, each of which has several answers, can be weighed so"""


WEIGHINGS: dict[str, Weighing] = {
    weighing.name: weighing
    for weighing in (
        Weighing(
            "micro",
            "the mean over answers; of ranks the usual one",
            "Σ v / #answers; of lists Σ m v / Σ m, m their answers",
            "Bordes et al., 2013",
        ),
        Weighing(
            "macro",
            "the mean over queries of their means; of lists the usual one",
            "Σ_q (Σ v / #answers of q) / #queries",
            "Buckley and Voorhees, 2000",
        ),
        Weighing("relation", "the mean over relations of their means", "Σ_r (Σ v / #values of r) / #relations", "—"),
        Weighing(
            "strat",
            "the mean over answers, weighed against the popularity of answer and relation",
            "Σ w v / Σ w, w = 1 / (freq(e)^βe · freq(r)^βr)",
            "Mohamed et al., 2020",
            lists=False,
        ),
    )
}

AVERAGES: tuple[Average, ...] = tuple(weighing.name for weighing in WEIGHINGS.values())


def evenly(groups: IntArray) -> Float64Array:
    """Weigh rows so that each of their groups counts the same: the mean of the groups' means."""
    _, group_ids = numbered(groups)
    return np.asarray(1 / np.bincount(group_ids)[group_ids], np.float64)


def against_popularity(
    answers: IntArray, relations: IntArray, frequencies: tuple[IntArray, IntArray], exponents: tuple[float, float]
) -> Float64Array:
    """Weigh rows by 1 / (freq(e)^βe · freq(r)^βr), e the answer (Mohamed et al., 2020); float64[row].

    ``frequencies`` are int64[entity] and int64[relation]; of the exponents βe and βr, 0 weighs all alike, 1 makes every
    entity or relation count the same.
    """
    entity, relation = frequencies
    return np.asarray(
        entity[answers].astype(float) ** -exponents[0] * relation[relations].astype(float) ** -exponents[1], np.float64
    )
