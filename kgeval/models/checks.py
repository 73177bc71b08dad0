"""Checks of a model before it is ranked: equal vectors, scores that change when asked again, formulas that differ.

``kgeval.ranking`` shows the notes of ``notes_on_equal_rows`` and ``notes_on_repeatability`` with the results.
``reproduces_scores`` compares a formula with a live model, which is scored by the formula only if both agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from kgeval.base.arrays import BoolArray, Float64Array, FloatArray, IntArray
from kgeval.base.errors import ScoreError
from kgeval.base.notes import Note
from kgeval.base.threads import slices
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Side, Triples
from kgeval.models.aligned import Aligned
from kgeval.models.family import Family, rows
from kgeval.models.mapped import Reciprocal, Typed
from kgeval.models.scorer import Scorer, VectorScorer, as_float64, entity_arrays

BATCH_ROWS = 1024
"""the number of rows in the sample of a table that is looked at first, and in each batch of the full count"""

TakeRows = Callable[[IntArray], FloatArray]
"""a function that takes rows of a table by their ids: int64[id] -> float[id, width]"""

TRIPLES, CANDIDATES = 8, 64
"""the numbers of triples whose queries are scored twice on each side, and of candidates of each query"""

NOISE = 2.0**-10
"""how far a score may be from itself when it is asked for again, as a share of the spread (largest − smallest) of its
query's scores: devices that sum in no fixed order move scores so"""

QUERIES = 16
"""the most queries of each side in the sample of ``reproduces_scores``"""

COMPARED_CANDIDATES = 1024
"""the most candidates of each query in this sample"""

REPRODUCTION_NOISE = 256
"""the largest difference that another order of sums may make, in units in the last place of the largest score"""


def notes_on_equal_rows(scorer: Scorer | VectorScorer, sides: Sequence[Side] = SIDES) -> list[str]:
    """Name the tables most of whose rows are equal: a checkpoint's arrays, or a vector scorer's vectors of a side.

    >>> from kgeval.models.families.bilinear import DistMult
    >>> notes_on_equal_rows(DistMult(np.zeros((5, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])))
    ['5 of 5 rows of the array entity are zero: the model cannot distinguish them.']
    """
    notes = list[str]()
    for name, size, take in _tables(scorer, sides):
        some, counts = np.unique(take(_evenly_spaced(BATCH_ROWS, size)), axis=0, return_counts=True)
        if counts.max() == 1 or 2 * counts.max() <= counts.sum():
            continue
        most = some[counts.argmax()]
        count = sum(int((take(np.arange(size)[part]) == most).all(axis=1).sum()) for part in slices(size, BATCH_ROWS))
        alike = f"{'equal' if most.any() else 'zero'}: the model cannot distinguish them."
        notes.append(Note("scores", f"{count} of {size} rows of {name} are {alike}"))
    return notes


def _tables(scorer: Scorer | VectorScorer, sides: Sequence[Side]) -> Iterator[tuple[str, int, TakeRows]]:
    """Yield the name of each table of vectors, the number of its rows, and a function that takes some of the rows."""
    family = scorer.family if isinstance(scorer, Reciprocal | Typed) else scorer
    if isinstance(family, Family):
        yield "the array entity", len(family.entity), partial(rows, family.entity)
        yield "the array relation", len(family.relation), partial(rows, family.relation)
    elif isinstance(scorer, VectorScorer):
        for side in (side for side in SIDES if side in sides):

            def vectors(ids: IntArray, side: Side = side) -> FloatArray:
                return entity_arrays(scorer, side, ids)[0]

            yield f"the {side}s' vectors", scorer.num_entities, vectors


def notes_on_repeatability(scorer: Aligned, triples: Triples, sides: Sequence[Side]) -> list[str]:
    """Score the queries of a few triples twice, and refuse or note different scores.

    Stored arrays under a formula are always scored alike, so they are not tried.
    """
    if isinstance(scorer.scorer, Family | Reciprocal | Typed):
        return []
    change = 0.0
    for side in sides:
        queries, of_side = Queries.of(triples[:TRIPLES], side), scorer.scorer_of(side)
        known = np.flatnonzero(scorer.answer_rows(side) >= 0)
        candidates = known[_evenly_spaced(CANDIDATES, len(known))]
        first, again = (as_float64(of_side.scores(queries, candidates), "the scorer") for _ in range(2))
        if first.shape == again.shape == (len(queries), len(candidates)):
            change = max(change, _largest_change(first, again))
    if change > NOISE:
        cure = "Switch off dropout (model.eval(), or training=False in a function) and sampling."
        raise ScoreError(f"the model is not deterministic: it gave different scores for the same triples. {cure}")
    if change:
        noise = f"scores of the same triples differ by {change:.1g} of their spread"
        end = "so ranks among nearly equal scores may change between evaluations."
        return [Note("scores", f"the model is not fully deterministic: {noise}, {end}")]
    return []


def _largest_change(first: Float64Array, again: Float64Array) -> float:
    """Return the largest change of a score, as a share of the spread of its query's scores; inf if it is not finite."""
    changed: BoolArray = ~((first == again) | (np.isnan(first) & np.isnan(again)))
    if not changed.any():
        return 0.0
    if not np.isfinite([first[changed], again[changed]]).all():
        return np.inf
    finite = np.where(np.isfinite(first), first, np.nan)
    spread = np.broadcast_to((np.nanmax(finite, axis=1) - np.nanmin(finite, axis=1))[:, None], first.shape)
    with np.errstate(divide="ignore", over="ignore"):
        return float(np.max(np.abs(again[changed] - first[changed]) / spread[changed]))


def reproduces_scores(vectors: Scorer | VectorScorer, live: Scorer, side: Side, module: Any) -> bool:
    """Whether a formula (``vectors``) gives a live model's scores of a sample of a side's queries, up to rounding.

    The precision of the parameters of ``module`` (a ``torch.nn.Module``) says how large rounding errors may be.
    """
    import torch

    sizes = (vectors.num_entities, vectors.num_relations)
    if sizes != (live.num_entities, live.num_relations):
        return False
    samples = [_evenly_spaced(QUERIES, size) for size in sizes]
    anchors, relations = (np.resize(sample, max(map(len, samples))) for sample in samples)
    queries = Queries.of(Triples(np.stack([anchors, relations, anchors], axis=1)), side)
    candidates = _evenly_spaced(COMPARED_CANDIDATES, sizes[0])
    expected = live.scores(queries, candidates)
    scores: Float64Array = np.asarray(vectors.scores(queries, candidates), np.float64)
    if not (np.isfinite(expected).all() and np.isfinite(scores).all()):
        return False
    dtypes = {parameter.dtype for parameter in module.parameters() if parameter.is_floating_point()}
    epsilon = max((float(torch.finfo(dtype).eps) for dtype in dtypes), default=0.0)
    noise = REPRODUCTION_NOISE * epsilon * float(np.abs(expected).max(initial=0.0))
    # Scores that are nearly all equal cannot show that two formulas are the same.
    return bool(np.abs(scores - expected).max(initial=0.0) <= noise < np.ptp(expected, axis=1).max(initial=0.0) / 8)


def _evenly_spaced(count: int, size: int) -> IntArray:
    """Choose at most ``count`` evenly spaced ids below ``size``.

    >>> _evenly_spaced(3, 10), _evenly_spaced(3, 2)
    (array([0, 4, 9]), array([0, 1]))
    """
    return np.unique(np.linspace(0, size - 1, count).astype(np.int64))
