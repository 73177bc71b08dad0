"""``kgeval.count``: how many candidates score above each answer, or tie with it, in any matrix of scores."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from kgeval.base.arrays import IntArray, detached
from kgeval.base.errors import InputError, ScoreError, refuse_unknown
from kgeval.data.queries import Rows
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.evaluation import NaNPolicy
from kgeval.ranking.finished_scores import Answers, UndefinedCell, is_tensor, rank_finished, score_matrix


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
        found = f"{height} rows of scores" if rows is None else f"{len(owners)} rows"
        raise InputError(f"targets: {len(answers)} of them, and {found}. Give rows=, the row of each answer.")
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


def _ids(name: str, values: Any, size: int, what: str) -> IntArray:
    """Read a list, an array or a tensor of numbers from 0 to ``size`` − 1."""
    ids = np.asarray(detached(values))
    if ids.ndim != 1 or (len(ids) and ids.dtype.kind not in "iu"):
        raise InputError(f"{name}: expected whole numbers in one dimension, found {ids.dtype} of shape {ids.shape}.")
    ids = ids.astype(np.int64)
    if len(wrong := np.flatnonzero((ids < 0) | (ids >= size))):
        raise InputError(f"{name}[{wrong[0]}] is {ids[wrong[0]]}, and the scores have {what} 0 to {size - 1}.")
    return ids


def _known(known: Any, height: int, width: int) -> tuple[IntArray, IntArray]:
    """Take the columns of each row's known answers, of a mask or of a pair, as offsets and columns."""
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
        mask: Any = known if is_tensor(known) else np.asarray(known)
        if tuple(mask.shape) != (height, width) or str(mask.dtype) not in ("bool", "torch.bool"):
            expected = f"bool[{height}, {width}] or a pair (offsets, columns)"
            raise InputError(f"known: expected {expected}, found {mask.dtype} of shape {list(mask.shape)}.")
        rows, columns = detached(mask.nonzero()).numpy().T if is_tensor(mask) else np.nonzero(mask)
    return Rows.sized(np.bincount(rows, minlength=height), columns).offsets, np.ascontiguousarray(columns)
