"""Pydantic's validation errors as messages: where, what, and the nearest valid choice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from kgeval.errors import did_you_mean
from kgeval.settings.by_kind import KEYS, ByKind

Location = tuple[str | int, ...]
"""the keys and positions that lead to a value"""

MAX_CHARACTERS = 100
"""characters of a mistaken value that are shown"""

MAX_PROBLEMS = 100
"""how many problems are listed one by one"""

UNTRAINED = "a baseline"
"""pydantic's tag for models that learn nothing; the key that names one is called like their kind"""

_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "byte_size": "bytes, such as 2000000000 or 2GB",
    "byte_size_unit": "bytes, such as 2000000000 or 2GB",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a block of keys",
    "model_type": "a block of keys",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "too_short": "at least {min_length} of them",
}
"""what was expected, by pydantic's type of error"""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a configuration."""

    location: Location
    message: str
    hint: str = ""
    absent: bool = False
    """whether there is nothing at the location"""

    def format(self, line: str = "", option: str = "") -> str:
        """Write the problem, with its line of the file if that is known, or with the command-line option."""
        where = option or ".".join(short(step) for step in spelled(self.location)) or "configuration"
        return f"{where}: {self.message}{f' ({line})' if line else ''}. {self.hint}".rstrip()

    def __str__(self) -> str:
        return self.format()

    @classmethod
    def of(cls, location: Location, error: Exception) -> Problem:
        """Take a refusal whose sentences are what is wrong, and what to do about it."""
        message, hint, *_ = [*re.split(r"\. (?=[A-Z])", str(error).rstrip("."), maxsplit=1), ""]
        return cls(location, message, f"{hint}{'' if hint.endswith('?') or not hint else '.'}")


def complaints(error: ValidationError, content: Any, root: Any) -> list[Problem]:
    """List all of pydantic's errors about ``content``, which is no ``root`` (a model, or a union of models)."""
    items = error.errors(include_url=False)
    problems = [_problem(item, content, root) for item in items[:MAX_PROBLEMS]]
    return (
        [*problems, Problem((), f"{len(items) - MAX_PROBLEMS} more problems")]
        if len(items) > MAX_PROBLEMS
        else problems
    )


def _problem(item: Any, content: Any, root: Any) -> Problem:
    value, context, kind, place = item["input"], item.get("ctx", {}), item["type"], item["loc"]
    if place[-1:] == ("[key]",):  # a block with free keys: the error is about a key, not about its value
        kind, place = "invalid_key", place[:-1]
    location = _in_content(place, content)
    if kind in {"extra_forbidden", "invalid_key", "missing"}:
        return _about_key(kind, location, content, root)
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        return Problem(location, f"unknown value {short_repr(value)}", _nearest(value, choices))
    if kind.startswith("union_tag") or kind == "model_attributes_type":
        key = context.get("key", "kind")
        return _unknown_kind(location, value, key, _kinds(_annotation(location, content, root), key))
    if kind == "value_error":
        return Problem.of(location, context["error"])
    expected = _KINDS.get(kind, item["msg"].removeprefix("Input should be ")).format(**context)
    return Problem(location, f"expected {expected}, found {short_repr(value)}")


def _about_key(kind: str, location: Location, content: Any, root: Any) -> Problem:
    if kind == "missing":
        return Problem(location, "missing", absent=True)
    if kind == "extra_forbidden":
        known = _keys(location[:-1], content, root)
        return Problem(location, f"unknown key {short_repr(location[-1])}", _nearest(location[-1], known))
    return Problem(location, f"a key is text, found {short_repr(location[-1])}", "Write it in quotes.")


def _unknown_kind(location: Location, value: Any, key: str, kinds: list[str]) -> Problem:
    if not isinstance(value, dict):
        return Problem(
            location, f"expected a block with the key {key!r}, found {short_repr(value)}", _nearest("", kinds)
        )
    if value.get(key) is None:
        return Problem(location, f"the key {key!r} is missing", _nearest("", kinds))
    return Problem(location, f"unknown {key} {short_repr(value[key])}", _nearest(value[key], kinds))


