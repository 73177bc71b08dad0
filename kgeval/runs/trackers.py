"""Result trackers: what PyKEEN reports its trainings to, a run is reported to as well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, field_validator

from kgeval.errors import ConfigError, RunError, reason
from kgeval.runs.config.pykeen_components import refuse_unknown
from kgeval.runs.config.types import as_validation_error
from kgeval.settings.settings import Settings

PLACES = ("path", "experiment_path", "experiment_name")
"""options of csv, json and tensorboard that name a place which holds one run"""


class TrackerConfig(Settings):
    """A result tracker of PyKEEN, and what it is constructed with: ``{kind: csv, path: results.csv}``."""

    model_config = ConfigDict(extra="allow")

    kind: str
    """``csv``, ``json``, ``console``, ``mlflow``, ``tensorboard``, ``wandb`` or ``neptune``"""

    @field_validator("kind")
    @classmethod
    def _known(cls, value: str) -> str:
        with as_validation_error():
            refuse_unknown("tracker", value)
        return value

    def options(self, model: str) -> dict[str, Any]:
        """Return what the tracker is constructed with; each of several models gets a place of its own.

        >>> TrackerConfig(kind="csv", path="runs/all.csv").options("fresh")
        {'path': 'runs/all-fresh.csv'}
        >>> TrackerConfig(kind="mlflow", experiment_name="all").options("fresh")
        {'experiment_name': 'all'}
        """
        options = dict(self.model_extra or {})
        if model and "mlflow" not in self.kind.casefold():  # whose experiments hold many runs
            options |= {name: _beside(options[name], model) for name in PLACES if isinstance(options.get(name), str)}
        return options


@contextmanager
def tracking(config: TrackerConfig, model: str, dataset: str) -> Iterator[Any]:
    """Start a tracker before the work, and end it with the work, as a success or not.

    Parameters
    ----------
    config
        which one
    model
        the model's name, which the tracked run gets; where it is the only one, empty
    dataset
        the name of the tracked run then

    Yields
    ------
    Any
        the ``pykeen.trackers.ResultTracker``

    Raises
    ------
    ConfigError
        if it cannot be started: a library is missing, or it has no such option
    RunError
        if it cannot be ended
    """
    from pykeen.trackers import tracker_resolver

    try:
        tracker = tracker_resolver.make(config.kind, config.options(model))
        tracker.start_run(model or dataset)
    except Exception as error:  # every tracker speaks to a library of its own
        hint = ". Install the library that it needs, or choose csv or json" if isinstance(error, ImportError) else ""
        raise ConfigError(f"the tracker {config.kind!r} could not be started: {reason(error)}{hint}.") from error
    try:
        yield tracker
    except BaseException:
        with suppress(Exception):  # what stopped the work is what is told
            tracker.end_run(success=False)
        raise
    with _failing():
        tracker.end_run(success=True)


def report(tracker: Any, content: dict[str, Any], found: dict[str, Any], folder: Path | None) -> None:
    """Report a configuration, the run directory, and what is defined in the ``metrics.json`` of the run.

    The ``@`` of ``hits@10``, which some trackers do not take in a name, becomes PyKEEN's ``hits_at_10``.

    Raises
    ------
    RunError
        if the tracker fails; the run directory is complete by then
    """
    metrics = {
        f"{part}.{name}".replace("@", "_at_"): value
        for part, values in found["metrics"].items()
        for name, value in values.items()
        if value is not None
    }
    said = {name: value for name, value in content.items() if name != "tracker"}  # which may name an access token
    with _failing():
        tracker.log_params({**said, "run_directory": str(folder) if folder else None})
        tracker.log_metrics(metrics, prefix=found["split"])


@contextmanager
def _failing() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise RunError(f"the tracker failed: {reason(error)}. The run itself was written before.") from error


def _beside(place: str, model: str) -> str:
    path = Path(place)
    return str(path.with_name(f"{path.stem}-{model}{path.suffix}"))
