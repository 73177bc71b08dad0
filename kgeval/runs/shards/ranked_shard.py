"""A ranked shard: the columns of its rows that the dataset does not have, to and from a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgeval.arrays import IntArray
from kgeval.data.triples import Side
from kgeval.errors import TableError, reason
from kgeval.ranking.counts import RankCounts
from kgeval.ranking.engine import Ranked
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.ranking.rank_table import SCHEMA, TIME
from kgeval.ranking.table_rows import RankedPart, to_rank_columns

FROM_DATASET = ("head", "relation", "tail", "side", "head_label", "relation_label", "tail_label", TIME)
"""the columns of a rank table that the dataset has; the time is one in a temporal graph"""

KEY = b"kgeval.shard"
"""the key of the metadata in a shard's file"""


@dataclass(frozen=True, eq=False)
class RankedShard:
    """The counts of a shard."""

    side: Side
    counts: pa.Table
    """``triple``, ``score`` and the counts, of rank tables"""
    notes: tuple[str, ...]
    """what is odd about the candidates"""
    num_candidates: IntArray
    """int64[query], in any order"""

    @classmethod
    def of(cls, part: RankedPart) -> RankedShard:
        """Keep what is not in the dataset."""
        own = [name for name in part.data.column_names if name not in FROM_DATASET]
        return cls(part.side, part.data.select(own), part.notes, part.num_candidates)

    def to_bytes(self, run: str) -> bytes:
        """Make a Parquet file; ``run`` says which run it is a part of."""
        sizes, times = np.unique(self.num_candidates, return_counts=True)
        about = {"run": run, "side": self.side, "notes": self.notes, "candidates": [sizes.tolist(), times.tolist()]}
        sink = pa.BufferOutputStream()
        pq.write_table(self.counts.replace_schema_metadata({KEY: json.dumps(about)}), sink)
        return bytes(sink.getvalue())

    @classmethod
    def from_bytes(cls, content: bytes, run: str) -> RankedShard:
        """Read a Parquet file that :meth:`to_bytes` made.

        Raises
        ------
        TableError
            if it is none, or a part of another run
        """
        try:
            table = pq.read_table(pa.BufferReader(content))
            about = json.loads(table.schema.metadata[KEY])
            origin, side, notes = about["run"], about["side"], tuple(about["notes"])
            num_candidates = np.repeat(*(np.asarray(numbers, np.int64) for numbers in about["candidates"]))
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            raise TableError(f"not a readable shard ({reason(error)}).") from error
        if origin != run:
            raise TableError("it is a shard of another run.")
        return cls(side, table.replace_schema_metadata(None), notes, num_candidates)


def join_shards(ranking: ModelRanking, side: Side, shards: Sequence[RankedShard]) -> RankedPart:
    """Join the shards of a side: the same part as if it had been ranked at once."""
    counts = pa.concat_tables([shard.counts for shard in shards]).sort_by("triple").combine_chunks()
    columns = {name: counts[name].to_numpy() for name in counts.column_names}
    filtered, raw = (
        RankCounts(*(columns[prefix + name] for name in ("greater", "tied", "candidates"))) for prefix in ("", "raw_")
    )
    ranked = Ranked(columns["score"], filtered, raw)
    data = to_rank_columns(ranking.dataset, ranking.evaluation.split, columns["triple"], side, ranked)
    for name in counts.column_names:
        if name not in SCHEMA.names:
            data = data.append_column(name, counts[name])
    notes = tuple(dict.fromkeys(note for shard in shards for note in shard.notes))
    return RankedPart(side, data, notes, np.concatenate([shard.num_candidates for shard in shards]))
