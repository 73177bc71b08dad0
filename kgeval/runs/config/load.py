"""Load configurations, from YAML, overrides and grids to checked ``RunConfig``s, and check them with their dataset."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kgeval.analysis.slices.slice import slice_of
from kgeval.base.errors import ConfigError, DatasetError, InputError, did_you_mean
from kgeval.base.setting_problems import Location, Problem, as_texts, problems_of
from kgeval.data.dataset import Dataset
from kgeval.data.dataset_config import dataset_block
from kgeval.data.known import known_answers
from kgeval.models.baselines import Baseline
from kgeval.ranking.corruption import CorruptionGenerator
from kgeval.ranking.corruption.generator import Corruption
from kgeval.ranking.rank_table import TIME
from kgeval.ranking.run_directory.contents import is_folder_name
from kgeval.ranking.run_directory.stored_run import StoredRun
from kgeval.runs.config.models import TrainingConfig, has_device, model_block, scores_new_entities, wrong_arguments
from kgeval.runs.config.run_config import RunConfig, expand_shorthand
from kgeval.runs.config.yaml_document import Document, Place, read_document


def load_config(path: Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a configuration file of one dataset, with ``KEY=VALUE`` overrides (dotted keys, YAML values)."""
    return check(_document(path, overrides))


def load_configs(paths: Sequence[Path], overrides: Sequence[str], only: Sequence[str]) -> dict[Path, RunConfig]:
    """Read configuration files. One with several datasets or seeds gives ``FILE/DATASET`` for each dataset."""
    chosen = chosen_parts(only)
    loaded: dict[Path, RunConfig] = {}
    for path in paths:
        document = _document(path, overrides)
        if is_grid(document):
            grid = Grid(document, chosen)
            configs = _check_all(document, grid.expand(), grid.problems)
            loaded |= {path / name: config for name, config in configs.items()}
        elif only:
            raise ConfigError(f"--only: {path} has neither datasets nor seeds. Leave it out.")
        else:
            loaded[path] = check(document)
    return loaded


def _document(path: Path, overrides: Sequence[str]) -> Document:
    document = read_document(path)
    refuse_unrepeatable(document)
    for override in overrides:
        document.override(override, expand_shorthand)
    return document


def refuse_unrepeatable(document: Document) -> None:
    """Refuse the configuration of a run of PyKEEN's evaluator, which names no model to read."""
    if "evaluator" in document.content and "model" not in document.content:
        raise ConfigError(
            f"{document.source}: this run was made inside PyKEEN, and its model was not saved. Save the pipeline's "
            "result with result.save_to_directory('FOLDER'), then run: kgeval evaluate FOLDER --dataset DATASET."
        )


def check(document: Document) -> RunConfig:
    return _check_all(document, {"": document})[""]


def _check_all(
    document: Document, parts: Mapping[str, Document], known: Sequence[Problem] = ()
) -> dict[str, RunConfig]:
    """Check the parts of a configuration; refuse it with all of their problems, and with those that were found."""
    configs, messages = {}, []
    for name, part in parts.items():
        problems = [
            Problem((*location, *wrong.location), wrong.message, wrong.hint)
            for location, training in _trainings(part.content)
            for wrong in wrong_arguments(training)
        ]
        try:
            configs[name] = RunConfig.model_validate(part.content)
            configs[name]._document = part
        except ValidationError as error:
            mistakes = problems_of(error, part.content, RunConfig)
            problems = [*(_with_cure(part.in_file(problem), part) for problem in mistakes), *problems]
        messages += part.told(problem for problem in problems if not _is_told(part.in_file(problem), known))
    if messages or known or document.problems:
        raise document.refusal(known, messages)
    return configs


def _is_told(problem: Problem, known: Sequence[Problem]) -> bool:
    """Whether it is of a value that was found to be wrong, or of a block around one."""
    place = as_texts(problem.location)
    return bool(place) and any(as_texts(other.location)[: len(place)] == place for other in known)


def _with_cure(problem: Problem, document: Document) -> Problem:
    """Add to a path in the file that is not there what it is relative to, and how to name another.

    A name that nobody has, though a run was made with it, is one of a package.
    """
    if document.line(problem) in ("", "--set"):
        return problem
    source = Path(document.source)
    run = StoredRun(source.parent)
    is_stored = run.config_file == source and run.is_complete
    if not problem.no_path:
        lacks = is_stored and problem.offers_names and not run.changed_files
        return dataclasses.replace(problem, hint="Install the package that has it.") if lacks else problem
    if not is_stored and "Nearby: " in f"{problem.message} {problem.hint}":
        return problem
    where = "in which the run was made. Call kgeval there" if is_stored else "in which you call kgeval. Change it"
    steps = as_texts(problem.location)
    other = "" if any(step.isdecimal() for step in steps) else f", or add --set {'.'.join(steps)}=PATH"
    cure = f"Paths are relative to the folder {where}{other}."
    return dataclasses.replace(problem, hint=f"{problem.hint} {cure}".strip())


