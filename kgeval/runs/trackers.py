"""Result trackers of PyKEEN (csv, mlflow, wandb, …), which get the configuration and the metrics of a run.

``TrackerConfig`` is the block ``tracker`` of a configuration. The runner enters ``tracking`` around the work on a
model, and calls ``report_results`` when that is done.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, field_validator

from kgeval.base.errors import ConfigError, RunError, reason
from kgeval.base.extras import is_installed, refuse_missing
from kgeval.base.files import exists_safely
from kgeval.base.settings import Settings, as_validation_error
from kgeval.runs.config.models import refuse_unknown_component

PLACES = {"path", "name", "experiment_path", "experiment_name"}
"""options of csv, json and tensorboard that name the file or folder of one run"""

LIBRARIES = ("mlflow", "wandb", "neptune", "tensorboard")


class TrackerConfig(Settings):
    """A result tracker of PyKEEN and its arguments: ``{kind: csv, path: results.csv}``."""

    model_config = ConfigDict(extra="allow")

    kind: str
    """``csv``, ``json``, ``console``, ``mlflow``, ``tensorboard``, ``wandb`` or ``neptune``"""

    @field_validator("kind")
    @classmethod
    def _known(cls, value: str) -> str:
        with as_validation_error():
            refuse_missing("a tracker needs", "pykeen")
            refuse_unknown_component("tracker", value)
        return value

    def options(self, model: str) -> dict[str, Any]:
        """Return the arguments of the tracker; each of several models gets a separate file or folder.

        >>> TrackerConfig(kind="csv", path="runs/all.csv").options("fresh")
        {'path': 'runs/all-fresh.csv'}
        >>> TrackerConfig(kind="mlflow", experiment_name="all").options("fresh")
        {'experiment_name': 'all'}
        """
        options, kind = dict(self.model_extra or {}), self.kind.casefold()
        if "tensorboard" in kind and not {"experiment_path", "experiment_name"} & {*options}:
            # By default, PyKEEN uses one experiment name for all runs.
            options["experiment_name"] = datetime.now().strftime("%Y-%m-%d-%H-%M-%S-%f")
        if model and not any(service in kind for service in ("mlflow", "wandb", "neptune")):  # these keep runs apart
            for option in PLACES & options.keys():
                place = Path(str(options[option]))
                suffix = "" if option.endswith("name") else place.suffix
                options[option] = f"{str(place).removesuffix(suffix)}-{model}{suffix}"
        return options


def refuse_unusable(config: TrackerConfig | None, models: Iterable[str]) -> None:
    """Refuse a tracker without its library, or whose path cannot be written, before anything is read or trained."""
    if config is None:
        return
    for library in LIBRARIES:
        if library in config.kind.casefold() and not is_installed(library):
            refusal = f"tracker.kind: {config.kind} needs the library {library}, which is not installed"
            raise ConfigError(f"{refusal}. Run: pip install {library}")
    for model in models:
        options = config.options(model)
        for option in ("path", "experiment_path"):
            if option in options and not _is_writable(path := Path(str(options[option])), folder=option != "path"):
                raise ConfigError(f"tracker.{option}: {str(path)!r} cannot be written. Name another place.")


def _is_writable(path: Path, *, folder: bool) -> bool:
    """Whether a file or folder can be written or made; nothing is made."""
    there = next(place for place in (path.absolute(), *path.absolute().parents) if exists_safely(place))
    return os.access(there, os.W_OK) and there.is_dir() == (folder or there != path.absolute())


@contextmanager
def tracking(config: TrackerConfig, model: str, dataset: str) -> Iterator[Any]:
    """Start a tracker before the work and end it afterwards, as succeeded or failed.

    The tracked run has the name of the model or, where there is only one model, of the dataset.
    """
    from pykeen.trackers import tracker_resolver

    try:
        tracker = tracker_resolver.make(config.kind, config.options(model))
        tracker.start_run(model or dataset)
    except Exception as error:  # every tracker calls a library of its own
        hint = ". Install its library, or choose csv or json" if isinstance(error, ImportError) else ""
        raise ConfigError(f"the tracker {config.kind!r} could not be started: {reason(error)}{hint}.") from error
    try:
        yield tracker
    except BaseException:
        with suppress(Exception):  # the error of the work is the one to report
            tracker.end_run(success=False)
        raise
    with _as_run_error():
        tracker.end_run(success=True)


def report_results(tracker: Any, config: dict[str, Any], results: dict[str, Any], folder: str | None) -> None:
    """Report a configuration, the run directory, and the defined metrics among the ``results`` (``metrics.json``).

    The ``@`` of ``hits@10``, which some trackers do not take in a name, becomes PyKEEN's ``hits_at_10``.
    """
    metrics = {
        f"{part}.{name}".replace("@", "_at_"): value
        for part, values in results["metrics"].items()
        for name, value in values.items()
        if value is not None
    }
    params = {name: value for name, value in config.items() if name != "tracker"}  # it may have an access token
    with _as_run_error():
        tracker.log_params({**params, "run_directory": folder})
        tracker.log_metrics(metrics, prefix=results["split"])


@contextmanager
def _as_run_error() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise RunError(f"the tracker failed: {reason(error)}. The run itself is complete.") from error
