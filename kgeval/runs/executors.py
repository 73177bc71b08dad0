"""Rankings shard by shard, and the executors that rank the shards: in this process, or in workers of Ray.

A shard is some queries of one side, which are ranked and stored separately. The runner makes a :class:`ShardedRanking`
for each model. It takes the shards that an interrupted run has left, and gives the others to the executor that the
configuration names. A new executor is a class here, and an entry of ``EXECUTORS``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import version
from itertools import groupby, islice
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import Field

from kgeval.base.arrays import IntArray
from kgeval.base.errors import ConfigError, KgevalError, RunError, reason
from kgeval.base.extras import refuse_missing
from kgeval.base.notes import Note
from kgeval.base.progress import unreported
from kgeval.base.settings import ByKind, Settings
from kgeval.base.threads import bound_threads
from kgeval.data.triples import Side
from kgeval.ranking.engine_choice import engine_for
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.ranking.rank_table import RankedPart
from kgeval.runs.shards import RankedShard, Shard, ShardStore, divide, join_shards, usual_count


@dataclass
class ShardedRanking:
    """Ranks a model shard by shard, or at once if that is less than a minute's work or no shards are kept."""

    executor: Executor
    count: int | None
    """the number of shards, if the configuration names one"""
    store: ShardStore | None
    """where ranked shards are kept; None if they are not"""
    begin: Callable[[ShardStore, int], None]
    """(store, number of shards) -> begins or continues the run in the store"""
    warn: Callable[[str], None]
    facts: dict[str, Any] = field(default_factory=dict)
    """what the manifest says of the shards, if there were any"""

    def rank_parts(self, ranking: ModelRanking) -> Sequence[RankedPart]:
        """Rank the shards that the store does not have yet, and join all shards to a part for each side."""
        stored = None if self.store is None else self.store.count
        count = self.count or stored or usual_count(ranking)
        keeps_nothing = self.store is None and isinstance(self.executor, LocalExecutor)
        if stored is None and (count == 1 or keeps_nothing):
            return ranking.whole_sides()
        shards = divide(ranking, count)
        done: dict[int, RankedShard] = {}
        if self.store is not None:
            self.begin(self.store, len(shards))
            done = {shard.number: kept for shard in shards if (kept := self.store.read(shard)) is not None}
        num_kept = len(done)
        ranking.engine.progress(sum(len(shard.data) for shard in done.values()))
        missing = [shard for shard in shards if shard.number not in done]
        with closing(self.executor.rank(ranking, missing, self.warn)) as ranked:
            for shard, counts in ranked:
                if self.store is not None:
                    self.store.write(shard, counts)
                done[shard.number] = counts
        work = ranking.engine.kernel.stats()
        how = {name: work[name] for name in ("kernel", "device") if name in work}
        self.facts["ranking"] = {**how, "shards": len(shards)}
        if num_kept:
            self.facts["continued"] = {"kept": num_kept, "computed": len(shards) - num_kept}
        return [
            join_shards(ranking, side, [done[shard.number] for shard in shards if shard.side == side])
            for side in ranking.sides
        ]


RankedShards = Generator[tuple[Shard, RankedShard], None, None]
"""yields each shard with its counts as soon as it is ranked"""


class Executor(Settings):
    """Ranks shards somewhere."""

    kind: str

    def rank(self, ranking: ModelRanking, shards: Sequence[Shard], warn: Callable[[str], None]) -> RankedShards:
        """Rank shards, and yield each when it is done; ``warn`` is called with what a user should know."""
        raise NotImplementedError


class LocalExecutor(Executor):
    """Ranks in this process, one shard after the other, each with all threads."""

    kind: Literal["local"] = "local"
    """in this process"""

    def rank(self, ranking: ModelRanking, shards: Sequence[Shard], warn: Callable[[str], None]) -> RankedShards:
        for _, of_side in groupby(shards, key=attrgetter("side")):
            for shard in of_side:
                yield shard, RankedShard.of(ranking.part(shard.side, shard.rows))
            ranking.forget_facts()


RETRIES = 10
"""how often a shard is ranked again if its worker is lost"""


