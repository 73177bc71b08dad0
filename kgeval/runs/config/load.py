"""Load a configuration: from YAML and overrides to a checked ``RunConfig``, or an error with all problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kgeval.corruption import CorruptionGenerator
from kgeval.corruption.generator import Corruption
from kgeval.errors import ConfigError
from kgeval.run_directory.stored_run import StoredRun
from kgeval.runs.config.models import TrainingConfig
from kgeval.runs.config.run_config import RunConfig, expand_shorthand
from kgeval.runs.config.training_arguments import wrong_arguments
from kgeval.runs.config.variables import Place
from kgeval.runs.config.yaml_document import Document, read_document
from kgeval.settings.messages import Location, Problem, as_texts, problems_of


def load_config(path: Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a configuration file, with ``KEY=VALUE`` overrides (dotted keys, YAML values)."""
    document = read_document(path)
    refuse_unrepeatable(document)
    for override in overrides:
        document.override(override, expand_shorthand)
    return check(document)


def refuse_unrepeatable(document: Document) -> None:
    """Refuse the configuration that PyKEEN's evaluator leaves, which names no model that could be read."""
    if "evaluator" in document.content and "model" not in document.content:
        raise ConfigError(
            f"{document.source}: this run was evaluated inside PyKEEN, and its model is not kept. Save the pipeline's "
            "result, result.save_to_directory('FOLDER'), and evaluate that: kgeval evaluate FOLDER --dataset DATASET."
        )


def check(document: Document) -> RunConfig:
    document = document.read()
    problems = [
        Problem((*location, *wrong.location), wrong.message, wrong.hint)
        for location, job in _trainings(document.content)
        for wrong in wrong_arguments(job)
    ]
    try:
        config = RunConfig.model_validate(document.content)
    except ValidationError as error:
        found = [_with_cure(problem, document) for problem in problems_of(error, document.content, RunConfig)]
        raise document.refusal([*found, *problems]) from error
    if document.problems or problems:
        raise document.refusal(problems)
    config._document = document
    return config


def _with_cure(problem: Problem, document: Document) -> Problem:
    """Say of a file that a stored run names and that is not there how to name it: it, or the run, has moved."""
    source = Path(document.source)
    in_file, run = document.line(problem) not in ("", "--set"), StoredRun(source.parent)
    if not (problem.no_path and in_file and run.config_file == source and run.is_complete):
        return problem
    key = ".".join(takewhile(lambda step: not step.isdecimal(), as_texts(problem.location)))
    where = "Paths are relative to the folder in which the run was made"
    cure = f"{where}: call kgeval there, or add --set {key}=PATH."
    return dataclasses.replace(problem, hint=f"{problem.hint} {cure}".strip())


def _trainings(content: Mapping[str, Any]) -> Iterator[tuple[Location, TrainingConfig]]:
    """Yield the location and content of the models to be trained, whose values are not checked yet."""
    models = content.get("models")
    blocks: dict[Location, Any] = {("model",): content.get("model")}
    if isinstance(models, dict):
        blocks |= {("models", name): block for name, block in models.items()}
    for location, block in blocks.items():
        if isinstance(block, dict) and block.get("kind") == "pykeen":
            keys = {key: value for key, value in block.items() if key in TrainingConfig.model_fields}
            yield location, TrainingConfig.model_construct(**{"model": "", **keys})


def check_corruption(content: dict[str, Any], options: Mapping[Place, str]) -> CorruptionGenerator:
    try:
        generator: CorruptionGenerator = TypeAdapter(Corruption).validate_python(content)
    except ValidationError as error:
        document = Document("corruption", content, options=options)
        raise document.refusal(problems_of(error, content, Corruption)) from error
    return generator
