"""Result trackers: what PyKEEN reports its trainings to, a run is reported to as well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, field_validator

from kgeval.errors import ConfigError, RunError, reason
from kgeval.runs.components import refuse_unknown
from kgeval.runs.values import refusing
from kgeval.settings import Settings


class TrackerConfig(Settings):
    """A result tracker of PyKEEN, and what it is constructed with: ``{kind: csv, path: results.csv}``."""

    model_config = ConfigDict(extra="allow")

    kind: str
    """``csv``, ``json``, ``console``, ``mlflow``, ``tensorboard``, ``wandb`` or ``neptune``"""

    @field_validator("kind")
    @classmethod
    def _known(cls, value: str) -> str:
        with refusing():
            refuse_unknown("tracker", value)
        return value


@contextmanager
def tracking(config: TrackerConfig, name: str) -> Iterator[Any]:
    """Start a tracker before the work, and end it with the work, as a success or not.

    Yields
    ------
    Any
        the ``pykeen.trackers.ResultTracker``

    Raises
    ------
    ConfigError
        if it cannot be started: a library is missing, or it has no such option
    """
    from pykeen.trackers import tracker_resolver

    try:
        tracker = tracker_resolver.make(config.kind, dict(config.model_extra or {}))
        tracker.start_run(name)
    except Exception as error:  # every tracker speaks to a library of its own
        raise ConfigError(f"the tracker {config.kind!r} could not be started: {reason(error)}.") from error
    success = False
    try:
        yield tracker
        success = True
    finally:
        tracker.end_run(success=success)


def report(tracker: Any, content: dict[str, Any], found: dict[str, Any], folder: Path | None) -> None:
    """Report a configuration, the run directory, and what is defined in the ``metrics.json`` of the run.

    Raises
    ------
    RunError
        if the tracker fails; the run directory is complete by then
    """
    metrics = {
        f"{part}.{name}": value
        for part, values in found["metrics"].items()
        for name, value in values.items()
        if value is not None
    }
    try:
        tracker.log_params({**content, "run_directory": str(folder) if folder else None})
        tracker.log_metrics(metrics, prefix=found["split"])
    except Exception as error:
        raise RunError(f"the tracker failed: {reason(error)}. The run itself is in {str(folder)!r}.") from error
