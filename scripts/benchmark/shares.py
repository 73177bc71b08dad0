"""Where the time goes: scoring, counting with filtering and rescoring, and everything else; in one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from kgeval import Dataset, evaluate
from kgeval.ranking.kernels.screening import counting
from kgeval.ranking.kernels.screening.screens import Bfloat16Products, Float32Distances, Float32Products

SCREENS = (Float32Products, Bfloat16Products, Float32Distances)


def shares(model: Any, graph: Dataset) -> dict[str, float]:
    """Evaluate once in one thread, and tell which part of the time went where."""
    spent = {"scoring": 0.0, "counting": 0.0}

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            start = time.perf_counter()
            try:
                return work(*args)
            finally:
                spent[name] += time.perf_counter() - start

        return run

    patches = [patch.object(counting, "count_screened", timed("counting", counting.count_screened))]
    patches += [patch.object(kind, "statistics", timed("scoring", kind.statistics)) for kind in SCREENS]
    for each in patches:
        each.start()
    try:
        start = time.perf_counter()
        evaluate(model, graph, unseen="worst", threads=1)
        total = time.perf_counter() - start
    finally:
        patch.stopall()
    return {name: seconds / total for name, seconds in spent.items()}
