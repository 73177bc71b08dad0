"""Arguments of a training, checked against the signatures of PyKEEN's classes before anything is loaded or trained."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from kgeval.errors import MetricError, did_you_mean
from kgeval.runs.config.models import TrainingConfig
from kgeval.runs.config.pykeen_components import component
from kgeval.settings.messages import Problem, short_repr

PARTS = ("model", "loss", "regularizer", "optimizer", "lr_scheduler", "negative_sampler", "stopper")

OUTSIDE = {
    "training_kwargs": {"checkpoint_directory", "checkpoint_name", "checkpoint_frequency", "checkpoint_on_failure"},
    "stopper_kwargs": {"best_model_path"},
}
"""arguments by which PyKEEN writes outside the run directory, or reads a pickled file and so runs its code"""

READERS = {
    "training_kwargs": {"checkpoint", "checkpointtrainingcallback"},
    "model_kwargs": {"precomputedpool", "precomputedpooltokenizer"},
}
"""components that read pickled files, wherever a value has their name"""

PLAIN = {int: "a whole number", float: "a number", bool: "true or false", str: "text", NoneType: "nothing"}


def wrong_arguments(job: TrainingConfig) -> Iterator[Problem]:
    """Yield the arguments that PyKEEN would refuse, or by which it would use files outside the run directory.

    The arguments of an unknown component are not checked.
    """
    for block in ("training_kwargs", *(f"{part}_kwargs" for part in PARTS)):
        arguments, part = getattr(job, block), block.removesuffix("_kwargs")
        if not isinstance(arguments, dict):
            continue
        try:
            callee = component(part, job.model, getattr(job, part, None))
        except (KeyError, TypeError, ValueError):  # an unknown component
            callee = None
        types = _parameters(callee) if callee is not None and arguments else None
        for name, value in arguments.items():
            if problem := _problem(block, name, value, types):
                yield problem


def _problem(block: str, name: Any, value: Any, types: dict[str, Any] | None) -> Problem | None:
    if name in OUTSIDE.get(block, ()) or _names(value) & READERS.get(block, set()):
        what = "it lets PyKEEN work with files outside the run directory, and run the code that a pickled one holds"
        return Problem((block, name), what, "Leave it out: the trained model is saved in the run directory.")
    if (block, name) == ("stopper_kwargs", "metric") and isinstance(value, str):
        return _wrong_metric(value)
    if types is None or not isinstance(name, str):
        return None
    if name not in types:
        return Problem((block, name), f"unknown argument {short_repr(name)}", did_you_mean(name, types))
    plain = _plain_types(types[name])
    accepted: Any = Union[plain] if plain else Any  # noqa: UP007  # a union of types that are only known at run time
    try:
        TypeAdapter(accepted, config=ConfigDict(strict=True)).validate_python(value)
    except ValidationError:
        expected = " or ".join(PLAIN[kind] for kind in plain)
        hint = "Write a number as 1.0e-3: YAML takes 1e-3 for text." if _is_number(value) else ""
        return Problem((block, name), f"expected {expected}, found {short_repr(value)}", hint)
    return None


def _wrong_metric(name: str) -> Problem | None:
    """Refuse a metric of a stopper before the training, which may end before the stopper asks for it."""
    from kgeval.pykeen.results import KGEvalMetricResults

    try:
        KGEvalMetricResults.key_from_string(name)
    except MetricError as error:
        return Problem.of(("stopper_kwargs", "metric"), error)
    return None


def _parameters(callee: Callable[..., Any]) -> dict[str, Any] | None:
    """Return the types of all arguments by name, with those of base classes; None if any name is accepted."""
    arguments: dict[str, Any] = {}
    inits = [vars(cls).get("__init__") for cls in callee.__mro__] if inspect.isclass(callee) else [callee]
    for function in filter(None, inits):
        parameters = inspect.signature(function).parameters
        try:
            types = get_type_hints(function)
        except (NameError, TypeError):  # annotations that are imported for type checkers only
            types = {}
        arguments = {name: types.get(name, Any) for name in parameters if name != "self"} | arguments
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return arguments
    return None


def _plain_types(annotation: Any) -> tuple[type, ...]:
    """The types that an argument takes, if all of them are types of YAML's values."""
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    kinds = tuple(kind for kind in kinds if getattr(kind, "__name__", "") != "Tensor")  # YAML has no tensors
    return kinds if kinds and all(kind in PLAIN for kind in kinds) else ()


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, str) and float(value) is not None
    except ValueError:
        return False


def _names(value: Any) -> set[str]:
    """Collect all texts inside a value, normalised as PyKEEN normalises names of components."""
    if isinstance(value, str):
        return {"".join(letter for letter in value.lower() if letter.isalnum())}
    inside = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return set().union(*map(_names, inside))
