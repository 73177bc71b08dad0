"""The store of a run's shards on its stage: each file is written whole, and has its SHA-256 in its name."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from operator import index
from pathlib import Path
from typing import Any

from kgeval.base.errors import InputError, Interrupted, TableError, first_few
from kgeval.base.files import sha256_of_file
from kgeval.base.settings_text import dump_yaml
from kgeval.base.storage import replacing, write_text
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.ranking.rank_table import RankedPart
from kgeval.ranking.run_directory.contents import PLAN, SHARDS, as_json, num_shards, read_json
from kgeval.runs.resume import Fingerprint
from kgeval.runs.shards.division import RankedShard, Shard, divide, join_shards, usual_count
from kgeval.runs.shards.executors import Executor

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
            what = f"{str(self.folder / PLAN)!r} is damaged, or of another version of kgeval"
            raise InputError(f"{what}. Delete its folder to start again.") from error

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
        what = f"{str(self.folder.parents[1])!r} holds {there}, which is a different run: {first_few(changes)}"
        divided = any(change.startswith(DIVISION) for change in changes)
        go_on = f"Divide it into {self.count} again (--shard K/{self.count}), choose" if divided else "Choose"
        raise InputError(f"{what}. {go_on} another folder, or add --force to start again.")

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
            what = f"{path}: {error} Delete this file"
            raise InputError(f"{what} and repeat the command, which ranks shard {shard.number} again.") from error

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
    fingerprint: Callable[[], Fingerprint]
    configuration: dict[str, Any]
    """how the whole run can be begun again"""
    force: bool
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
            self.store.begin(self.fingerprint(), len(shards), configuration=self.configuration, force=self.force)
            found = {shard.number: self.store.read(shard) for shard in shards}
            done = {number: shard for number, shard in found.items() if shard is not None}
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
