"""Stored runs: what was asked of them, read back, so that metrics can be computed again."""

from __future__ import annotations

from pathlib import Path

import yaml

from kgeval.directory import CONFIG, ranks_of, read_labels, read_ranks
from kgeval.errors import ConfigError, InputError, reason
from kgeval.paths import is_there
from kgeval.runs.asked import Asked
from kgeval.scoring.confidences import Confidences, ConfidenceTables


def read_asked(run: Path) -> Asked:
    """Read what a run was asked; the usual, where it does not tell: of a table alone, or of PyKEEN's evaluator.

    Raises
    ------
    ConfigError
        if its configuration is damaged
    """
    if not is_there(run / CONFIG):
        return Asked()
    try:
        content = yaml.safe_load((run / CONFIG).read_text(encoding="utf-8"))
        return Asked(**{name: content[name] for name in Asked.model_fields if name in content})
    except InputError as error:
        raise ConfigError(f"{run / CONFIG}: not the configuration of a run.\n{error}") from error
    except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        raise ConfigError(f"{run / CONFIG}: not the configuration of a run ({reason(error)}).") from error


def read_confidences(run: Path, asked: Asked) -> tuple[ConfidenceTables, Confidences]:
    """Read the facts and the ranks of a run that predicted confidences, and the task that it was.

    Raises
    ------
    InputError
        if a table of the run is missing or damaged, or the configuration is not that of such a run
    """
    if not isinstance(asked.task, Confidences):
        raise ConfigError(f"{run / CONFIG}: not the configuration of a run of confidences.")
    labels = read_labels(run)
    ranks = {"score": read_ranks(run)}
    for floor in labels.floors:
        if is_there(run / ranks_of(floor)):
            ranks[floor] = read_ranks(run / ranks_of(floor))
    return ConfidenceTables(labels, ranks), asked.task