class RayExecutor(Executor):
    """Ranks in workers of Ray; model and dataset lie once in the shared memory of each node."""

    kind: Literal["ray"] = "ray"
    """in workers of Ray"""
    address: str = "auto"
    """the cluster's; ``auto`` is the one that this machine belongs to, or else one that is started on it alone"""
    workers: Annotated[int, Field(ge=1)] | None = None
    """how many shards are ranked at a time, each with ``evaluation.threads`` threads, by default one; by default as
    many as the cluster has processors for"""
    options: dict[str, Any] = Field(default_factory=dict)
    """further arguments of ``ray.init``"""

    def rank(self, ranking: ModelRanking, shards: Sequence[Shard], warn: Callable[[str], None]) -> RankedShards:
        if not shards:
            return
        threads = ranking.evaluation.threads or 1
        with self._connected(threads, warn) as ray:
            workers = self.workers or max(1, int(ray.cluster_resources().get("CPU", 1)) // threads)
            # Progress is reported here, when a shard is done.
            shared = ray.put(replace(ranking, engine=replace(ranking.engine, progress=unreported)))
            rank_shard = ray.remote(num_cpus=threads, max_retries=RETRIES)(_rank_shard)
            waiting = iter(shards)
            running: dict[Any, Shard] = {}

            def start(count: int) -> None:
                for shard in islice(waiting, count):
                    # Ray does not replace a reference in a list by its object: a worker fetches it once for all shards.
                    running[rank_shard.remote([shared], shard.side, shard.rows, threads, version("kgeval"))] = shard

            start(workers)
            while running:
                (done, *_), _ = ray.wait([*running], num_returns=1)
                counts = _result(ray, done)
                ranking.engine.progress(len(counts.data))
                yield running.pop(done), counts
                start(1)

    @contextmanager
    def _connected(self, threads: int, warn: Callable[[str], None]) -> Iterator[Any]:
        """Connect to a cluster, or start one on this machine; what was started is ended afterwards."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report each use to its makers
        refuse_missing("executor.kind: ray needs", "ray")
        import ray

        if ray.is_initialized():
            yield ray
            return
        try:
            if self.address == "auto":
                self._join_or_start(ray, threads, warn)
            else:
                self._init(ray, address=self.address)
        except ConnectionError as error:
            address = self.address if self.address != "auto" else os.environ.get("RAY_ADDRESS", "auto")
            raise ConfigError(f"executor.address: no cluster at {address!r} ({reason(error)}).") from error
        except (RuntimeError, TypeError, ValueError) as error:
            raise ConfigError(f"executor.options: Ray does not start with them ({reason(error)}).") from error
        try:
            yield ray
        finally:
            ray.shutdown()

    def _join_or_start(self, ray: Any, threads: int, warn: Callable[[str], None]) -> None:
        """Join the cluster that ``ray start`` started, or start one.

        Ray does so without an address; with the address ``auto`` it would also join a cluster that another run started
        for itself. Ray takes a number of processors only for a cluster that it starts, and raises ValueError otherwise.
        """
        processors = (os.cpu_count() or 1) if self.workers is None else self.workers * threads
        try:
            self._init(ray, include_dashboard=False, _node_ip_address="127.0.0.1", num_cpus=processors)
            warn(Note("runs", "no Ray cluster was found; one was started on this machine, for this run."))
        except ValueError:
            self._init(ray)

    def _init(self, ray: Any, **arguments: Any) -> None:
        ray.init(**{"log_to_driver": False, "logging_level": "ERROR", **arguments, **self.options})


def _result(ray: Any, done: Any) -> RankedShard:
    """Fetch the counts of a shard that is done; an error of kgeval in a worker is raised as it is."""
    try:
        counts: RankedShard = ray.get(done)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, KgevalError):
            raise error.cause from error
        raise RunError(f"a worker of Ray failed: {reason(error.cause)}.") from error
    except ray.exceptions.RayError as error:
        raise RunError(f"workers of Ray were lost {RETRIES} times: {reason(error)}.") from error
    return counts


def _rank_shard(shared: list[Any], side: Side, rows: IntArray, threads: int, kgeval: str) -> RankedShard:
    if (here := version("kgeval")) != kgeval:
        raise RunError(f"a worker of Ray has kgeval {here}, but here it is {kgeval}. Install one version on all nodes.")
    with bound_threads(threads):
        return RankedShard.of(_fetch(shared[0], threads).part(side, rows))


@lru_cache(maxsize=1)
def _fetch(reference: Any, threads: int) -> ModelRanking:
    """Fetch model and dataset, once in a worker; their arrays stay in the node's shared memory.

    Which kernels are exact and fast depends on the processor, and memory on the node, so the worker chooses both anew.
    """
    import ray

    ranking: ModelRanking = ray.get(reference)
    engine = engine_for(ranking.scorer, ranking.triples, ranking.evaluation)
    others = 1 if ranking.evaluation.memory_limit else max(1, (os.cpu_count() or 1) // threads)
    engine = replace(engine, memory=engine.memory // others, tie_rule=ranking.engine.tie_rule)
    return replace(ranking, engine=engine)


EXECUTORS = {"local": LocalExecutor, "ray": RayExecutor}

ExecutorConfig = Annotated[Executor, ByKind(Executor, lambda: EXECUTORS)]
