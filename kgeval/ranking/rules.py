"""The rules of ranking in which the evaluators of frameworks differ: which scores tie, who competes, and quirks.

A protocol gives its ``Rules`` to ``model_ranking``. A quirk is a rule for some models only. A new tie rule is a
function here.

A tie rule gives an interval around an answer's score: all scores in the interval tie. A tolerance is an interval by
itself. So is every non-decreasing transformation (truncation, a rounded sigmoid, a clamp): the scores that it takes to
the same value as the answer's score lie in one interval. So transformed scores are ranked without transforming a
candidate: the kernels count candidates above the interval and inside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, IntArray
from kgeval.data.dataset import Dataset
from kgeval.data.triples import Side
from kgeval.models.aligned import Aligned
from kgeval.ranking.ranking_task import Ranked, RankingTask

SecondFilter = Literal["with_test", "static"]
"""``with_test``: the filter and test; ``static``: of a temporal graph, the facts of all splits at all times"""

TieRule = Callable[[Float64Array], tuple[Float64Array, Float64Array]]
"""answers' scores, float64[answer] -> the ends of their tie intervals, lowest and highest; float64[answer]"""


def exact(answers: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Let only the same score tie.

    >>> exact(np.array([0.5]))
    (array([0.5]), array([0.5]))
    """
    return answers, answers


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The part of a protocol that decides counts: how candidates are chosen and compared."""

    name: str
    """the name of the protocol"""
    tie_rule: TieRule = exact
    """returns the tie interval: the scores that tie with an answer's score"""
    competes: Callable[[Dataset], BoolArray] | None = None
    """returns which entities of a dataset compete, bool[entity]; by default all"""
    batch: int | None = None
    """the batch size, if the framework does not rank the triples of an incomplete last batch"""
    quirks: tuple[FrameworkQuirk, ...] = ()
    """rules for some models only"""
    listed: bool = False
    """whether candidates in a model's prediction list are ranked by their positions there instead of their scores"""
    second: SecondFilter | None = None
    """a second filter; if it differs from the evaluation's filter, candidates are counted by both"""
    predicts_relations: bool = False
    """whether relations are ranked too"""

    def num_ranked(self, count: int) -> int:
        """Return how many of ``count`` triples are ranked.

        >>> STANDARD.num_ranked(661), Rules(name="batched", batch=128).num_ranked(661)
        (661, 640)
        """
        return count if self.batch is None else count // self.batch * self.batch

    def competing(self, dataset: Dataset) -> BoolArray:
        """Whether each entity competes; bool[entity]."""
        return np.ones(len(dataset.entities), np.bool_) if self.competes is None else self.competes(dataset)

    def applicable_to(self, scorer: Aligned) -> tuple[FrameworkQuirk, ...]:
        """Return the quirks that concern a model."""
        return tuple(quirk for quirk in self.quirks if quirk.applies_to(scorer))


STANDARD = Rules(name="standard", predicts_relations=True)


class FrameworkQuirk:
    """Something that a framework's evaluator does with some models, and that no reader of its numbers would expect."""

    cause: ClassVar[str]
    """the rule that the quirk changes, in one or two words"""
    note: ClassVar[str] = ""
    """the note in the results of such a model, which begins with the framework; empty if only ties show the quirk"""

    compares_queries: ClassVar[bool] = False
    """whether the quirk compares queries with each other, so that all queries of a side must be ranked together"""

    def applies_to(self, scorer: Aligned) -> bool:
        """Whether the quirk applies to a model."""
        raise NotImplementedError

    def predicts_side(self, side: Side) -> bool:
        """Whether the framework predicts a side of such models."""
        return True

    def tie_rule(self, rule: TieRule) -> TieRule:
        """Return the tie rule for such models, given the tie rule of the protocol."""
        return rule

    def adjust(self, ranked: Ranked, task: RankingTask, scorer: Aligned, tie_rule: TieRule) -> Ranked:
        """Return the counts that the framework finds, given the correct counts."""
        return ranked


def isclose_ties(*, relative: float, absolute: float) -> TieRule:
    """Let scores tie that are no farther away than ``absolute`` + ``relative`` × |the answer's score|.

    An infinite score ties with itself only, as in numpy's and torch's ``isclose``.

    >>> lowest, highest = isclose_ties(relative=1e-4, absolute=0.0)(np.array([-2.0, np.inf]))
    >>> lowest.tolist(), highest.tolist()
    ([-2.0002, inf], [-1.9998, inf])
    """

    def interval(answers: Float64Array) -> tuple[Float64Array, Float64Array]:
        width = np.where(np.isinf(answers), 0.0, absolute + relative * np.abs(answers))
        return answers - width, answers + width

    return interval


def tied_under(transform: Callable[[Float64Array], Float64Array]) -> TieRule:
    """Let scores tie that a non-decreasing transformation takes to the same value.

    The ends of the interval are found by bisection over the floating-point numbers themselves, so they are exact.

    >>> lowest, highest = tied_under(np.trunc)(np.array([1.5, -0.25]))
    >>> bool(lowest[0] == 1.0), bool(highest[0] == np.nextafter(2.0, 0)), bool(lowest[1] == np.nextafter(-1.0, 0))
    (True, True, True)
    """

    def interval(answers: Float64Array) -> tuple[Float64Array, Float64Array]:
        infinite = int(_places(np.array([np.inf]))[0])
        with np.errstate(over="ignore"):
            lowest, highest = (_farthest(transform, answers, end) for end in (-infinite, infinite))
        return _numbers(lowest), _numbers(highest)

    return interval


def truncate_to_decimals(decimals: int) -> Callable[[Float64Array], Float64Array]:
    """Cut scores after some decimals, towards zero: with 3, all between −0.001 and 0.001 become the same.

    >>> truncate_to_decimals(3)(np.array([0.0019, -0.0009])).tolist()
    [1.0, -0.0]
    """
    return lambda scores: np.trunc(10**decimals * scores)


def sigmoid32(scores: Float64Array) -> Float64Array:
    """Take the logistic function of scores as float32 gives it: 1 / (1 + exp(−s)), each step rounded.

    From 16.64 on, all become 1; below −88.73, where the exponential is infinite, all become 0.

    >>> sigmoid32(np.array([-100.0, 0.0, 17.0, 30.0])).tolist()
    [0.0, 0.5, 1.0, 1.0]
    """
    # The exponential is rounded from float64: numpy's own in float32 may give two neighbours the wrong order.
    with np.errstate(over="ignore"):
        odds = np.exp(-scores.astype(np.float32).astype(np.float64)).astype(np.float32)
    unit = np.float32(1)
    return np.asarray(unit / (unit + odds), np.float64)


def clamp(limit: float) -> Callable[[Float64Array], Float64Array]:
    """Cut scores to −limit … limit.

    >>> clamp(20)(np.array([-25.0, 3.0])).tolist()
    [-20.0, 3.0]
    """
    return lambda scores: np.clip(scores, -limit, limit)


def _farthest(transform: Callable[[Float64Array], Float64Array], answers: Float64Array, end: int) -> IntArray:
    """For each answer, find the place nearest to ``end`` whose number is transformed to the same value."""
    value, inside = transform(answers), _places(answers)
    outside = np.full_like(inside, end)
    whole = transform(_numbers(outside)) == value
    inside[whole] = end
    while (between := ((middle := _halfway(inside, outside)) != inside) & (middle != outside)).any():
        same = transform(_numbers(middle)) == value
        inside, outside = np.where(between & same, middle, inside), np.where(between & ~same, middle, outside)
    return inside


def _halfway(first: IntArray, second: IntArray) -> IntArray:
    """Find the middle of two places, rounded down, without their sum, which an int64 may not hold."""
    return first // 2 + second // 2 + (first % 2 + second % 2) // 2


def _places(numbers: Float64Array) -> IntArray:
    """Return the place of each number, its index in the order of all floats, 0 for zero; int64 within ±2⁶³."""
    bits = np.abs(numbers).view(np.int64)
    return np.where(numbers < 0, -bits, bits)


def _numbers(places: IntArray) -> Float64Array:
    sizes = np.abs(places).view(np.float64)
    return np.where(places < 0, -sizes, sizes)
