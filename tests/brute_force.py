"""The slow truth: ranks by plain Python loops over a finished score array, written from the definition alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from kgeval.data.dataset import Dataset

Key = tuple[int, int, int, str]

COUNTS = ["greater", "tied", "candidates", "raw_greater", "raw_tied", "raw_candidates"]


def brute_force(
    score: Callable[[int, int, int], float],
    dataset: Dataset,
    *,
    split: str = "test",
    filter: Iterable[str] = ("train", "valid", "test"),
    sides: Iterable[str] = ("head", "tail"),
    level: Callable[[float, float], bool] = lambda here, truth: here == truth,
) -> dict[Key, tuple[int, ...]]:
    """Map (head, relation, tail, side) to greater, tied, candidates, raw greater, raw tied, raw candidates."""
    known = {tuple(map(int, row)) for name in filter for row in getattr(dataset, name).ids}
    ranks = {}
    for h, r, t in getattr(dataset, split).ids.tolist():
        for side in sides:
            counts = np.zeros((2, 3), int)
            for answer in range(len(dataset.answers_of(side))):
                corrupted = {"head": (answer, r, t), "relation": (h, answer, t), "tail": (h, r, answer)}[side]
                if corrupted == (h, r, t):
                    continue
                here, truth = score(*corrupted), score(h, r, t)
                tied = level(here, truth)
                verdict = (here > truth and not tied, tied, 1)
                counts[1] += verdict
                if corrupted not in known:
                    counts[0] += verdict
            counts[:, 2] += 1
            ranks[h, r, t, side] = tuple(counts.ravel().tolist())
    return ranks


def as_counts(table) -> dict[Key, tuple[int, ...]]:
    """Bring a rank table into the same form."""
    keys = zip(*(table.column(name).tolist() for name in ("head", "relation", "tail", "side")), strict=True)
    return dict(zip(keys, zip(*(table.column(name).tolist() for name in COUNTS), strict=True), strict=True))
