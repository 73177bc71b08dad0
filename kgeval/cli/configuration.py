"""The configuration that a command makes from its options; messages name the options.

``kgeval evaluate``, ``classify``, ``explain``, ``predict`` and ``answers`` call ``configuration``: in go the
checkpoint, the dataset and the options; out comes the ``RunConfig`` that a file with these values would give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kgeval.cli.options import OPTIONS
from kgeval.cli.setting_options import pairs

if TYPE_CHECKING:
    from kgeval.data.dataset import Dataset
    from kgeval.models.checkpoints import Checkpoint
    from kgeval.runs.config.run_config import RunConfig
    from kgeval.runs.config.yaml_document import Document, Place


READING = ("layout", "names", "columns")
"""the options that say how a dataset is read"""

OF_ANY_RULES = ("split", "sides", "times", "history", "unseen", "nan")
"""the settings of a run's evaluation that do not depend on the protocol"""


def configuration(
    command: str, checkpoint: str, dataset: str | None, options: Mapping[str, Any], blocks: Mapping[str, Any]
) -> RunConfig:
    """Make a configuration from the options of a command, and from a stored run if one is given as the checkpoint.

    Parameters
    ----------
    command
        its name, for messages
    checkpoint, dataset
        the model: a path, ``baseline:NAME`` or a run directory, which also has the dataset; and the dataset
    options
        the options of ``model_and_dataset``: ``layout``, ``names``, ``format``, ``options`` and ``overrides``
    blocks
        the other blocks of the configuration, as ``setting_options.blocks`` makes them of the options
    """
    from kgeval.base.errors import ConfigError
    from kgeval.base.files import exists_safely, suggest_paths
    from kgeval.cli.display import show_notes
    from kgeval.runs.config.load import check
    from kgeval.runs.config.run_config import expand_shorthand
    from kgeval.runs.config.yaml_document import Document
    from kgeval.runs.stored import read_stored_document
    from kgeval.stored.stored_run import StoredRun

    if dataset is not None:
        blocks = {"dataset": _dataset_block(dataset, options)} | {**blocks}
    path = Path(checkpoint)
    if dataset is None and not exists_safely(path):
        near = f" {suggest_paths(path)}".rstrip()
        raise ConfigError(f"no such run directory {checkpoint[:200]!r}.{near} For a checkpoint, add --dataset.")
    if dataset is None or (exists_safely(path) and StoredRun(path).is_complete):
        document = _over_stored(command, read_stored_document(path), options, blocks)
        show_notes(StoredRun(path).changes)
    else:
        model = _model_block(checkpoint, options.get("format", "auto"), pairs(options["options"], "--option"))
        content = {"dataset": blocks["dataset"], "model": model} | {**blocks}
        document = Document(command, content, options=OPTIONS)
    for override in options["overrides"]:
        document.override(override, expand_shorthand)
    return check(document)


def _over_stored(command: str, stored: Document, options: Mapping[str, Any], blocks: Mapping[str, Any]) -> Document:
    """Lay the blocks of the options over the configuration of a run. Only ``evaluate`` uses all settings of the run."""
    from kgeval.base.errors import ConfigError
    from kgeval.ranking.protocols.protocol import protocols

    idle = {"options": "--option", "format": "--checkpoint-format"}
    if "dataset" not in blocks:
        idle |= {"layout": "--layout", "names": "--names", "columns": "--columns"}
    for name, option in idle.items():
        if options.get(name) not in (None, "auto", ()):
            raise ConfigError(f"{option}: the run has its own. Leave it out, or change it with --set.")
    content, evaluation = stored.content, stored.content.get("evaluation", {})
    other_rules = blocks.get("protocol", content.get("protocol")) != content.get("protocol") or "task" in blocks
    if command != "evaluate" or other_rules:  # decisions of the run's protocol are not kept under another one
        kept = {} if command == "classify" else {name: evaluation[name] for name in OF_ANY_RULES if name in evaluation}
        protocol = protocols().get(content.get("protocol", "standard"))
        if protocol is not None and kept.get("sides") == [*protocol.sides]:  # maybe a decision of the protocol
            del kept["sides"]
        content = {name: content[name] for name in ("dataset", "model") if name in content}
        content |= {"evaluation": kept} if kept and "task" not in blocks else {}
    if "evaluation" in blocks:
        blocks = {**blocks, "evaluation": {**content.get("evaluation", {}), **blocks["evaluation"]}}
    changed: set[Place] = {(name,) for name in blocks if name != "evaluation"}
    changed |= {("evaluation", name) for name in blocks.get("evaluation", ())}
    lines = {place: line for place, line in stored.lines.items() if not {place[:1], place[:2]} & changed}
    spelled = {place: option for place, option in OPTIONS.items() if {place[:1], place[:2]} & changed}
    return replace(stored, content={**content, **blocks}, lines=lines, options=spelled)


def _model_block(source: str, format: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Make the model's block from its path, or from a baseline's name and settings."""
    from kgeval.runs.config.models import model_block

    block: dict[str, Any] = model_block(source)
    if "path" in block:
        return cast("dict[str, Any]", model_block({**block, "format": format, "options": options}))
    return {**block, **({} if format == "auto" else {"format": format}), **options}


def _dataset_block(source: str, options: Mapping[str, Any]) -> Any:
    """Make the dataset's block from its path or PyKEEN name, and the options that say how it is read."""
    from kgeval.data.dataset_config import dataset_block
    from kgeval.data.loading import PYKEEN

    further = {name: value for name in READING if (value := options.get(name)) not in (None, "auto", ())}
    if not further:
        return source
    return ({"name": source} if further.get("layout") == PYKEEN else dataset_block(source)) | further


def model_and_dataset_of(config: RunConfig) -> tuple[Any, Dataset]:
    """Read the model and the dataset of a configuration."""
    from kgeval.cli.display import watching

    with watching("loading dataset"):
        dataset = config.dataset.load()
    with watching("loading model"):
        return config.load_model(dataset), dataset


def labelled_checkpoint(path: Path, settings: Mapping[str, Any], nan: str = "error") -> Checkpoint:
    """Read a checkpoint by the options of ``Reading`` and ``Labels``, which may name a dataset that has its labels."""
    from kgeval.data.loading import load_dataset
    from kgeval.models.checkpoints import read_checkpoint

    options, dataset = pairs(settings["options"], "--option"), settings["dataset"]
    graph = None if dataset is None else load_dataset(dataset, layout=settings["layout"], columns=settings["columns"])
    return read_checkpoint(path, options, dataset=graph, format=settings["format"], nan=nan)


def refuse_other_keys(command: str, overrides: Sequence[str], idle: tuple[str, ...]) -> None:
    """Refuse keys that have no effect in a command: those of protocol, task and output, and ``idle`` ones."""
    from kgeval.base.errors import ConfigError

    for key in (text.partition("=")[0] for text in overrides):
        if key.split(".")[0] not in ("dataset", "model", "evaluation") or key.startswith(idle):
            raise ConfigError(f"--set {key}: kgeval {command} does not use this key. Leave it out.")
