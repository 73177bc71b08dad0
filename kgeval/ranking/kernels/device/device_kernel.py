"""The device kernel: the counts of the compiled kernel, bit for bit, made on a device of torch such as a GPU.

``engine_choice`` makes it; ``Kernel`` in ``collectors`` says what each method takes and returns. Pairs of a query and a
candidate are decided in three steps, as in the screened kernel: by products in float16 (``screen`` has the bound); if
these leave a pair undecided, by a float64 sum; and the few pairs that remain, by canonical scores (float64, in one
fixed order, on the host). ``device_blocks`` takes these steps for a block of queries; the kernel cuts the blocks. The
screened kernel does on the host what the device cannot do; ``on_host`` says what and why.

Finished scores are those that a model returns itself. As tensors of a live model, they are compared on its device, and
never copied. Half, bfloat16 and single precision are widened to float64, which loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.errors import RunError
from kgeval.base.threads import slices
from kgeval.data.queries import Rows
from kgeval.models.similarity import PRODUCTS
from kgeval.ranking.kernels.best_selection import best_arrays, merge_rows
from kgeval.ranking.kernels.collectors import Among, BestAnswers, Counted, Spans
from kgeval.ranking.kernels.device.device_blocks import BlockAnswers, BlockCounting, BlockSelection, DeviceBlock, expand
from kgeval.ranking.kernels.device.device_vectors import DeviceVectors, to_device, triton_runs
from kgeval.ranking.kernels.device.screen import BYTES_PER_PAIR, ScreenResult, compare
from kgeval.ranking.kernels.rounding import Precision
from kgeval.ranking.kernels.screening.screened_kernel import ScreenedKernel
from kgeval.ranking.kernels.screening.screens import LARGEST, scores_are_bounded
from kgeval.ranking.kernels.vectors import EntityVectors, QueryVectors
from kgeval.ranking.memory_plan import BLOCK, cut

MOST_DIMENSIONS = 2**17
"""vectors with more dimensions are counted on the host: the bound of their sums in float32 says too little"""

MOST_CANDIDATES = 2**30
"""the largest number of candidates in a chunk; fewer once the device ran out of memory"""

LEAST_MEMORY = 2**20
"""the memory that blocks take at least, in bytes, however often the device ran out of memory"""

BYTES_PER_FINISHED_SCORE = 32
"""the memory of a finished score while it is compared: in float64, and the results"""


class DeviceKernel(ScreenedKernel):
    """The kernel that counts and selects on a device of torch; work that the device cannot do is done on the host."""

    def __init__(self, device: Any, memory: int, *, on_host: Precision = "float32", block: int = BLOCK) -> None:
        super().__init__(on_host, block=block)
        self.name = "float16"
        self.device, self.memory = device, memory
        self._most = MOST_CANDIDATES
        self._comparison = comparison_of(device)
        self.on_host: dict[str, None] = {}
        """the work that was done on the host, and why, as text, in the order in which it occurred"""

    def stats(self) -> dict[str, Any]:
        screen = "torch" if self._comparison[0] is compare else "triton"
        where = {"device": describe(self.device), "screen": screen, "on_host": list(self.on_host)}
        return {**super().stats(), **where}

    def compare(
        self, queries: QueryVectors, entities: EntityVectors, among: Among, intervals: Spans
    ) -> tuple[Counted, Counted]:
        of_all, known = Counted.zero(intervals), Counted.zero(intervals)

        def add_part(part: slice, compare_part: Callable[..., tuple[Counted, Counted]]) -> None:
            chunk, concerned = (entities[part], among.in_chunk(part)) if among.own is None else (entities, among)
            for total, counted in zip((of_all, known), compare_part(queries, chunk, concerned, intervals), strict=True):
                total.add(counted)

        on_device = partial(add_part, compare_part=self._compare_blocks)
        on_host = partial(add_part, compare_part=super().compare)
        self._attempt(queries, entities, on_device, on_host, shared=among.own is None)
        return of_all, known

    def count_scores(self, scores: Float64Array, starts: IntArray, lengths: IntArray, intervals: Spans) -> Counted:
        self._note("finished scores, which were given or copied to the host")
        return super().count_scores(scores, starts, lengths, intervals)

    def count_tensor(self, scores: Any, widths: IntArray, intervals: Spans) -> Counted:
        """Compare the first ``widths`` (int64[query]) scores of each row, float[query, column], on the device."""
        with torch.inference_mode(), _current(self.device):
            return count_tensor(scores, widths, intervals, memory=self.memory)

    def count_listed(self, scores: Any, listed: Rows, intervals: Spans) -> Counted:
        """Compare the finished scores in the columns that each query lists."""
        with torch.inference_mode(), _current(self.device):
            return count_listed_scores(scores, listed, intervals, memory=self.memory)

    def select_shared(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        def on_device(part: slice) -> None:
            self._select_blocks(queries, entities[part], first + part.start, best)

        def on_host(part: slice) -> None:
            super(DeviceKernel, self).select_shared(queries, entities[part], first + part.start, best)

        self._attempt(queries, entities, on_device, on_host, shared=True)

    def select_scores(self, scores: Float64Array, best: BestAnswers) -> None:
        self._note("finished scores, which were given or copied to the host")
        super().select_scores(scores, best)

    def select_tensor(self, scores: Any, best: BestAnswers) -> None:
        """Merge finished scores on the device into the best answers."""
        with torch.inference_mode(), _current(self.device):
            select_tensor(scores, best, memory=self.memory)

    def _note(self, work: str) -> None:
        self.on_host[work] = None

    def _attempt(
        self,
        queries: QueryVectors,
        entities: EntityVectors,
        on_device: Callable[[slice], None],
        on_host: Callable[[slice], None],
        *,
        shared: bool,
    ) -> None:
        """Call ``on_device`` for all candidates, or for halves of the shared ones if the device has too little memory.

        A part that the device cannot do goes to ``on_host``; each query's own candidates cannot be halved.
        ``on_device`` changes no result before all of its work is done, so that a part can be done again.
        """
        parts = [slice(0, len(entities.biases))]
        while parts:
            part = parts.pop(0)
            width = part.stop - part.start
            why = self._obstacle(queries, biased=shared and bool(entities.biases[part].any()))
            full = width > self._most
            try:
                if why is None and not full:
                    with torch.inference_mode(), _current(self.device):
                        on_device(part)
                    continue
            except Unbounded:
                why = "vectors, biases or scores that are huge, infinite or NaN: rounding has no bound"
            except torch.cuda.OutOfMemoryError as error:
                full = True
                self._halve_blocks(width, error)
            if why is None and shared:
                middle = part.start + width // 2
                parts[:0] = [slice(part.start, middle), slice(middle, part.stop)]
            else:
                self._note(why or "candidates that differ by query: the device has too little memory for their vectors")
                on_host(part)

    def _halve_blocks(self, width: int, error: Exception) -> None:
        """Halve the blocks and the chunks after a chunk for which the device had too little memory."""
        if width <= 1:
            raise RunError(
                f"{describe(self.device)} has no memory left for a single candidate. Free memory, or use device: cpu."
            ) from error
        self._most, self.memory = width // 2, max(LEAST_MEMORY, self.memory // 2)
        torch.cuda.empty_cache()

    def _obstacle(self, queries: QueryVectors, *, biased: bool) -> str | None:
        """Say why the device cannot count for queries and shared candidates, biased or not; None where it can."""
        if biased and queries.similarity == "l2":
            return "Euclidean distances with biases, which are not products of vectors"
        if queries.vectors.shape[1] > MOST_DIMENSIONS:
            return f"vectors of more than {MOST_DIMENSIONS} dimensions"
        if self._precisions:
            return None
        return "scores that are nearly equal, or nearly all requested: bounds exclude too few candidates"

    def _compare_blocks(
        self, queries: QueryVectors, entities: EntityVectors, among: Among, intervals: Spans
    ) -> tuple[Counted, Counted]:
        """Compare one block of queries after another; the comparisons of known answers are not in the statistics."""
        counts, effort, owners = [np.empty((2, 0, 2), np.int64)], np.zeros(2, np.int64), intervals.owners
        for part, block in self._bounded_blocks(queries, entities, effort, *intervals[1:]):
            answers = slice(*intervals.offsets[[part.start, part.stop]])
            arrays = owners - part.start, intervals.lowest, intervals.highest, among.answers
            counting = BlockCounting(block, BlockAnswers(*(to_device(array[answers], self.device) for array in arrays)))
            of_known = replace(counting, block=replace(block, effort=np.zeros_like(effort)))
            candidates = (
                counting.count_all(*self._comparison) if among.own is None else counting.count_listed(among.own[part])
            )
            counts.append(torch.stack([candidates, of_known.count_listed(among.known[part])]).cpu().numpy())
        each = len(entities.biases) if among.own is None else among.own.lengths[owners]
        self._adapt_precision(int(np.broadcast_to(each, owners.shape).sum()), effort[None])
        of_all, known = np.concatenate(counts, axis=1)
        undefined = np.zeros(len(queries.vectors), np.int64)
        return Counted(of_all, undefined), Counted(known, undefined)

    def _select_blocks(self, queries: QueryVectors, entities: EntityVectors, first: int, best: BestAnswers) -> None:
        last = best.scores[:, -1]
        trial, effort = best.copied(), np.zeros(2, np.int64)
        for part, block in self._bounded_blocks(queries, entities, effort, last[last > -np.inf]):
            BlockSelection(block, first, trial[part]).select()
        best.take_over(trial)
        self._adapt_precision(len(queries.vectors) * len(entities.biases), effort[None])

    def _bounded_blocks(
        self, queries: QueryVectors, entities: EntityVectors, effort: IntArray, *scores: Float64Array
    ) -> Iterator[tuple[slice, DeviceBlock]]:
        """Copy a chunk and each block of queries to the device; raise ``Unbounded`` if no error bound holds.

        ``scores`` are arrays of the scores that candidates are compared with.
        """
        chunk = DeviceVectors.of_entities(entities, self.device, products=queries.similarity in PRODUCTS)
        if not (scores_are_bounded(queries.similarity, *scores) and chunk.largest() < LARGEST):
            raise Unbounded
        for part in slices(len(queries.vectors), max(1, self.memory // (128 * (1 + queries.vectors.shape[1])))):
            on_device = DeviceVectors.of_queries(queries, part, self.device)
            if not on_device.largest() < LARGEST:
                raise Unbounded
            yield part, DeviceBlock((queries[part], entities), on_device, chunk, self.scores, self.memory // 4, effort)


class Unbounded(Exception):
    """Some numbers are huge, infinite or undefined, so that no error bound holds for them."""


def comparison_of(device: Any) -> tuple[Callable[..., ScreenResult], float]:
    """Return the comparison for a device, and its bytes per pair: the fused one where Triton runs."""
    if not triton_runs(device):
        return compare, BYTES_PER_PAIR
    from kgeval.ranking.kernels.device.fused import FUSED_BYTES_PER_PAIR, compare_fused

    return compare_fused, FUSED_BYTES_PER_PAIR


def describe(device: Any) -> str:
    """Name a device for the manifest of a run."""
    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else f"torch:{device}"


def _current(device: Any) -> AbstractContextManager[Any]:
    """Make a GPU the current one, on which Triton starts its programs."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def count_tensor(scores: Any, widths: IntArray, intervals: Spans, *, memory: int) -> Counted:
    """Compare the first ``widths`` (int64[query]) scores of each row, float[query, column], with the answers."""
    owners, lowest, highest, ends = _on_device(scores, intervals, widths)
    counted, columns = [np.empty((0, 2), np.int64)], torch.arange(scores.shape[1], device=scores.device)
    undefined = torch.zeros(len(scores), dtype=torch.int64, device=scores.device)
    for part in slices(len(owners), max(1, memory // (BYTES_PER_FINISHED_SCORE * max(1, len(columns))))):
        queries, low, high = owners[part], lowest[part, None], highest[part, None]
        row, competes = scores[queries].double(), columns < ends[queries, None]
        above, inside = (row > high) & competes, (row >= low) & (row <= high) & competes
        counted.append(torch.stack([above.sum(dim=1), inside.sum(dim=1)], dim=1).cpu().numpy())
        undefined[queries] = (row.isnan() & competes).sum(dim=1)
    return Counted(np.concatenate(counted), undefined.cpu().numpy())


def count_listed_scores(scores: Any, listed: Rows, intervals: Spans, *, memory: int) -> Counted:
    """Compare the scores in the columns that each query lists."""
    owners, lowest, highest, offsets, ids = _on_device(scores, intervals, listed.offsets, listed.ids)
    counts = torch.zeros((len(owners), 2), dtype=torch.int64, device=scores.device)
    for part in cut(listed.lengths[intervals.owners], max(1, memory // BYTES_PER_FINISHED_SCORE)):
        rows, entries = expand(owners[part], offsets)
        rows += part.start
        listed_scores = scores[owners[rows], ids[entries]].double()
        above = listed_scores > highest[rows]
        for column, where in enumerate((above, (listed_scores >= lowest[rows]) & ~above)):
            counts[:, column] += torch.bincount(rows[where], minlength=len(owners))
    return Counted(counts.cpu().numpy(), np.zeros(len(scores), np.bool_))


def select_tensor(scores: Any, best: BestAnswers, *, memory: int) -> None:
    """Merge finished scores of all shared candidates, float[query, candidate], into the best answers."""
    number, width = scores.shape
    for part in slices(number, max(1, memory // (BYTES_PER_FINISHED_SCORE * max(1, width)))):
        block, of_block = scores[part].double(), best[part]
        of_block.undefined[:] |= block.isnan().any(dim=1).cpu().numpy()
        if best.drops_known:
            known = (to_device(array, block.device) for array in (of_block.known.owners, of_block.known.ids))
            block[tuple(known)] = -torch.inf
        last = block.topk(min(best.scores.shape[1], width), dim=1).values[:, -1:]
        rows, columns = ((block >= last) & (block > -torch.inf)).nonzero(as_tuple=True)
        offsets = np.searchsorted(rows.cpu().numpy(), np.arange(len(block) + 1))
        entering = block[rows, columns].cpu().numpy()
        merge_rows(0, len(block), offsets, entering, columns.cpu().numpy(), best_arrays(of_block))


def _on_device(scores: Any, intervals: Spans, *arrays: IntArray) -> tuple[Any, ...]:
    """Copy the owners and ends of intervals, and further arrays, to the device of the scores."""
    all_arrays = (intervals.owners, intervals.lowest, intervals.highest, *arrays)
    return tuple(to_device(array, scores.device) for array in all_arrays)
