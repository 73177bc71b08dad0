"""The kernel of a device: the counts of the compiled kernel, bit for bit, where torch has its tensors.

Three steps narrow the pairs down, as in the screened kernel: products in float16 (``band`` says within what bound),
float64 sums of the pairs that those leave undecided, and canonical scores on the host of the few that remain. What it
does not do, the screened kernel does on the host, and ``on_host`` says what and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.rows import Rows
from kgeval.errors import RunError
from kgeval.ranking.kernels.collectors import BestAnswers, CountAccumulator
from kgeval.ranking.kernels.device.device_counting import Answers, BlockCounting, DeviceCounts, Lists
from kgeval.ranking.kernels.device.device_selection import BlockSelection
from kgeval.ranking.kernels.device.device_vectors import DeviceVectors
from kgeval.ranking.kernels.device.devices import describe, triton_runs
from kgeval.ranking.kernels.device.plain_comparison import BYTES_PER_PAIR, ScreenResult, compare
from kgeval.ranking.kernels.device.tensor_scores import count_tensor, select_tensor
from kgeval.ranking.kernels.screening.screened_kernel import ScreenedKernel
from kgeval.ranking.kernels.screening.screens import LARGEST
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.plan import BLOCK, Precision
from kgeval.scorers.numerics.similarity import PRODUCTS
from kgeval.threads import slices

MOST_DIMENSIONS = 2**17
"""beyond it the bound of a sum in float32 says too little"""

MOST_CANDIDATES = 2**30
"""of a chunk; fewer once the device ran out of memory"""

LEAST_MEMORY = 2**20
"""bytes that blocks take at least, however often the device ran out of memory"""

Count = Callable[[BlockCounting, slice], tuple[DeviceCounts, DeviceCounts]]
"""(counting, the slice of its queries) -> counts of the candidates, and of the known answers among them"""


class DeviceKernel(ScreenedKernel):
    """Counts candidates by vectors on a device of torch; everything else on the host."""

    def __init__(self, device: Any, memory: int, *, on_host: Precision = "float32", block: int = BLOCK) -> None:
        super().__init__(on_host, block=block)
        self.name = "float16"
        self.device, self.memory = device, memory
        self._most = MOST_CANDIDATES
        self._comparison = comparison_of(device)
        self.on_host: dict[str, None] = {}
        """what was counted on the host, and why, in the order in which it occurred"""

    def stats(self) -> dict[str, Any]:
        screen = "torch" if self._comparison[0] is compare else "triton"
        where = {"device": describe(self.device), "screen": screen, "on_host": list(self.on_host)}
        return {**super().stats(), **where}

    def count_shared(
        self, queries: QueryVectors, entities: EntityVectors, first: int, accumulator: CountAccumulator
    ) -> None:
        task, width = accumulator.task, len(entities.biases)
        inside = task.known.where((task.known.ids >= first) & (task.known.ids < first + width))
        known = Rows(inside.offsets, inside.ids - first)

        def count(counting: BlockCounting, block: slice) -> tuple[DeviceCounts, DeviceCounts]:
            rows = known[block]
            return counting.count_all(*self._comparison), counting.count_listed(Lists.of(rows, rows.ids, self.device))

        def halve() -> None:
            for part in halves(width):
                self.count_shared(queries, entities[part], first + part.start, accumulator)

        def work() -> bool:
            return self._count_blocks(queries, entities, task.answers - first, accumulator, count)

        if self._has_biased_distances(queries, entities) or not self._attempt(queries, width, work, halve):
            super().count_shared(queries, entities, first, accumulator)

    def count_per_query(
        self, queries: QueryVectors, entities: EntityVectors, own: Rows, accumulator: CountAccumulator
    ) -> None:
        known = accumulator.task.known

        def count(counting: BlockCounting, block: slice) -> tuple[DeviceCounts, DeviceCounts]:
            candidates, places = own[block], known[block]
            numbered = Rows(candidates.offsets, np.arange(len(candidates.ids)) - candidates.offsets[candidates.owners])
            of_known = candidates.ids[candidates.offsets[places.owners] + places.ids]
            listed = Lists.of(numbered, candidates.ids, self.device), Lists.of(places, of_known, self.device)
            counted = counting.count_listed(listed[0]), counting.count_listed(listed[1])
            counting.compared = int(candidates.lengths[accumulator.task.queries[block].owners].sum())
            return counted

        def halve() -> None:
            self._note("candidates that are each query's own: the device has too little memory for their vectors")
            super(DeviceKernel, self).count_per_query(queries, entities, own, accumulator)

        def work() -> bool:
            return self._count_blocks(queries, entities, accumulator.task.answers, accumulator, count)

        if not self._attempt(queries, len(entities.biases), work, halve):
            super().count_per_query(queries, entities, own, accumulator)

    def count_scores(self, scores: Float64Array, starts: IntArray, accumulator: CountAccumulator) -> None:
        self._note("finished scores, which were given or copied to the host")
        super().count_scores(scores, starts, accumulator)

    def count_tensor(self, scores: Any, accumulator: CountAccumulator) -> None:
        """Count finished scores, a tensor [query, candidate or more], into the accumulator, where they are."""
        with torch.inference_mode(), _current(self.device):
            count_tensor(scores, accumulator)

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        width = len(entities.biases)

        def work() -> bool:
            return self._select_blocks(queries, entities, first, best)

        def halve() -> None:
            for part in halves(width):
                self.select_shared(queries, entities[part], first + part.start, best)

        if self._has_biased_distances(queries, entities) or not self._attempt(queries, width, work, halve):
            super().select_shared(queries, entities, first, best)

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        self._note("finished scores, which were given or copied to the host")
        super().select_scores(scores, best)

    def select_tensor(self, scores: Any, best: BestAnswers) -> None:
        """Merge finished scores, a tensor [query, candidate], into the best answers."""
        with torch.inference_mode(), _current(self.device):
            select_tensor(scores, best)

    def _note(self, what: str) -> None:
        self.on_host[what] = None

    def _has_biased_distances(self, queries: QueryVectors, entities: EntityVectors) -> bool:
        """Whether the vectors are of the kind that has no screen here."""
        if found := queries.similarity == "l2" and bool(entities.biases.any()):
            self._note("Euclidean distances with biases, which are no products")
        return found

    def _attempt(self, queries: QueryVectors, width: int, work: Callable[[], bool], halve: Callable[[], None]) -> bool:
        """Do work with a chunk of candidates, by halves where memory is lacking; whether the device could.

        The work changes no result before all of it is done, and returns whether a bound holds.
        """
        if (why := self._obstacle(queries)) is not None:
            self._note(why)
            return False
        bounded = False
        try:
            full = width > self._most
            if not full:
                with torch.inference_mode(), _current(self.device):
                    bounded = work()
        except torch.cuda.OutOfMemoryError as error:
            full = True
            self._halve_blocks(width, error)
        if full:  # outside the handler, which keeps the tensors of the failure
            halve()
            return True
        if not bounded:
            self._note("vectors, biases or scores that are huge, infinite or undefined: no bound holds")
        return bounded

    def _halve_blocks(self, width: int, error: Exception) -> None:
        """Halve the blocks and the chunks after a chunk for which the device had too little memory."""
        if width <= 1:
            raise RunError(
                f"{describe(self.device)} has no memory left for a single candidate. Free it, or say device: cpu."
            ) from error
        self._most, self.memory = width // 2, max(LEAST_MEMORY, self.memory // 2)
        torch.cuda.empty_cache()

    def _obstacle(self, queries: QueryVectors) -> str | None:
        """Say why the device cannot count for queries; None where it can."""
        if queries.vectors.shape[1] > MOST_DIMENSIONS:
            return f"vectors of more than {MOST_DIMENSIONS} dimensions"
        return None if self._precisions else "scores of which most are nearly equal, or wanted: no screen pays"

    def _count_blocks(
        self,
        queries: QueryVectors,
        entities: EntityVectors,
        places: IntArray,
        accumulator: CountAccumulator,
        count: Count,
    ) -> bool:
        """Count all blocks of queries; whether a bound holds."""
        chunk = self._bounded_chunk(queries, entities, accumulator.thresholds)
        if chunk is None:
            return False
        offsets, parts = accumulator.task.queries.offsets, [np.empty((0, 4), np.int64)]
        effort, compared = np.zeros(2, np.int64), 0
        for block in self._blocks(queries):
            own = slice(offsets[block.start], offsets[block.stop])  # the block's answers
            on_device = DeviceVectors.of_queries(queries, block, self.device)
            if not on_device.largest() < LARGEST:
                return False
            owners = accumulator.task.queries.owners[own] - block.start
            answers = Answers.of(accumulator.thresholds[own], owners, places[own], self.device)
            host = (queries[block], entities)
            counting = BlockCounting(host, on_device, chunk, answers, self.pairs, self.memory // 4)
            (greater, tied), (known_greater, known_tied) = count(counting, block)
            columns = torch.stack([greater, tied, greater - known_greater, tied - known_tied], dim=1)
            parts.append(columns.cpu().numpy())
            effort += counting.effort
            compared += counting.compared
        accumulator.counts[:] += np.concatenate(parts)
        self._adapt_precision(compared, effort[None])
        return True

    def _select_blocks(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> bool:
        """Select from all blocks of queries; whether a bound holds."""
        last = best.scores[:, -1]
        chunk = self._bounded_chunk(queries, entities, last[last > -np.inf])
        if chunk is None:
            return False
        trial, effort = best.copied(), np.zeros(2, np.int64)
        for block in self._blocks(queries):
            on_device = DeviceVectors.of_queries(queries, block, self.device)
            if not on_device.largest() < LARGEST:
                return False
            host, memory = (queries[block], entities), self.memory // 4
            selection = BlockSelection(host, on_device, chunk, first, trial[block], self.pairs, memory)
            selection.select()
            effort += selection.effort
        best.take_over(trial)
        self._adapt_precision(len(queries.vectors) * len(entities.biases), effort[None])
        return True

    def _bounded_chunk(
        self, queries: QueryVectors, entities: EntityVectors, scores: Float64Array
    ) -> DeviceVectors | None:
        """Copy a chunk to the device; None where no bound holds for it, or for scores that it is compared with."""
        chunk = DeviceVectors.of_entities(entities, self.device, products=queries.similarity in PRODUCTS)
        limit = LARGEST**2 if queries.similarity in {"dot", "squared_l2"} else LARGEST
        bounded = chunk.largest() < LARGEST and np.abs(scores).max(initial=0.0) < limit
        return chunk if bounded else None

    def _blocks(self, queries: QueryVectors) -> Iterator[slice]:
        return slices(len(queries.vectors), max(1, self.memory // (128 * (1 + queries.vectors.shape[1]))))


def halves(width: int) -> tuple[slice, slice]:
    """Halve a chunk of candidates."""
    return slice(0, width // 2), slice(width // 2, width)


def _current(device: Any) -> AbstractContextManager[Any]:
    """Make a GPU the current one, on which Triton starts its programs."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def comparison_of(device: Any) -> tuple[Callable[..., ScreenResult], float]:
    """Return the comparison for a device, and its bytes per pair: the fused one where Triton runs."""
    if not triton_runs(device):
        return compare, BYTES_PER_PAIR
    from kgeval.ranking.kernels.device.fused import FUSED_BYTES_PER_PAIR, compare_fused

    return compare_fused, FUSED_BYTES_PER_PAIR
