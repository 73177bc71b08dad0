"""Load a configuration: YAML and overrides in, a checked ``RunConfig`` or all of its problems out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from kgeval.corruption import GENERATORS, Corruption, CorruptionGenerator
from kgeval.errors import ConfigError, did_you_mean
from kgeval.paths import is_there, nearby
from kgeval.runs.config import RunConfig

Location = tuple[str | int, ...]


def load_config(path: Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a configuration file, with ``KEY=VALUE`` overrides (dotted keys, YAML values).

    Raises
    ------
    ConfigError
        with all problems at once, each with its path, the line of the file, and the nearest valid name
    """
    if not is_there(path) or not path.is_file():
        raise ConfigError(f"no such configuration file {str(path)!r}. {nearby(path)}".strip())
    try:
        text = path.read_text(encoding="utf-8")
        content = read_yaml(text)
        lines = _lines(yaml.compose(text, yaml.SafeLoader))
    except ValueError as error:
        raise ConfigError(f"{path}: not readable YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping with the keys {', '.join(RunConfig.model_fields)}.")
    for override in overrides:
        lines[_override(content, override)] = "--set"
    return check(content, str(path), lines)


def check(content: dict[str, Any], source: str, lines: dict[Location, str] | None = None) -> RunConfig:
    """Make a configuration of plain data.

    Raises
    ------
    ConfigError
        with all problems at once
    """
    try:
        return RunConfig.model_validate(content)
    except ValidationError as error:
        problems = [_problem(item, content, lines or {}) for item in error.errors()]
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise ConfigError("\n  ".join([f"{source}: {count}", *problems])) from error


def check_corruption(content: dict[str, Any]) -> CorruptionGenerator:
    """Make a corruption generator of plain data.

    Raises
    ------
    ConfigError
        with all problems at once
    """
    try:
        generator: CorruptionGenerator = TypeAdapter(Corruption).validate_python(content)
    except ValidationError as error:
        problems = [_problem(item, content, {}, Corruption) for item in error.errors()]
        raise ConfigError("\n  ".join(["corruption:", *problems])) from error
    return generator


def _lines(root: yaml.Node | None) -> dict[Location, str]:
    """Map the place of every value to the line that it stands in."""
    lines: dict[Location, str] = {}
    seen: set[int] = set()

    def walk(node: yaml.Node | None, place: Location) -> None:
        # An alias stands for a block that was seen already: following them all could multiply without end.
        if id(node) in seen:
            return
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                here: Location = (*place, key.value)
                lines[here] = f"config line {key.start_mark.line + 1}"
                walk(value, here)
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                here = (*place, index)
                lines[here] = f"config line {value.start_mark.line + 1}"
                walk(value, here)

    walk(root, ())
    return lines


def _override(content: dict[str, Any], override: str) -> Location:
    key, equals, value = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {override!r}: expected KEY=VALUE, for example evaluation.corruption.count=100.")
    place: Any = content
    *parents, last = key.split(".")
    for depth, name in enumerate(parents):
        if not isinstance(place, dict) or not isinstance(place.setdefault(name, {}), dict):
            raise ConfigError(f"--set {override!r}: {'.'.join(parents[: depth + 1])} is no block of keys.")
        place = place[name]
    place[last] = parse_value(value, f"--set {override!r}")
    return (*parents, last)


def parse_value(text: str, where: str) -> Any:
    """Read a value from the command line as YAML, so that 1 is a number and true a truth value.

    Raises
    ------
    ConfigError
        if it is no YAML
    """
    try:
        return read_yaml(text)
    except ValueError as error:
        raise ConfigError(f"{where}: the value is not readable YAML.") from error


def read_yaml(text: str) -> Any:
    """Read YAML.

    Raises
    ------
    ValueError
        if it is not readable, for whichever of the library's many reasons
    """
    try:
        return yaml.safe_load(text)
    except Exception as error:
        raise ValueError(str(error)) from error


