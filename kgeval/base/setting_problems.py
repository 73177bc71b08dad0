"""Problems of settings: pydantic's errors in words that say where, what is wrong, and the nearest valid choice.

``Settings`` and the readers of configurations call :func:`problems_of` with an error and the content that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from kgeval.base.errors import NoPathError, did_you_mean, nearest

Location = tuple[str | int, ...]
"""the path to a value: its keys and positions"""


MAX_CHARACTERS = 100
"""the most characters of a value in a message"""


MAX_PROBLEMS = 100
"""the most problems that are listed"""


UNTRAINED = "a baseline"
"""the tag of baselines in pydantic's union of models: not ``baseline``, which is the key that names one"""


UNKNOWN_KEY = "unknown key"


KEYS = ("baseline", "kind")
"""the keys whose value tells the class of a block of settings, the more specific one first"""


_EXPECTED = {
    **dict.fromkeys(("int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("byte_size", "byte_size_unit"), "bytes, such as 2000000000 or 2GB"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("dict_type", "model_type"), "a block of keys"),
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "json_invalid": "JSON ({error})",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "too_short": "at least {min_length} of them",
}
"""pydantic's type of an error -> the expected value in words"""


def problems_of(error: ValidationError, content: Any, root: Any) -> list[Problem]:
    """List pydantic's errors about ``content``, which is no valid ``root`` (a model, or a union of models)."""
    items = error.errors(include_url=False)
    problems = _without_misspelt([_problem(item, content, root) for item in items[:MAX_PROBLEMS]], content, root)
    if len(items) > MAX_PROBLEMS:
        problems.append(Problem((), f"{len(items) - MAX_PROBLEMS} more problems"))
    return problems


@dataclass(frozen=True)
class Problem:
    """What is wrong with one value, where it is, and what to do."""

    location: Location
    message: str
    hint: str = ""
    absent: bool = False
    """whether a required key is missing at the location"""
    no_path: bool = False
    """whether the value names a file or folder that is not there"""

    @property
    def offers_names(self) -> bool:
        """Whether the value is an unknown name, not a key, and the hint lists known names."""
        offers = self.hint.startswith(("Did you mean", "Choose one of", "'kgeval list"))
        return offers and not self.message.startswith(UNKNOWN_KEY)

    def format(self, line: str = "", option: str = "") -> str:
        """Return the message, with the line of the file or the command-line option if that is known."""
        where = option or ".".join(short(step) for step in as_texts(self.location)) or "configuration"
        return f"{where}: {self.message}{f' ({line})' if line else ''}. {self.hint}".rstrip()

    def __str__(self) -> str:
        return self.format()

    @classmethod
    def of(cls, location: Location, error: Exception) -> Problem:
        """Make a problem of an error: its first sentence says what is wrong, the rest what to do about it."""
        message, hint, *_ = [*re.split(r"\.\s(?=[A-Z]|'kgeval )", str(error).rstrip("."), maxsplit=1), ""]
        hint = f"{' '.join(hint.split())}{'' if hint.endswith('?') or not hint else '.'}"
        return cls(location, message, hint, no_path=isinstance(error, NoPathError))


def _without_misspelt(problems: list[Problem], content: Any, root: Any) -> list[Problem]:
    """Leave out that a key is missing where an unknown one beside it is likely to be that key."""
    unknown = [problem.location for problem in problems if problem.message.startswith(UNKNOWN_KEY)]
    near = {(*block, name) for *block, key in unknown for name in nearest(str(key), _keys(tuple(block), content, root))}
    return [problem for problem in problems if not (problem.absent and problem.location in near)]


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
        key, models = context.get("key", "kind"), _models(_annotation(location, content, root))
        return _unknown_kind(location, value, key, [kind for model in models for kind in _kinds(model, key)])
    if kind == "value_error":
        return Problem.of(location, context["error"])
    expected = _EXPECTED.get(kind, item["msg"].removeprefix("Input should be ")).format(**context)
    return Problem(location, f"expected {expected}, found {short_repr(value)}")


def _about_key(kind: str, location: Location, content: Any, root: Any) -> Problem:
    if kind == "missing":
        return Problem(location, "required, but missing", absent=True)
    if kind == "extra_forbidden":
        known = _keys(location[:-1], content, root)
        return Problem(location, f"{UNKNOWN_KEY} {short_repr(location[-1])}", _nearest(location[-1], known))
    return Problem(location, f"a key is text, found {short_repr(location[-1])}", "Write it in quotes.")


def _unknown_kind(location: Location, value: Any, key: str, kinds: list[str]) -> Problem:
    name: Any = ""
    if not isinstance(value, dict):
        fault = f"expected a block with the key {key!r}, found {short_repr(value)}"
    elif value.get(key) is None:
        fault = f"the key {key!r} is missing"
    else:
        name = value[key]
        fault = f"unknown {key} {short_repr(name)}"
    return Problem(location, fault, _nearest(name, kinds))


def _nearest(value: Any, choices: list[str]) -> str:
    return did_you_mean(short(value) if isinstance(value, str) else short_repr(value), choices)


def as_texts(location: Location) -> tuple[str, ...]:
    """Write each step of a location as text."""
    return tuple(step if isinstance(step, str) else short_repr(step) for step in location)


def short_repr(value: Any) -> str:
    """Format a value of any length and type as short text.

    >>> short_repr("x" * 1000)[-3:], short_repr(16**5000)
    ("x…'", 'a very large number')
    """
    if isinstance(value, str):
        return repr(short(value))
    with suppress(ValueError):  # Python formats no integer of more than some thousand digits
        return short(repr(value))
    return "a very large number"


def short(text: str) -> str:
    """Cut a text after some characters."""
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def _in_content(location: Location, content: Any) -> Location:
    """Remove the tags of unions, which pydantic adds, from a location."""
    if not location:
        return ()
    *inner, last = location
    value: Any = content
    path: list[str | int] = []
    for step in inner:
        item = _item(value, step)
        if item is not None:
            value = item
            path.append(step)
    in_block = isinstance(value, dict) and (last in value or last != value.get("kind", "checkpoint"))
    is_key = last != UNTRAINED and (in_block or isinstance(value, str))
    return (*path, last) if is_key or isinstance(last, int) else tuple(path)


def _item(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, (list, tuple)) and isinstance(step, int) and step < len(value):
        return value[step]
    return None


def _keys(location: Location, content: Any, root: Any) -> list[str]:
    value = content
    for step in location:
        value = _item(value, step)
    block = _block(_annotation(location, content, root), value)
    return list(block.model_fields) if block else []


def _annotation(location: Location, content: Any, root: Any) -> Any:
    value, annotation = content, root
    for step in location:
        block = _block(annotation, value)
        if block and step in block.model_fields:
            field: Any = block.model_fields[str(step)]
            annotation = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        else:  # a block with free keys, or a list
            kinds = (list, tuple) if isinstance(step, int) else (dict,)
            parts = [part for part in _alternatives(annotation) if get_origin(part) in kinds]
            annotation = get_args(parts[0])[0 if isinstance(step, int) else -1] if parts else None
        value = _item(value, step)
    return annotation


def _block(annotation: Any, value: Any) -> type[BaseModel] | None:
    """Find the class of a block among those of an annotation, by its ``kind`` or ``baseline`` if there are several."""
    models = _models(annotation)
    block = value if isinstance(value, dict) else {}
    fitting = [model for key in KEYS for model in models if block.get(key) in _kinds(model, key)]
    return next(iter([*fitting, *models]), None)


def _kinds(model: type[BaseModel], key: str) -> tuple[Any, ...]:
    return get_args(model.model_fields[key].annotation) if key in model.model_fields else ()


def _models(annotation: Any) -> list[type[BaseModel]]:
    return [part for part in _alternatives(annotation) if isinstance(part, type) and issubclass(part, BaseModel)]


def _alternatives(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *marks = get_args(annotation)
        by_kind = next((mark for mark in marks if hasattr(mark, "registry")), None)  # settings.ByKind
        yield from by_kind.registry().values() if by_kind else _alternatives(inner)
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _alternatives(part)
    else:
        yield annotation
