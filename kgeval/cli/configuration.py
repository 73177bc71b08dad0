"""The configuration that the options of a command stand for; what is wrong with it is told by option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgeval.cli.shared_options import pairs

if TYPE_CHECKING:
    from kgeval.runs.config.run_config import RunConfig
    from kgeval.runs.config.yaml_document import Place

OPTIONS: dict[Place, str] = {
    ("dataset",): "--dataset",
    ("dataset", "path"): "--dataset",
    ("dataset", "name"): "--dataset",
    ("dataset", "layout"): "--layout",
    ("dataset", "names"): "--names",
    ("model",): "CHECKPOINT",
    ("model", "path"): "CHECKPOINT",
    ("model", "format"): "--format",
    ("model", "options"): "--option",
    ("metrics",): "--metric",
    ("task", "negatives", "valid"): "--valid-negatives",
    ("task", "negatives", "test"): "--test-negatives",
    **{("task", "negatives", "corruption", name): f"--{name}" for name in ("count", "seed")},
    **{("task", name): f"--{name}" for name in ("calibration", "mapping", "high", "unseen")},
    **{(name,): f"--{name}" for name in ("protocol", "ties", "seed", "chance", "popularity")},
    **{("evaluation", name): f"--{name}" for name in ("split", "sides", "filter", "corruption", "unseen", "nan")},
    **{("evaluation", name): f"--{name.replace('_', '-')}" for name in ("batch_size", "memory_limit", "threads")},
}
"""by place in the configuration"""


def configured(command: str, checkpoint: str, dataset: str, given: Mapping[str, Any], **content: Any) -> RunConfig:
    """Make a configuration of what was said on the command line.

    Parameters
    ----------
    command
        its name, for messages
    checkpoint, dataset
        the model and the graph
    given
        further options, among them ``layout``, ``names``, ``format`` and ``options``
    content
        the other blocks of the configuration

    Raises
    ------
    ConfigError
        with all problems at once, each with its option
    """
    from kgeval.runs.config.load import check
    from kgeval.runs.config.yaml_document import Document

    blocks = {
        "dataset": _dataset_block(dataset, given["layout"], given["names"]),
        "model": {"path": checkpoint, "format": given["format"], "options": pairs(given["options"], "--option")},
        **content,
    }
    return check(Document(command, blocks, options=OPTIONS))


def chosen(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Keep those of some options that were said."""
    return {name: given[name] for name in names if given[name] is not None}


def _dataset_block(source: str, layout: str, names: tuple[str, ...]) -> Any:
    """Say the dataset as a configuration does: by its path or its PyKEEN name, with what is to be known of it."""
    from kgeval.data.loading import PYKEEN
    from kgeval.runs.config.run_config import dataset_block as spelled_out

    further = {**({} if layout == "auto" else {"layout": layout}), **({"names": names} if names else {})}
    if not further:
        return source
    return ({"name": source} if layout == PYKEEN else spelled_out(source)) | further
