"""Exchanged sides: ranks from elsewhere whose left is the tail, which their own raw and filtered ranks betray."""

from __future__ import annotations

import numpy as np

from kgeval.arrays import IntArray
from kgeval.ranking.rank_table import RankTable

NOTED_SHARE = 0.01
"""the share of ranks that contradict their side from which on there is a note: ties alone make some do"""


def notes_on_exchanged_sides(head: RankTable, tail: RankTable) -> list[str]:
    """Write a note where the ranks of two sides would fit far better if they were exchanged.

    The filter takes known answers away and nothing else: raw rank − filtered rank is at most the number of other known
    answers, which head and tail queries have not in common. There is a note where at least twice as many ranks
    contradict that as would if the sides were exchanged.

    Parameters
    ----------
    head, tail
        the ranks of each side, in ascending order of their triples
    """
    if head.knows_no_raw or tail.knows_no_raw:
        return []
    _, *rows = np.intersect1d(head.column("triple"), tail.column("triple"), return_indices=True)
    moved, known = zip(*(_moved_and_known(*side) for side in zip((head, tail), rows, strict=True)), strict=True)
    here = sum(np.count_nonzero(places > answers) for places, answers in zip(moved, known, strict=True))
    exchanged = sum(np.count_nonzero(places > answers) for places, answers in zip(moved, known[::-1], strict=True))
    ranks = 2 * len(rows[0])
    if here < NOTED_SHARE * ranks or 2 * exchanged > here:
        return []
    return [
        f"raw and filtered ranks differ by more than their queries have known answers in {here} of {ranks} "
        f"rows, and in {exchanged} if left and right are exchanged: the file probably names the tail first. Name its "
        "columns the other way round by columns=… (--columns)."
    ]


def _moved_and_known(table: RankTable, rows: IntArray) -> tuple[IntArray, IntArray]:
    """By how many places the filter moved each answer, and how many other known answers there are; int64[row] both."""
    moved = table.column("raw_greater") - table.column("greater")
    return moved[rows], (table.column("raw_candidates") - table.column("candidates"))[rows]
