"""The kernel of a device: the counts of the compiled kernel, bit for bit, where torch has its tensors.

Three steps narrow the pairs down, as in the screened kernel: products in float16 (``comparison`` has the bound),
float64 sums of the pairs that those leave undecided, and canonical scores on the host of the few that remain. What it
does not do, the screened kernel does on the host, and ``on_host`` says what and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch

from kgeval.arrays import Float64Array, IntArray
from kgeval.data.rows import Rows
from kgeval.errors import RunError
from kgeval.ranking.kernels.collectors import BestAnswers, CountAccumulator, within
from kgeval.ranking.kernels.device.comparison import BYTES_PER_PAIR, ScreenResult, compare
from kgeval.ranking.kernels.device.device_counting import Answers, BlockCounting, DeviceCounts, Lists
from kgeval.ranking.kernels.device.device_pairs import Block
from kgeval.ranking.kernels.device.device_selection import BlockSelection
from kgeval.ranking.kernels.device.device_vectors import DeviceVectors, to_device
from kgeval.ranking.kernels.device.devices import describe, triton_runs
from kgeval.ranking.kernels.device.tensor_scores import count_tensor, select_tensor
from kgeval.ranking.kernels.screening.screened_kernel import ScreenedKernel
from kgeval.ranking.kernels.screening.screens import LARGEST
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.plan import BLOCK, Precision
from kgeval.scorers.similarity import PRODUCTS
from kgeval.threads import slices

MOST_DIMENSIONS = 2**17
"""beyond it the bound of a sum in float32 says too little"""

MOST_CANDIDATES = 2**30
"""of a chunk; fewer once the device ran out of memory"""

LEAST_MEMORY = 2**20
"""bytes that blocks take at least, however often the device ran out of memory"""

Count = Callable[[BlockCounting, slice], tuple[DeviceCounts, DeviceCounts]]
"""(counting, the slice of its queries) -> counts of the candidates, and of the known answers among them"""


class Unbounded(Exception):
    """Some numbers are huge, infinite or undefined, so that no error bound holds for them."""


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
        width, places = len(entities.biases), accumulator.task.answers - first
        known = within(accumulator.task.known, first, width)

        def count(counting: BlockCounting, block: slice) -> tuple[DeviceCounts, DeviceCounts]:
            rows = known[block]
            return counting.count_all(*self._comparison), counting.count_listed(Lists.of(rows, rows.ids, self.device))

        def again(part: slice) -> None:
            self.count_shared(queries, entities[part], first + part.start, accumulator)

        compared = np.full(len(places), width)
        work = partial(self._count_blocks, queries, entities, places, compared, accumulator, count)
        if not self._attempt(queries, entities, work, again):
            super().count_shared(queries, entities, first, accumulator)

    def count_per_query(
        self, queries: QueryVectors, entities: EntityVectors, own: Rows, accumulator: CountAccumulator
    ) -> None:
        task = accumulator.task

        def count(counting: BlockCounting, block: slice) -> tuple[DeviceCounts, DeviceCounts]:
            candidates, places = own[block], task.known[block]
            numbered = Rows(candidates.offsets, np.arange(len(candidates.ids)) - candidates.offsets[candidates.owners])
            of_known = candidates.ids[candidates.offsets[places.owners] + places.ids]
            listed = Lists.of(numbered, candidates.ids, self.device), Lists.of(places, of_known, self.device)
            return counting.count_listed(listed[0]), counting.count_listed(listed[1])

        compared = own.lengths[task.queries.owners]
        work = partial(self._count_blocks, queries, entities, task.answers, compared, accumulator, count)
        if not self._attempt(queries, entities, work):
            super().count_per_query(queries, entities, own, accumulator)

    def count_scores(self, scores: Float64Array, starts: IntArray, accumulator: CountAccumulator) -> None:
        self._note("finished scores, which were given or copied to the host")
        super().count_scores(scores, starts, accumulator)

    def count_tensor(self, scores: Any, accumulator: CountAccumulator) -> None:
        with torch.inference_mode(), _current(self.device):
            count_tensor(scores, accumulator)

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        def again(part: slice) -> None:
            self.select_shared(queries, entities[part], first + part.start, best)

        if not self._attempt(queries, entities, partial(self._select_blocks, queries, entities, first, best), again):
            super().select_shared(queries, entities, first, best)

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        self._note("finished scores, which were given or copied to the host")
        super().select_scores(scores, best)

    def select_tensor(self, scores: Any, best: BestAnswers) -> None:
        with torch.inference_mode(), _current(self.device):
            select_tensor(scores, best)

    def _note(self, what: str) -> None:
        self.on_host[what] = None

    def _attempt(
        self,
        queries: QueryVectors,
        entities: EntityVectors,
        work: Callable[[], None],
        again: Callable[[slice], None] | None = None,
    ) -> bool:
        """Do work with a chunk of shared candidates, ``again`` for each half of it where memory is lacking.

        Other candidates cannot be halved. Returns whether the device could do it. The work changes no result before
        all of it is done.
        """
        width = len(entities.biases)
        if (why := self._obstacle(queries, biased=again is not None and bool(entities.biases.any()))) is not None:
            self._note(why)
            return False
        full = width > self._most
        try:
            if not full:
                with torch.inference_mode(), _current(self.device):
                    work()
        except Unbounded:
            self._note("vectors, biases or scores that are huge, infinite or undefined: no bound holds")
            return False
        except torch.cuda.OutOfMemoryError as error:
            full = True
            self._halve_blocks(width, error)
        if full and again is None:
            self._note("candidates that are each query's own: the device has too little memory for their vectors")
            return False
        if full and again is not None:  # outside the handler, which keeps the tensors of the failure
            again(slice(0, width // 2))
            again(slice(width // 2, width))
        return True

    def _halve_blocks(self, width: int, error: Exception) -> None:
        """Halve the blocks and the chunks after a chunk for which the device had too little memory."""
        if width <= 1:
            raise RunError(
                f"{describe(self.device)} has no memory left for a single candidate. Free it, or say device: cpu."
            ) from error
        self._most, self.memory = width // 2, max(LEAST_MEMORY, self.memory // 2)
        torch.cuda.empty_cache()

    def _obstacle(self, queries: QueryVectors, *, biased: bool) -> str | None:
        """Say why the device cannot count for queries and shared candidates, biased or not; None where it can."""
        if biased and queries.similarity == "l2":
            return "Euclidean distances with biases, which are no products"
        if queries.vectors.shape[1] > MOST_DIMENSIONS:
            return f"vectors of more than {MOST_DIMENSIONS} dimensions"
        return None if self._precisions else "scores of which most are nearly equal, or wanted: no screen pays"

    def _count_blocks(
        self,
        queries: QueryVectors,
        entities: EntityVectors,
        places: IntArray,
        compared: IntArray,
        accumulator: CountAccumulator,
        count: Count,
    ) -> None:
        """Count all blocks of queries; int64[answer] places, and numbers of candidates to compare with."""
        answers, thresholds = accumulator.task.queries, accumulator.thresholds
        parts, effort = [np.empty((0, 4), np.int64)], np.zeros(2, np.int64)
        for part, block in self._bounded_blocks(queries, entities, thresholds, effort):
            own = slice(*answers.offsets[[part.start, part.stop]])
            arrays = (thresholds[own], answers.owners[own] - part.start, places[own])
            counting = BlockCounting(block, Answers(*(to_device(array, self.device) for array in arrays)))
            (greater, tied), (known_greater, known_tied) = count(counting, part)
            columns = torch.stack([greater, tied, greater - known_greater, tied - known_tied], dim=1)
            parts.append(columns.cpu().numpy())
        accumulator.counts[:] += np.concatenate(parts)
        self._adapt_precision(int(compared.sum()), effort[None])

    def _select_blocks(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        last = best.scores[:, -1]
        trial, effort = best.copied(), np.zeros(2, np.int64)
        for part, block in self._bounded_blocks(queries, entities, last[last > -np.inf], effort):
            BlockSelection(block, first, trial[part]).select()
        best.take_over(trial)
        self._adapt_precision(len(queries.vectors) * len(entities.biases), effort[None])

    def _bounded_blocks(
        self, queries: QueryVectors, entities: EntityVectors, scores: Float64Array, effort: IntArray
    ) -> Iterator[tuple[slice, Block]]:
        """Copy a chunk and each block of queries to the device; all that ``scores`` are compared with has a bound."""
        chunk = DeviceVectors.of_entities(entities, self.device, products=queries.similarity in PRODUCTS)
        limit = LARGEST**2 if queries.similarity in {"dot", "squared_l2"} else LARGEST
        if not (chunk.largest() < LARGEST and np.abs(scores).max(initial=0.0) < limit):
            raise Unbounded
        for part in self._blocks(queries):
            on_device = DeviceVectors.of_queries(queries, part, self.device)
            if not on_device.largest() < LARGEST:
                raise Unbounded
            yield part, Block((queries[part], entities), on_device, chunk, self.pairs, self.memory // 4, effort)

    def _blocks(self, queries: QueryVectors) -> Iterator[slice]:
        return slices(len(queries.vectors), max(1, self.memory // (128 * (1 + queries.vectors.shape[1]))))


def _current(device: Any) -> AbstractContextManager[Any]:
    """Make a GPU the current one, on which Triton starts its programs."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def comparison_of(device: Any) -> tuple[Callable[..., ScreenResult], float]:
    """Return the comparison for a device, and its bytes per pair: the fused one where Triton runs."""
    if not triton_runs(device):
        return compare, BYTES_PER_PAIR
    from kgeval.ranking.kernels.device.fused import FUSED_BYTES_PER_PAIR, compare_fused

    return compare_fused, FUSED_BYTES_PER_PAIR
