"""``kgeval.ogb_eval``: ranks among lists of negative scores, which OGB and TGB evaluate.

Users call it with the dictionary of scores that OGB's evaluator takes; it returns a ``RankTable``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kgeval.base.arrays import Float64Array, IntArray
from kgeval.base.errors import InputError, ScoreError
from kgeval.base.notes import Note
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.scorer import as_float64
from kgeval.ranking.kernels import kernel
from kgeval.ranking.kernels.collectors import Spans
from kgeval.ranking.rank_table import SCHEMA, RankTable

POSITIVE, NEGATIVE = "y_pred_pos", "y_pred_neg"


def ogb_eval(scores: Mapping[str, Any]) -> RankTable:
    """Rank each positive score among its negative ones, with every tie.

    The mean over ties is OGB's and TGB's rank, so ``mrr`` and ``hits@k`` of the table are theirs if each triple has its
    own negatives. If all share one list (ogbl-ppa, ogbl-collab, ogbl-ddi), OGB's hits at K is
    ``pessimistic.hits@K``: a score counts if it is above the K-th best negative one.

    Parameters
    ----------
    scores
        the dictionary of ``ogb.linkproppred.Evaluator.eval`` and of TGB's evaluator: ``y_pred_pos``, float[triple], and
        ``y_pred_neg``, float[triple, negative]; or float[negative], one list for all; or a list with an array for each
        triple, of any lengths

    Returns
    -------
    RankTable
        a row for each triple, on the side tail. Its triples are numbers, as the scores have no labels

    Raises
    ------
    InputError
        if a key is missing, or shapes do not fit
    ScoreError
        if a score is NaN, with its row

    Examples
    --------
    The first score is second of three, the other one ties with its only negative.

    >>> table = ogb_eval({"y_pred_pos": [0.5, 0.5], "y_pred_neg": [[0.9, 0.1], [0.5]]})
    >>> table.ranks
    array([2. , 1.5])
    """
    if lacking := {POSITIVE, NEGATIVE} - {*scores}:
        raise InputError(
            f"the scores need the key {min(lacking)!r}; found {', '.join(map(repr, scores)) or 'no keys'}."
        )
    positive = as_float64(scores[POSITIVE], POSITIVE)
    if positive.ndim not in (1, 2) or positive.size != len(positive) or not len(positive):
        raise InputError(f"{POSITIVE}: expected float[triple], found shape {list(positive.shape)}.")
    positive = positive.ravel()
    negative, starts, lengths, is_shared = _lists(scores[NEGATIVE], len(positive))
    intervals = Spans(np.arange(len(positive) + 1), positive, positive)
    counted = kernel("compiled").count_scores(negative, starts, lengths, intervals)
    undefined = np.isnan(positive) | (counted.undefined > 0)
    if undefined.any():
        raise ScoreError(f"row {int(np.argmax(undefined))} has a score that is NaN: a rank is undefined.")
    above, level = counted.counts.T
    if not is_shared:
        words = " to ".join(f"{size:,}" for size in sorted({int(lengths.min()), int(lengths.max())}))
        return _table(positive, above, level, lengths, protocol="ogb", candidates=f"{words} negatives as listed")
    words = f"one list of {lengths[0]:,} negatives for all"
    table = _table(positive, above + level, 0 * level, lengths, protocol="ogb-shared", candidates=words)
    table = replace(table, has_ties=False, own_ties="pessimistic")
    if ties := int((level > 0).sum()):
        tied = f"{ties:,} of {len(level):,} scores tie with negatives, which count as above them: OGB's hits at K"
        table = replace(table, notes=(Note("ties", f"{tied} are the scores above the K-th best negative."),))
    return table


def _lists(negative: Any, number: int) -> tuple[Float64Array, IntArray, IntArray, bool]:
    """Lay the negatives of all triples out one after the other.

    Also return where each list begins, its length, and whether all triples share one list.
    """
    if isinstance(negative, Sequence):
        rows: list[Float64Array] = [as_float64(row, f"{NEGATIVE}[{place}]") for place, row in enumerate(negative)]
        ends = {row.ndim for row in rows}
        if ends == {1} and len(rows) == number:
            lengths = np.array([len(row) for row in rows], np.int64)
            return np.concatenate(rows), np.cumsum(lengths) - lengths, lengths, False
        if ends != {0}:
            actual = f"{len(rows)} lists" if ends == {1} else "lists of other dimensions"
            raise InputError(f"{NEGATIVE}: expected a list of scores for each of {number} triples, found {actual}.")
    array = as_float64(negative, NEGATIVE)
    if array.ndim == 1:
        return array, np.zeros(number, np.int64), np.full(number, len(array)), True
    if array.ndim != 2 or len(array) != number:
        expected = f"float[{number}, negative] or one list for all"
        raise InputError(f"{NEGATIVE}: expected {expected}, found shape {list(array.shape)}.")
    width = array.shape[1]
    return np.ascontiguousarray(array).ravel(), width * np.arange(number), np.full(number, width), False


def _table(
    positive: Float64Array, above: IntArray, level: IntArray, lengths: IntArray, *, protocol: str, candidates: str
) -> RankTable:
    rows, relations = np.arange(len(positive)), np.zeros(len(positive), np.int64)
    entities = Vocabulary.numbered(len(rows)).column(rows)
    relation = Vocabulary.numbered(1, "relation").column(relations)
    side = pa.DictionaryArray.from_arrays(pa.array(relations.astype(np.int32)), ["tail"])
    counts = [above, level, lengths + 1]
    columns = [rows, rows, relations, rows, side, positive, *counts, *counts, entities, relation, entities]
    return RankTable(pa.table(columns, SCHEMA), filter=(), candidates=candidates, protocol=protocol)
