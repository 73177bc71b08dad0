"""The model of a configuration: a checkpoint in files, a training by PyKEEN, ranks of another evaluator, or a baseline.

``ModelConfig`` is any of the four. A checkpoint that has lists may re-rank a base: a checkpoint, ranks or a baseline.
A training is made of PyKEEN's components, such as a loss and an optimizer; below the settings are the checks of their
names and arguments, which PyKEEN itself would check only when the work has begun.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from kgeval.base.errors import ConfigError, MetricError, NoPathError, did_you_mean, refuse_unknown
from kgeval.base.extras import is_installed, refuse_missing
from kgeval.base.files import exists_safely, refuse_special, suggest_paths
from kgeval.base.setting_problems import UNTRAINED, Problem, short_repr
from kgeval.base.settings import ByKind, PathText, Settings, as_validation_error, or_text
from kgeval.base.settings_text import expanded
from kgeval.data.dataset import Dataset
from kgeval.data.dataset_config import in_suite
from kgeval.data.layouts.pykeen import writable_home
from kgeval.models.baselines import Baseline, baselines
from kgeval.models.checkpoints import Checkpoint, read_checkpoint
from kgeval.models.checkpoints.readers import formats
from kgeval.models.checkpoints.readers.prediction_model import files_in
from kgeval.ranking.evaluation import Evaluation
from kgeval.ranking.import_ranks import ImportedRanks, Unmatched, load_ranks
from kgeval.ranking.rank_file import RankSetting
from kgeval.ranking.reranking import rerank
from kgeval.ranking.table_triples import triples_in
from kgeval.runs.config.metric_request import Scalar
from kgeval.stored.folders import single_run
from kgeval.stored.stored_run import StoredRun

BASELINE, RANKS = "baseline:", "ranks:"


def model_block(value: Any) -> Any:
    """The block that a bare string is short for: a path, or a baseline or ranks, such as ``baseline:inverse``.

    In a block, ``rerank`` is another word for the path of lists of predictions. The base that these re-rank, a model or
    ranks, may stand among the options.
    """
    if isinstance(value, str):
        prefix = next((prefix for prefix in (BASELINE, RANKS) if value.startswith(prefix)), "path:")
        return {prefix[:-1]: value.removeprefix(prefix)}
    if not isinstance(value, dict):
        return value
    block = {"path" if key == "rerank" and "path" not in value else key: setting for key, setting in value.items()}
    if isinstance(options := block.get("options"), dict) and "base" in options and "base" not in block:
        block |= {"base": options["base"], "options": {key: it for key, it in options.items() if key != "base"}}
    return block


def _model_of_run(value: Any) -> Any:
    """The block of the model of a stored run, if a block or a string is the path of one."""
    block: Any = model_block(value)
    path, kind = (block.get(key) if isinstance(block, dict) else None for key in ("path", "kind"))
    if kind == "pykeen":
        raise ValueError("it has to be trained first. Train it with kgeval run, and give the path of its run")
    if not isinstance(path, str) or not (run := StoredRun(Path(path))).is_complete:
        return value
    model = expanded(run.config.get("model"))
    return {"path": str(run.trained_model)} if isinstance(model, dict) and model.get("kind") == "pykeen" else model


def _only_run_repeats(value: Any) -> Any:
    if value is not None:  # kgeval run has replaced them by a model each
        raise ValueError("several seeds are several runs, which only kgeval run makes. Choose one")
    return value


Repeated = BeforeValidator(_only_run_repeats)


def require_any(schema: dict[str, Any], *keys: str) -> None:
    """Let a schema require any one of some keys, instead of the first one."""
    schema["required"].remove(keys[0])
    schema["anyOf"] = [{"required": [key]} for key in keys]


def _path_or_seeds(schema: dict[str, Any]) -> None:
    """Let the schema require ``path``, ``seeds`` or ``rerank``. ``rerank`` is the path of lists."""
    require_any(schema, "path", "seeds", "rerank")
    schema["properties"]["rerank"] = schema["properties"]["path"]
    or_text(schema)


class CheckpointConfig(Settings):
    """A trained model in files. A bare string is its path."""

    model_config = ConfigDict(json_schema_extra=_path_or_seeds)

    trains: ClassVar[bool] = False

    kind: Literal["checkpoint"] = "checkpoint"
    """a model that is read from its files"""
    path: PathText
    """a file or a folder"""
    format: str = "auto"
    """the format of the checkpoint; ``kgeval list formats`` shows all. By default it is recognised from the files"""
    options: dict[str, Scalar] = Field(default_factory=dict)
    """options that the files do not store, for example ``model: TransE`` and ``norm: 1``"""
    base: Annotated[ModelConfig | None, BeforeValidator(_model_of_run)] = None
    """for lists of predictions, the model that they re-rank, or its ranks: it orders what a list leaves out"""
    seed: int | None = None
    """the seed of the training, if several runs of one model are evaluated"""
    seeds: Annotated[list[int] | dict[int, PathText] | None, Repeated] = None
    """the seeds of this model, for ``{seed}`` in its path; or instead of the path, the path of each seed"""

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        return model_block(value)

    @field_validator("path")
    @classmethod
    def _there(cls, value: str, info: ValidationInfo) -> str:
        refuse_special(Path(value))
        if not (exists_safely(Path(value)) or in_suite(info)):
            raise NoPathError(f"no such file or folder {short_repr(value)}. {suggest_paths(Path(value))}".strip())
        return value

    @field_validator("format")
    @classmethod
    def _known_format(cls, value: str) -> str:
        with as_validation_error():
            refuse_unknown("unknown checkpoint format", value.lower(), ["auto", *formats()], listed="formats")
        return value.lower()

    def load(self, dataset: Dataset, evaluation: Evaluation) -> Checkpoint | ImportedRanks:
        """Read the model; lists of predictions that re-rank ranks give ranks again."""
        base, options = self.base, dict[str, Any](self.options)
        if isinstance(base, CheckpointConfig):
            options["base"] = base.load(dataset, evaluation)
        elif isinstance(base, Baseline):
            options["base"] = base.fit(dataset, history=evaluation.history)
        read = read_checkpoint(Path(self.path), options, dataset=dataset, format=self.format, nan=evaluation.nan)
        return base.reranked(read, dataset, evaluation) if isinstance(base, RanksConfig) else read

    @property
    def gives_ranks(self) -> bool:
        """Whether it gives ranks, not a model that scores triples."""
        return isinstance(self.base, RanksConfig)


class RanksConfig(Settings):
    """Ranks that another evaluator wrote to a file, in place of a model."""

    trains: ClassVar[bool] = False
    gives_ranks: ClassVar[bool] = True

    kind: Literal["ranks"] = "ranks"
    """ranks that are read, not computed"""
    ranks: PathText
    """the file, as ``kgeval.load_ranks`` reads it; with ``{dataset}`` in its path, one for each dataset"""
    columns: dict[str, str] | list[str] | str | None = None
    """which column holds what, if the header does not say it"""
    setting: RankSetting | None = None
    """``raw`` or ``filtered``, for columns whose names do not say it"""
    unmatched: Unmatched = "error"
    """what becomes of rows that are no ranks of the split: ``error`` refuses the file, ``drop`` leaves them out"""
    seed: int | None = None
    """the seed of the training, if several runs of one model are evaluated"""
    seeds: Annotated[list[int] | None, Repeated] = None
    """the seeds of this model, for ``{seed}`` in its path"""

    def load(self, dataset: Dataset, evaluation: Evaluation) -> ImportedRanks:
        """Read the ranks for the sides, split and filter of an evaluation; settings of how to rank are refused."""
        usual = Evaluation()
        if changes := [name for name in RANKED if getattr(evaluation, name) != getattr(usual, name)]:
            lacks = f"the ranks in {self.ranks} were computed elsewhere, and cannot follow evaluation.{changes[0]}"
            raise ConfigError(f"{lacks}. Leave it out.")
        explicit, path = evaluation.model_fields_set, Path(self.ranks)
        files = files_in(path)  # runs may lie in a folder of such files
        run = StoredRun(path) if files else single_run(path)
        given: Any = {
            "columns": self.columns,
            "filter": evaluation.filter,
            "setting": self.setting,
            "times": evaluation.times if dataset.times and "times" in explicit else None,
            "history": evaluation.history,
        }
        run.refuse_unreadable()
        if run.is_complete or (run.is_stored and run.path.is_file()):
            table, files = run.ranks(), [run.ranks_file]
            table = replace(table, notes=(*table.notes, *run.changes))
            triples_in(dataset, table)  # refuses another dataset
            stored, asked = ((it.split, it.filter, dataset.times and it.times) for it in (table, evaluation))
            if stored != asked:
                known = ", ".join([*(table.filter or ["none"]), *filter(None, [table.times])])
                raise ConfigError(f"{self.ranks}: ranks of {table.split}, filter {known}. Evaluate with the same.")
        else:
            table = load_ranks(path, dataset, split=evaluation.split, unmatched=self.unmatched, **given)
        ranks = ImportedRanks(table, tuple(files))
        return ranks.of_sides(evaluation.sides) if "sides" in explicit else ranks

    def reranked(self, lists: Checkpoint, dataset: Dataset, evaluation: Evaluation) -> ImportedRanks:
        """Read the ranks, of a file or a run, and re-rank them by lists."""
        ranks, best = self.load(dataset, evaluation), StoredRun(Path(self.ranks)).predictions
        return ImportedRanks(rerank(ranks.table, lists, dataset, predictions=best), (*lists.files, *ranks.files))


RANKED = ("corruption", "estimate", "restrict_entities_to", "restrict_relations_to", "keep")
"""the settings of an evaluation that decide how a model is ranked"""


class TrainingConfig(Settings):
    """A model that PyKEEN trains first. The keys are parameters of ``pykeen.pipeline.pipeline``."""

    trains: ClassVar[bool] = True

    kind: Literal["pykeen"]
    """a model that is trained first"""
    model: str
    """the name of a PyKEEN model"""
    model_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the model, for example ``embedding_dim: 64``"""
    loss: str | None = None
    """the loss; by default that of the model"""
    loss_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the loss"""
    regularizer: str | None = None
    """the regularizer; by default that of the model"""
    regularizer_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the regularizer"""
    optimizer: str | None = None
    """the optimizer; by default Adam"""
    optimizer_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the optimizer, for example ``lr: 0.01``"""
    lr_scheduler: str | None = None
    """the learning-rate schedule; by default none"""
    lr_scheduler_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the schedule"""
    training_loop: str | None = None
    """``slcwa`` (negative sampling, the default) or ``lcwa`` (all entities)"""
    training_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the training, for example ``num_epochs: 40`` and ``batch_size: 256``"""
    negative_sampler: str | None = None
    """the negative sampler of ``slcwa``; by default ``basic``"""
    negative_sampler_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the sampler"""
    stopper: str | None = None
    """``early`` stops when the model's metric on valid no longer improves; by default training does not stop early"""
    stopper_kwargs: dict[str, Any] = Field(default_factory=dict)
    """arguments of the stopper"""
    create_inverse_triples: bool = False
    """whether inverse relations are trained too (an option of PyKEEN's datasets)"""
    random_seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """the seed of the training"""
    seeds: Annotated[list[int] | None, Repeated] = None
    """the seeds of this model, if it is trained several times"""
    device: str | None = None
    """the device for training, for example ``cpu`` or ``cuda:0``; by default a GPU if there is one"""

    @model_validator(mode="before")
    @classmethod
    def _has_pykeen(cls, value: Any) -> Any:
        with as_validation_error():
            refuse_missing("kind: pykeen needs", "pykeen")
        return value

    @field_validator(
        *("model", "loss", "regularizer", "optimizer", "lr_scheduler"),
        *("training_loop", "negative_sampler", "stopper", "device"),
    )
    @classmethod
    def _known(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None:
            with as_validation_error():
                refuse_unknown_component(str(info.field_name), value)
        return value


def _model_kind(value: Any) -> str:
    block = model_block(value)
    if isinstance(block, dict):
        named = next((key for key in ("baseline", "ranks") if key in block), "checkpoint")
        kind = named if named == "baseline" else block.get("kind", named)
    else:
        kind = getattr(block, "kind", "checkpoint")
    return UNTRAINED if kind == "baseline" else str(kind)


ModelConfig = Annotated[
    Annotated[CheckpointConfig, Tag("checkpoint")]
    | Annotated[TrainingConfig, Tag("pykeen")]
    | Annotated[RanksConfig, BeforeValidator(model_block), Tag("ranks")]
    | Annotated[Baseline, ByKind(Baseline, baselines, key="baseline"), BeforeValidator(model_block), Tag(UNTRAINED)],
    Discriminator(_model_kind),
]
"""a checkpoint, a training, ranks or a baseline, by the key ``kind`` or ``baseline``; a bare string is a path or
``baseline:NAME``"""

CheckpointConfig.model_rebuild()

PARTS = ("training", "model", "loss", "regularizer", "optimizer", "lr_scheduler", "negative_sampler", "stopper")
"""the parts of a training that have arguments, in blocks called ``<part>_kwargs``"""

OUTSIDE = {
    "training_kwargs": {"checkpoint_directory", "checkpoint_name", "checkpoint_frequency", "checkpoint_on_failure"},
    "stopper_kwargs": {"best_model_path"},
}
"""arguments that make PyKEEN write outside the run directory, or read a pickled file and so run its code"""

READERS = {
    "training_kwargs": {"checkpoint", "checkpointtrainingcallback"},
    "model_kwargs": {"precomputedpool", "precomputedpooltokenizer"},
}
"""components of PyKEEN that read pickled files: refused wherever a value is one of these names"""

NO_NUMBER = re.compile(r"[-+]?[\d.]+[eE][-+]?\d+")
"""texts in YAML that were meant as numbers"""


def refuse_unknown_component(part: str, name: str) -> None:
    """Refuse a name that PyKEEN does not know; a part is a parameter of ``pykeen.pipeline.pipeline`` or a tracker."""
    if part == "device":
        _refuse_unknown_device(name)
        return
    resolver = _resolver(part)
    try:
        resolver.lookup(name)
    except KeyError:
        # Models are known by their class names, all other components by PyKEEN's short names.
        known = [cls.__name__ for cls in resolver.lookup_dict.values()] if part == "model" else resolver.options
        refuse_unknown(f"PyKEEN has no {part.replace('_', ' ')} called", name, known, ConfigError)


def _refuse_unknown_device(name: str) -> None:
    import torch

    try:
        torch.device("cuda" if name == "gpu" else name)
    except RuntimeError:
        raise ConfigError(f"unknown device {name!r}. {did_you_mean(name, ['cpu', 'cuda', 'cuda:0', 'mps'])}") from None


def has_device(name: str | None) -> bool:
    """Whether the machine has the device of a training; without a name any device will do."""
    import torch

    device = torch.device("cuda" if name == "gpu" else name or "cpu")
    return bool(device.type != "cuda" or (device.index or 0) < torch.cuda.device_count())


def scores_new_entities(model: str) -> bool:
    """Whether a model, such as InductiveNodePiece, learns from one graph and is evaluated on another."""
    from pykeen.models.inductive import InductiveERModel

    return issubclass(_resolver("model").lookup(model), InductiveERModel)


def wrong_arguments(training: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield arguments that PyKEEN does not have, or that would make it use files outside the run directory.

    ``training`` is the block as it was written. The arguments of an unknown component are not checked.
    """
    for part in PARTS if is_installed("pykeen") else ():  # without PyKEEN the block itself is refused
        block = f"{part}_kwargs"
        arguments = training.get(block)
        if not isinstance(arguments, dict):
            continue
        try:
            names = _argument_names(_component(part, training.get("model"), training.get(part)))
        except (KeyError, TypeError, ValueError):  # an unknown component
            names = None
        for name, value in arguments.items():
            if problem := _problem_of_argument((block, name), value, names):
                yield problem


def _problem_of_argument(place: tuple[str, Any], value: Any, names: set[str] | None) -> Problem | None:
    block, name = place
    if name in OUTSIDE.get(block, ()) or _texts(value) & READERS.get(block, set()):
        danger = "it lets PyKEEN work with files outside the run directory, and run the code that a pickled one holds"
        return Problem(place, danger, "Leave it out: the trained model is saved in the run directory.")
    if place == ("stopper_kwargs", "metric") and isinstance(value, str):
        # Before the training, which may end before the stopper asks for its metric.
        from kgeval.pykeen.results import KGEvalMetricResults

        try:
            KGEvalMetricResults.key_from_string(value)
        except MetricError as error:
            return Problem.of(place, error)
    if names is not None and isinstance(name, str) and name not in names:
        return Problem(place, f"unknown argument {short_repr(name)}", did_you_mean(name, names))
    if isinstance(value, str) and NO_NUMBER.fullmatch(value):
        hint = "Write a number as 1.0e-3: YAML takes 1e-3 for text."
        return Problem(place, f"expected a number, found {short_repr(value)}", hint)
    return None


def _component(part: str, model: Any, name: Any) -> Callable[..., Any] | None:
    """The class or function that PyKEEN calls with the arguments of a part; None where nothing is called.

    Without a name it is the default one, which for loss and regularizer is the model's.
    """
    component: Callable[..., Any] | None = None
    if part == "training":
        component = _resolver("training_loop").lookup(None).train
    elif name is None and part in {"loss", "regularizer"}:
        component = getattr(_resolver("model").lookup(model), f"{part}_default", None)
    elif name is not None or part in {"optimizer", "negative_sampler"}:
        component = _resolver(part).lookup(name)
    return component


def _argument_names(callee: Callable[..., Any] | None) -> set[str] | None:
    """The names of all arguments, with those of base classes; None if any name is accepted."""
    names: set[str] = set()
    inits = [vars(cls).get("__init__") for cls in callee.__mro__] if inspect.isclass(callee) else [callee]
    for function in filter(None, inits):
        parameters = inspect.signature(function).parameters
        names |= parameters.keys() - {"self"}
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return names
    return None


def _texts(value: Any) -> set[str]:
    """Collect all texts inside a value, normalised as PyKEEN normalises names of components."""
    if isinstance(value, str):
        return {"".join(letter for letter in value.lower() if letter.isalnum())}
    inside = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return set().union(*map(_texts, inside))


def _resolver(part: str) -> Any:
    module = {"negative_sampler": "sampling", "training_loop": "training", "loss": "losses"}.get(part, f"{part}s")
    with writable_home():
        return getattr(import_module(f"pykeen.{module}"), f"{part}_resolver")