def spelled(location: Location) -> tuple[str, ...]:
    """Write keys and positions as text."""
    return tuple(step if isinstance(step, str) else short_repr(step) for step in location)


def short_repr(value: Any) -> str:
    """Print a value, however long or odd it is.

    >>> short_repr("x" * 1000)[-3:], short_repr(16**5000)
    ("x…'", 'a very large number')
    """
    if isinstance(value, str):
        return repr(short(value))
    try:
        return short(repr(value))
    except ValueError:  # Python prints no whole number of more than some thousand digits
        return "a very large number"


def _nearest(value: Any, choices: list[str]) -> str:
    return did_you_mean(short(value) if isinstance(value, str) else short_repr(value), choices)


def short(text: str) -> str:
    """Cut a text that is too long to be read."""
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def _in_content(location: Location, content: Any) -> Location:
    """Leave out of a location what pydantic adds for itself: the tags of unions."""
    if not location:
        return ()
    *inner, last = location
    place: Any = content
    kept: list[str | int] = []
    for step in inner:
        inside = _step(place, step)
        if inside is not None:
            place = inside
            kept.append(step)
    in_block = isinstance(place, dict) and (last in place or last != place.get("kind", "checkpoint"))
    is_key = last != UNTRAINED and (in_block or isinstance(place, str))
    return (*kept, last) if is_key or isinstance(last, int) else tuple(kept)


def _step(place: Any, step: str | int) -> Any:
    if isinstance(place, dict):
        return place.get(step)
    if isinstance(place, (list, tuple)) and isinstance(step, int) and step < len(place):
        return place[step]
    return None


def _keys(location: Location, content: Any, root: Any) -> list[str]:
    """The valid keys of the block at a location."""
    place = content
    for step in location:
        place = _step(place, step)
    block = _block(_annotation(location, content, root), place)
    return list(block.model_fields) if block else []


def _annotation(location: Location, content: Any, root: Any) -> Any:
    """The type of what stands at a location."""
    place, annotation = content, root
    for step in location:
        block = _block(annotation, place)
        annotation = _field(block, str(step)) if block and step in block.model_fields else _item(annotation)
        place = _step(place, step)
    return annotation


def _field(block: type[BaseModel], name: str) -> Any:
    field: Any = block.model_fields[name]
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def _item(annotation: Any) -> Any:
    """The type of the items of a list, or of the values of a block with free keys."""
    return next((get_args(part)[-1] for part in _alternatives(annotation) if get_origin(part) is dict), None)


def _block(annotation: Any, place: Any) -> type[BaseModel] | None:
    """Find the model that describes a block, by what tells them apart where there are several."""
    models = _models(annotation)
    block = place if isinstance(place, dict) else {}
    fitting = [model for key in KEYS for model in models if block.get(key) in _kind(model, key)]
    return next(iter([*fitting, *models]), None)


def _kinds(annotation: Any, key: str) -> list[str]:
    return [kind for model in _models(annotation) for kind in _kind(model, key)]


def _kind(model: type[BaseModel], key: str) -> tuple[Any, ...]:
    return get_args(model.model_fields[key].annotation) if key in model.model_fields else ()


def _models(annotation: Any) -> list[type[BaseModel]]:
    return [part for part in _alternatives(annotation) if isinstance(part, type) and issubclass(part, BaseModel)]


def _alternatives(annotation: Any) -> Iterator[Any]:
    """Yield the types that a value may have."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *marks = get_args(annotation)
        by_kind = next((mark for mark in marks if isinstance(mark, ByKind)), None)
        yield from by_kind.registry().values() if by_kind else _alternatives(inner)
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _alternatives(part)
    else:
        yield annotation
