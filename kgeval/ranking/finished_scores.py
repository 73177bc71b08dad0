"""Finished scores: rows of scores that a program outside of kgeval has computed, counted where they are."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from kgeval.arrays import FloatArray, IntArray
from kgeval.compiling import njit
from kgeval.data.rows import Rows
from kgeval.errors import ScoreError
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Ranked
from kgeval.ranking.evaluation import NaNPolicy
from kgeval.ranking.kernels.compiled import GROUP, compare
from kgeval.scorers.adapters.score_arrays import as_array, as_float64
from kgeval.threads import parallel_for, slices

BLOCK_BYTES = 2**27
"""of the scores that are converted, or compared on a device, at a time"""


class UndefinedCell(Exception):  # as UndefinedScore, whose ids are not known here
    """A score is NaN: of this answer, in this column."""

    def __init__(self, answer: int, column: int) -> None:
        self.answer, self.column = answer, column
        super().__init__("a score is NaN")


class Hidden(NamedTuple):
    """The columns that do not compete with each answer: those of its other known answers."""

    starts: IntArray
    """int64[answer], where its columns begin in the pool"""
    stops: IntArray
    """int64[answer], where they end"""
    pool: IntArray
    """columns, distinct for each answer; −1 is none, and an answer itself is passed over"""


def is_tensor(values: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def score_matrix(scores: Any, columns: int | None = None) -> Any:
    """Take scores as an array or a tensor of two dimensions, [row, column], without a copy.

    Raises
    ------
    ScoreError
        if they are none, or if there are not so many columns
    """
    matrix: Any = scores.detach() if is_tensor(scores) else as_array(scores, "the model")
    if is_tensor(matrix) and str(matrix.layout) != "torch.strided":
        raise ScoreError(
            f"scores: expected a dense tensor, found one of layout {matrix.layout}. Call to_dense() first."
        )
    if matrix.ndim != 2 or columns not in (None, matrix.shape[1]):
        expected = f"[triple, {'candidate' if columns is None else columns}]"
        raise ScoreError(f"scores: expected float{expected}, found shape {list(matrix.shape)}.")
    return matrix


def rank_finished(
    scores: Any, owners: IntArray, targets: IntArray, hidden: Hidden, *, nan: NaNPolicy = "error"
) -> Ranked:
    """Rank answers by a matrix of scores [row, column], among all columns but the hidden ones.

    ``owners`` and ``targets``, int64[answer], are the row and the column of each answer; rows ascend. A NumPy array in
    float32 or float64 whose rows are contiguous is read as it is, and so is a tensor of a processor; other types are
    converted a block at a time. Scores on another device are compared there.

    Raises
    ------
    UndefinedCell
        if a score is NaN, unless ``nan`` is ``"worst"``, which takes it for minus infinity
    """
    found = np.zeros((len(owners), len(COLUMNS)), np.int64)
    answers = np.zeros(len(owners))
    if is_tensor(scores) and scores.device.type != "cpu":
        step, count = max(1, BLOCK_BYTES // (16 * max(1, scores.shape[1]))), count_on_device
        parts = list(slices(len(owners), step))
    else:
        scores, count = scores.numpy() if is_tensor(scores) and scores.element_size() >= 4 else scores, _count_on_host
        parts = _blocks(scores, owners)
    for part in parts:
        own = Hidden(hidden.starts[part], hidden.stops[part], hidden.pool)
        count(scores, owners[part], targets[part], own, nan == "worst", found[part], answers[part])
    above, level, hidden_above, hidden_level, num_hidden, undefined = found.T
    if undefined.any():
        answer = int(np.argmax(undefined))
        row = as_array(scores[int(owners[answer])], "the model")
        raise UndefinedCell(answer, int(np.argmax(np.isnan(row))))
    width = np.full(len(owners), scores.shape[1])
    raw = RankCounts(above, level, width)
    return Ranked(answers, RankCounts(above - hidden_above, level - hidden_level, width - num_hidden), raw)


COLUMNS = ("above", "level", "hidden above", "hidden level", "hidden", "undefined")
"""what is counted for each answer; it does not tie with itself"""


def _blocks(scores: Any, owners: IntArray) -> list[slice]:
    """Cut the answers where the rows are to be converted; those that can be read as they are make one block."""
    if _is_readable(scores):
        return [slice(0, len(owners))]
    rows = max(1, BLOCK_BYTES // (8 * max(1, scores.shape[1])))
    ends = np.searchsorted(owners, np.arange(0, len(scores) + rows, rows))
    return [slice(start, stop) for start, stop in zip(ends, ends[1:], strict=False) if start < stop]


def _is_readable(scores: Any) -> bool:
    return str(scores.dtype) in ("float32", "float64") and scores.dtype.isnative and scores.flags.c_contiguous


def _count_on_host(
    scores: Any, owners: IntArray, targets: IntArray, hidden: Hidden, worst: bool, found: IntArray, answers: Any
) -> None:
    if not _is_readable(scores):
        first = owners[0]
        scores, owners = _as_floats(scores[first : owners[-1] + 1]), owners - first

    def count(part: slice) -> None:
        _count_rows(part.start, part.stop, scores, owners, targets, hidden, worst, found, answers)

    parallel_for(count, len(owners), GROUP)


def _as_floats(rows: Any) -> FloatArray:
    """Take rows of scores as contiguous float32 or float64, each exactly as it was."""
    array = as_array(rows, "the model")
    return np.ascontiguousarray(
        array.astype(np.float32) if array.dtype in (np.float16, np.float32) else as_float64(array, "the model")
    )


@njit(cache=True, nogil=True)
def _count_rows(begin, end, scores, owners, targets, hidden, worst, found, answers):  # type: ignore[no-untyped-def]
    for answer in range(begin, end):
        row, target = scores[owners[answer]], targets[answer]
        holes = 0
        for value in row:
            holes += np.isnan(value)
        if holes > 0:
            found[answer, 5] = not worst
            row = np.where(np.isnan(row), row.dtype.type(-np.inf), row)
        own = row[target]
        above, level = compare(row, own, own)
        found[answer, 0], found[answer, 1] = above, level - 1
        answers[answer] = own
        for place in range(hidden.starts[answer], hidden.stops[answer]):
            column = hidden.pool[place]
            if column >= 0 and column != target:
                found[answer, 2] += row[column] > own
                found[answer, 3] += row[column] == own
                found[answer, 4] += 1


def count_on_device(
    scores: Any, owners: IntArray, targets: IntArray, hidden: Hidden, worst: bool, found: IntArray, answers: Any
) -> None:
    """Count the scores of a tensor where it is; the counts and the answers' own scores leave the device, no others."""
    import torch

    def there(ids: IntArray) -> Any:
        return torch.from_numpy(ids).to(scores.device)

    block, own_columns = scores[there(owners)], there(targets)[:, None]
    holes = block.isnan()
    block = block.masked_fill(holes, -torch.inf)
    own = block.gather(1, own_columns)
    listed = Rows.spans(*hidden)
    listed = listed.where((listed.ids >= 0) & (listed.ids != targets[listed.owners]))
    rows, columns = there(listed.owners), there(listed.ids)
    values = block[rows, columns]
    above, level = ((values > own[rows, 0]), (values == own[rows, 0]))
    counts = [
        (block > own).sum(dim=1),
        (block == own).sum(dim=1) - 1,
        *(torch.bincount(rows[where], minlength=len(block)) for where in (above, level)),
        there(listed.lengths),
        holes.any(dim=1).long() * (not worst),
    ]
    found[:] = torch.stack(counts, dim=1).cpu().numpy()
    answers[:] = own[:, 0].double().cpu().numpy()
