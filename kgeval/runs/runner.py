"""The runner: a configuration in, for each of its models a table, a summary and a run directory out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.checkpoints import Checkpoint, read_checkpoint
from kgeval.corruption import FromFile
from kgeval.errors import ConfigError
from kgeval.graph.dataset import Dataset
from kgeval.graph.layouts import load_dataset
from kgeval.graph.readers.pykeen import read_named
from kgeval.metrics.summary import Summary, summarize
from kgeval.protocols.printout import Printout, printout
from kgeval.protocols.protocol import protocol
from kgeval.ranking.engine import Progress
from kgeval.ranking.table import RankTable
from kgeval.runs.config import DatasetConfig, RunConfig
from kgeval.runs.directory import claim, describe_machine, fingerprints, write_run
from kgeval.runs.misfits import refuse_misfits
from kgeval.runs.models import CheckpointConfig, TrainingConfig
from kgeval.runs.training import train
from kgeval.scorers.base import Scorer, VectorScorer

Watch = Callable[[str, int], AbstractContextManager[Progress]]
"""(what is done, how many tasks) -> a context in which the tasks that are done are reported"""


@dataclass(frozen=True)
class Outcome:
    """One model's evaluation."""

    name: str
    """the model's name in the configuration; empty where there is only one"""
    table: RankTable
    summary: Summary
    printed: Printout | None
    """what the framework prints whose protocol was followed, if it has names of its own"""
    asked: bool
    """whether the summary is another than the protocol's"""
    folder: Path | None
    """where it was written, if it was"""

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``."""
        return self.summary.to_dict() | ({} if self.printed is None else {"protocol": self.printed.to_dict()})

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know."""
        told = () if self.printed is None else self.printed.notes
        return (*self.table.notes, *self.summary.notes, *told)


@dataclass
class Clock:
    """Seconds by what was done."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def time(self, what: str) -> Iterator[None]:
        """Measure a part of the work."""
        start = time.perf_counter()
        yield
        self.seconds[what] = round(time.perf_counter() - start, 3)


def unwatched(_: str, __: int) -> AbstractContextManager[Progress]:
    """Report nothing."""
    return nullcontext(lambda _: None)


def run(config: RunConfig, out: Path | None, *, force: bool = False, watch: Watch = unwatched) -> list[Outcome]:
    """Run a configuration.

    Parameters
    ----------
    config
        what to do
    out
        the run directory; several models get a folder each inside it. Without one nothing is written
    force
        whether an earlier run there may be replaced
    watch
        how to show progress

    Raises
    ------
    KgevalError
        whatever is wrong; nothing was computed if the output folder was in use
    """
    folders = {name: out / name if out is not None and name else out for name in config.jobs}
    for name, folder in folders.items():
        if folder is not None:
            claim(folder, force=force)
        elif isinstance(config.jobs[name], TrainingConfig):
            raise ConfigError("a model that is trained first needs an output folder.")
    clock = Clock()
    with clock.time("load dataset"):
        dataset = _dataset(config.dataset)
    refuse_misfits(config, dataset)
    config = config.resolved(dataset.splits)
    return [_run_model(config, name, dataset, folder, clock, watch) for name, folder in folders.items()]


def incomparable(outcomes: Sequence[Outcome]) -> list[str]:
    """Say that models ranked different triples, as with ``unseen: drop``: their metrics do not compare."""
    ranked = [np.unique(outcome.table.column("triple")) for outcome in outcomes]
    if all(np.array_equal(triples, ranked[0]) for triples in ranked):
        return []
    counts = ", ".join(f"{outcome.name} {len(triples)}" for outcome, triples in zip(outcomes, ranked, strict=True))
    return [f"these models ranked different triples ({counts}): their metrics do not compare. Set unseen: worst."]


def _run_model(
    config: RunConfig, name: str, dataset: Dataset, folder: Path | None, clock: Clock, watch: Watch
) -> Outcome:
    job, clock = config.jobs[name], Clock(dict(clock.seconds))
    with clock.time("train" if isinstance(job, TrainingConfig) else "load model"):
        scorer = _scorer(job, dataset, config, folder)
    tasks = len(dataset.split(config.evaluation.split)) * len(config.evaluation.sides)
    rules = protocol(config.protocol)
    with clock.time("rank"), watch(name or "ranking", tasks) as progress:
        table = config.evaluation(scorer, dataset, progress=progress, rules=rules.rules)
    with clock.time("summarize"):
        summary = summarize(table, config.metrics, ties=config.ties or rules.ties)
        printed = printout(table) if rules.printed else None
    asked = (config.metrics, config.ties) != (rules.metrics, rules.ties)
    outcome = Outcome(name, table, summary, printed, asked, folder)
    if folder is not None:
        # What stands in the folder is the configuration of this one model, so that it can be run again by itself.
        alone = config.model_copy(update={"model": job, "models": None, "output": str(folder)})
        manifest = _manifest(alone, dataset, scorer, table, clock)
        content = alone.model_dump(mode="json", exclude_none=True)
        write_run(folder, config=content, manifest=manifest, table=table, metrics=outcome.to_dict())
    return outcome


def _dataset(config: DatasetConfig) -> Dataset:
    if config.path is not None:
        return load_dataset(config.path, layout=config.layout)
    return read_named(str(config.name), **config.options)


def _scorer(
    job: CheckpointConfig | TrainingConfig, dataset: Dataset, config: RunConfig, folder: Path | None
) -> Scorer | VectorScorer:
    if isinstance(job, TrainingConfig):
        return train(job, dataset, folder or Path())
    return read_checkpoint(Path(job.path), job.options, dataset=dataset, format=job.format, nan=config.evaluation.nan)


def _manifest(
    config: RunConfig, dataset: Dataset, scorer: Scorer | VectorScorer, table: RankTable, clock: Clock
) -> dict[str, Any]:
    described = scorer.describe() if isinstance(scorer, Checkpoint) else {"live": type(scorer).__name__}
    corruption = config.evaluation.corruption
    read = [*dataset.files, *(scorer.files if isinstance(scorer, Checkpoint) else ())]
    read += [Path(corruption.path)] if isinstance(corruption, FromFile) else []
    seeds = {"corruption": getattr(corruption, "seed", None)}
    if isinstance(config.model, TrainingConfig):
        seeds["training"] = config.model.random_seed
    return {
        "schema": 1,
        **describe_machine(),
        "dataset": {
            "name": dataset.name,
            "entities": len(dataset.entities),
            "relations": len(dataset.relations),
            "triples": {split: len(triples) for split, triples in dataset.splits.items()},
            "repeated": dict(dataset.repeated),
            "sha256": dataset.sha256(),
        },
        "model": described,
        "seeds": {name: seed for name, seed in seeds.items() if seed is not None},
        "sha256": fingerprints(read),
        "seconds": dict(clock.seconds),
        "ranking": dict(table.work),
        "ranked": {"triples": table.num_triples, "ranks": len(table)},
        "notes": list(table.notes),
    }
