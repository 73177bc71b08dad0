"""Arguments of a training: held against the signatures of PyKEEN's classes before anything is loaded or trained."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from kgeval.errors import did_you_mean
from kgeval.runs.config.models import TrainingConfig
from kgeval.runs.config.pykeen_components import component
from kgeval.settings.messages import Problem, short_repr

PARTS = ("model", "loss", "regularizer", "optimizer", "lr_scheduler", "negative_sampler", "stopper")

OUTSIDE = {
    "training_kwargs": {"checkpoint_directory", "checkpoint_name", "checkpoint_frequency", "checkpoint_on_failure"},
    "stopper_kwargs": {"best_model_path"},
}
"""arguments by which PyKEEN writes outside the run directory, and reads a pickled file, whose code would run"""

READERS = {
    "training_kwargs": {"checkpoint", "checkpointtrainingcallback"},
    "model_kwargs": {"precomputedpool", "precomputedpooltokenizer"},
}
"""components that do so, wherever they are named inside"""

PLAIN = {int: "a whole number", float: "a number", bool: "true or false", str: "text", NoneType: "nothing"}


def wrong_arguments(job: TrainingConfig) -> Iterator[Problem]:
    """Find the arguments that PyKEEN would refuse, or that reach out of the run directory.

    The values need not have been checked: those of an unknown component are not told, for they could be right.
    """
    for block in ("training_kwargs", *(f"{part}_kwargs" for part in PARTS)):
        arguments, part = getattr(job, block), block.removesuffix("_kwargs")
        if not isinstance(arguments, dict):
            continue
        try:
            callee = component(part, job.model, getattr(job, part, None))
        except (KeyError, TypeError, ValueError):  # there is none of that name
            callee = None
        types = _parameters(callee) if callee is not None and arguments else None
        for name, value in arguments.items():
            if problem := _problem(block, name, value, types):
                yield problem


def _problem(block: str, name: Any, value: Any, types: dict[str, Any] | None) -> Problem | None:
    if name in OUTSIDE.get(block, ()) or _names(value) & READERS.get(block, set()):
        what = "it lets PyKEEN work with files outside the run directory, and run the code that a pickled one holds"
        return Problem((block, name), what, "Leave it out: the trained model is saved in the run directory.")
    if types is None or not isinstance(name, str):
        return None
    if name not in types:
        return Problem((block, name), f"unknown argument {short_repr(name)}", did_you_mean(name, types))
    plain = _plain(types[name])
    accepted: Any = Union[plain] if plain else Any  # noqa: UP007  # of types that are found here
    try:
        TypeAdapter(accepted, config=ConfigDict(strict=True)).validate_python(value)
    except ValidationError:
        expected = " or ".join(PLAIN[kind] for kind in plain)
        hint = "Write a number as 1.0e-3: YAML takes 1e-3 for text." if _is_number(value) else ""
        return Problem((block, name), f"expected {expected}, found {short_repr(value)}", hint)
    return None


def _parameters(callee: Callable[..., Any]) -> dict[str, Any] | None:
    """Collect the types of all arguments, those that are handed on to a base class too; none if any name would do."""
    found: dict[str, Any] = {}
    for function in _functions(callee):
        parameters = inspect.signature(function).parameters
        try:
            types = get_type_hints(function)
        except (NameError, TypeError):  # what is imported for type checkers only
            types = {}
        found = {name: types.get(name, Any) for name in parameters if name != "self"} | found
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return found
    return None


def _functions(callee: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    if not inspect.isclass(callee):
        yield callee
        return
    for cls in callee.__mro__:
        if "__init__" in vars(cls):
            yield vars(cls)["__init__"]


def _plain(annotation: Any) -> tuple[type, ...]:
    """Tell the types of YAML's values that an argument takes; nothing where it takes more than such."""
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    kinds = tuple(kind for kind in kinds if getattr(kind, "__name__", "") != "Tensor")  # which YAML has none of
    return kinds if kinds and all(kind in PLAIN for kind in kinds) else ()


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, str) and float(value) is not None
    except ValueError:
        return False


def _names(value: Any) -> set[str]:
    """Collect all texts inside a value, as PyKEEN compares names of components."""
    if isinstance(value, str):
        return {"".join(letter for letter in value.lower() if letter.isalnum())}
    inside = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return set().union(*map(_names, inside))
