"""One shard of a run as a separate job, for job arrays; and the merge that finishes the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kgeval.base.errors import ConfigError, InputError, first_few
from kgeval.base.files import ReadFiles, noting_openings
from kgeval.base.threads import bound_threads
from kgeval.ranking.run_directory.contents import STAGE, is_run
from kgeval.ranking.run_directory.folders import CommonTable
from kgeval.ranking.run_directory.staging import reserve_shard
from kgeval.runs.config.load import check, check_against_dataset
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.config.variables import ExpandingLoader, Variables
from kgeval.runs.config.yaml_document import Document, parse_value, survey
from kgeval.runs.jobs import Job
from kgeval.runs.outcome import Outcome
from kgeval.runs.resume import refuse_changes
from kgeval.runs.runner import Watch, no_progress, no_warning, run
from kgeval.runs.shards.division import RankedShard, divide_exactly
from kgeval.runs.shards.shard_store import ShardStore


@dataclass(frozen=True)
class StoredShard:
    folder: Path
    ranks: int
    kept: bool


def run_shard(
    config: RunConfig, out: Path, number: int, count: int, *, force: bool = False, watch: Watch = no_progress
) -> list[StoredShard]:
    """Rank one of ``count`` shards of each model of a configuration; other processes may rank others."""
    with config.document.variables.concealed(), noting_openings():
        return _run_shard(config, out, number, count, force=force, watch=watch)


def _run_shard(
    config: RunConfig, out: Path, number: int, count: int, *, force: bool, watch: Watch
) -> list[StoredShard]:
    if config.task is not None or any(model.trains for model in config.jobs.values()):
        raise ConfigError(
            "--shard divides the ranking of stored models. It works neither with a task nor with training."
        )
    if config.evaluation.shards not in (None, count):
        what = f"--shard says {count} shards, but evaluation.shards is {config.evaluation.shards}"
        raise ConfigError(f"{what}. Leave one out.")
    dataset = config.load_dataset()
    config = check_against_dataset(config, dataset)
    read = ReadFiles()
    jobs = [Job(config, name, out / name / STAGE, dataset, read) for name in config.jobs]

    def rank(job: Job) -> StoredShard:
        model, store = job.load(), ShardStore(out / job.name / STAGE)
        current = job.fingerprint(model)
        if job.stored is not None and not force:
            refuse_changes(job.stored, current)
            return StoredShard(out / job.name, 0, kept=True)
        with watch(job.activity, None) as progress:
            ranking = job.ranking(model, progress)
            shard = divide_exactly(ranking, count)[number - 1]

            def begin() -> None:
                store.begin(current, count, configuration=config.document.as_written, force=force)

            with reserve_shard(out / job.name, number, force=force, prepare=begin):
                kept = store.read(shard)
                if kept is None:
                    with bound_threads(config.evaluation.threads):
                        store.write(shard, RankedShard.of(ranking.part(shard.side, shard.rows)))
        return StoredShard(out / job.name, len(shard.rows), kept is not None)

    return [rank(job) for job in jobs]


def merge(
    folder: Path, *, force: bool = False, watch: Watch = no_progress, warn: Callable[[str], None] = no_warning
) -> list[Outcome]:
    """Finish a run whose shards were ranked by jobs of their own."""
    stages = (folder / STAGE, *sorted(folder.glob(f"*/{STAGE}")), *sorted(folder.glob(f"*/*/{STAGE}")))
    stores = [store for store in map(ShardStore, stages) if store.exists]
    if not stores:
        what = f"no shards. 'kgeval run CONFIG --out {folder} --shard 1/16' ranks the first of 16."
        done = "a finished run: there is nothing to merge."
        raise InputError(f"{str(folder)!r} holds {done if is_run(folder) or CommonTable.is_in(folder) else what}")
    text, variables = stores[0].about.get("configuration", ""), Variables()
    content = parse_value(text, f"the configuration of the shards in {folder}", ExpandingLoader)
    survey(text, variables)
    config = check(Document(f"the configuration of {folder}", content, variables=variables))
    for name in config.jobs:
        store = ShardStore(folder / name / STAGE)
        if not store.exists and is_run(folder / name):
            continue
        count = stores[0].count or 1
        missing = [number for number in range(1, count + 1) if not store.exists or store.find(number) is None]
        if missing:
            what = f"missing of the {count} shards in {str(folder / name)!r}: {first_few(missing, 10)}"
            raise InputError(f"{what}. 'kgeval run CONFIG --shard {missing[0]}/{count}' ranks the first of these.")
    return run(config, folder, force=force, watch=watch, warn=warn)
