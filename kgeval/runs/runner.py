"""The runner: a configuration in, for each of its models a table, a summary and a run directory out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kgeval.arrays import IntArray
from kgeval.checkpoints import Checkpoint, read_checkpoint
from kgeval.directory import RANKS, claim, describe_machine, fingerprints, write_run
from kgeval.errors import ConfigError
from kgeval.graph.dataset import Dataset
from kgeval.graph.layouts import load_dataset
from kgeval.graph.names import with_names
from kgeval.graph.readers.pykeen import read_named
from kgeval.metrics.label_summary import LabelSummary
from kgeval.metrics.summary import Summary, summarize
from kgeval.progress import Progress
from kgeval.protocols.printout import Printout, printout
from kgeval.protocols.protocol import protocol
from kgeval.ranking.table import RankTable
from kgeval.runs.asked import UNFIT, Asked
from kgeval.runs.config import DatasetConfig, RunConfig
from kgeval.runs.labelled import Judgement, judge_labelled, negatives_of
from kgeval.runs.misfits import refuse_misfits
from kgeval.runs.models import CheckpointConfig, TrainingConfig
from kgeval.runs.trackers import report, tracking
from kgeval.runs.training import train
from kgeval.scorers.base import Scorer, VectorScorer
from kgeval.scoring.confidences import Confidences

Watch = Callable[[str, int | None], AbstractContextManager[Progress]]
"""(what is done, how many ranks that gives, if any) -> a context in which the ranks that are done are reported"""


@dataclass(frozen=True)
class Outcome:
    """One model's evaluation."""

    name: str
    """the model's name in the configuration; empty where there is only one"""
    table: RankTable | Judgement
    summary: Summary | LabelSummary
    printed: Printout | None
    """what the framework prints whose protocol was followed, if it has names of its own"""
    asked: bool
    """whether the summary is another than the protocol's"""
    folder: Path | None
    """where it was written, if it was"""

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``metrics.json``."""
        printed = {} if self.printed is None else {"protocol": self.printed.to_dict()}
        return self.summary.to_dict() | {"notes": list(self.notes)} | printed

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know."""
        told = () if self.printed is None else self.printed.notes
        return (*self.summary.notes, *told)


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


def unwatched(_: str, __: int | None) -> AbstractContextManager[Progress]:
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
    with clock.time("load dataset"), watch("loading dataset", None):
        dataset = _dataset(config.dataset)
    refuse_misfits(config, dataset)
    config = config.resolved(dataset)
    return [_run_tracked(config, name, dataset, folder, clock, watch) for name, folder in folders.items()]


def incomparable(outcomes: Sequence[Outcome]) -> list[str]:
    """Say that models ranked or judged different triples, as with ``unseen: drop``: their metrics do not compare."""
    seen = [_triples(outcome.table) for outcome in outcomes]
    if all(np.array_equal(triples, seen[0]) for triples in seen):
        return []
    counts = ", ".join(f"{outcome.name} {len(triples)}" for outcome, triples in zip(outcomes, seen, strict=True))
    if isinstance(outcomes[0].table, Judgement):
        return [f"these models judged different triples ({counts}): their metrics do not compare."]
    return [f"these models ranked different triples ({counts}): their metrics do not compare. Set unseen: worst."]


def _triples(table: RankTable | Judgement) -> IntArray:
    """Tell the test triples apart that were ranked, by row, or judged, by ids."""
    return table.triples if isinstance(table, Judgement) else np.unique(table.column("triple"))


def _run_model(
    config: RunConfig, name: str, dataset: Dataset, folder: Path | None, clock: Clock, watch: Watch
) -> Outcome:
    job, clock = config.jobs[name], Clock(dict(clock.seconds))
    trained = isinstance(job, TrainingConfig)
    # PyKEEN shows its own progress while it trains.
    loading = nullcontext() if trained else watch(f"loading {name or 'model'}", None)
    with clock.time("train" if trained else "load model"), loading:
        scorer = _scorer(job, dataset, config, folder)
    table, summary, printed = _results(config, name, dataset, scorer, clock, watch)
    rules = protocol(config.protocol)
    asked = (config.metrics, config.policies) != (rules.metrics, Asked(ties=rules.ties).policies)
    outcome = Outcome(name, table, summary, printed, asked, folder)
    if folder is not None:
        manifest = _manifest(_alone(config, name, folder), dataset, scorer, table, clock)
        tables = table.tables if isinstance(table, Judgement) else {RANKS: table}
        write_run(
            folder,
            config=_content(config, name, folder),
            manifest=manifest,
            tables=tables,
            metrics=outcome.to_dict(),
            curves=summary.curves if isinstance(summary, LabelSummary) else None,
        )
    return outcome


