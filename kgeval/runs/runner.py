"""The runner: evaluates the models of a configuration, and writes a run directory for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kgeval.baselines.baseline import FittedBaseline
from kgeval.checkpoints import Checkpoint
from kgeval.data.dataset import Dataset
from kgeval.errors import CheckpointError, ConfigError, InputError, KgevalError, RunError, UsageError, first_few, reason
from kgeval.progress import Progress, unreported
from kgeval.ranking.rank_table import RankTable
from kgeval.run_directory.contents import METRICS, REPORT, as_json, is_run, other_files, read_ranks
from kgeval.run_directory.staging import locked, reserve, write_run
from kgeval.runs.config.dataset_checks import check_against_dataset
from kgeval.runs.config.models import CheckpointConfig
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.jobs import Clock, Job, ModelEvaluation, config_content, fingerprint, manifest
from kgeval.runs.metric_bounds import Threshold
from kgeval.runs.outcome import ModelsFailed, Outcome, common_table, goes_on, refuse_changes, write_page
from kgeval.runs.results import concealed
from kgeval.runs.shards.executors.executor import LocalExecutor
from kgeval.runs.shards.fingerprint import Fingerprint
from kgeval.runs.shards.shard_store import ShardedRanking, ShardStore, counting_shards
from kgeval.runs.stored_result import read_result
from kgeval.runs.trackers import refuse_unusable, report, tracking
from kgeval.scorers.scorer import Scorer, VectorScorer
from kgeval.settings.messages import Problem
from kgeval.storage.atomic import write_text

Watch = Callable[[str, int | None], AbstractContextManager[Progress]]
"""(name of the work, number of ranks or None) -> a context with a function to report computed ranks to"""


def no_progress(_: str, __: int | None) -> AbstractContextManager[Progress]:
    return nullcontext(unreported)


def no_warning(_: str) -> None: ...


def run(
    config: RunConfig,
    out: Path | None,
    *,
    force: bool = False,
    watch: Watch = no_progress,
    warn: Callable[[str], None] = no_warning,
    limits: Sequence[Threshold] = (),
) -> list[Outcome]:
    """Run a configuration into the run directory ``out``; without it, nothing is written.

    Several models, with a folder each inside it, are all read before the first is evaluated. A model with an unchanged
    earlier run in its folder is not evaluated again. If a model cannot be read or fails, the others are evaluated
    nevertheless. ``warn`` is called with messages that should be shown before the results. A threshold in ``limits`` on
    a side that the model cannot predict is refused before ranking.
    """
    if others := [] if out is None else other_files(out, config.jobs):
        warn(f"{str(out)!r} holds other files ({first_few(others, 3)}); they stay, and the run is written beside them.")
    with ExitStack() as stack:
        stack.enter_context(config.document.variables.concealed())
        refuse_unusable(config.tracker, config.jobs)
        stages = _reserve_folders(config, out, force=force, stack=stack)
        stack.enter_context(counting_shards(stages.values()))
        clock = Clock()
        with clock.time("load dataset"), watch("loading dataset", None):
            dataset = config.load_dataset()
        config = check_against_dataset(config, dataset)
        jobs = [Job(config, name, stage, dataset) for name, stage in stages.items()]
        config = config.resolved(dataset)
        work = _Work(config, dataset, ModelEvaluation(config, dataset), clock, watch, warn, force, limits)
        several = config.models is not None
        outcomes = _run_several(work, jobs, out) if several else [work.stored(jobs[0]) or work.run(jobs[0])]
        if config.report and out is not None:
            with watch("building the page", None):
                write_page(out, dataset, warn=warn)
        return outcomes


def _reserve_folders(config: RunConfig, out: Path | None, *, force: bool, stack: ExitStack) -> dict[str, Path | None]:
    """Lock the run directories until the stack is closed; return by model the stage where its run is written."""
    if out is None:
        if any(model.trains for model in config.jobs.values()):
            raise ConfigError("a model that is trained first needs an output folder.")
        return dict.fromkeys(config.jobs)
    if config.models is None:
        trains = config.jobs[""].trains
        return {"": stack.enter_context(reserve(out, force=force, resume=True, trains=trains))}
    stack.enter_context(locked(out))
    if is_run(out):
        raise InputError(f"{str(out)!r} holds a run of one model; several need a folder of their own. Choose another.")
    return {
        name: stack.enter_context(reserve(out / name, force=force, resume=True, trains=model.trains))
        for name, model in config.jobs.items()
    }


def _run_several(work: _Work, jobs: Sequence[Job], out: Path | None) -> list[Outcome]:
    """Evaluate several models, except those with a stored run, and keep their common table up to date."""
    stored, failures = work.read_all(jobs)
    for name, error in failures.items():
        work.warn(f"{name} cannot be read, the other models are evaluated: {error}")
    outcomes: list[Outcome] = []

    def write_table() -> None:
        if out is not None:
            table = common_table(outcomes, failures, planned=[job.name for job in jobs])
            write_text(out / METRICS, as_json(table))

    if out is not None:
        (out / REPORT).unlink(missing_ok=True)  # it is of earlier numbers
    write_table()
    for job in jobs:
        if job.name in failures:
            continue
        try:
            outcomes.append(stored.get(job.name) or work.run(job))
        except (KgevalError, OSError, MemoryError) as error:
            failures[job.name] = work.failure(error)
        write_table()
    if failures:
        raise ModelsFailed(outcomes, failures)
    return outcomes


def _is_of_files(error: Exception, job: Job) -> bool:
    """Whether files of a model are unreadable; else its configuration is wrong."""
    in_checkpoint = isinstance(error, CheckpointError) and not isinstance(error, UsageError)
    return not isinstance(error, InputError) or (in_checkpoint and isinstance(job.model, CheckpointConfig))


@dataclass(frozen=True)
class _Work:
    """What the jobs of one run share; a job is written in its ``stage``, which then becomes its ``folder``."""

    config: RunConfig
    dataset: Dataset
    evaluation: ModelEvaluation
    clock: Clock
    watch: Watch
    warn: Callable[[str], None]
    force: bool
    limits: Sequence[Threshold]

    def read_all(self, jobs: Sequence[Job]) -> tuple[dict[str, Outcome], dict[str, KgevalError]]:
        """Read all models before the first is evaluated; return their stored runs, and the errors of unreadable files.

        A model whose files are unreadable is left out, and the others are evaluated. A mistake in the configuration,
        such as an option that a checkpoint does not have, refuses the whole run.
        """
        stored, problems = {}, []
        unreadable: dict[str, KgevalError] = {}
        for job in jobs:
            try:
                model = job.read(self.evaluation)
                self._refuse_unfit_limits(job, model)
                if self._is_done(job):
                    stored[job] = fingerprint(job, model, self.evaluation)
                elif job.stage is not None and model is not None and not self.force:
                    store = ShardStore(job.stage)
                    if store.exists:  # an interrupted run goes on only with the same configuration and inputs
                        current = fingerprint(job, model, self.evaluation)
                        store.refuse_changes(current, self.config.evaluation.shards)
            except (InputError, OSError, MemoryError) as error:
                if _is_of_files(error, job):
                    unreadable[job.name] = self.failure(error)
                else:
                    problems.append(Problem.of(("models", job.name), error))
        if problems:
            raise self.config.document.refusal(problems)
        outcomes = {job.name: self._read_stored(job, current) for job, current in stored.items()}
        return {name: outcome for name, outcome in outcomes.items() if outcome is not None}, unreadable

    def stored(self, job: Job) -> Outcome | None:
        """Read a model's stored run, unless there is none or it is to be replaced or continued."""
        if not self._is_done(job):
            return None
        return self._read_stored(job, fingerprint(job, job.read(self.evaluation), self.evaluation))

    def _is_done(self, job: Job) -> bool:
        return job.folder is not None and is_run(job.folder) and not self.force

    def failure(self, error: Exception) -> RunError:
        """Name the failure of one of several models, without the values of variables."""
        words = str(error) if isinstance(error, KgevalError) else f"{type(error).__name__}: {reason(error)}."
        return RunError(self.config.document.variables.conceal(words))

    def _read_stored(self, job: Job, current: Fingerprint) -> Outcome | None:
        """Read a model's stored run, unless its sample is to grow; refuse it if what it depends on has changed."""
        folder = job.folder or Path()
        refuse_changes(folder, current)
        if goes_on(folder, current):
            return None
        return Outcome(job.name, read_result(folder, (), {}), folder, stored=True)

    def _earlier(self, job: Job, model: Scorer | VectorScorer) -> RankTable | None:
        """Read the sample of a stored estimate, which is gone on with."""
        if job.folder is None or self.config.evaluation.estimate is None or not self._is_done(job):
            return None
        refuse_changes(job.folder, fingerprint(job, model, self.evaluation))
        return read_ranks(job.folder)

    def run(self, job: Job) -> Outcome:
        if self.config.tracker is None:
            return self._evaluate(job)
        with tracking(self.config.tracker, job.name, self.dataset.name) as tracker:
            outcome = self._evaluate(job)
            folder = None if outcome.folder is None else job.config.document.variables.conceal(str(outcome.folder))
            report(tracker, config_content(job.config), outcome.summary.to_dict(), folder)
        return outcome

    def _evaluate(self, job: Job) -> Outcome:
        clock = Clock(dict(self.clock.seconds))
        loading: AbstractContextManager[Any] = nullcontext()
        if not job.model.trains:
            loading = self.watch(f"loading {job.name or 'model'}", None)
        with clock.time(job.step), loading:
            model = job.load(self.dataset)
        self._refuse_unfit_limits(job, model)
        sharded, activity = self._sharded(job, model), job.name or self.evaluation.activity
        with clock.time(self.evaluation.step), self.watch(activity, self.evaluation.num_ranks(model)) as progress:
            result = self.evaluation.evaluate(
                model,
                title=job.title_of(model),
                policies=job.config.policies,
                progress=progress,
                rank_parts=sharded.rank_parts,
                earlier=self._earlier(job, model),
            )
            result = concealed(result, job.config.document.variables)
        outcome = Outcome(job.name, result, job.folder)
        with clock.time("summarize"):
            metrics = outcome.to_dict()
        if job.stage is not None:
            write_run(
                job.stage,
                config=config_content(job.config),
                manifest=manifest(job, model, self.evaluation, result, clock.seconds) | sharded.facts,
                tables=result.tables,
                metrics=metrics,
                curves=getattr(result.summary, "curves", None),
            )
        return outcome

    def _refuse_unfit_limits(self, job: Job, model: Scorer | VectorScorer | None) -> None:
        limits = [limit for limit in self.limits if limit.model in {"", job.name}]
        if limits and model is not None and self.config.kind == "ranks":
            for limit in limits:
                limit.refuse_unfit("ranks", sides=self.evaluation.sides_of(model))

    def _sharded(self, job: Job, model: Scorer | VectorScorer) -> ShardedRanking:
        """Return how a model's ranking is divided; shards of a live model, which no later run knows, are not kept."""
        store = ShardStore(job.stage) if job.stage and isinstance(model, Checkpoint | FittedBaseline) else None
        return ShardedRanking(
            self.config.executor or LocalExecutor(),
            self.config.evaluation.shards,
            store,
            partial(fingerprint, job, model, self.evaluation),
            self.config.document.as_written,
            self.force,
            self.warn,
        )
