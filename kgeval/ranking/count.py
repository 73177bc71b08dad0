"""``kgeval.count``: how many candidates score above each answer, or tie with it, in any matrix of scores.

The scores are finished: a program outside of kgeval has computed them. They are counted where they are, in the memory
of the CPU or on a device. ``count`` checks what a user gives, and returns ``RankCounts``; ``rank_finished`` counts, for
``Recorder`` as well.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kgeval.base.arrays import Float64Array, IntArray, array_or, detached, is_tensor
from kgeval.base.compiling import njit
from kgeval.base.errors import InputError, ScoreError, reason, refuse_unknown
from kgeval.base.threads import slices
from kgeval.data.queries import Rows
from kgeval.models.scorer import as_array, as_float64
from kgeval.ranking.evaluation import NaNPolicy
from kgeval.ranking.kernels.collectors import Spans
from kgeval.ranking.kernels.compiled import above_and_inside, run_loop
from kgeval.ranking.ranking_task import RankCounts, Ranked

GROUP = 128
"""the number of answers that a thread takes at a time"""

BLOCK_BYTES = 2**27
"""the memory of the scores that are converted, or compared on a device, at a time"""

COLUMNS = ("above", "level", "known above", "known level", "known", "undefined", "own undefined")
"""the counts of each answer, in the order of their columns; undefined scores are NaN; an answer does not tie with
itself"""


def count(scores: Any, targets: Any, known: Any = None, *, rows: Any = None, nan: NaNPolicy = "error") -> RankCounts:
    """Count the candidates above each answer, and those that tie with it.

    The optimistic rank of an answer is 1 + greater, the pessimistic one 1 + greater + tied, the realistic one their
    mean. Scores are compared as they are, each in its own precision. They are not copied as a whole: an array or a
    tensor of float32 or float64 with contiguous rows is read in place, and other types a block at a time.

    Parameters
    ----------
    scores
        float[query, candidate], a NumPy array or a tensor on any device; higher is more plausible
    targets
        int[answer], the column of each answer; by default that of row 0, of row 1, and so on
    known
        the other known answers, which are left out (the filter): bool[query, candidate], or a pair of arrays
        (offsets, columns) with those of row q in ``columns[offsets[q]:offsets[q + 1]]``. An answer itself may be
        among them: it is not left out
    rows
        int[answer], the row of each answer, if rows have several answers or none
    nan
        what to do with NaN scores: ``"error"``, or ``"worst"``, which replaces them by minus infinity

    Returns
    -------
    RankCounts
        ``greater``, ``tied`` and ``candidates``, the answer itself included: int64[answer], tensors on the device of
        the scores if these are a tensor

    Raises
    ------
    InputError
        if shapes do not fit, or a column or a row is out of range
    ScoreError
        if a score is NaN, with its row and column; if the scores are not real numbers

    Examples
    --------
    Column 3 is a known answer. Of the others, column 1 is above the answer, column 2, and column 0 ties with it.

    >>> counts = count(np.array([[0.5, 0.7, 0.5, 0.9]]), [2], known=([0, 1], [3]))
    >>> counts.greater, counts.tied, counts.candidates
    (array([1]), array([1]), array([3]))
    >>> 1 + counts.greater + counts.tied / 2  # the realistic rank
    array([2.5])
    """
    refuse_unknown("nan: unknown value", nan, ("error", "worst"))
    matrix = score_matrix(scores)
    height, width = matrix.shape
    answers = _ids("targets", targets, width, "columns")
    owners = np.arange(len(answers)) if rows is None else _ids("rows", rows, height, "rows")
    if len(owners) != len(answers) or (rows is None and height != len(answers)):
        actual = f"{height} rows of scores" if rows is None else f"{len(owners)} rows"
        raise InputError(f"targets: {len(answers)} of them, and {actual}. Give rows=, the row of each answer.")
    order = np.argsort(owners, kind="stable")
    owners = owners[order]
    offsets, columns = _known(known, height, width)
    placed = Answers(owners, answers[order], offsets[owners], offsets[owners + 1], columns)
    try:
        ranked = rank_finished(matrix, placed, nan=nan)
    except UndefinedCell as error:
        where = f"scores[{owners[error.answer]}, {error.column}]"
        raise ScoreError(f"{where} is NaN: a rank is undefined. Use nan='worst' to rank it last.") from error
    counts = ranked.filtered.take(np.argsort(order))
    if not is_tensor(scores):
        return counts
    from_numpy = sys.modules["torch"].from_numpy
    return RankCounts(*(from_numpy(column).to(scores.device) for column in counts.columns))


def rank_finished(scores: Any, answers: Answers, *, nan: NaNPolicy = "error") -> Ranked:
    """Rank answers by a matrix of scores [row, column], among all columns but those of their other known answers.

    A NumPy array in float32 or float64 whose rows are contiguous is read as it is, and so is a tensor on the CPU; other
    types are converted a block at a time. Scores on another device are compared there.

    Raises
    ------
    UndefinedCell
        if a score is NaN, unless ``nan`` is ``"worst"``, which takes it for minus infinity
    """
    number, width = len(answers.rows), scores.shape[1]
    counts, own_scores = np.zeros((number, len(COLUMNS)), np.int64), np.zeros(number)
    count, parts = _count_on_host, [slice(0, number)]
    if is_tensor(scores) and scores.device.type != "cpu":
        count, parts = count_on_device, list(slices(number, max(1, BLOCK_BYTES // (16 * max(1, width)))))
    elif not _is_readable(scores := _as_array(scores)):
        parts = _blocks(answers.rows, max(1, BLOCK_BYTES // (8 * max(1, width))))
    for part in parts:
        count(scores, answers.part(part), counts[part], own_scores[part])
    above, level, known_above, known_level, known, undefined, own_undefined = counts.T
    if nan == "error" and undefined.any():
        answer = int(np.argmax(undefined > 0))
        row = as_array(scores[int(answers.rows[answer])], "the model")
        raise UndefinedCell(answer, int(np.argmax(np.isnan(row))))
    all_columns = np.full(number, width)
    filtered = RankCounts(above - known_above, level - known_level, all_columns - known)
    holes = None if nan == "error" else np.stack([undefined - own_undefined, own_undefined], axis=1)
    return Ranked(own_scores, filtered, RankCounts(above, level, all_columns), holes)


class Answers(NamedTuple):
    """Answers in a matrix of scores, each with the columns of its other known answers, which do not compete."""

    rows: IntArray
    """int64[answer], the row of each answer, ascending"""
    columns: IntArray
    """int64[answer], the column of each answer"""
    starts: IntArray
    """int64[answer], where the columns of its known answers begin in ``known``"""
    stops: IntArray
    """int64[answer], where the columns of its known answers end"""
    known: IntArray
    """int64[known answer], columns, distinct for each answer; −1 and the answer itself are passed over"""

    def part(self, answers: slice) -> Answers:
        rows, columns, starts, stops = (column[answers] for column in self[:4])
        return Answers(rows, columns, starts, stops, self.known)


class UndefinedCell(Exception):  # as UndefinedScore, whose ids are not known here
    """A score is NaN: in the row of an answer (by its index) and in this column."""

    def __init__(self, answer: int, column: int) -> None:
        self.answer, self.column = answer, column
        super().__init__("a score is NaN")


def score_matrix(scores: Any, columns: int | None = None) -> Any:
    """Take scores as an array or a tensor of two dimensions, [row, column], without a copy.

    Raises
    ------
    ScoreError
        if they are no such scores, or do not have this number of columns
    """
    matrix: Any = scores.detach() if is_tensor(scores) else as_array(scores, "the model")
    if is_tensor(matrix) and str(matrix.layout) != "torch.strided":
        raise ScoreError(f"scores: expected a dense tensor, found layout {matrix.layout}. Call to_dense() first.")
    if matrix.ndim != 2 or columns not in (None, matrix.shape[1]):
        expected = f"[triple, {'candidate' if columns is None else columns}]"
        raise ScoreError(f"scores: expected float{expected}, found shape {list(matrix.shape)}.")
    return matrix


def _ids(name: str, values: Any, size: int, unit: str) -> IntArray:
    """Read a list, an array or a tensor of numbers from 0 to ``size`` − 1."""
    expected = f"{name}: expected whole numbers in one dimension"
    ids = array_or(lambda it: InputError(f"{expected} ({reason(it)})."), values)
    if ids.ndim != 1 or (len(ids) and ids.dtype.kind not in "iu"):
        raise InputError(f"{expected}, found {ids.dtype} of shape {ids.shape}.")
    ids = ids.astype(np.int64)
    if len(wrong := np.flatnonzero((ids < 0) | (ids >= size))):
        raise InputError(f"{name}[{wrong[0]}] is {ids[wrong[0]]}, and the scores have {unit} 0 to {size - 1}.")
    return ids


def _known(known: Any, height: int, width: int) -> tuple[IntArray, IntArray]:
    """Read the known answers of each row, a mask or a pair, as offsets (int64[row + 1]) and columns."""
    if known is None:
        return np.zeros(height + 1, np.int64), np.empty(0, np.int64)
    if isinstance(known, tuple) and len(known) == 2:
        columns = _ids("known columns", known[1], width, "columns")
        offsets = _ids("known offsets", known[0], len(columns) + 1, "known columns")
        if len(offsets) != height + 1 or offsets[0] != 0 or offsets[-1] != len(columns) or (np.diff(offsets) < 0).any():
            raise InputError(f"known offsets: expected {height + 1} ascending numbers from 0 to {len(columns)}.")
        rows = Rows(offsets, columns).owners
        if (np.diff(columns)[np.diff(rows) == 0] > 0).all():
            return offsets, columns
        rows, columns = np.divmod(np.unique(rows * width + columns), width)
    else:
        form = f"known: expected bool[{height}, {width}] or a pair (offsets, columns)"
        mask: Any = known if is_tensor(known) else array_or(lambda it: InputError(f"{form} ({reason(it)})."), known)
        if tuple(mask.shape) != (height, width) or str(mask.dtype) not in ("bool", "torch.bool"):
            raise InputError(f"{form}, found {mask.dtype} of shape {list(mask.shape)}.")
        rows, columns = detached(mask.nonzero()).numpy().T if is_tensor(mask) else np.nonzero(mask)
    return Rows.sized(np.bincount(rows, minlength=height), columns).offsets, np.ascontiguousarray(columns)


def _as_array(scores: Any) -> Any:
    """View a tensor on the CPU as an array, unless NumPy does not have its type."""
    return scores.numpy() if is_tensor(scores) and scores.element_size() >= 4 else scores


def _is_readable(scores: Any) -> bool:
    return str(scores.dtype) in ("float32", "float64") and scores.dtype.isnative and scores.flags.c_contiguous


def _blocks(rows: IntArray, size: int) -> list[slice]:
    """Cut answers, whose rows ascend, into blocks of at most ``size`` rows of scores, which are converted together."""
    ends = np.searchsorted(rows, np.arange(0, rows.max(initial=-1) + 1 + size, size))
    return [slice(start, stop) for start, stop in pairwise(ends) if start < stop]


def _count_on_host(scores: Any, answers: Answers, counts: IntArray, own_scores: Float64Array) -> None:
    if not _is_readable(scores):
        first = answers.rows[0]
        array = as_array(scores[first : answers.rows[-1] + 1], "the model")
        is_single = array.dtype in (np.float16, np.float32)  # each score exactly as it was
        scores = np.ascontiguousarray(array.astype(np.float32) if is_single else as_float64(array, "the model"))
        answers = answers._replace(rows=answers.rows - first)
    run_loop(_count_rows, len(answers.rows), scores, answers, counts, own_scores, group=GROUP)


@njit(cache=True, nogil=True)
def _count_rows(begin, end, scores, answers, counts, own_scores):  # type: ignore[no-untyped-def]
    for answer in range(begin, end):
        row, target = scores[answers.rows[answer]], answers.columns[answer]
        holes = 0
        for value in row:
            holes += np.isnan(value)
        if holes > 0:
            counts[answer, 5], counts[answer, 6] = holes, np.isnan(row[target])
            row = np.where(np.isnan(row), row.dtype.type(-np.inf), row)
        threshold = row[target]
        above, level = above_and_inside(row, threshold, threshold)
        counts[answer, 0], counts[answer, 1], own_scores[answer] = above, level - 1, threshold
        for place in range(answers.starts[answer], answers.stops[answer]):
            column = answers.known[place]
            if column >= 0 and column != target:
                counts[answer, 2] += row[column] > threshold
                counts[answer, 3] += row[column] == threshold
                counts[answer, 4] += 1


def count_on_device(scores: Any, answers: Answers, counts: IntArray, own_scores: Float64Array) -> None:
    """Count the scores of a tensor where it is; the counts and the answers' own scores leave the device, no others."""
    from kgeval.ranking.kernels.device.device_kernel import count_listed_scores, count_tensor
    from kgeval.ranking.kernels.device.device_vectors import to_device

    block, columns = scores[to_device(answers.rows, scores.device)], to_device(answers.columns, scores.device)[:, None]
    holes = block.isnan()
    block = block.masked_fill(holes, -np.inf)
    own_scores[:] = block.gather(1, columns)[:, 0].double().cpu().numpy()
    intervals = Spans(np.arange(len(block) + 1), own_scores, own_scores)
    listed = Rows.spans(*answers[2:])
    listed = listed.where((listed.ids >= 0) & (listed.ids != answers.columns[listed.owners]))
    of_all = count_tensor(block, np.full(*block.shape), intervals, memory=BLOCK_BYTES // 2).counts
    known = count_listed_scores(block, listed, intervals, memory=BLOCK_BYTES // 2).counts
    undefined, own_undefined = holes.sum(dim=1).cpu().numpy(), holes.gather(1, columns)[:, 0].cpu().numpy()
    counts[:] = np.column_stack([of_all - [0, 1], known, listed.lengths, undefined, own_undefined])
