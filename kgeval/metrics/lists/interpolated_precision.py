"""Interpolated precision: the best precision from a recall on, and its mean over the eleven recalls 0, .1, … 1.

``metric.metrics()`` finds the metric ``iprec``, the mean, and makes ``iprec@R`` of its name.

The precision at the place of the j-th of m relevant items is j / place. ``iprec@R`` is the largest precision from the
⌊R m + .9⌋-th relevant item on, in float64, as in trec_eval 9. For the recalls R = 0, .1, … 1, this item is the first
with at least the recall R, but for rounding at a few m.

Where relevant items tie with others, the metric is its mean over the orders of the tied blocks: the possible precisions
v are sorted, and each step up to a v counts by the probability that a precision of at least v is reached. Take a block
of n tied items, r of them relevant, behind t items, of which R are relevant (here R is no recall). The j-th relevant
item of the block reaches v if it stands at one of the block's first u_j = ⌊(R + j) / v⌋ − t places. How many relevant
items stand there is hypergeometric; if the j-th is the last that reaches v, exactly j do. So P(v is reached) = Σ_j P(j
among u_j) S_j, where S_j is the probability that no later item reaches v: S_j = 1 − Σ_i P(i among u_i, given j among
u_j) S_i over i > j.
"""

from __future__ import annotations

import re
from functools import cache, partial

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.errors import MetricError
from kgeval.metrics.lists.ranked_lists import RankedLists, list_metric
from kgeval.metrics.lists.retrieval import average_precisions
from kgeval.metrics.metric import Metric, Undefined, Variants

MOST = 3e7
"""the most work for one list, half a second: Σ n r (its precisions) times Σ r², the sums over its tied blocks"""


def interpolated_precisions(lists: RankedLists, _: int | None = None, *, recalls: tuple[float, ...]) -> Float64Array:
    """The mean over recalls of the best precision from the recall on; float64[list], NaN where nothing is relevant.

    >>> from kgeval.metrics.lists.ranked_lists import ranked
    >>> interpolated_precisions(ranked([0, 1, 0, 1, 1]), recalls=(0.5,))  # from the second on: 2/4 or 3/5
    array([0.6])
    """
    above, tied = lists.blocks
    number = np.arange(len(above)) - lists.offsets[lists.list_ids] + 1
    served = np.ones(len(above), np.bool_) if lists.retrieved is None else lists.retrieved
    first = np.maximum(np.floor(np.outer(recalls, lists.relevant) + 0.9), 1).astype(np.int64)
    places = lists.num_above + lists.tie_block_size - tied + number - above  # behind all that tie
    reached = np.where(served & (number >= first[:, lists.list_ids]), number / np.maximum(places, 1), 0)
    best = np.zeros(first.shape)
    np.maximum.at(best.T, lists.list_ids, reached.T)
    mixed = np.flatnonzero(served & (tied < lists.tie_block_size) & (lists.relevant[lists.list_ids] > 1))
    items = np.stack([number, lists.num_above, lists.tie_block_size, above, tied])[:, mixed]
    rows, starts, owners = np.unique(lists.list_ids[mixed], return_index=True, return_inverse=True)
    if (np.bincount(owners, items[2]) * np.bincount(owners, items[4])).max(initial=0) > MOST:
        raise Undefined(f"answers of one query tie in too many orders: up to {items[4].max():,} of them. Use map")
    for row, of_row in zip(rows, np.split(items, starts, axis=1)[1:], strict=True):
        best[:, row] = _expected(of_row, first[:, row], best[:, row])
    # In a list with one relevant item, the metric is the expected reciprocal of the item's place, at every recall.
    return np.where(lists.relevant > 1, best.mean(axis=0), average_precisions(lists, None))


def _expected(items: IntArray, first: IntArray, best: Float64Array) -> Float64Array:
    """The mean, over the orders of one list's tied blocks, of the largest precision at its items; float64[recall].

    ``items`` are, for each item, its number in the list and the t, n, R and r of its block, int64[5, item]. ``first``
    is the number of the first item that counts, int64[recall]; ``best`` is a precision that every order reaches,
    float64[recall].
    """
    number, t, n, found, r = items
    ends = zip(number, t + number - found, n - r + 1, strict=True)
    hits, places = np.concatenate([[np.full(size, j), start + np.arange(size)] for j, start, size in ends], axis=1)
    values, order = np.unique(hits / places, return_index=True)
    steps = np.diff(np.maximum(np.r_[0, values], best[:, None]))
    wanted = np.flatnonzero(steps.any(axis=0))
    reached = _last_reached(items[:, :, None], hits[order[wanted]], places[order[wanted]])
    chances = np.stack([reached[number >= one].sum(axis=0) for one in first])
    return np.asarray(best + (steps[:, wanted] * chances).sum(axis=1), np.float64)


def _last_reached(items: IntArray, hits: IntArray, places: IntArray) -> Float64Array:
    """The probability that an item is the last that reaches the precision hits / places; float64[item, precision]."""
    from scipy.special import binom, poch

    number, t, n, found, r = items

    def among(n: IntArray, r: IntArray, u: IntArray, j: IntArray) -> Float64Array:
        """The probability that j of r relevant items are among the first u of n, in falling factorials."""
        ways = binom(r, j) * poch(u - j + 1, j) * poch(n - u - r + j + 1, r - j)
        return np.asarray(ways / poch(n - r + 1, r), np.float64)

    j = number - found
    u = np.clip(number * places // hits - t, 0, n - r + j)
    reached, no_later, later_blocks = among(n, r, u, j), np.ones(u.shape), np.zeros(u.shape[1])
    for block in reversed(np.split(np.arange(len(u)), np.flatnonzero(np.diff(t[:, 0])) + 1)):
        no_later[block] -= later_blocks  # the orders of blocks are independent
        for i in reversed(block[:-1]):
            rest = np.s_[i + 1 : block[-1] + 1]
            given = among(n[i] - u[i], r[i] - j[i], u[rest] - u[i], j[rest] - j[i])
            no_later[i] -= (given * no_later[rest]).sum(axis=0)
        later_blocks = later_blocks + (reached[block] * no_later[block]).sum(axis=0)
    return reached * no_later


@cache
def _at(recall: str) -> Metric:
    """Make the metric ``iprec@R`` of a recall, such as ``0.1``."""
    if not re.fullmatch(r"0?\.\d{1,15}|[01](\.0*)?", recall):
        raise MetricError(f"metric 'iprec@{recall:.80}': iprec@R needs a recall from 0 to 1. Write 'iprec@0.1'.")
    return _interpolated(
        f"iprec@{recall}",
        "interpolated precision at recall R: the largest j / place of the j-th answer over j ≥ ⌊R m + .9⌋",
        partial(interpolated_precisions, recalls=(float(recall),)),
        shape="iprec@R",
    )


TIES = "no ranks; no common list; answers of a query tie in too many orders"
_interpolated = partial(list_metric, source="Buckley, trec_eval 9", undefined=TIES)
IPREC = _interpolated(
    "iprec 11pt_avg",
    "eleven-point interpolated average precision: mean of iprec@R over R = 0, .1, … 1",
    partial(interpolated_precisions, recalls=tuple(level / 10 for level in range(11))),
    variants=Variants("iprec@0.1", "iprec(?:@|_at_recall_)(.*)(?P<k>)", _at),
)
