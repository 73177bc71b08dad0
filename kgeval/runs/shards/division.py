"""The division of a ranking into shards, which depends on the ranking and their number alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kgeval.arrays import IntArray
from kgeval.corruption import AllEntities
from kgeval.corruption.sampled import Sampled
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.errors import InputError
from kgeval.ranking.engine_choice import vector_dims
from kgeval.ranking.model_ranking import ModelRanking

OPERATIONS_A_MINUTE = 4 * 10**12
"""multiplications and additions that two cores do in about a minute"""

DIMS_WITHOUT_VECTORS = 10_000
"""the dimensions of a product of vectors that takes as long as a score by other means, roughly"""


@dataclass(frozen=True, eq=False)
class Shard:
    """Some queries of one side, with all of their answers."""

    number: int
    """from 1"""
    side: Side
    rows: IntArray
    """int64[triple], ascending rows of the split"""


def divide(ranking: ModelRanking, count: int) -> list[Shard]:
    """Divide a ranking into as many shards as can be, at most ``count``.

    The queries of a side, in (relation, anchor) order, are cut into shards of equally many; sides share no shard.
    """
    sides, shards = ranking.sides, list[Shard]()
    most = count if is_divisible(ranking) else len(sides)
    for number, side in enumerate(sides):
        queries = Queries.of(_triples(ranking), side)
        of_side = max(1, most * (number + 1) // len(sides) - most * number // len(sides))
        cuts = np.linspace(0, len(queries), min(of_side, len(queries)) + 1).astype(np.int64)
        for start, stop in pairwise(cuts):
            shards.append(Shard(len(shards) + 1, side, np.sort(queries[start:stop].triples)))
    return shards


def divide_exactly(ranking: ModelRanking, count: int) -> list[Shard]:
    shards = divide(ranking, count)
    if len(shards) != count:
        why = "it has no more queries" if is_divisible(ranking) else "the queries of a side are ranked together"
        raise InputError(f"this ranking cannot be divided into {count} shards, but into {len(shards)}: {why}.")
    return shards


def is_divisible(ranking: ModelRanking) -> bool:
    """Whether the queries of a side are independent: no quirk compares them, and no file has to fit them as a whole."""
    compared = any(quirk.compares_queries for quirk in ranking.quirks)
    return not compared and isinstance(ranking.evaluation.corruption, AllEntities | Sampled)


def usual_count(ranking: ModelRanking) -> int:
    """Return how many shards make about a minute of work each; 1 for small work."""
    corruption, triples = ranking.evaluation.corruption, _triples(ranking)
    entities = len(ranking.dataset.entities)
    candidates = min(corruption.count, entities) if isinstance(corruption, Sampled) else entities
    products = 0
    for side in ranking.sides:
        dims = vector_dims(ranking.scorer, triples, side)
        products += len(Queries.of(triples, side)) * candidates * (dims or DIMS_WITHOUT_VECTORS)
    return max(1, products // OPERATIONS_A_MINUTE) if is_divisible(ranking) else 1


def _triples(ranking: ModelRanking) -> Triples:
    """The triples that are ranked, or last where the model does not know them."""
    return ranking.dataset.split(ranking.evaluation.split)[: len(ranking.known)]
