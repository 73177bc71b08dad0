"""Finished scores: rows of scores that a program outside of kgeval has computed, counted where they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from kgeval.arrays import FloatArray, IntArray
from kgeval.errors import InputError, ScoreError
from kgeval.ranking.engine import Ranked, UndefinedScore, concatenated, rank_last
from kgeval.ranking.evaluation import NaNPolicy
from kgeval.ranking.kernels import kernel
from kgeval.ranking.kernels.collectors import Counting
from kgeval.ranking.ranking_task import RankingTask
from kgeval.ranking.tie_rules import exact
from kgeval.scorers.adapters.score_arrays import as_array, as_float64
from kgeval.threads import slices

BLOCK_BYTES = 2**27
"""of the scores that are converted at a time, where the loops cannot read them as they are"""


def is_tensor(values: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def score_matrix(scores: Any, columns: int | None = None) -> Any:
    """Take scores as an array or a tensor of two dimensions, [query, candidate], without a copy.

    Raises
    ------
    ScoreError
        if they are none, or if there are not so many columns
    """
    matrix = scores.detach() if is_tensor(scores) else as_array(scores, "the model")
    if matrix.ndim != 2 or (is_tensor(matrix) and matrix.layout != sys.modules["torch"].strided):
        kind = "array" if matrix.ndim != 2 else str(matrix.layout)
        raise ScoreError(f"scores: expected float[query, candidate], found an {kind} of shape {tuple(matrix.shape)}.")
    if columns is not None and matrix.shape[1] != columns:
        raise ScoreError(f"scores: expected a column for each of {columns:,} candidates, found {matrix.shape[1]:,}.")
    return matrix


def rank_finished(scores: Any, task: RankingTask, *, nan: NaNPolicy = "error") -> Ranked:
    """Rank the answers of a task by finished scores, [query, candidate]; all queries share their candidates.

    A NumPy array in float32 or float64 whose rows are contiguous is read as it is, and so is a tensor of a processor;
    anything else is converted a block at a time. Scores on another device are compared there.

    Raises
    ------
    UndefinedScore
        if a score is NaN, unless ``nan`` is ``"worst"``
    """
    ranked = [_rank_block(block, part, nan) for block, part in _blocks(scores, task)]
    return concatenated([rank_last(task[:0]), *ranked])


def _blocks(scores: Any, task: RankingTask) -> Iterator[tuple[Any, RankingTask]]:
    if is_tensor(scores) and scores.device.type != "cpu":
        yield scores, task
        return
    plain = scores.numpy() if is_tensor(scores) and scores.element_size() >= 4 else scores
    if str(plain.dtype) in ("float32", "float64") and plain.flags.c_contiguous:
        yield plain, task
        return
    for part in slices(len(plain), max(1, BLOCK_BYTES // (8 * max(1, plain.shape[1])))):
        yield _as_floats(plain[part]), task[part]


def _as_floats(rows: Any) -> FloatArray:
    """Take rows of scores as contiguous float32 or float64, each exactly as it was."""
    array = as_array(rows, "the model")
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    elif array.dtype != np.float32:
        array = as_float64(array, "the model")
    return np.ascontiguousarray(array)


def _rank_block(scores: Any, task: RankingTask, nan: NaNPolicy) -> Ranked:
    queries, columns = task.queries, task.answers
    answers = as_float64(scores[queries.owners, columns], "the model")
    undefined = np.isnan(answers)
    if nan == "worst":
        answers = np.where(undefined, -np.inf, answers)
    elif undefined.any():
        answer = int(np.argmax(undefined))
        raise UndefinedScore(queries, int(queries.owners[answer]), int(columns[answer]))
    counting = Counting.of(task, answers, exact)
    if isinstance(scores, np.ndarray):
        counting.meet_scores(kernel("compiled"), scores)
    else:
        count_on_device(counting, scores)
    if nan == "error" and counting.undefined.any():
        query = int(np.argmax(counting.undefined))
        raise UndefinedScore(queries, query, int(np.argmax(np.isnan(as_array(scores[query], "the model")))))
    return Ranked(answers, *counting.ranks(nan_last=nan == "worst"))


def count_on_device(counting: Counting, scores: Any) -> None:
    """Meet the scores of a tensor where it is: the counts of each answer leave the device, and no scores."""
    from kgeval.ranking.kernels.device.tensor_scores import count_listed, count_tensor

    task, intervals = counting.task, counting.intervals
    counting.met.add(count_tensor(scores, task.num_candidates, intervals, memory=BLOCK_BYTES))
    counting.known.add(count_listed(scores, task.known, intervals, memory=BLOCK_BYTES))
