"""The configuration that the options of a command make; its problems are reported by option."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgeval.runs.config.run_config import RunConfig
    from kgeval.runs.config.written_variables import Place

OPTIONS: dict[Place, str] = {
    ("dataset",): "--dataset",
    ("dataset", "path"): "--dataset",
    ("dataset", "name"): "--dataset",
    ("dataset", "layout"): "--layout",
    ("dataset", "names"): "--names",
    ("model",): "CHECKPOINT",
    ("model", "path"): "CHECKPOINT",
    ("model", "baseline"): "CHECKPOINT",
    ("model", "format"): "--format",
    ("model", "options"): "--option",
    ("metrics",): "--metric",
    ("intervals",): "--intervals",
    ("intervals", "unit"): "--intervals",
    ("intervals", "level"): "--level",
    ("task", "kind"): "--task",
    ("task", "calibration"): "--calibration",
    ("task", "negatives", "valid"): "--valid-negatives",
    ("task", "negatives", "test"): "--test-negatives",
    ("task", "negatives", "corruption"): "--corruption",
    **{("task", name): f"--{name}" for name in ("sides", "unseen")},
    **{(name,): f"--{name}" for name in ("by", "protocol", "ties", "seed", "chance", "popularity")},
    **{("evaluation", name): f"--{name}" for name in ("split", "sides", "filter", "times", "corruption")},
    **{("evaluation", name): f"--{name}" for name in ("unseen", "nan")},
    **{("evaluation", "estimate", name): f"--{name}" for name in ("error", "level")},
    **{
        ("evaluation", name): f"--{name.replace('_', '-')}"
        for name in ("batch_size", "memory_limit", "threads", "device")
    },
}
"""the option of each key of the configuration"""

OUTSIDE_BRACKETS = re.compile(r",(?![^\[\]]*\])")


def configuration(command: str, checkpoint: str, dataset: str, options: Mapping[str, Any], **blocks: Any) -> RunConfig:
    """Make a configuration of the options of a command.

    Parameters
    ----------
    command
        its name, for messages
    checkpoint, dataset
        the model, or ``baseline:`` and a name, and the graph
    options
        those of ``model_and_dataset``: ``layout``, ``names``, ``format``, ``options`` and ``overrides``
    blocks
        the other blocks of the configuration

    Raises
    ------
    ConfigError
        with all problems at once, each with its option
    """
    from kgeval.runs.config.load import check
    from kgeval.runs.config.run_config import expand_shorthand
    from kgeval.runs.config.yaml_document import Document

    model = _model_block(checkpoint, options.get("format", "auto"), pairs(options["options"], "--option"))
    content = {"dataset": _dataset_block(dataset, options["layout"], options["names"]), "model": model, **blocks}
    document = Document(command, content, options=OPTIONS)
    for override in options["overrides"]:
        document.override(override, expand_shorthand)
    return check(document)


def present(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return those of the named options that have a value; a repeatable option becomes a list."""
    values = {name: options[name] for name in names if options[name] not in (None, ())}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def corruption_block(text: str) -> dict[str, Any]:
    """Parse ``KIND:K=V,…`` as a block of a configuration; lists are in brackets.

    >>> corruption_block("uniform:count=500,seed=3"), corruption_block("typed:splits=[train,valid]")
    ({'kind': 'uniform', 'count': 500, 'seed': 3}, {'kind': 'typed', 'splits': ['train', 'valid']})
    """
    kind, _, options = text.partition(":")
    return {"kind": kind, **pairs(filter(None, OUTSIDE_BRACKETS.split(options)), "--corruption")}


def pairs(texts: Iterable[str], option: str) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` texts; values are YAML, so ``norm=1`` is a number and ``clamp=true`` a truth value."""
    from kgeval.errors import ConfigError
    from kgeval.runs.config.yaml_document import parse_value

    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(f"{option} {text!r}: expected KEY=VALUE, for example model=ComplEx.")
        values[key] = parse_value(value, f"{option} {text!r}")
    return values


def _model_block(source: str, format: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Make the model's block of its path, or of a baseline's name, whose options are its settings."""
    from kgeval.runs.config.models import model_block

    block: dict[str, Any] = model_block(source)
    if "baseline" not in block:
        return {**block, "format": format, "options": options}
    return {**block, **({} if format == "auto" else {"format": format}), **options}


def _dataset_block(source: str, layout: str, names: tuple[str, ...]) -> Any:
    """Make the block of a dataset from its path or PyKEEN name, its layout and its files of names."""
    from kgeval.data.loading import PYKEEN
    from kgeval.runs.config.run_config import dataset_block

    further = {**({} if layout == "auto" else {"layout": layout}), **({"names": names} if names else {})}
    if not further:
        return source
    return ({"name": source} if layout == PYKEEN else dataset_block(source)) | further
