"""Shards: how a ranking is divided, the executors that rank the parts somewhere, and the store that keeps them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from importlib.metadata import version
from itertools import groupby, islice, pairwise
from operator import attrgetter, index
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from kgeval.base.arrays import IntArray
from kgeval.base.containers import read_parquet
from kgeval.base.errors import (
    ConfigError,
    InputError,
    Interrupted,
    KgevalError,
    RunError,
    TableError,
    first_few,
    reason,
)
from kgeval.base.files import sha256_of_file
from kgeval.base.progress import unreported
from kgeval.base.settings import ByKind, Settings
from kgeval.base.settings_text import dump_yaml
from kgeval.base.storage import replacing, write_text
from kgeval.base.threads import bound_threads
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.ranking.corruption import AllEntities
from kgeval.ranking.corruption.drawn import Sampled
from kgeval.ranking.engine_choice import engine_for, vector_dims
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.ranking.rank_rows import RankedPart, to_rank_columns
from kgeval.ranking.rank_table import SCHEMA, TIME
from kgeval.ranking.ranking_task import RankCounts, Ranked
from kgeval.ranking.run_directory.contents import PLAN, SHARDS, as_json, num_shards, read_json
from kgeval.runs.resume import Fingerprint

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
        columns = [name for name in part.data.column_names if name not in FROM_DATASET]
        return cls(**{**vars(part), "data": part.data.select(columns)})

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


RankedShards = Generator[tuple[Shard, RankedShard], None, None]


class Executor(Settings):
    """Ranks shards somewhere."""

    is_local: ClassVar[bool] = False
    """whether it ranks in this process"""

    kind: str

    def rank(self, ranking: ModelRanking, shards: Sequence[Shard], warn: Callable[[str], None]) -> RankedShards:
        """Rank shards, and yield each when it is done; ``warn`` is called with what a user should know."""
        raise NotImplementedError


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


RETRIES = 10


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
                    # In a list, the reference is not replaced by its object: a worker fetches it once, not for a shard.
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
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would tell its makers of each use
        try:
            import ray
        except ImportError as error:
            raise ConfigError("executor.kind: Ray is not installed. Run: pip install 'kgeval[ray]'") from error
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
        """Without an address, Ray joins what ``ray start`` started; ``auto`` would join another run's own cluster too.

        Ray takes a number of processors only for a cluster that it starts, and raises ValueError otherwise.
        """
        processors = (os.cpu_count() or 1) if self.workers is None else self.workers * threads
        try:
            self._init(ray, include_dashboard=False, _node_ip_address="127.0.0.1", num_cpus=processors)
            warn("no Ray cluster was found; one was started on this machine, for this run.")
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

    Which kernels are exact and fast depends on the processor, and memory on the node: both are found out anew.
    """
    import ray

    ranking: ModelRanking = ray.get(reference)
    engine = engine_for(ranking.scorer, ranking.triples, ranking.evaluation)
    others = 1 if ranking.evaluation.memory_limit else max(1, (os.cpu_count() or 1) // threads)
    engine = replace(engine, memory=engine.memory // others, tie_rule=ranking.engine.tie_rule)
    return replace(ranking, engine=engine)


EXECUTORS = {"local": LocalExecutor, "ray": RayExecutor}

ExecutorConfig = Annotated[Executor, ByKind(Executor, lambda: EXECUTORS)]


DIVISION = "evaluation.shards"


class ShardStore:
    def __init__(self, stage: Path) -> None:
        self.folder = stage / SHARDS

    @property
    def exists(self) -> bool:
        return (self.folder / PLAN).is_file()

    @property
    def about(self) -> dict[str, Any]:
        """The content of ``run.json``: ``shards``, their number, ``fingerprint`` and ``configuration``, in YAML."""
        about = read_json(self.folder / PLAN)
        try:
            return about | {"shards": index(about["shards"]), "fingerprint": Fingerprint(**about["fingerprint"])}
        except (KeyError, TypeError) as error:  # another version's, perhaps
            refusal = f"{str(self.folder / PLAN)!r} is damaged, or of another version of kgeval"
            raise InputError(f"{refusal}. Delete its folder to start again.") from error

    @property
    def count(self) -> int | None:
        """How many shards the run was divided into, if it was begun."""
        return self.about["shards"] if self.exists else None

    def begin(self, fingerprint: Fingerprint, count: int, *, configuration: dict[str, Any], force: bool) -> None:
        """Begin a run, or continue the one that is there; with ``force``, another one is deleted."""
        if force and self.exists and self._changes(fingerprint, count):
            shutil.rmtree(self.folder)
        self.refuse_changes(fingerprint, count)
        if not self.exists:
            about = {"schema": 1, "shards": count, "fingerprint": asdict(fingerprint)}
            write_text(self.folder / PLAN, as_json(about | {"configuration": dump_yaml(configuration)}))

    @cached_property
    def _run(self) -> str:
        """What names the run in the files of its shards."""
        return f"{self.about['fingerprint'].digest}/{self.count}"

    def _changes(self, fingerprint: Fingerprint, count: int | None) -> list[str]:
        divided = [] if count in (None, self.count) else [f"{DIVISION} is {self.count} there, and {count} now"]
        return [*fingerprint.changes(self.about["fingerprint"]), *divided]

    def refuse_changes(self, fingerprint: Fingerprint, count: int | None) -> None:
        """Refuse a run that differs from the one that is there, if any; its number of shards may be left open."""
        changes = self._changes(fingerprint, count) if self.exists else []
        if not changes:
            return
        there = f"{num_shards(self.folder)} of the {self.count} shards of a run that is not finished"
        refusal = f"{str(self.folder.parents[1])!r} holds {there}, which is a different run: {first_few(changes)}"
        divided = any(change.startswith(DIVISION) for change in changes)
        go_on = f"Divide it into {self.count} again (--shard K/{self.count}), choose" if divided else "Choose"
        raise InputError(f"{refusal}. {go_on} another folder, or add --force to start again.")

    def find(self, number: int) -> Path | None:
        for path in self.folder.glob(f"{number:05}-*.parquet"):
            if path.stem.partition("-")[2] == sha256_of_file(path):
                return path
            path.unlink(missing_ok=True)
        return None

    def read(self, shard: Shard) -> RankedShard | None:
        """Read a shard; one that is missing or damaged is None."""
        if (path := self.find(shard.number)) is None:
            return None
        try:
            return RankedShard.from_file(path, self._run, shard.number)
        except TableError as error:
            refusal = f"{path}: {error} Delete this file"
            raise InputError(f"{refusal} and repeat the command, which ranks shard {shard.number} again.") from error

    def write(self, shard: Shard, ranked: RankedShard) -> None:
        content = ranked.to_bytes(self._run, shard.number)
        digest = hashlib.sha256(content).hexdigest()
        with replacing(self.folder / f"{shard.number:05}-{digest}.parquet") as partial:
            partial.write_bytes(content)


@contextmanager
def counting_shards(stages: Iterable[Path | None]) -> Iterator[None]:
    """Let an interruption say how many shards are done on one of several stages."""
    try:
        yield
    except KeyboardInterrupt as stop:
        for store in (ShardStore(stage) for stage in stages if stage is not None):
            if store.exists:
                progress = f"{num_shards(store.folder)} of {store.count} shards"
                raise Interrupted(f"interrupted after {progress}. The same command continues it") from stop
        raise


@dataclass
class ShardedRanking:
    """Ranks a model shard by shard, or at once where that is less than a minute's work or nothing is kept."""

    executor: Executor
    count: int | None
    store: ShardStore | None
    begin: Callable[[ShardStore, int], None]
    """begins or continues the run of so many shards in the store"""
    warn: Callable[[str], None]
    facts: dict[str, Any] = field(default_factory=dict)
    """what the manifest says of the shards, if there were any"""

    def rank_parts(self, ranking: ModelRanking) -> Sequence[RankedPart]:
        """Rank all shards that are not kept yet, and join them with those that are."""
        stored = None if self.store is None else self.store.count
        count = self.count or stored or usual_count(ranking)
        keeps_nothing = self.store is None and self.executor.is_local
        if stored is None and (count == 1 or keeps_nothing):
            return ranking.whole_sides()
        shards = divide(ranking, count)
        done: dict[int, RankedShard] = {}
        if self.store is not None:
            self.begin(self.store, len(shards))
            earlier = {shard.number: self.store.read(shard) for shard in shards}
            done = {number: shard for number, shard in earlier.items() if shard is not None}
        kept = len(done)
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
        if kept:
            self.facts["continued"] = {"kept": kept, "computed": len(shards) - kept}
        return [
            join_shards(ranking, side, [done[shard.number] for shard in shards if shard.side == side])
            for side in ranking.sides
        ]
