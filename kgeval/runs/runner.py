"""The runner: a configuration in, for each of its models a table, a summary and a run directory out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgeval.checkpoints import Checkpoint
from kgeval.data.dataset import Dataset
from kgeval.data.human_names import with_names
from kgeval.data.layout import load_dataset
from kgeval.data.layouts.pykeen_layout import read_named
from kgeval.errors import ConfigError, InputError, KgevalError
from kgeval.metrics.labels.label_summary import LabelSummary
from kgeval.metrics.tables.summary import Summary, summarize
from kgeval.progress import Progress
from kgeval.protocols.protocol import protocol
from kgeval.protocols.report import FrameworkMetrics, framework_metrics
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.contents import (
    METRICS,
    RANKS,
    as_json,
    describe_machine,
    is_run,
    other_files,
    sha256_of_files,
)
from kgeval.run_directory.staging import alone_in, reserve, unstaged, write_run
from kgeval.runs.config.dataset_checks import check_against_dataset
from kgeval.runs.config.environment_variables import escaped
from kgeval.runs.config.metric_request import INAPPLICABLE_OPTIONS, MetricRequest
from kgeval.runs.config.models import TrainingConfig
from kgeval.runs.config.run_config import DatasetConfig, RunConfig
from kgeval.runs.inputs import input_files, read_inputs, read_model
from kgeval.runs.outcome import ModelsFailed, Outcome, common_table
from kgeval.runs.resume import read_outcome, refuse_changes
from kgeval.runs.run_task import TaskResult, negatives_of, run_task
from kgeval.runs.trackers import report, tracking
from kgeval.runs.training import train
from kgeval.scorers.scorer import Scorer, VectorScorer
from kgeval.storage.atomic import write_text
from kgeval.tasks.confidences import Confidences

Watch = Callable[[str, int | None], AbstractContextManager[Progress]]
"""(what is done, how many ranks that gives, if any) -> a context in which the ranks that are done are reported"""


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


def no_progress(_: str, __: int | None) -> AbstractContextManager[Progress]:
    """Report nothing."""
    return nullcontext(lambda _: None)


def say_nothing(_: str) -> None:
    """Report nothing."""


def run(
    config: RunConfig,
    out: Path | None,
    *,
    force: bool = False,
    watch: Watch = no_progress,
    warn: Callable[[str], None] = say_nothing,
) -> list[Outcome]:
    """Run a configuration.

    Of several models, all are read before the first is ranked; those that an earlier run of the very same has evaluated
    are taken from there; and where one cannot be read or fails, the others are evaluated all the same.

    Parameters
    ----------
    config
        what to do
    out
        the run directory; several models get a folder each inside it, and their common table in it. Without one nothing
        is written
    force
        whether an earlier run there may be replaced
    watch
        how to show progress
    warn
        called with what somebody who waits for the results should know at once

    Raises
    ------
    KgevalError
        whatever is wrong; nothing was computed if the output folder was in use
    ModelsFailed
        if some of several models failed; it has the outcomes of the others
    """
    if others := [] if out is None else other_files(out, config.jobs):
        named = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
        warn(f"{str(out)!r} holds other files ({named}); they stay, and the run is written beside them.")
    with ExitStack() as held:
        stages = _claim(config, out, force=force, held=held)
        clock = Clock()
        with clock.time("load dataset"), watch("loading dataset", None):
            dataset = _dataset(config.dataset)
        check_against_dataset(config, dataset)
        config = config.resolved(dataset)
        if config.models is None:
            return [_run_tracked(config, "", dataset, stages[""], clock, watch)]
        stored, failures = _stored(config, dataset, stages, force=force)
        for name, error in failures.items():
            warn(f"{name} cannot be read, the other models are evaluated: {error}")
        outcomes: list[Outcome] = []
        for name, stage in stages.items():
            if out is not None:
                write_text(out / METRICS, as_json(common_table(outcomes, failures, planned=[*stages])))
            try:
                if name not in failures:
                    outcomes.append(stored.get(name) or _run_tracked(config, name, dataset, stage, clock, watch))
            except KgevalError as error:
                failures[name] = error
        if out is not None:
            write_text(out / METRICS, as_json(common_table(outcomes, failures)))
        if failures:
            raise ModelsFailed(outcomes, failures)
        return outcomes


def _claim(config: RunConfig, out: Path | None, *, force: bool, held: ExitStack) -> dict[str, Path | None]:
    """Hold the run directories, each by its model's name, and tell where they are written until they are whole."""
    trains = {name: isinstance(job, TrainingConfig) for name, job in config.jobs.items()}
    if out is None:
        if any(trains.values()):
            raise ConfigError("a model that is trained first needs an output folder.")
        return dict.fromkeys(config.jobs)
    if config.models is None:
        return {"": held.enter_context(reserve(out, force=force, trains=trains[""]))}
    held.enter_context(alone_in(out))
    if is_run(out):
        raise InputError(f"{str(out)!r} holds a run of one model; several need a folder of their own. Choose another.")
    return {
        name: held.enter_context(reserve(out / name, force=force, resume=True, trains=trains[name]))
        for name in config.jobs
    }


def _stored(
    config: RunConfig, dataset: Dataset, stages: Mapping[str, Path | None], *, force: bool
) -> tuple[dict[str, Outcome], dict[str, KgevalError]]:
    """Read all models, before the first is ranked.

    Returns
    -------
    tuple[dict[str, Outcome], dict[str, KgevalError]]
        by model: those whose run is there, unless it is to be replaced; why others cannot be read
    """
    folders = {name: None if stage is None else stage.parent for name, stage in stages.items()}
    inputs = read_inputs(config, dataset, folders)
    stored = {}
    for name, folder in folders.items():
        if folder is not None and is_run(folder) and not force and name in inputs.sha256:
            manifest = {"dataset": {"sha256": dataset.sha256()}, "sha256": inputs.sha256[name], **describe_machine()}
            refuse_changes(folder, escaped(_content(config, name, folder)), manifest)
            stored[name] = read_outcome(folder, name, (), {})
    return stored, inputs.unreadable


