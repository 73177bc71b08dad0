"""Counting finished scores where they are: the tensors of a live model are compared on its device, never copied.

Scores of half, bfloat16 and single precision are widened to float64, which loses nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from kgeval.data.rows import Rows
from kgeval.ranking.kernels.best_selection import best_arrays, merge_rows
from kgeval.ranking.kernels.collectors import BestAnswers, CountAccumulator
from kgeval.ranking.kernels.device.device_counting import cut_at
from kgeval.ranking.kernels.device.device_pairs import expand
from kgeval.ranking.kernels.device.device_vectors import to_device
from kgeval.threads import slices

SCORES = 2**24
"""scores that are widened at a time"""


def count_tensor(scores: Any, accumulator: CountAccumulator) -> None:
    """Count finished scores, float[query, candidate], into the accumulator; a row may have more columns than count."""
    task, device = accumulator.task, scores.device
    owners, thresholds, places, widths = (
        to_device(array, device)
        for array in (task.queries.owners, accumulator.thresholds, task.answers, task.num_candidates)
    )
    columns, undefined = torch.arange(scores.shape[1], device=device), to_device(accumulator.undefined, device)
    above, ties = (torch.zeros(len(owners), dtype=torch.int64, device=device) for _ in range(2))
    for part in slices(len(owners), max(1, SCORES // max(1, len(columns)))):
        own, limit = owners[part], thresholds[part, None]
        row, competes = scores[own].double(), columns < widths[own, None]
        above[part], ties[part] = ((row > limit) & competes).sum(dim=1), ((row == limit) & competes).sum(dim=1)
        undefined[own] |= (row.isnan() & competes).any(dim=1)
    ties -= (places >= 0).long()
    known = _known(scores, task.known, (owners, thresholds, places))
    counts = torch.stack([above, ties, above - known[0], ties - known[1]], dim=1)
    accumulator.counts[:] += counts.cpu().numpy()
    accumulator.undefined[:] = undefined.cpu().numpy()


def _known(scores: Any, known: Rows, answers: tuple[Any, Any, Any]) -> tuple[Any, Any]:
    """Count the other known answers that are above each answer, and those that tie; int64[answer] each."""
    owners, thresholds, places = answers
    offsets, ids = (to_device(array, scores.device) for array in (known.offsets, known.ids))
    above, ties = (torch.zeros(len(owners), dtype=torch.int64, device=scores.device) for _ in range(2))
    for part in cut_at(np.cumsum(known.lengths[owners.cpu().numpy()]), SCORES):
        rows, entries = expand(owners[part], offsets)
        rows += part.start
        found = scores[owners[rows], ids[entries]].double()
        others = ids[entries] != places[rows]
        above += torch.bincount(rows[(found > thresholds[rows]) & others], minlength=len(owners))
        ties += torch.bincount(rows[(found == thresholds[rows]) & others], minlength=len(owners))
    return above, ties


def select_tensor(scores: Any, best: BestAnswers) -> None:
    """Merge finished scores of all shared candidates, float[query, candidate], into the best answers."""
    number, width = scores.shape
    for part in slices(number, max(1, SCORES // max(1, width))):
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
