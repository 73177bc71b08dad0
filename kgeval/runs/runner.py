"""The runner: evaluates the models of a configuration, each into a run directory.

``run`` is what ``kgeval run`` and ``kgeval evaluate`` do: in go a checked configuration and a folder, out come
outcomes. ``run_shard`` ranks one part of each model, so that several processes share the work, and ``merge`` finishes
their run. How one model is read, evaluated and described is in :mod:`kgeval.runs.jobs`; here is what all share:
folders, earlier runs that are taken or continued, errors, and the order of the work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from kgeval.base.errors import (
    CheckpointError,
    ConfigError,
    DatasetError,
    InputError,
    KgevalError,
    RunError,
    TableError,
    UsageError,
    first_few,
    reason,
)
from kgeval.base.files import ReadFiles, noting_openings
from kgeval.base.notes import Note
from kgeval.base.progress import Progress, unreported
from kgeval.base.setting_problems import Problem
from kgeval.base.storage import write_text
from kgeval.base.threads import bound_threads
from kgeval.data.dataset import Dataset
from kgeval.models.baselines import Baseline, FittedBaseline
from kgeval.models.checkpoints import Checkpoint
from kgeval.ranking.rank_table import RankTable
from kgeval.runs.config.load import check, check_against_dataset
from kgeval.runs.config.models import CheckpointConfig, RanksConfig
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.config.yaml_document import Document, ExpandingLoader, WrittenLoader, parse_value, paths_of
from kgeval.runs.executors import LocalExecutor, ShardedRanking
from kgeval.runs.jobs import Evaluable, Job
from kgeval.runs.metric_bounds import Threshold
from kgeval.runs.outcome import ModelsFailed, Outcome, results_of
from kgeval.runs.resume import Fingerprint, is_to_be_tightened, refuse_changes
from kgeval.runs.shards import RankedShard, ShardStore, counting_shards, divide_exactly
from kgeval.runs.stored import read_outcome
from kgeval.runs.trackers import refuse_unusable, report_results, tracking
from kgeval.stored.contents import METRICS, STAGE, as_json, is_run, other_files
from kgeval.stored.folders import Place, runs_of
from kgeval.stored.staging import locked, reserve, reserve_shard
from kgeval.stored.stored_run import StoredRun

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
    thresholds: Sequence[Threshold] = (),
) -> list[Outcome]:
    """Run a configuration into the run directory ``out``; without it, nothing is written.

    Several models, with a folder each inside it, are all read before the first is evaluated. A model with an unchanged
    earlier run in its folder is not evaluated again. If a model cannot be read or fails, the others are evaluated
    nevertheless. ``warn`` is called with messages that should be shown before the results. A threshold on a side that
    the model cannot predict is refused before ranking.
    """
    if others := [] if out is None else other_files(out, config.jobs):
        held = f"{str(out)!r} holds other files ({first_few(others, 3)})"
        warn(Note("files", f"{held}. They are kept; the run is written beside them."))
    with ExitStack() as stack:
        stack.enter_context(config.document.concealed())
        refuse_unusable(config.tracker, config.jobs)
        stages = _reserve_folders(config, out, force=force, stack=stack)
        stack.enter_context(counting_shards(stages.values()))
        stack.enter_context(noting_openings())
        clock = Clock()
        with clock.time("load dataset"), watch("loading dataset", None):
            dataset = config.load_dataset()
        config = check_against_dataset(config, dataset)
        read = ReadFiles()
        jobs = [Job(config, name, stage, dataset, read) for name, stage in stages.items()]
        runner = _JobRunner(config, clock, watch, warn, force, thresholds)
        if config.models is None:
            outcomes = [runner.earlier_outcome(jobs[0]) or runner.run(jobs[0])]
        else:
            outcomes = _run_several(runner, jobs, out)
        if config.report and out is not None:
            with watch("building the page", None):
                _write_page(out, dataset, warn=warn)
        return outcomes


def _reserve_folders(config: RunConfig, out: Path | None, *, force: bool, stack: ExitStack) -> dict[str, Path | None]:
    """Lock the run directories until the stack is closed; return for each model its stage.

    A stage is the hidden folder where the run is written until it is complete; None if no run is written.
    """
    if out is None:
        if any(model.trains for model in config.jobs.values()):
            raise ConfigError("a model to train needs a folder to be saved in. Add --out FOLDER (in Python out=…).")
        return dict.fromkeys(config.jobs)
    if config.models is not None:
        stack.enter_context(locked(out))
        if StoredRun(out).is_complete:
            raise InputError(f"{str(out)!r} holds a run of one model. Choose another folder for several models.")
    return {
        name: stack.enter_context(reserve(out / name, force=force, resume=True, trains=model.trains))
        for name, model in config.jobs.items()
    }


def _run_several(runner: _JobRunner, jobs: Sequence[Job], out: Path | None) -> list[Outcome]:
    """Evaluate several models, except those with an earlier run, and keep their common table up to date."""
    earlier, failures = runner.read_all(jobs)
    for name, error in failures.items():
        runner.warn(Note("runs", f"{name} cannot be read and is left out: {error}"))
    outcomes: list[Outcome] = []

    def write_table() -> None:
        if out is not None:
            table = results_of(outcomes, failures, planned=[job.name for job in jobs])
            write_text(out / METRICS, as_json(table))

    if out is not None:
        StoredRun(out).page.unlink(missing_ok=True)  # it shows earlier numbers
    write_table()
    for job in jobs:
        if job.name in failures:
            continue
        try:
            outcomes.append(earlier.get(job.name) or runner.run(job))
        except (KgevalError, OSError, MemoryError) as error:
            failures[job.name] = runner.failure(error)
        write_table()
    if failures:
        raise ModelsFailed(outcomes, failures)
    return outcomes


@dataclass(frozen=True)
class _JobRunner:
    """Evaluates the jobs of one run, except those whose earlier run is complete, and writes each in its stage."""

    config: RunConfig
    clock: Clock
    watch: Watch
    warn: Callable[[str], None]
    force: bool
    thresholds: Sequence[Threshold]

    def read_all(self, jobs: Sequence[Job]) -> tuple[dict[str, Outcome | None], dict[str, KgevalError]]:
        """Read all models before the first is evaluated; return their earlier runs, and the errors of unreadable files.

        A model whose files are unreadable is left out, and the others are evaluated. A mistake in the configuration,
        such as an option that a checkpoint does not have, refuses the whole run.
        """
        earlier: list[tuple[StoredRun, Job, Fingerprint]] = []
        problems = []
        unreadable: dict[str, KgevalError] = {}
        for job in jobs:
            try:
                model = job.read()
                self._refuse_unfit_thresholds(job, model)
                if run := self._earlier_run(job):
                    earlier.append((run, job, job.fingerprint(model)))
                elif job.stage is not None and model is not None and not self.force:
                    store = ShardStore(job.stage)
                    if store.exists:  # an interrupted run goes on only with the same configuration and inputs
                        store.refuse_changes(job.fingerprint(model), job.config.evaluation.shards)
            except (InputError, OSError, MemoryError) as error:
                if _has_unreadable_files(error, job):
                    unreadable[job.name] = self.failure(error)
                else:
                    problems.append(Problem.of(("models", job.name), error))
        if problems:
            raise self.config.document.refusal(problems)
        return {job.name: self._outcome_of(run, job, current) for run, job, current in earlier}, unreadable

    def earlier_outcome(self, job: Job) -> Outcome | None:
        """Read a model's earlier run, unless there is none or it is to be replaced or continued."""
        run = self._earlier_run(job)
        return None if run is None else self._outcome_of(run, job, job.fingerprint(job.read()))

    def _earlier_run(self, job: Job) -> StoredRun | None:
        """The complete run in a model's folder, unless it is to be replaced."""
        return None if self.force else job.stored

    def _outcome_of(self, earlier: StoredRun, job: Job, current: Fingerprint) -> Outcome | None:
        """Read an earlier run, unless its sample is to grow; refuse it if what it depends on has changed."""
        refuse_changes(earlier, current)
        return None if is_to_be_tightened(earlier, current) else read_outcome(earlier, name=job.name)

    def failure(self, error: Exception) -> RunError:
        """Describe the failure of one of several models, without the values of variables, which may be secret."""
        words = str(error) if isinstance(error, KgevalError) else f"{type(error).__name__}: {reason(error)}."
        return RunError(self.config.document.conceal(words))

    def _earlier_sample(self, job: Job, model: Evaluable) -> RankTable | None:
        """Read the sample of an earlier estimate, which a tighter one continues."""
        run = self._earlier_run(job)
        if run is None or job.config.evaluation.estimate is None:
            return None
        refuse_changes(run, job.fingerprint(model))
        return run.ranks()

    def run(self, job: Job) -> Outcome:
        if self.config.tracker is None:
            return self._evaluate(job)
        with tracking(self.config.tracker, job.name, job.dataset.name) as tracker:
            outcome = self._evaluate(job)
            folder = None if outcome.folder is None else str(outcome.folder)
            report_results(tracker, job.content, outcome.summary.to_dict(), folder)
        return outcome

    def _evaluate(self, job: Job) -> Outcome:
        clock, (loading, evaluating) = Clock(dict(self.clock.seconds)), job.steps
        # PyKEEN shows the progress of a training itself.
        shown = nullcontext() if job.source.trains else self.watch(f"loading {job.name or 'model'}", None)
        with clock.time(loading), shown:
            model = job.load()
        self._refuse_unfit_thresholds(job, model)
        sharded = self._sharded(job, model)
        with clock.time(evaluating), self.watch(job.activity, job.num_ranks(model)) as progress:
            earlier = self._earlier_sample(job, model)
            outcome = job.evaluate(model, progress=progress, rank_parts=sharded.rank_parts, earlier=earlier)
        with clock.time("summarize"):
            metrics = outcome.to_dict()
        if job.stage is not None:
            StoredRun.write(
                job.stage,
                outcome.table,
                config=job.content,
                manifest=job.manifest(model, outcome, clock.seconds) | sharded.facts,
                metrics=metrics,
                curves=getattr(outcome.summary, "curves", None),
                predictions=outcome.predictions,
            )
        return outcome

    def _refuse_unfit_thresholds(self, job: Job, model: Evaluable | None) -> None:
        if model is not None and self.config.kind == "ranks":
            for threshold in self.thresholds:
                if threshold.model in {"", job.name}:
                    threshold.refuse_unfit("ranks", sides=job.sides_of(model))

    def _sharded(self, job: Job, model: Evaluable) -> ShardedRanking:
        """Return how a model's ranking is divided; shards are kept only of models that a later run can read again."""
        store = ShardStore(job.stage) if job.stage and isinstance(model, Checkpoint | FittedBaseline) else None
        begin = partial(_begin_shards, self.config, job, model, force=self.force)
        executor = self.config.executor or LocalExecutor()
        return ShardedRanking(executor, job.config.evaluation.shards, store, begin, self.warn)


