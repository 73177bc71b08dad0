"""Counting finished scores where they are: the tensors of a live model are compared on its device, never copied.

Scores of half, bfloat16 and single precision are widened to float64, which loses nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from kgeval.base.arrays import IntArray
from kgeval.base.threads import slices
from kgeval.data.queries import Rows
from kgeval.ranking.kernels.best_selection import best_arrays, merge_rows
from kgeval.ranking.kernels.collectors import BestAnswers, Counted, Intervals
from kgeval.ranking.kernels.device.device_blocks import cut_at
from kgeval.ranking.kernels.device.device_pairs import expand
from kgeval.ranking.kernels.device.device_vectors import to_device

BYTES_PER_SCORE = 32
"""of a score while it is compared: in float64, and what is found of it"""


def count_tensor(scores: Any, widths: IntArray, intervals: Intervals, *, memory: int) -> Counted:
    """Compare the first int64[query] scores of each row, float[query, column], with the answers of its query."""
    owners, lowest, highest, ends = _on_device(scores, intervals, widths)
    counted, columns = [np.empty((0, 2), np.int64)], torch.arange(scores.shape[1], device=scores.device)
    undefined = torch.zeros(len(scores), dtype=torch.int64, device=scores.device)
    for part in slices(len(owners), max(1, memory // (BYTES_PER_SCORE * max(1, len(columns))))):
        own, low, high = owners[part], lowest[part, None], highest[part, None]
        row, competes = scores[own].double(), columns < ends[own, None]
        above, inside = (row > high) & competes, (row >= low) & (row <= high) & competes
        counted.append(torch.stack([above.sum(dim=1), inside.sum(dim=1)], dim=1).cpu().numpy())
        undefined[own] = (row.isnan() & competes).sum(dim=1)
    return Counted(np.concatenate(counted), undefined.cpu().numpy())


def count_listed(scores: Any, listed: Rows, intervals: Intervals, *, memory: int) -> Counted:
    """Compare the scores in the columns that each query lists."""
    owners, lowest, highest, offsets, ids = _on_device(scores, intervals, listed.offsets, listed.ids)
    counts = torch.zeros((len(owners), 2), dtype=torch.int64, device=scores.device)
    for part in cut_at(np.cumsum(listed.lengths[intervals.owners]), max(1, memory // BYTES_PER_SCORE)):
        rows, entries = expand(owners[part], offsets)
        rows += part.start
        found = scores[owners[rows], ids[entries]].double()
        above = found > highest[rows]
        for column, where in enumerate((above, (found >= lowest[rows]) & ~above)):
            counts[:, column] += torch.bincount(rows[where], minlength=len(owners))
    return Counted(counts.cpu().numpy(), np.zeros(len(scores), np.bool_))


def _on_device(scores: Any, intervals: Intervals, *arrays: IntArray) -> tuple[Any, ...]:
    """Copy the owners and ends of intervals, and further arrays, to where the scores are."""
    all_arrays = (intervals.owners, intervals.lowest, intervals.highest, *arrays)
    return tuple(to_device(array, scores.device) for array in all_arrays)


def select_tensor(scores: Any, best: BestAnswers, *, memory: int) -> None:
    """Merge finished scores of all shared candidates, float[query, candidate], into the best answers."""
    number, width = scores.shape
    for part in slices(number, max(1, memory // (BYTES_PER_SCORE * max(1, width)))):
        _select_rows(scores[part].double(), best[part])


def _select_rows(scores: Any, best: BestAnswers) -> None:
    """Merge some queries' scores, float64[query, candidate], which are changed; NaN makes a query undefined."""
    best.undefined[:] |= scores.isnan().any(dim=1).cpu().numpy()
    if best.drops_known:
        known = (to_device(array, scores.device) for array in (best.known.owners, best.known.ids))
        scores[tuple(known)] = -torch.inf
    last = scores.topk(min(best.scores.shape[1], scores.shape[1]), dim=1).values[:, -1:]
    rows, columns = ((scores >= last) & (scores > -torch.inf)).nonzero(as_tuple=True)
    offsets = np.searchsorted(rows.cpu().numpy(), np.arange(len(scores) + 1))
    found = scores[rows, columns].cpu().numpy()
    merge_rows(0, len(scores), offsets, found, columns.cpu().numpy(), best_arrays(best))
