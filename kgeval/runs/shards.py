"""Shards: the parts into which a ranking is divided, and the store that keeps those that are ranked.

``executors.py`` cuts the queries of a ranking into shards (``divide``), ranks these, and joins them (``join_shards``)
to the table that a ranking at once gives. A ranked shard (``RankedShard``) is a Parquet file on the stage, the hidden
folder in the run directory, until the run is finished (``ShardStore``). For ``--shard``, the runner writes one shard of
``divide_exactly``.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgeval.base.arrays import IntArray
from kgeval.base.containers import read_parquet
from kgeval.base.errors import InputError, Interrupted, TableError, first_few
from kgeval.base.files import sha256_of_file
from kgeval.base.notes import restored, stored
from kgeval.base.settings_text import dump_yaml
from kgeval.base.storage import replacing, write_text
from kgeval.data.queries import Queries
from kgeval.data.triples import Side, Triples
from kgeval.ranking.corruption import AllEntities
from kgeval.ranking.corruption.drawn import Sampled
from kgeval.ranking.engine_choice import vector_dims
from kgeval.ranking.model_ranking import ModelRanking
from kgeval.ranking.rank_table import SCHEMA, TIME, RankedPart, to_rank_columns
from kgeval.ranking.ranking_task import RankCounts, Ranked
from kgeval.runs.resume import Fingerprint
from kgeval.stored.contents import PLAN, SHARDS, as_json, num_shards, read_json

OPERATIONS_A_MINUTE = 4 * 10**12
"""multiplications and additions that two cores do in about a minute"""

DIMS_WITHOUT_VECTORS = 10_000
"""roughly the dimensions of vectors whose product takes as long as a score that is computed without vectors"""


@dataclass(frozen=True, eq=False)
class Shard:
    """Some queries of one side, with all of their answers."""

    number: int
    """the number of the shard, from 1"""
    side: Side
    rows: IntArray
    """the triples of these queries, as rows of the split in ascending order; int64[triple]"""


def divide(ranking: ModelRanking, count: int) -> list[Shard]:
    """Divide a ranking into as many shards as possible, at most ``count``.

    The queries of a side, in (relation, anchor) order, are cut into shards of about equal size; no shard has two sides.
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
    """Divide a ranking into as many shards as ``--shard K/N`` says; refuse another number."""
    shards = divide(ranking, count)
    if len(shards) != count:
        why = "it has no more queries" if is_divisible(ranking) else "the queries of a side are ranked together"
        raise InputError(f"this ranking cannot be divided into {count} shards, but into {len(shards)}: {why}.")
    return shards


def is_divisible(ranking: ModelRanking) -> bool:
    """Whether the queries of a side are independent: no quirk compares them, no file of candidates has to fit them all.

    A quirk is a behaviour of a framework's evaluator that applies to some models only.
    """
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
    """The triples that are ranked, also those that the model does not know."""
    return ranking.dataset.split(ranking.evaluation.split)[: len(ranking.known)]


FROM_DATASET = ("head", "relation", "tail", "side", "head_label", "relation_label", "tail_label", TIME)
"""the columns of a rank table that the dataset has, so that shards leave them out; time in a temporal graph only"""

KEY = b"kgeval.shard"
"""the metadata of a shard's Parquet file: the run, the number, the side, and what the columns do not say"""


class RankedShard(RankedPart):
    """A ranked part with the columns that are not in the dataset: ``triple``, ``score`` and the counts."""

    @classmethod
    def of(cls, part: RankedPart) -> RankedShard:
        """Keep what is not in the dataset."""
        columns = [name for name in part.data.column_names if name not in FROM_DATASET]
        return cls(**{**vars(part), "data": part.data.select(columns)})

    def to_bytes(self, run: str, number: int) -> bytes:
        """Make a Parquet file; ``run`` names the run that it belongs to, ``number`` is the number of the shard."""
        sizes, times = np.unique(self.num_candidates, return_counts=True)
        candidates = [sizes.tolist(), times.tolist()]
        about = {"run": run, "number": number, "side": self.side, "candidates": candidates}
        about |= {"outsiders": self.outsiders, **stored(self.notes)}
        sink = pa.BufferOutputStream()
        pq.write_table(self.data.replace_schema_metadata({KEY: json.dumps(about)}), sink)
        return bytes(sink.getvalue())

    @classmethod
    def from_file(cls, path: Path, run: str, number: int) -> RankedShard:
        """Read a Parquet file that :meth:`to_bytes` made; refuse a file of another run or with another number."""
        table = read_parquet(path)
        about = json.loads((table.schema.metadata or {}).get(KEY, "{}"))
        if (about.get("run"), about.get("number")) != (run, number):
            raise TableError("it belongs to another run.")
        candidates = np.repeat(*np.array(about["candidates"], np.int64).reshape(2, -1))
        counts, notes = table.replace_schema_metadata(None), restored(about)
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


DIVISION = "evaluation.shards"
"""the key of the configuration that has the number of shards"""


class ShardStore:
    """The shards of one ranking in the stage of its run directory: ``run.json``, and a Parquet file for each shard."""

    def __init__(self, stage: Path) -> None:
        self.folder = stage / SHARDS

    @property
    def exists(self) -> bool:
        return (self.folder / PLAN).is_file()

    @property
    def about(self) -> dict[str, Any]:
        """The content of ``run.json``: ``shards`` (their number), ``fingerprint``, ``configuration`` (a YAML text)."""
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
        """The name of the run in the files of its shards: the digest of its fingerprint, and the number of shards."""
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
        """Find the file of a shard; damaged files are deleted."""
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