def _run_model(
    config: RunConfig, name: str, dataset: Dataset, stage: Path | None, clock: Clock, watch: Watch
) -> Outcome:
    job, clock = config.jobs[name], Clock(dict(clock.seconds))
    folder, trained = None if stage is None else stage.parent, isinstance(job, TrainingConfig)
    # PyKEEN shows its own progress while it trains.
    loading = nullcontext() if trained else watch(f"loading {name or 'model'}", None)
    with clock.time("train" if trained else "load model"), loading:
        if isinstance(job, TrainingConfig):
            scorer = train(job, dataset, stage or Path())
        else:
            scorer = read_model(job, config, dataset)
    table, summary, printed = _results(config, name, dataset, scorer, clock, watch)
    rules = protocol(config.protocol)
    asked = (config.metrics, config.policies) != (rules.metrics, MetricRequest(ties=rules.ties).policies)
    outcome = Outcome(name, table, summary, printed, asked, folder)
    if stage is not None and folder is not None:
        tables = table.tables if isinstance(table, TaskResult) else {RANKS: table}
        write_run(
            stage,
            config=escaped(_content(config, name, folder)),
            manifest=_manifest(_single_model_config(config, name, folder), dataset, scorer, table, clock),
            tables=tables,
            metrics=outcome.to_dict(),
            curves=summary.curves if isinstance(summary, LabelSummary) else None,
        )
    return outcome


def _run_tracked(
    config: RunConfig, name: str, dataset: Dataset, stage: Path | None, clock: Clock, watch: Watch
) -> Outcome:
    """Run a model, and tell the tracker when everything is written."""
    if config.tracker is None:
        return _run_model(config, name, dataset, stage, clock, watch)
    with tracking(config.tracker, name, dataset.name) as tracker:
        outcome = _run_model(config, name, dataset, stage, clock, watch)
        report(tracker, _content(config, name, outcome.folder), outcome.summary.to_dict(), outcome.folder)
    return outcome


def _single_model_config(config: RunConfig, name: str, folder: Path | None) -> RunConfig:
    """The configuration of this one model, so that it can be run again by itself."""
    output = None if folder is None else str(folder)
    return config.model_copy(update={"model": config.jobs[name], "models": None, "output": output})


def _content(config: RunConfig, name: str, folder: Path | None) -> dict[str, Any]:
    left_out = {"evaluation", *INAPPLICABLE_OPTIONS[config.task.kind]} if config.task else None
    return _single_model_config(config, name, folder).model_dump(mode="json", exclude_none=True, exclude=left_out)


def _results(
    config: RunConfig, name: str, dataset: Dataset, scorer: Scorer | VectorScorer, clock: Clock, watch: Watch
) -> tuple[RankTable | TaskResult, Summary | LabelSummary, FrameworkMetrics | None]:
    metrics, job = config.metrics, config.jobs[name]
    title = name or (job.model if isinstance(job, TrainingConfig) else None)
    if (task := config.task) is not None:
        ranks = len(dataset.test) * len(task.sides) if isinstance(task, Confidences) else None
        with clock.time("judge"), watch(name or "judging", ranks) as progress:
            ties, seed = config.ties or "realistic", config.seed
            judgement = run_task(
                task, scorer, dataset, metrics=metrics, ties=ties, seed=seed, progress=progress, title=title
            )
        return judgement, judgement.summary, None
    tasks = len(dataset.split(config.evaluation.split)) * len(config.evaluation.sides)
    rules = protocol(config.protocol)
    with clock.time("rank"), watch(name or "ranking", tasks) as progress:
        table = config.evaluation(scorer, dataset, progress=progress, rules=rules.rules, title=title)
    with clock.time("summarize"):
        summary = summarize(table, metrics, **config.policies)
        return table, summary, framework_metrics(table) if rules.framework_metrics else None


def _dataset(config: DatasetConfig) -> Dataset:
    if config.path is not None:
        return load_dataset(config.path, layout=config.layout, names=config.names)
    dataset = read_named(str(config.name), **config.options)
    return with_names(dataset, config.names) if config.names else dataset


def _manifest(
    config: RunConfig, dataset: Dataset, scorer: Scorer | VectorScorer, table: RankTable | TaskResult, clock: Clock
) -> dict[str, Any]:
    described = {"live": type(scorer).__name__}
    if isinstance(scorer, Checkpoint):
        described = scorer.describe() | {"files": [unstaged(str(path)) for path in scorer.files]}
    read = sha256_of_files(input_files(config, dataset, scorer))
    corruption = config.evaluation.corruption
    seeds = {"corruption": getattr(corruption, "seed", None)}
    if config.task is not None:
        _, seeds["corruption"] = negatives_of(config.task)
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
        "sha256": {unstaged(path): sha256 for path, sha256 in read.items()},
        "seconds": dict(clock.seconds),
        **_ranking(table.ranks.get("score") if isinstance(table, TaskResult) else table),
        "notes": list(table.notes),
    }


def _ranking(ranks: RankTable | None) -> dict[str, Any]:
    if ranks is None:
        return {}
    return {"ranking": dict(ranks.work), "ranked": {"triples": ranks.num_triples, "ranks": len(ranks)}}
