"""Several devices as one kernel: each takes a part of the queries, with a thread of its own.

What is counted for a query, or selected, depends on that query alone, so no division changes a number. Torch and the
compiled loops release the GIL; vectors are made by the scorer once, in the thread that asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from kgeval.data.rows import Rows
from kgeval.ranking.kernels.collectors import BestAnswers, CountAccumulator
from kgeval.ranking.kernels.device.device_kernel import DeviceKernel
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.threads import slices


class DeviceGroup:
    """Counts and selects by vectors on several devices; finished scores on the first, or on the host."""

    def __init__(self, kernels: Sequence[DeviceKernel]) -> None:
        self._kernels, first = kernels, kernels[0]
        self.name, self.device, self.pairs = first.name, first.device, first.pairs
        self.count_scores, self.select_scores = first.count_scores, first.select_scores
        self.count_tensor, self.select_tensor = first.count_tensor, first.select_tensor

    def stats(self) -> dict[str, Any]:
        each = [kernel.stats() for kernel in self._kernels]
        total = {name: sum(work[name] for work in each) for name in ("screened", "refined", "rescored")}
        share = total["rescored"] / total["screened"] if total["screened"] else 0.0
        on_host = [*dict.fromkeys(what for work in each for what in work["on_host"])]
        places = ", ".join(work["device"] for work in each)
        return {**each[0], **total, "rescored_share": share, "device": places, "on_host": on_host}

    def count_shared(
        self, queries: QueryVectors, entities: EntityVectors, first: int, accumulator: CountAccumulator
    ) -> None:
        self._divide(queries, lambda kernel, part, some: kernel.count_shared(some, entities, first, accumulator[part]))

    def count_per_query(
        self, queries: QueryVectors, entities: EntityVectors, own: Rows, accumulator: CountAccumulator
    ) -> None:
        self._divide(
            queries, lambda kernel, part, some: kernel.count_per_query(some, entities, own[part], accumulator[part])
        )

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        self._divide(queries, lambda kernel, part, some: kernel.select_shared(some, entities, first, best[part]))

    def _divide(self, queries: QueryVectors, work: Callable[[DeviceKernel, slice, QueryVectors], None]) -> None:
        total = len(queries.vectors)
        parts = slices(total, max(1, -(-total // len(self._kernels))))
        with ThreadPoolExecutor(len(self._kernels)) as pool:
            # A thread inherits how many threads the evaluation is bound to.
            running = [
                pool.submit(copy_context().run, work, kernel, part, queries[part])
                for kernel, part in zip(self._kernels, parts, strict=False)
            ]
        for part in running:
            part.result()
