"""Shards: how a ranking is divided, which depends on it and their number alone, and ranked shards as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgeval.base.arrays import IntArray
from kgeval.base.errors import InputError, TableError
from kgeval.base.files.containers import read_parquet
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.ranking.corruption import AllEntities
from kgeval.ranking.corruption.limited import Sampled
from kgeval.ranking.engine_choice import vector_dims
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.ranking.rank_table import SCHEMA, TIME, RankedPart, to_rank_columns
from kgeval.ranking.ranking_task import RankCounts, Ranked

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


FROM_DATASET = ("head", "relation", "tail", "side", "head_label", "relation_label", "tail_label", TIME)
"""the columns of a rank table that the dataset has; the time is one in a temporal graph"""

KEY = b"kgeval.shard"


class RankedShard(RankedPart):
    """A ranked part with the columns that are not in the dataset: ``triple``, ``score`` and the counts."""

    @classmethod
    def of(cls, part: RankedPart) -> RankedShard:
        """Keep what is not in the dataset."""
        own = [name for name in part.data.column_names if name not in FROM_DATASET]
        return cls(**{**vars(part), "data": part.data.select(own)})

    def to_bytes(self, run: str, number: int) -> bytes:
        """Make a Parquet file; ``run`` and ``number`` say of which run it is which part."""
        sizes, times = np.unique(self.num_candidates, return_counts=True)
        candidates = [sizes.tolist(), times.tolist()]
        about = {"run": run, "number": number, "side": self.side, "notes": self.notes, "candidates": candidates}
        about["outsiders"] = self.outsiders
        sink = pa.BufferOutputStream()
        pq.write_table(self.data.replace_schema_metadata({KEY: json.dumps(about)}), sink)
        return bytes(sink.getvalue())

    @classmethod
    def from_file(cls, path: Path, run: str, number: int) -> RankedShard:
        """Read a Parquet file that :meth:`to_bytes` made, whose name has its SHA-256; refuse that of another part."""
        table = read_parquet(path)
        about = json.loads((table.schema.metadata or {}).get(KEY, "{}"))
        if (about.get("run"), about.get("number")) != (run, number):
            raise TableError("it belongs to another run.")
        candidates = np.repeat(*np.array(about["candidates"], np.int64).reshape(2, -1))
        counts, notes = table.replace_schema_metadata(None), tuple(about["notes"])
        return cls(about["side"], counts, notes, candidates, about["outsiders"])


def join_shards(ranking: ModelRanking, side: Side, shards: Sequence[RankedShard]) -> RankedPart:
    """Join the shards of a side: the same part as if it had been ranked at once."""
    counts = pa.concat_tables([shard.data for shard in shards]).sort_by("triple").combine_chunks()
    ranked = Ranked(counts["score"].to_numpy(), RankCounts.of(counts), RankCounts.of(counts, "raw_"))
    data = to_rank_columns(ranking.dataset, ranking.evaluation.split, counts["triple"].to_numpy(), side, ranked)
    for name in counts.column_names:
        if name not in SCHEMA.names:
            data = data.append_column(name, counts[name])
    notes = tuple(dict.fromkeys(note for shard in shards for note in shard.notes))
    num_candidates = np.concatenate([shard.num_candidates for shard in shards])
    return RankedPart(side, data, notes, num_candidates, sum(shard.outsiders for shard in shards))