def _problem(item: Any, content: Any, lines: dict[Location, str], root: Any = RunConfig) -> str:
    """Say one of pydantic's complaints: path, what, line, nearest valid name."""
    location = _in_content(item["loc"], content)
    missing = item["type"] == "missing"
    line = _line(location[:-1] if missing else location, lines)
    message, hint = _said(item, location, content, root)
    where = ".".join(map(str, location)) or "configuration"
    return f"{where}: {message}{f' ({line})' if line else ''}. {hint}".rstrip()


def _line(location: Location, lines: dict[Location, str]) -> str:
    """Tell where a value was said: in its line, or that of the nearest block around it, or by an override."""
    around = [lines[location[:depth]] for depth in range(len(location), 0, -1) if location[:depth] in lines]
    overridden = any(said == "--set" and place[: len(location)] == location for place, said in lines.items())
    if "--set" in around or (location and location not in lines and overridden):
        return "--set"
    return around[0] if around else ""


def _said(item: Any, location: Location, content: Any, root: Any) -> tuple[str, str]:
    given, context = item["input"], item.get("ctx", {})
    if item["type"] == "extra_forbidden":
        return f"unknown key {location[-1]!r}", did_you_mean(str(location[-1]), _keys(location[:-1], content, root))
    if item["type"] == "missing":
        return "missing", ""
    if item["type"] == "literal_error":
        choices = context["expected"].replace(" or ", ", ").replace("'", "").split(", ")
        return f"unknown value {given!r}", did_you_mean(str(given), choices)
    if item["type"].startswith("union_tag"):
        choices = context.get("expected_tags", "").replace("'", "").split(", ")
        kind = context.get("tag")
        said = f"unknown kind {kind!r}" if kind else "the key 'kind' is missing"
        choices = choices if choices[0] else list(GENERATORS)
        return said, did_you_mean(str(kind or ""), choices)
    if item["type"] == "value_error":
        message, _, hint = str(context["error"]).rstrip(".").partition(". ")
        return message, f"{hint}{'' if hint.endswith('?') or not hint else '.'}"
    message = item["msg"].removeprefix("Input should be ")
    return f"expected {message}, found {given!r}", ""


def _in_content(location: Iterable[str | int], content: Any) -> Location:
    """Leave out of a location what pydantic adds for itself: the tags of unions."""
    if not (whole := tuple(location)):
        return ()
    *inner, last = whole
    place: Any = content
    kept: list[str | int] = []
    for step in inner:
        inside = _step(place, step)
        if inside is not None:
            place = inside
            kept.append(step)
    tagged = isinstance(place, dict) and last not in place and last == place.get("kind", "checkpoint")
    return tuple(kept) if tagged else (*kept, last)


def _step(place: Any, step: str | int) -> Any:
    if isinstance(place, dict):
        return place.get(step)
    if isinstance(place, list) and isinstance(step, int) and step < len(place):
        return place[step]
    return None


def _keys(location: Location, content: Any, root: Any) -> list[str]:
    """The valid keys of the block at a location."""
    model: type[BaseModel] = _block(root, content) or RunConfig
    place = content
    for step in location:
        place = _step(place, step)
        if step in model.model_fields:
            model = _block(model.model_fields[str(step)].annotation, place) or model
    return list(model.model_fields)


def _block(annotation: Any, place: Any) -> type[BaseModel] | None:
    """Find the model that describes a block, by its ``kind`` where there are several."""
    found: list[type[BaseModel]] = []
    waiting = [annotation]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, type) and issubclass(part, BaseModel):
            found.append(part)
        waiting += getattr(part, "__args__", ())
    kind = place.get("kind") if isinstance(place, dict) else None
    for model in found:
        if "kind" in model.model_fields and kind in getattr(model.model_fields["kind"].annotation, "__args__", ()):
            return model
    return found[0] if found else None