def _has_unreadable_files(error: Exception, job: Job) -> bool:
    """Whether an error is of the files of a model; otherwise its configuration is wrong."""
    of_files = {CheckpointConfig: (CheckpointError,), RanksConfig: (DatasetError, TableError)}.get(type(job.source), ())
    is_of_files = isinstance(error, of_files) and not isinstance(error, UsageError)
    return is_of_files or not isinstance(error, InputError)


@dataclass
class Clock:
    """The seconds that each step of a run takes, for its manifest."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def time(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[step] = round(time.perf_counter() - start, 3)


def _write_page(folder: Path, dataset: Dataset, *, warn: Callable[[str], None]) -> None:
    """Write the page of a run, or of the runs of several models; if that fails, it is a warning, and the run counts."""
    from kgeval.reports.page import report

    try:
        report(folder, dataset=dataset).save(StoredRun(folder).page)
    except KgevalError as error:
        warn(Note("runs", f"the page of {str(folder)!r} was not written: {error}"))


def run_shard(
    config: RunConfig, out: Path, number: int, count: int, *, force: bool = False, watch: Watch = no_progress
) -> dict[Path, int | None]:
    """Rank one of ``count`` shards of each model of a configuration; other processes may rank others.

    Return, for the folder of each model, how many ranks were computed; ``None`` if the shard was there already.
    """
    with config.document.concealed(), noting_openings():
        ranked = all(isinstance(model, CheckpointConfig | Baseline) for model in config.jobs.values())
        if config.task is not None or not ranked:
            raise ConfigError(
                "--shard divides the ranking of stored models. It works neither with a task, with training nor ranks."
            )
        if config.evaluation.shards not in (None, count):
            conflict = f"--shard says {count} shards, but evaluation.shards is {config.evaluation.shards}"
            raise ConfigError(f"{conflict}. Leave one out.")
        dataset = config.load_dataset()
        config = check_against_dataset(config, dataset)
        read = ReadFiles()
        jobs = [Job(config, name, out / name / STAGE, dataset, read) for name in config.jobs]

        def rank(job: Job) -> int | None:
            model, store = job.load(), ShardStore(out / job.name / STAGE)
            if job.stored is not None and not force:
                refuse_changes(job.stored, job.fingerprint(model))
                return None
            with watch(job.activity, None) as progress:
                ranking = job.ranking(model, progress)
                shard = divide_exactly(ranking, count)[number - 1]
                begin = partial(_begin_shards, config, job, model, store, count, force=force)
                with reserve_shard(out / job.name, number, force=force, prepare=begin):
                    kept = store.read(shard)
                    if kept is None:
                        with bound_threads(config.evaluation.threads):
                            store.write(shard, RankedShard.of(ranking.part(shard.side, shard.rows)))
            return None if kept is not None else len(shard.rows)

        return {out / job.name: rank(job) for job in jobs}


def _begin_shards(config: RunConfig, job: Job, model: Any, store: ShardStore, count: int, *, force: bool) -> None:
    """Begin or continue the ranking of a model in shards; the store keeps how the whole run can be begun again."""
    configuration = config.document.write(config.document.content)
    store.begin(job.fingerprint(model), count, configuration=configuration, force=force)


def merge(
    folder: Path, *, force: bool = False, watch: Watch = no_progress, warn: Callable[[str], None] = no_warning
) -> list[Outcome]:
    """Finish a run whose shards were ranked by several processes."""
    stages = (folder / STAGE, *sorted(folder.glob(f"*/{STAGE}")), *sorted(folder.glob(f"*/*/{STAGE}")))
    stores = [store for store in map(ShardStore, stages) if store.exists]
    if not stores:
        runs_of([("", place := Place(folder))])
        absent = f"no shards. 'kgeval run CONFIG --out {folder} --shard 1/16' ranks the first of 16."
        left_out = " ".join(place.notes)
        done = f"no shards; {left_out}" if left_out else "a finished run: there is nothing to merge."
        raise InputError(f"{str(folder)!r} holds {done if is_run(folder) or place.holds_runs else absent}")
    about, source = stores[0].about, f"the configuration of the shards in {folder}"
    text, count = about.get("configuration", ""), about["shards"]
    content, written = (parse_value(text, source, loader) for loader in (ExpandingLoader, WrittenLoader))
    config = check(Document(source, content, written=written, paths=paths_of(content, written)))
    for name in config.jobs:
        store = ShardStore(folder / name / STAGE)
        if not store.exists and is_run(folder / name):
            continue
        missing = [number for number in range(1, count + 1) if not store.exists or store.find(number) is None]
        if missing:
            absent = f"missing of the {count} shards in {str(folder / name)!r}: {first_few(missing, 10)}"
            raise InputError(f"{absent}. 'kgeval run CONFIG --shard {missing[0]}/{count}' ranks the first of these.")
    return run(config, folder, force=force, watch=watch, warn=warn)
