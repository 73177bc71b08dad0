"""PyKEEN's components by name, and the arguments that they take, checked before anything is loaded or trained."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from kgeval.base.errors import ConfigError, MetricError, did_you_mean
from kgeval.base.settings import Problem, short_repr
from kgeval.data.layouts.pykeen import writable_home

PARTS = ("training", "model", "loss", "regularizer", "optimizer", "lr_scheduler", "negative_sampler", "stopper")
"""the parts with arguments, in blocks called ``<part>_kwargs``"""

OUTSIDE = {
    "training_kwargs": {"checkpoint_directory", "checkpoint_name", "checkpoint_frequency", "checkpoint_on_failure"},
    "stopper_kwargs": {"best_model_path"},
}
"""arguments that make PyKEEN write outside the run directory, or read a pickled file and so run its code"""

READERS = {
    "training_kwargs": {"checkpoint", "checkpointtrainingcallback"},
    "model_kwargs": {"precomputedpool", "precomputedpooltokenizer"},
}
"""components that read pickled files, wherever a value has their name"""

NO_NUMBER = re.compile(r"[-+]?[\d.]+[eE][-+]?\d+")
"""texts in YAML that were meant as numbers"""


def refuse_unknown(part: str, name: str) -> None:
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
        hint = did_you_mean(name, known)
        raise ConfigError(f"PyKEEN has no {part.replace('_', ' ')} called {name!r}. {hint}") from None


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
    for part in PARTS:
        block = f"{part}_kwargs"
        arguments = training.get(block)
        if not isinstance(arguments, dict):
            continue
        try:
            names = _argument_names(_component(part, training.get("model"), training.get(part)))
        except (KeyError, TypeError, ValueError):  # an unknown component
            names = None
        for name, value in arguments.items():
            if problem := _problem((block, name), value, names):
                yield problem


def _problem(place: tuple[str, Any], value: Any, names: set[str] | None) -> Problem | None:
    block, name = place
    if name in OUTSIDE.get(block, ()) or _texts(value) & READERS.get(block, set()):
        what = "it lets PyKEEN work with files outside the run directory, and run the code that a pickled one holds"
        return Problem(place, what, "Leave it out: the trained model is saved in the run directory.")
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
    found: Callable[..., Any] | None = None
    if part == "training":
        found = _resolver("training_loop").lookup(None).train
    elif name is None and part in {"loss", "regularizer"}:
        found = getattr(_resolver("model").lookup(model), f"{part}_default", None)
    elif name is not None or part in {"optimizer", "negative_sampler"}:
        found = _resolver(part).lookup(name)
    return found


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
