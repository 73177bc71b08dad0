"""Shards one after the other in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Literal

from kgeval.ranking.model_ranking import ModelRanking
from kgeval.runs.shards.division import Shard
from kgeval.runs.shards.executors.executor import Executor
from kgeval.runs.shards.ranked_shard import RankedShard


class LocalExecutor(Executor):
    """Ranks in this process, one shard after the other, each with all threads."""

    kind: Literal["local"] = "local"
    """in this process"""

    def rank(
        self, ranking: ModelRanking, shards: Sequence[Shard], warn: Callable[[str], None]
    ) -> Generator[tuple[Shard, RankedShard], None, None]:
        """Rank one shard after the other."""
        for _, of_side in groupby(shards, key=attrgetter("side")):
            for shard in of_side:
                yield shard, RankedShard.of(ranking.part(shard.side, shard.rows))
            ranking.facts.forget()

    @property
    def is_local(self) -> bool:
        """It is."""
        return True
