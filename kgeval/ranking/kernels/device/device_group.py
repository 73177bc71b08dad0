"""Several devices as one kernel: each takes a part of the queries, with a thread of its own.

What is counted for a query, or selected, depends on that query alone, so no division changes a number. Torch and the
compiled loops release the GIL; vectors are made by the scorer once, in the thread that asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import numpy as np

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.rows import Rows
from kgeval.ranking.kernels.collectors import BestAnswers, CountAccumulator
from kgeval.ranking.kernels.device.device_kernel import DeviceKernel
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.threads import slices


class DeviceGroup:
    """Counts and selects by vectors on several devices; finished scores on the first, or on the host."""

    def __init__(self, kernels: Sequence[DeviceKernel]) -> None:
        self._kernels = kernels
        self.name, self.device = kernels[0].name, kernels[0].device

    def stats(self) -> dict[str, Any]:
        """Say what all of them did together."""
        each = [kernel.stats() for kernel in self._kernels]
        total = {name: sum(work[name] for work in each) for name in ("screened", "refined", "rescored")}
        share = total["rescored"] / total["screened"] if total["screened"] else 0.0
        on_host = [*dict.fromkeys(what for work in each for what in work["on_host"])]
        places = ", ".join(work["device"] for work in each)
        return {**each[0], **total, "rescored_share": share, "device": places, "on_host": on_host}

    def pairs(self, queries: QueryVectors, entities: EntityVectors, offsets: IntArray) -> Float64Array:
        """Score pairs canonically, on the host; float64[entity]."""
        return self._kernels[0].pairs(queries, entities, offsets)

    def count_shared(
        self, queries: QueryVectors, entities: EntityVectors, first: int, accumulator: CountAccumulator
    ) -> None:
        self._divide(
            len(queries.vectors),
            lambda kernel, part: kernel.count_shared(queries[part], entities, first, accumulator[part]),
        )

    def count_per_query(
        self, queries: QueryVectors, entities: EntityVectors, own: Rows, accumulator: CountAccumulator
    ) -> None:
        self._divide(
            len(queries.vectors),
            lambda kernel, part: kernel.count_per_query(queries[part], entities, own[part], accumulator[part]),
        )

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        self._divide(
            len(queries.vectors), lambda kernel, part: kernel.select_shared(queries[part], entities, first, best[part])
        )

    def count_scores(self, scores: Float64Array, starts: IntArray, accumulator: CountAccumulator) -> None:
        """Count finished scores on the host."""
        self._kernels[0].count_scores(scores, starts, accumulator)

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        """Merge finished scores into the best answers on the host."""
        self._kernels[0].select_scores(scores, best)

    def count_tensor(self, scores: Any, accumulator: CountAccumulator) -> None:
        """Count finished scores where they are: on the first device."""
        self._kernels[0].count_tensor(scores, accumulator)

    def select_tensor(self, scores: Any, best: BestAnswers) -> None:
        """Merge finished scores into the best answers where they are: on the first device."""
        self._kernels[0].select_tensor(scores, best)

    def _divide(self, total: int, work: Callable[[DeviceKernel, slice], None]) -> None:
        """Have each kernel do the work for a part of the queries."""
        parts = slices(total, max(1, int(np.ceil(total / len(self._kernels)))))
        with ThreadPoolExecutor(len(self._kernels)) as pool:
            # A thread inherits how many threads the evaluation is bound to.
            running = [
                pool.submit(copy_context().run, work, kernel, part)
                for kernel, part in zip(self._kernels, parts, strict=False)
            ]
        for part in running:
            part.result()
