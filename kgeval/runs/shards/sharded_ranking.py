"""A ranking in shards: those that an interrupted run left are kept, and the others are ranked and kept in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from kgeval.ranking.model_ranking import ModelRanking
from kgeval.ranking.table_rows import RankedPart
from kgeval.runs.shards.division import Shard, divide, usual_count
from kgeval.runs.shards.executors.executor import Executor
from kgeval.runs.shards.fingerprint import Fingerprint
from kgeval.runs.shards.ranked_shard import RankedShard, join_shards
from kgeval.runs.shards.shard_store import ShardStore


@dataclass
class ShardedRanking:
    """Ranks a model shard by shard, or at once where that is less than a minute's work or nothing is kept."""

    executor: Executor
    count: int | None
    """the number of shards, where the configuration has it"""
    store: ShardStore | None
    """where shards are kept, if anywhere"""
    fingerprint: Callable[[], Fingerprint]
    configuration: dict[str, Any]
    """how the whole run can be begun again"""
    force: bool
    """whether shards of another run are deleted"""
    warn: Callable[[str], None]
    facts: dict[str, Any] = field(default_factory=dict)
    """what the manifest says of the shards, if there were any"""

    def rank_parts(self, ranking: ModelRanking) -> Sequence[RankedPart]:
        """Rank all shards that are not kept yet, and join them with those that are.

        Raises
        ------
        InputError
            if the kept shards are of another run
        RunError
            if a shard cannot be written, or workers are lost again and again
        """
        stored = None if self.store is None else self.store.count
        count = self.count or stored or usual_count(ranking)
        keeps_nothing = self.store is None and self.executor.is_local
        if stored is None and (count == 1 or keeps_nothing):
            return ranking.whole_sides()
        shards = divide(ranking, count)
        done = self._read_kept(shards, ranking)
        kept = len(done)
        ranking.engine.progress(sum(len(shard.counts) for shard in done.values()))
        missing = [shard for shard in shards if shard.number not in done]
        with closing(self.executor.rank(ranking, missing, self.warn)) as ranked:
            for shard, counts in ranked:
                if self.store is not None:
                    self.store.write(shard, counts)
                done[shard.number] = counts
        work = ranking.engine.kernel.stats()
        how = {name: work[name] for name in ("kernel", "device") if name in work}
        self.facts["ranking"] = {**how, "shards": len(shards)}
        if kept:
            self.facts["continued"] = {"kept": kept, "computed": len(shards) - kept}
        return [
            join_shards(ranking, side, [done[shard.number] for shard in shards if shard.side == side])
            for side in ranking.sides
        ]

    def _read_kept(self, shards: Sequence[Shard], ranking: ModelRanking) -> dict[int, RankedShard]:
        """Read the shards of an interrupted run, by number."""
        if self.store is None:
            return {}
        self.store.begin(self.fingerprint(), len(shards), configuration=self.configuration, force=self.force)
        found = {shard.number: self.store.read(shard, ranking) for shard in shards}
        return {number: shard for number, shard in found.items() if shard is not None}