def _run_tracked(
    config: RunConfig, name: str, dataset: Dataset, folder: Path | None, clock: Clock, watch: Watch
) -> Outcome:
    """Run a model, and tell the tracker when everything is written."""
    if config.tracker is None:
        return _run_model(config, name, dataset, folder, clock, watch)
    with tracking(config.tracker, name, dataset.name) as tracker:
        outcome = _run_model(config, name, dataset, folder, clock, watch)
        report(tracker, _content(config, name, folder), outcome.summary.to_dict(), folder)
    return outcome


def _alone(config: RunConfig, name: str, folder: Path | None) -> RunConfig:
    """The configuration of this one model, so that it can be run again by itself."""
    output = None if folder is None else str(folder)
    return config.model_copy(update={"model": config.jobs[name], "models": None, "output": output})


def _content(config: RunConfig, name: str, folder: Path | None) -> dict[str, Any]:
    left_out = {"evaluation", *UNFIT[config.task.kind]} if config.task else None
    return _alone(config, name, folder).model_dump(mode="json", exclude_none=True, exclude=left_out)


def _results(
    config: RunConfig, name: str, dataset: Dataset, scorer: Scorer | VectorScorer, clock: Clock, watch: Watch
) -> tuple[RankTable | Judgement, Summary | LabelSummary, Printout | None]:
    metrics, job = config.metrics, config.jobs[name]
    title = name or (job.model if isinstance(job, TrainingConfig) else None)
    if (task := config.task) is not None:
        ranks = len(dataset.test) * len(task.sides) if isinstance(task, Confidences) else None
        with clock.time("judge"), watch(name or "judging", ranks) as progress:
            ties, seed = config.ties or "realistic", config.seed
            judgement = judge_labelled(
                task, scorer, dataset, metrics=metrics, ties=ties, seed=seed, progress=progress, title=title
            )
        return judgement, judgement.summary, None
    tasks = len(dataset.split(config.evaluation.split)) * len(config.evaluation.sides)
    rules = protocol(config.protocol)
    with clock.time("rank"), watch(name or "ranking", tasks) as progress:
        table = config.evaluation(scorer, dataset, progress=progress, rules=rules.rules, title=title)
    with clock.time("summarize"):
        summary = summarize(table, metrics, **config.policies)
        return table, summary, printout(table) if rules.printed else None


def _dataset(config: DatasetConfig) -> Dataset:
    if config.path is not None:
        return load_dataset(config.path, layout=config.layout, names=config.names)
    dataset = read_named(str(config.name), **config.options)
    return with_names(dataset, config.names) if config.names else dataset


def _scorer(
    job: CheckpointConfig | TrainingConfig, dataset: Dataset, config: RunConfig, folder: Path | None
) -> Scorer | VectorScorer:
    if isinstance(job, TrainingConfig):
        return train(job, dataset, folder or Path())
    return read_checkpoint(Path(job.path), job.options, dataset=dataset, format=job.format, nan=config.evaluation.nan)


def _manifest(
    config: RunConfig, dataset: Dataset, scorer: Scorer | VectorScorer, table: RankTable | Judgement, clock: Clock
) -> dict[str, Any]:
    described = scorer.describe() if isinstance(scorer, Checkpoint) else {"live": type(scorer).__name__}
    corruption = config.evaluation.corruption
    read = [*dataset.files, *(scorer.files if isinstance(scorer, Checkpoint) else ()), *corruption.files]
    seeds = {"corruption": getattr(corruption, "seed", None)}
    if config.task is not None:
        files, seeds["corruption"] = negatives_of(config.task)
        read += files
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
        **_ranking(table.ranks.get("score") if isinstance(table, Judgement) else table),
        "notes": list(table.notes),
    }


def _ranking(ranks: RankTable | None) -> dict[str, Any]:
    if ranks is None:
        return {}
    return {"ranking": dict(ranks.work), "ranked": {"triples": ranks.num_triples, "ranks": len(ranks)}}
