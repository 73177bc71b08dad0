"""A job: one model of a configuration, how it is read and evaluated, and what its manifest says of that.

The runner makes a :class:`Job` for each model, and calls its methods: :meth:`Job.load` returns the model,
:meth:`Job.evaluate` an ``Outcome``, and :meth:`Job.manifest` the content of ``manifest.json``. A new fact in this file
is an entry there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from kgeval.analysis.slices.annotation import annotate, slices_to_add
from kgeval.analysis.slices.slice import slices_among
from kgeval.base.files import ReadFiles, State
from kgeval.base.notes import stored
from kgeval.base.progress import Progress
from kgeval.data.dataset import Dataset
from kgeval.metrics.kinds import KINDS
from kgeval.metrics.names import parse_all
from kgeval.metrics.rank_summary import refuse_absent_sides
from kgeval.metrics.selection import MetricOptions, refuse_timeless
from kgeval.models.aligned import Aligned
from kgeval.models.alignment import align
from kgeval.models.baselines import FittedBaseline
from kgeval.models.checkpoints import Checkpoint, load_checkpoint
from kgeval.models.checkpoints.readers.pykeen_modules import NoFormula
from kgeval.models.scorer import Scorer, VectorScorer
from kgeval.ranking.corruption import AllEntities
from kgeval.ranking.engine_choice import named_device
from kgeval.ranking.import_ranks import ImportedRanks
from kgeval.ranking.model_ranking import ModelRanking, RankParts, ranking_of
from kgeval.ranking.protocols.protocol import ResolvedEvaluation
from kgeval.ranking.protocols.sampled_ranking import rank_all_or_sample
from kgeval.ranking.rank_table import RankTable
from kgeval.ranking.ranking_notes import check_unseen
from kgeval.ranking.tasks.classification import Classification
from kgeval.runs.config.models import CheckpointConfig, RanksConfig, TrainingConfig
from kgeval.runs.config.run_config import RunConfig
from kgeval.runs.outcome import Outcome, task_policies
from kgeval.runs.resume import Fingerprint, leaves
from kgeval.runs.training import train
from kgeval.stored.contents import describe_machine, graph_facts, ranking_facts
from kgeval.stored.staging import unstaged
from kgeval.stored.stored_run import StoredRun

Evaluable: TypeAlias = Scorer | VectorScorer | ImportedRanks
"""what is evaluated: a model, or ranks in its place"""


class Job:
    """One model of a configuration: how it is read, evaluated and described, and where its run is written.

    ``stage`` is the hidden folder in which its run is written; None if no run is written.
    """

    def __init__(self, config: RunConfig, name: str, stage: Path | None, dataset: Dataset, read: ReadFiles) -> None:
        self.name, self.stage, self.dataset, self._read = name, stage, dataset, read
        self._digests: dict[tuple[Path, ...], dict[Path, tuple[str, State]]] = {}
        self.folder = None if stage is None else stage.parent
        self.source = config.jobs[name]
        self._checkpoint: Checkpoint | None = None
        output = None if self.folder is None else str(self.folder)
        self._alone = config.model_copy(update={"model": self.source, "models": None, "output": output})
        self.config = self._alone.with_decided(None if config.task is not None else self._resolved)
        """the configuration of this one model, with nothing left open, so that it can be run again by itself"""

    @cached_property
    def _resolved(self) -> ResolvedEvaluation:
        """The settings of the ranking, also those that the protocol decides."""
        return self._alone.resolved_evaluation(self.dataset)

    @property
    def steps(self) -> tuple[str, str]:
        """The keys under which the manifest's ``seconds`` have the time for loading and for evaluating the model."""
        steps = {CheckpointConfig: "load model", TrainingConfig: "train", RanksConfig: "load ranks"}
        loading = steps.get(type(self.source), "count")
        return loading, "rank" if self.config.task is None else "score"

    @property
    def activity(self) -> str:
        """What the display of progress calls its evaluation."""
        return self.name or ("ranking" if self.config.task is None else "scoring")

    @property
    def stored(self) -> StoredRun | None:
        """Its complete run, if there is one."""
        run = None if self.folder is None else StoredRun(self.folder)
        return run if run is not None and run.is_complete else None

    @property
    def title(self) -> str | None:
        """What results call the model; by default what it calls itself."""
        return self.name or (self.source.model if isinstance(self.source, TrainingConfig) else None)

    def read(self) -> Checkpoint | FittedBaseline | ImportedRanks | None:
        """Read and check the model before any model is evaluated; None if it has to be trained first."""
        if isinstance(self.source, TrainingConfig):
            saved = StoredRun(self.folder or Path()).trained_model
            try:
                return load_checkpoint(saved) if saved.is_dir() else None
            except NoFormula:
                return None
        model = self._load_model()
        if isinstance(model, Checkpoint):
            if self.config.task is None:
                named_device(self.config.evaluation)
                self._refuse_other_sides(model)
                check_unseen(model, self.dataset, self.config.evaluation)
            self._checkpoint = model
        if self.stage is not None:
            self._hashed_files(model)
        return model

    def _load_model(self) -> Checkpoint | FittedBaseline | ImportedRanks:
        if isinstance(self.source, RanksConfig | CheckpointConfig) and self.source.gives_ranks:
            return self.source.load(self.dataset, self._resolved.evaluation)
        return self.config.load_model(self.dataset)

    def load(self) -> Evaluable:
        """Return the model, read or trained now unless it was read before; or the ranks in its place."""
        model: Evaluable
        if isinstance(self.source, TrainingConfig):
            model = train(self.source, self.dataset, self.stage or Path())
        else:
            model, self._checkpoint = self._checkpoint or self._load_model(), None
        if self.stage is not None:
            self._hashed_files(model)
        return model

    def sides_of(self, model: Any) -> tuple[str, ...]:
        """The sides of a ranking that a model answers."""
        return self.config.evaluation.for_model(model).sides

    def _refuse_other_sides(self, model: Any) -> None:
        names, intervals = parse_all(self.config.metrics), self.config.intervals
        refuse_absent_sides(names, self.sides_of(model), by=self.config.by or ())
        if any(name.average == "time" for name in names) or (intervals and intervals.unit == "time"):
            refuse_timeless(self.dataset.times)

    def ranking(self, model: Any, progress: Progress) -> ModelRanking:
        scorer = align(model, self.dataset)
        evaluation = self._resolved.evaluation.for_model(scorer)
        return ranking_of(scorer, self.dataset, evaluation, rules=self._resolved.protocol, progress=progress)

    def num_ranks(self, model: Any) -> int | None:
        """How many ranks are computed of the model, if that is known."""
        task, evaluation = self.config.task, self.config.evaluation
        if isinstance(task, Classification) or evaluation.estimate is not None:
            return None
        if task is not None:
            return len(self.dataset.test) * len(task.sides)
        return len(self.dataset.split(evaluation.split)) * len(self.sides_of(model))

    def evaluate(
        self, model: Any, *, progress: Progress, rank_parts: RankParts | None = None, earlier: RankTable | None = None
    ) -> Outcome:
        """Evaluate the model; ``rank_parts`` ranks it in shards, and an estimate continues the sample ``earlier``."""
        config, dataset, by, title = self.config, self.dataset, self.config.by or (), self.title
        about: dict[str, Any] = {"metrics": config.metrics, "folder": self.folder}
        if config.task is not None:
            shown: dict[str, Any] = {} if isinstance(config.task, Classification) else {"progress": progress}
            scored = config.task(model, dataset, title=title, **shown)
            return Outcome(self.name, scored, policies=task_policies(config.task, config.policies), by=by, **about)
        self._refuse_other_sides(model)
        predictions = None
        if isinstance(model, ImportedRanks):
            ranking, table = None, model.by_protocol(self._resolved.protocol, title or model.table.model)
        else:
            ranking, options = self.ranking(model, progress), MetricOptions(self._resolved.ties)
            table = rank_all_or_sample(ranking, title=title, options=options, rank_parts=rank_parts, earlier=earlier)
        if ranking and (keep := config.evaluation.keep) and keep.predictions is not None:
            from kgeval.ranking.predictions.predict import ModelPredictions

            among_all: Any = {"corruption": AllEntities(), "restrict_entities_to": None, "restrict_relations_to": None}
            of_all = ModelPredictions(ranking.scorer, dataset, ranking.evaluation.model_copy(update=among_all))
            predictions = of_all.predict(keep.predictions, title=table.model)
        grouped = annotate(table, dataset, slices_to_add(table, by, config.groups))
        about |= {"groups_by": by, "grouped": grouped, "predictions": predictions}
        return Outcome(self.name, table, policies=config.policies, **about)

    @property
    def _negatives(self) -> Any:
        return self.config.evaluation.corruption if self.config.task is None else self.config.task.negatives

    def input_digests(self, model: Any) -> dict[str, str]:
        """The SHA-256 of the files of dataset, model and negatives, by their paths as they were written."""
        write = self.config.document.write_path
        return {write(unstaged(str(path))): digest for path, (digest, _) in self._hashed_files(model).items()}

    @cached_property
    def _files_of_slices(self) -> list[Path]:
        return [Path(file) for one in slices_among(self.config.by or (), self.config.groups) for file in one.files()]

    def _hashed_files(self, model: Any) -> dict[Path, tuple[str, State]]:
        """Hash the files once, when the model has just been read; refuse files that changed while they were read."""
        named = [*self.dataset.files, *self.config.evaluation.files, *self._files_of_slices]
        files = (*named, *getattr(model, "files", ()), *getattr(self._negatives, "files", ()))
        if files not in self._digests:
            self._digests[files] = {path: self._read.sha256(path) for path in files}
        return self._digests[files]

    def fingerprint(self, model: Evaluable | None) -> Fingerprint:
        config, files = leaves(self.content), self.input_digests(model)
        return Fingerprint(config, self.dataset.sha256(), files, version("kgeval"))

    def manifest(self, model: Evaluable, outcome: Outcome, seconds: Mapping[str, float]) -> dict[str, Any]:
        for path, (_, state) in self._hashed_files(model).items():
            self._read.refuse_changed(path, state)
        dataset, learned, negatives = self.dataset, self.dataset.training_graph, self._negatives
        training = getattr(self.source, "random_seed", getattr(self.source, "seed", None))
        has_seed = isinstance(self.source, CheckpointConfig | RanksConfig) and self.source.seed is not None
        name = self.name.rpartition("/")[0] or (self.name if has_seed else "")
        corruption = getattr(getattr(negatives, "corruption", negatives), "seed", None)  # if candidates are drawn
        seeds = {"corruption": corruption, "training": training}
        of_training = {} if learned is None else {"training_graph": graph_facts(learned)}
        return {
            "schema": 1,
            **describe_machine(),
            "dataset": {**graph_facts(dataset), **of_training},
            "model": _model_facts(model, self.config.document.write_path),
            **({"name": name} if name else {}),
            "seeds": {name: seed for name, seed in seeds.items() if seed is not None},
            "sha256": self.input_digests(model),
            "seconds": dict(seconds),
            **({} if outcome.ranks is None else ranking_facts(outcome.ranks)),
            **stored(outcome.table.notes),
        }

    @property
    def content(self) -> dict[str, Any]:
        """The content of its ``config.yaml``: environment variables by name, without keys that do not apply."""
        config = self.config
        inapplicable = {"suite", *({"evaluation", *KINDS[config.task.kind].without} if config.task else ())}
        content = config.model_dump(mode="json", exclude_none=True, exclude=inapplicable)
        if "evaluation" in content and "sides" not in config.evaluation.model_fields_set:
            del content["evaluation"]["sides"]  # the model decides them
        return config.document.write(content)


def _model_facts(model: Evaluable, write: Callable[[str], str]) -> dict[str, Any]:
    if isinstance(model, FittedBaseline | ImportedRanks):
        return model.describe()
    if not isinstance(model, Checkpoint):
        return {"live": type(model.scorer if isinstance(model, Aligned) else model).__name__}
    return model.describe() | {"files": [write(unstaged(str(path))) for path in model.files]}
