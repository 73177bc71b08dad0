"""A note on scorers that give other scores when they are called again; an error if they differ by more than noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgeval.arrays import BoolArray, Float64Array
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.errors import ScoreError
from kgeval.scorers.adapters.score_arrays import as_float64
from kgeval.scorers.aligned import Aligned
from kgeval.scorers.family import Family
from kgeval.scorers.wrappers.entity_types import Typed
from kgeval.scorers.wrappers.reciprocal import Reciprocal

TRIPLES, CANDIDATES = 8, 64
"""how much is scored twice: the triples of a side's queries, and the candidates of each query"""

NOISE = 2.0**-10
"""the part of the spread of a query's scores by which devices that add up in no fixed order may move one of them"""


def notes_on_repeatability(scorer: Aligned, triples: Triples, sides: Sequence[Side]) -> list[str]:
    """Score a few queries twice, and tell whether the scores were the same.

    Stored arrays under a formula are always scored alike, so they are not tried.

    Parameters
    ----------
    scorer
        the model in the ids of the dataset
    triples
        those that it knows
    sides
        the sides that are predicted

    Raises
    ------
    ScoreError
        if they were others by more than noise: a rank would be another one each time
    """
    if isinstance(scorer.scorer, Family | Reciprocal | Typed):
        return []
    change = 0.0
    for side in sides:
        queries, of_side = Queries.of(triples[:TRIPLES], side), scorer.scorer_of(side)
        known = np.flatnonzero(scorer.answer_rows(side) >= 0)
        candidates = known[np.unique(np.linspace(0, len(known) - 1, CANDIDATES).astype(np.int64))]
        first, again = (as_float64(of_side.scores(queries, candidates), "the scorer") for _ in range(2))
        if first.shape == again.shape == (len(queries), len(candidates)):
            change = max(change, _largest_change(first, again))
    if change > NOISE:
        raise ScoreError(
            "the model gave other scores when it was asked for the same triples again, so that every evaluation would "
            "give other ranks. Switch off what is random in it: dropout (model.eval(), or training=False where it is "
            "called as a function) and sampling; a random baseline can draw its scores by the ids."
        )
    if change:
        return [
            f"the model's scores of the same triples differed by {change:.1g} of their spread when it was asked again: "
            "ranks among nearly equal scores may change from one evaluation to the next."
        ]
    return []


def _largest_change(first: Float64Array, again: Float64Array) -> float:
    """Tell by how much scores differ at most, in parts of the spread of their query's."""
    changed: BoolArray = ~((first == again) | (np.isnan(first) & np.isnan(again)))
    if not changed.any():
        return 0.0
    if not np.isfinite([first[changed], again[changed]]).all():
        return np.inf
    finite = np.where(np.isfinite(first), first, np.nan)
    spread = np.broadcast_to((np.nanmax(finite, axis=1) - np.nanmin(finite, axis=1))[:, None], first.shape)
    with np.errstate(divide="ignore", over="ignore"):
        return float(np.max(np.abs(again[changed] - first[changed]) / spread[changed]))
