"""Selection from finished scores where they are: of each query, only those that reach its last place are copied.

Scores of half, bfloat16 and single precision are widened to float64, which loses nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from kgeval.ranking.kernels.best_answers import BestAnswers
from kgeval.ranking.kernels.best_selection import best_arrays, merge_rows
from kgeval.ranking.kernels.device.device_vectors import to_device
from kgeval.ranking.kernels.device.tensor_counting import SCORES
from kgeval.threads import slices


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
