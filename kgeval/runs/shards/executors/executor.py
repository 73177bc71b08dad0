"""What every executor is: a setting with a kind, which ranks shards in the order in which they are done."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Annotated, ClassVar, Literal, get_args

from kgeval.discovery import subclasses
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.runs.shards.division import RankedShard, Shard
from kgeval.settings.by_kind import ByKind
from kgeval.settings.settings import Settings

RankedShards = Generator[tuple[Shard, RankedShard], None, None]


class Executor(Settings):
    """Ranks shards somewhere."""

    is_local: ClassVar[bool] = False
    """whether it ranks in this process"""

    kind: str

    def rank(self, ranking: ModelRanking, shards: Sequence[Shard], warn: Callable[[str], None]) -> RankedShards:
        """Rank shards, and yield each when it is done; ``warn`` is called with what a user should know."""
        raise NotImplementedError


@cache
def executors() -> Mapping[str, type[Executor]]:
    found = [kind for kind in subclasses("kgeval.runs.shards.executors", Executor) if kind is not Executor]
    return {get_args(executor.model_fields["kind"].annotation)[0]: executor for executor in found}


ExecutorConfig = Annotated[Executor, ByKind(Executor, executors)]


class LocalExecutor(Executor):
    """Ranks in this process, one shard after the other, each with all threads."""

    is_local: ClassVar[bool] = True

    kind: Literal["local"] = "local"
    """in this process"""

    def rank(self, ranking: ModelRanking, shards: Sequence[Shard], warn: Callable[[str], None]) -> RankedShards:
        for _, of_side in groupby(shards, key=attrgetter("side")):
            for shard in of_side:
                yield shard, RankedShard.of(ranking.part(shard.side, shard.rows))
            ranking.facts.forget()