def _trainings(content: Mapping[str, Any]) -> Iterator[tuple[Location, Mapping[str, Any]]]:
    """Yield the location and unchecked content of the models to train."""
    models = content.get("models")
    blocks: dict[Location, Any] = {("model",): content.get("model")}
    if isinstance(models, dict):
        blocks |= {("models", name): block for name, block in models.items()}
    for location, block in blocks.items():
        if isinstance(block, dict) and block.get("kind") == "pykeen":
            yield location, block


def check_corruption(content: dict[str, Any], options: Mapping[Place, str]) -> CorruptionGenerator:
    try:
        generator: CorruptionGenerator = TypeAdapter(Corruption).validate_python(content)
    except ValidationError as error:
        document = Document("corruption", content, options=options)
        raise document.refusal(problems_of(error, content, Corruption)) from error
    return generator


def check_against_dataset(config: RunConfig, dataset: Dataset) -> RunConfig:
    """Refuse missing splits and slices, negatives or types that do not fit the dataset, and unfit tasks.

    In the returned configuration, the corruption and the task have read their files.
    """
    problems = [*_missing_splits(config, dataset), *_impossible_slices(config, dataset)]
    try:
        config = _with_negatives(config, dataset)
    except DatasetError as error:
        explicit = "corruption" in config.evaluation.model_fields_set
        keys = [key for key in ("path", "types") if getattr(config.evaluation.corruption, key, None) is not None]
        problems.append(Problem.of(("evaluation", "corruption", *keys) if explicit else ("protocol",), error))
    try:
        task = None if config.task is None else config.task.prepare(dataset)
        config = config.model_copy(update={"task": task})
    except InputError as error:
        problems.append(Problem.of(("task",), error))
    problems += _nothing_to_learn_from(config, dataset)
    if problems:
        raise config.document.refusal(problems)
    return config


