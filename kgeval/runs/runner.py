"""The runner: a configuration in, for each of its models a table, a summary and a run directory out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from kgeval.data.dataset import Dataset
from kgeval.errors import CheckpointError, ConfigError, InputError, KgevalError, RunError, UsageError, reason
from kgeval.progress import Progress
from kgeval.run_directory.contents import METRICS, as_json, describe_machine, is_run, other_files
from kgeval.run_directory.staging import alone_in, reserve, write_run
from kgeval.runs.config.dataset_checks import check_against_dataset
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.jobs import CheckpointJob, Job, jobs_of
from kgeval.runs.manifest import FileHashes, config_content, manifest
from kgeval.runs.model_evaluation import ModelEvaluation, evaluation_of
from kgeval.runs.outcome import ModelsFailed, Outcome, common_table
from kgeval.runs.resume import read_outcome, refuse_changes
from kgeval.runs.trackers import report, tracking
from kgeval.settings.messages import Problem
from kgeval.storage.atomic import write_text

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
        stages = _reserve_folders(config, out, force=force, held=held)
        clock = Clock()
        with clock.time("load dataset"), watch("loading dataset", None):
            dataset = config.dataset.load()
        config = check_against_dataset(config, dataset)
        jobs = jobs_of(config, stages, dataset)
        config = config.resolved(dataset)
        work = _Work(config, dataset, evaluation_of(config, dataset), clock, watch, FileHashes())
        if config.models is None:
            return [work.run(jobs[0])]
        return _run_several(work, jobs, out, force=force, warn=warn)


def _reserve_folders(config: RunConfig, out: Path | None, *, force: bool, held: ExitStack) -> dict[str, Path | None]:
    """Hold the run directories, and return by model the stage on which its run is written until it is whole."""
    if out is None:
        if any(model.trains for model in config.jobs.values()):
            raise ConfigError("a model that is trained first needs an output folder.")
        return dict.fromkeys(config.jobs)
    if config.models is None:
        return {"": held.enter_context(reserve(out, force=force, trains=config.jobs[""].trains))}
    held.enter_context(alone_in(out))
    if is_run(out):
        raise InputError(f"{str(out)!r} holds a run of one model; several need a folder of their own. Choose another.")
    return {
        name: held.enter_context(reserve(out / name, force=force, resume=True, trains=model.trains))
        for name, model in config.jobs.items()
    }


def _run_several(
    work: _Work, jobs: Sequence[Job], out: Path | None, *, force: bool, warn: Callable[[str], None]
) -> list[Outcome]:
    """Evaluate several models, each unless its run is there, and keep their common table up to date."""
    stored, failures = work.read_all(jobs, force=force)
    for name, error in failures.items():
        warn(f"{name} cannot be read, the other models are evaluated: {error}")
    outcomes: list[Outcome] = []

    def write_table() -> None:
        if out is not None:
            table = common_table(outcomes, failures, planned=[job.name for job in jobs])
            write_text(out / METRICS, as_json(table))

    write_table()
    for job in jobs:
        if job.name in failures:
            continue
        try:
            outcomes.append(stored.get(job.name) or work.run(job))
        except (KgevalError, OSError, MemoryError) as error:
            failures[job.name] = _as_failure(error)
        write_table()
    if failures:
        raise ModelsFailed(outcomes, failures)
    return outcomes


def _as_failure(error: KgevalError | OSError | MemoryError) -> KgevalError:
    return error if isinstance(error, KgevalError) else RunError(f"{type(error).__name__}: {reason(error)}.")


def _is_damage(job: Job, error: InputError) -> bool:
    """Whether the files of a checkpoint are wrong, not how the configuration uses them."""
    return isinstance(job, CheckpointJob) and isinstance(error, CheckpointError) and not isinstance(error, UsageError)


@dataclass(frozen=True)
class _Work:
    """What all models of a configuration share."""

    config: RunConfig
    dataset: Dataset
    evaluation: ModelEvaluation
    clock: Clock
    """of the time that was spent before any model"""
    watch: Watch
    hashes: FileHashes

    def read_all(self, jobs: Sequence[Job], *, force: bool) -> tuple[dict[str, Outcome], dict[str, KgevalError]]:
        """Read all models before the first is evaluated.

        Returns
        -------
        tuple[dict[str, Outcome], dict[str, KgevalError]]
            by model: those whose run is there, unless it is replaced; why the files of others cannot be read

        Raises
        ------
        ConfigError
            with all models whose path, format or options are wrong, or that do not fit the dataset
        """
        found, unreadable, problems = {}, {}, []
        for job in jobs:
            try:
                model = job.read(self.dataset, self.evaluation)
                if job.folder is not None and is_run(job.folder) and not force:
                    found[job] = self.hashes.of_inputs(self.dataset, model, self.evaluation)
            except (InputError, OSError, MemoryError) as error:
                if not isinstance(error, InputError) or _is_damage(job, error):
                    unreadable[job.name] = _as_failure(error)
                else:
                    problems.append(Problem.of(("models", job.name), error))
        if problems:
            raise self.config.document.refusal(problems)
        return {job.name: self._stored(job, sha256) for job, sha256 in found.items()}, unreadable

    def _stored(self, job: Job, sha256: Mapping[str, str]) -> Outcome:
        """Read the run of a model that is there; refuse it if anything that its result depends on has changed."""
        folder = job.folder or Path()
        now = {"dataset": {"sha256": self.dataset.sha256()}, "sha256": sha256, **describe_machine()}
        refuse_changes(folder, config_content(job.config), now)
        return read_outcome(folder, job.name, (), {})

    def run(self, job: Job) -> Outcome:
        """Evaluate a model, and tell the tracker when everything is written."""
        if self.config.tracker is None:
            return self._evaluate(job)
        with tracking(self.config.tracker, job.name, self.dataset.name) as tracker:
            outcome = self._evaluate(job)
            report(tracker, config_content(job.config, escape=False), outcome.summary.to_dict(), outcome.folder)
        return outcome

    def _evaluate(self, job: Job) -> Outcome:
        """Load a model, evaluate it, and write its run."""
        clock = Clock(dict(self.clock.seconds))
        with clock.time(job.step), job.watched(self.watch(f"loading {job.name or 'model'}", None)):
            model = job.load(self.dataset)
        doing = job.name or self.evaluation.doing
        with clock.time(self.evaluation.step), self.watch(doing, self.evaluation.num_ranks) as progress:
            policies = job.config.policies
            result = self.evaluation.evaluate(model, title=job.title, policies=policies, progress=progress)
        outcome = Outcome(job.name, result, job.folder)
        with clock.time("summarize"):
            metrics = outcome.to_dict()
        if job.stage is not None:
            write_run(
                job.stage,
                config=config_content(job.config),
                manifest=manifest(job, self.dataset, model, self.evaluation, result, self.hashes, clock.seconds),
                tables=result.tables,
                metrics=metrics,
                curves=result.curves,
            )
        return outcome
