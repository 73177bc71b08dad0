"""Finished scores: rows of scores that a program outside of kgeval has computed, counted where they are."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import Float64Array, FloatArray, IntArray
from kgeval.base.compiling import njit
from kgeval.base.errors import ScoreError
from kgeval.base.threads import parallel_for, slices
from kgeval.data.queries import Rows
from kgeval.models.scorer import as_array, as_float64
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Ranked
from kgeval.ranking.evaluation import NaNPolicy
from kgeval.ranking.kernels.compiled import compare

GROUP = 128
"""answers that a thread takes at a time"""

BLOCK_BYTES = 2**27
"""of the scores that are converted, or compared on a device, at a time"""


class UndefinedCell(Exception):  # as UndefinedScore, whose ids are not known here
    """A score is NaN: of this answer, in this column."""

    def __init__(self, answer: int, column: int) -> None:
        self.answer, self.column = answer, column
        super().__init__("a score is NaN")


class Answers(NamedTuple):
    """Answers in a matrix of scores, and the columns that do not compete with each: its other known answers."""

    rows: IntArray
    """int64[answer], ascending"""
    columns: IntArray
    """int64[answer]"""
    starts: IntArray
    """int64[answer], where the columns of its known answers begin in ``known``"""
    stops: IntArray
    """int64[answer], where they end"""
    known: IntArray
    """columns, distinct for each answer; −1 is none, and an answer itself is passed over"""

    def part(self, answers: slice) -> Answers:
        rows, columns, starts, stops = (column[answers] for column in self[:4])
        return Answers(rows, columns, starts, stops, self.known)


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


def rank_finished(scores: Any, answers: Answers, *, nan: NaNPolicy = "error") -> Ranked:
    """Rank answers by a matrix of scores [row, column], among all columns but those of their other known answers.

    A NumPy array in float32 or float64 whose rows are contiguous is read as it is, and so is a tensor of a processor;
    other types are converted a block at a time. Scores on another device are compared there.

    Raises
    ------
    UndefinedCell
        if a score is NaN, unless ``nan`` is ``"worst"``, which takes it for minus infinity
    """
    number, width = len(answers.rows), scores.shape[1]
    found, own = np.zeros((number, len(COLUMNS)), np.int64), np.zeros(number)
    count, parts = _count_on_host, [slice(0, number)]
    if is_tensor(scores) and scores.device.type != "cpu":
        count, parts = count_on_device, list(slices(number, max(1, BLOCK_BYTES // (16 * max(1, width)))))
    elif not _is_readable(scores := _as_array(scores)):
        parts = _blocks(answers.rows, max(1, BLOCK_BYTES // (8 * max(1, width))))
    for part in parts:
        count(scores, answers.part(part), found[part], own[part])
    above, level, known_above, known_level, known, undefined, own_undefined = found.T
    if nan == "error" and undefined.any():
        answer = int(np.argmax(undefined > 0))
        row = as_array(scores[int(answers.rows[answer])], "the model")
        raise UndefinedCell(answer, int(np.argmax(np.isnan(row))))
    all_columns = np.full(number, width)
    filtered = RankCounts(above - known_above, level - known_level, all_columns - known)
    holes = None if nan == "error" else np.stack([undefined - own_undefined, own_undefined], axis=1)
    return Ranked(own, filtered, RankCounts(above, level, all_columns), holes)


COLUMNS = ("above", "level", "known above", "known level", "known", "undefined", "own undefined")
"""what is counted for each answer; it does not tie with itself"""


def _as_array(scores: Any) -> Any:
    """See a tensor of a processor as an array, unless NumPy does not have its type."""
    return scores.numpy() if is_tensor(scores) and scores.element_size() >= 4 else scores


def _is_readable(scores: Any) -> bool:
    return str(scores.dtype) in ("float32", "float64") and scores.dtype.isnative and scores.flags.c_contiguous


def _blocks(rows: IntArray, size: int) -> list[slice]:
    """Cut answers where their rows, which ascend, are converted together."""
    ends = np.searchsorted(rows, np.arange(0, rows.max(initial=-1) + 1 + size, size))
    return [slice(start, stop) for start, stop in pairwise(ends) if start < stop]


def _count_on_host(scores: Any, answers: Answers, found: IntArray, own: Float64Array) -> None:
    if not _is_readable(scores):
        first = answers.rows[0]
        scores = _as_floats(scores[first : answers.rows[-1] + 1])
        answers = answers._replace(rows=answers.rows - first)
    parallel_for(lambda part: _count_rows(part.start, part.stop, scores, answers, found, own), len(answers.rows), GROUP)


def _as_floats(rows: Any) -> FloatArray:
    """Take rows of scores as contiguous float32 or float64, each exactly as it was."""
    array = as_array(rows, "the model")
    return np.ascontiguousarray(
        array.astype(np.float32) if array.dtype in (np.float16, np.float32) else as_float64(array, "the model")
    )


@njit(cache=True, nogil=True)
def _count_rows(begin, end, scores, answers, found, own):  # type: ignore[no-untyped-def]
    for answer in range(begin, end):
        row, target = scores[answers.rows[answer]], answers.columns[answer]
        holes = 0
        for value in row:
            holes += np.isnan(value)
        if holes > 0:
            found[answer, 5], found[answer, 6] = holes, np.isnan(row[target])
            row = np.where(np.isnan(row), row.dtype.type(-np.inf), row)
        threshold = row[target]
        above, level = compare(row, threshold, threshold)
        found[answer, 0], found[answer, 1], own[answer] = above, level - 1, threshold
        for place in range(answers.starts[answer], answers.stops[answer]):
            column = answers.known[place]
            if column >= 0 and column != target:
                found[answer, 2] += row[column] > threshold
                found[answer, 3] += row[column] == threshold
                found[answer, 4] += 1


def count_on_device(scores: Any, answers: Answers, found: IntArray, own: Float64Array) -> None:
    """Count the scores of a tensor where it is; the counts and the answers' own scores leave the device, no others."""
    import torch

    def there(ids: IntArray) -> Any:
        return torch.from_numpy(ids).to(scores.device)

    block = scores[there(answers.rows)]
    holes = block.isnan()
    block = block.masked_fill(holes, -torch.inf)
    threshold = block.gather(1, there(answers.columns)[:, None])
    listed = Rows.spans(*answers[2:])
    listed = listed.where((listed.ids >= 0) & (listed.ids != answers.columns[listed.owners]))
    rows, columns = there(listed.owners), there(listed.ids)
    values, thresholds = block[rows, columns], threshold[rows, 0]
    counts = [
        (block > threshold).sum(dim=1),
        (block == threshold).sum(dim=1) - 1,
        *(torch.bincount(rows[where], minlength=len(block)) for where in (values > thresholds, values == thresholds)),
        there(listed.lengths),
        holes.sum(dim=1),
        holes.gather(1, there(answers.columns)[:, None])[:, 0].long(),
    ]
    found[:] = torch.stack(counts, dim=1).cpu().numpy()
    own[:] = threshold[:, 0].double().cpu().numpy()