def _missing_splits(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    evaluation = config.evaluation
    if config.task is not None:
        return
    splits: dict[Location, str] = {("evaluation", "split"): evaluation.split}
    if "filter" in evaluation.model_fields_set:
        splits |= {("evaluation", "filter", index): split for index, split in enumerate(evaluation.filter)}
    for location, split in splits.items():
        yield from _refused(location, dataset.split, split)


def _refused(location: Location, check: Callable[[Any], object], value: Any) -> Iterator[Problem]:
    """Yield a problem at a location if the check refuses the value."""
    try:
        check(value)
    except InputError as error:
        yield Problem.of(location, error)


def _impossible_slices(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    for index, name in enumerate(config.by or ()):
        if (chosen := slice_of(name, config.groups)) is not None:
            yield from _refused(("by", index), chosen.refuse_unfit, dataset)
        if name == TIME and dataset.times is None:
            yield Problem.of(("by", index), DatasetError(f"dataset {dataset.name} has no times. Leave {TIME} out."))


def _with_negatives(config: RunConfig, dataset: Dataset) -> RunConfig:
    """Read the files of the corruption, and refuse negatives that match no query."""
    evaluation = config.evaluation
    if config.task is not None or evaluation.split not in dataset.splits:
        return config
    corruption = config.resolved_evaluation(dataset).evaluation.corruption
    if not corruption.files and getattr(corruption, "types", None) is None:
        return config
    corruption = corruption.prepare(dataset)
    for side in evaluation.sides:
        queries = corruption.queries(dataset.split(evaluation.split), side)
        if corruption.widths(queries, dataset) is None:  # otherwise they may be too many for the memory
            corruption.choose(queries, known_answers(queries, []), dataset)
        corruption.notes(queries, dataset)
    return config.model_copy(update={"evaluation": evaluation.model_copy(update={"corruption": corruption})})


def _nothing_to_learn_from(config: RunConfig, dataset: Dataset) -> Iterator[Problem]:
    inductive = dataset.training_graph is not None
    for name, model in config.jobs.items():
        place: Location = ("models", name) if name else ("model",)
        if model.trains and "train" not in dataset.splits:
            yield Problem(place, f"dataset {dataset.name} has no train triples")
        if isinstance(model, TrainingConfig) and inductive and not scores_new_entities(model.model):
            refusal = f"{model.model} only scores entities of train, and dataset {dataset.name} is inductive"
            cure = "Train a model that scores new entities, such as InductiveNodePiece."
            yield Problem((*place, "model"), refusal, cure)
        if isinstance(model, TrainingConfig) and not has_device(model.device):
            refusal = f"this machine has no device {model.device!r}"
            yield Problem((*place, "device"), refusal, "Leave it out, or write cpu.")
        if isinstance(model, Baseline):
            yield from _refused(place, model.check, dataset)


SEEDS = "seeds"

KEYS = ("datasets", SEEDS)

PARTS = ("dataset", "model", "seed")
"""the names that ``--only`` takes"""


def chosen_parts(texts: Sequence[str]) -> dict[str, set[str]]:
    """Read the values of ``--only`` by name, as in ``dataset=umls,model=TransE``."""
    chosen: dict[str, set[str]] = {}
    for text in (part for listed in texts for part in listed.split(",")):
        name, equals, value = text.partition("=")
        if not equals or not value or name not in PARTS:
            raise ConfigError(f"--only {text}: expected dataset=NAME, model=NAME or seed=NUMBER.")
        chosen.setdefault(name, set()).add(value)
    return chosen


def is_grid(document: Document) -> bool:
    content = document.content
    blocks = [content.get("model"), *_blocks(content.get("models")).values()]
    return any(key in content for key in KEYS) or any(SEEDS in _blocks(block) for block in blocks)


@dataclass(frozen=True)
class Grid:
    """The parts of a configuration, and the mistakes by which it has others than were meant."""

    document: Document
    only: Mapping[str, set[str]]
    """the values of those parts of which not all are run: datasets, models or seeds"""
    problems: list[Problem] = field(default_factory=list)

    def expand(self) -> dict[str, Document]:
        """Make a configuration for each dataset; names of models end with the seed, such as ``TransE/0``."""
        content = self.document.content
        datasets, models = self._datasets(), self._models()
        common = self._seeds(content.get(SEEDS), (SEEDS,)) if SEEDS in content else []
        runs = {
            (model, seed): (place, path, block)
            for model, (place, written) in models.items()
            for seed, path, block in self._runs_of(place, written, common)
        }
        if not self.problems:
            seeds = [str(seed) for seed in (*common, *(seed for _, seed in runs)) if seed is not None]
            self._refuse_unknown({"dataset": [*datasets], "model": [*models], "seed": seeds})
        runs = {run: it for run, it in runs.items() if self._is_run("model", run[0]) and self._is_run("seed", run[1])}
        origins: dict[Place, Place] = {}
        for run, (place, path, _) in runs.items():
            origins |= {("models", run_name(*run)): place, ("models", run_name(*run), "path"): path}
        rest = {key: value for key, value in content.items() if key not in (*KEYS, "dataset", "model", "models")}
        output = content.get("output") or str(Path("runs") / Path(self.document.source).stem)
        documents = {}
        for name, (place, block) in datasets.items():
            if self._is_run("dataset", name):
                fill = partial(self.document.fill, word="{dataset}", value=name)
                blocks = {run_name(*run): fill(written) for run, (*_, written) in runs.items()}
                folder = str(Path(output) / name) if isinstance(output, str) else output
                part = {**rest, "dataset": block, "models": blocks, "output": folder}
                documents[name] = replace(self.document, content=part, origins={**origins, ("dataset",): place})
        if not (documents and (runs or self.problems)):
            raise ConfigError("--only: no run matches all of these values.")
        return documents

    def _refuse_unknown(self, known: Mapping[str, Sequence[str]]) -> None:
        for name, values in self.only.items():
            for value in sorted(values - {*known[name]}):
                raise ConfigError(f"--only {name}={value}: no such {name}. {did_you_mean(value, known[name])}")

    def _is_run(self, part: str, value: str | int | None) -> bool:
        return value is None or str(value) in self.only.get(part, {str(value)})

    def _refuse(self, place: Place, why: str, cure: str = "") -> None:
        self.problems.append(Problem(place, why, cure))

    def _datasets(self) -> dict[str, tuple[Place, Any]]:
        """The blocks of datasets by name, and their places in the configuration."""
        content = self.document.content
        listed = content.get("datasets", [content.get("dataset")])
        entries: list[tuple[Any, Place, Any]] = []
        how = "Name it in datasets: {NAME: BLOCK}."
        if ("dataset" in content) == ("datasets" in content):
            self._refuse(("datasets",), "give either dataset (one) or datasets (several)")
        elif isinstance(listed, Mapping):
            entries = [(name, ("datasets", name), _titled(block, name)) for name, block in listed.items()]
            how = "A name is not empty, has no slash and is no file of a run."
        elif isinstance(listed, list) and listed:
            places: list[Place] = [("datasets", str(at)) for at in range(len(listed))]
            places = places if "datasets" in content else [("dataset",)]
            entries = [(_name_of(block), place, block) for place, block in zip(places, listed, strict=True)]
        else:
            self._refuse(("datasets",), "expected a list of datasets, or datasets by name")
        for name, place, _ in entries:
            if not is_folder_name(name):
                self._refuse(place, f"the name {name!r:.60} cannot be the name of a folder", how)
        for name, count in Counter(name for name, *_ in entries).items():
            if count > 1:
                blocks = (block for other, _, block in entries if other == name)
                named = ", ".join(f"{name}-{at}: {_spelled(block)}" for at, block in enumerate(blocks, 1))
                why, cure = f"{count} datasets are called {name!r:.60}", f"Name them, as in datasets: {{{named}}}."
                self._refuse(("datasets",), why, cure)
        return {str(name): (place, block) for name, place, block in entries} or {"": (("datasets",), None)}

    def _models(self) -> dict[str, tuple[Place, Any]]:
        """The blocks of models by name, and their places in the configuration."""
        content = self.document.content
        if "models" not in content and "model" in content:
            value = content["model"]
            block = _blocks(model_block(value))
            name = block.get("model") or block.get("baseline") or "model"
            return {str(name): (("model",), value)}
        models = content.get("models")
        if not isinstance(models, Mapping) or not models:
            self._refuse(("models",), "datasets and seeds need models by name")
        for name in _blocks(models):
            if not is_folder_name(name):
                why = f"a model's name becomes the name of its folder, so it cannot be {name!r:.60}"
                self._refuse(("models", name), why)
        return {str(name): (("models", str(name)), block) for name, block in _blocks(models).items()}

    def _seeds(self, value: Any, place: Place) -> list[int]:
        """Take the whole numbers of a list, or of the keys of a block."""
        listed = [*value] if isinstance(value, list | Mapping) else []
        seeds = [seed for seed in listed if isinstance(seed, int) and not isinstance(seed, bool)]
        if not seeds or len({*seeds}) < len(listed):
            self._refuse(place, "expected a list of different whole numbers, such as [0, 1, 2]")
        return [*dict.fromkeys(seeds)]

    def _runs_of(self, place: Place, value: Any, common: list[int]) -> Iterator[tuple[int | None, Place, Any]]:
        """Yield the seeds of a model, its own or the common ones; where the path of each stands; and its block."""
        block = model_block(value)
        keys = _blocks(block)
        trained, by_seed = keys.get("kind") == "pykeen", keys.get(SEEDS)
        fixed = next((key for key in ("random_seed", "seed") if key in keys), None)
        seeds = self._seeds(by_seed, (*place, SEEDS)) if SEEDS in keys else common
        takes_seed = trained or "{seed}" in str(block) or isinstance(by_seed, Mapping)
        if fixed and seeds and (takes_seed or SEEDS in keys):
            self._refuse(place, f"it has a {fixed}, and there are {SEEDS} too", f"Leave out {fixed} or {SEEDS}.")
        elif isinstance(by_seed, Mapping) and (trained or "path" in keys):
            why = "a path for each seed is for a checkpoint, instead of its path"
            self._refuse((*place, SEEDS), why, "Write a list of seeds.")
        elif SEEDS in keys and not takes_seed:
            cure = f"Write {{seed}} in the path, or a path for each seed, as in {SEEDS}: {{0: PATH, 1: PATH}}."
            self._refuse((*place, SEEDS), "all of these seeds would be one model", cure)
        rest = {key: it for key, it in keys.items() if key != SEEDS}
        if not seeds or not takes_seed:
            yield None, (*place, "path"), rest or block
            return
        for seed in seeds:
            at, path = (*place, "path"), {}
            if isinstance(by_seed, Mapping):
                at, path = (*place, SEEDS, str(seed)), {"path": by_seed[seed]}
            yield seed, at, {**self.document.fill({**rest, **path}, "{seed}", str(seed)), SEED[trained]: seed}


SEED = {True: "random_seed", False: "seed"}
"""the key of the seed of a model, by whether it is trained"""


def run_name(model: str, seed: int | None) -> str:
    return model if seed is None else f"{model}/{seed}"


def _blocks(value: Any) -> Mapping[str, Any]:
    """The keys of a block; none of anything else."""
    return value if isinstance(value, Mapping) else {}


def _name_of(block: Any) -> str:
    """What results call a dataset, if its block has no title."""
    content = dataset_block(block)
    named = _blocks(content).get("title") or _blocks(content).get("name") or _blocks(content).get("path")
    return Path(str(named or "dataset")).name if isinstance(content, Mapping) else str(block)


def _titled(block: Any, name: Any) -> Any:
    """Give a dataset the name that it has in the configuration, unless it is called so anyway."""
    content = dataset_block(block)
    return block if not isinstance(content, Mapping) or name in ("", _name_of(block)) else {**content, "title": name}


def _spelled(block: Any) -> str:
    return str(_blocks(dataset_block(block)).get("path", block))
