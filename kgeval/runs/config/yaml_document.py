"""Configuration files as plain data: YAML with the line of every value, and ``--set`` overrides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kgeval.errors import ConfigError, FileError
from kgeval.files.opening import read_settings, refuse_special
from kgeval.files.yaml_text import read_yaml
from kgeval.paths import exists_safely, suggest_paths
from kgeval.run_directory.contents import CONFIG, is_run
from kgeval.runs.config.environment_variables import ExpandingLoader
from kgeval.settings.messages import Problem, short_repr, spelled

Place = tuple[str, ...]
"""the keys and positions that lead to a value, as they are written"""


@dataclass(frozen=True)
class Document:
    """The content of a configuration, and where it was said."""

    source: str
    content: dict[str, Any]
    lines: dict[Place, str] = field(default_factory=dict)
    """where each value was said: ``config line 3``, or ``--set``"""
    problems: list[str] = field(default_factory=list)
    """what is wrong with it already as YAML"""
    options: Mapping[Place, str] = field(default_factory=dict)
    """of what was said on the command line: the option of each place"""

    def line(self, complaint: Problem) -> str:
        """Tell where what is complained about was said: in its line, in that of the block around it, or by --set."""
        place = spelled(complaint.location[:-1] if complaint.absent else complaint.location)
        around = [self.lines[place[:depth]] for depth in range(len(place), 0, -1) if place[:depth] in self.lines]
        overridden = any(said == "--set" and other[: len(place)] == place for other, said in self.lines.items())
        if "--set" in around or (place and place not in self.lines and overridden):
            return "--set"
        return around[0] if around else ""

    def refusal(self, complaints: list[Problem]) -> ConfigError:
        """Say everything that is wrong in one message."""
        told = [
            *self.problems,
            *(complaint.format(self.line(complaint), self._option(complaint)) for complaint in complaints),
        ]
        if self.options and len(told) == 1:
            return ConfigError(told[0])
        count = "1 problem" if len(told) == 1 else f"{len(told)} problems"
        return ConfigError("\n  ".join([f"{self.source}: {count}", *told]))

    def _option(self, complaint: Problem) -> str:
        """Name the option of what is complained about, and the key inside its value."""
        if self.line(complaint) == "--set":
            return ""
        place = spelled(complaint.location)
        for depth in range(len(place), -1, -1):
            if place[:depth] in self.options:
                inside = [step for step in place[depth:] if not step.isdecimal()]
                return " ".join([self.options[place[:depth]], *inside])
        return ""

    def override(self, assignment: str, expand: Callable[[list[str], Any], Any]) -> None:
        """Set a value by ``KEY=VALUE``: a key with dots, a value in YAML.

        Parameters
        ----------
        assignment
            such as ``model.options.norm=1``
        expand
            (place, value) -> the block that a value stands for, where it is no block itself

        Raises
        ------
        ConfigError
            if it is no such thing, or leads through what is no block of keys
        """
        key, equals, value = assignment.partition("=")
        said = f"--set {short_repr(assignment)}"
        if not equals or not key:
            raise ConfigError(f"{said}: expected KEY=VALUE, for example evaluation.corruption.count=100.")
        place: Any = self.content
        *parents, last = key.split(".")
        for depth, name in enumerate(parents, 1):
            block = expand(parents[:depth], place.get(name, {}))
            if not isinstance(block, dict):
                raise ConfigError(f"{said}: {'.'.join(parents[:depth])} is no block of keys.")
            place[name] = dict(block)  # a copy, for other places may refer to the same block
            place = place[name]
        place[last] = parse_value(value, said)
        self.lines[(*parents, last)] = "--set"


def read_document(path: Path) -> Document:
    """Read a configuration file.

    Raises
    ------
    ConfigError
        if it is not there, no readable YAML, or no mapping
    """
    refuse_special(path)
    if exists_safely(path) and path.is_dir():
        raise ConfigError(f"no such configuration file {short_repr(str(path))}: it is {_folder(path)}")
    if not exists_safely(path) or not path.is_file():
        raise ConfigError(f"no such configuration file {short_repr(str(path))}. {suggest_paths(path)}".strip())
    try:
        text = read_settings(path)
        content = read_yaml(text, ExpandingLoader)
        lines, problems = _survey(yaml.compose(text, ExpandingLoader))
    except FileError:
        raise
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: not readable YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping, with keys such as dataset, model and evaluation.")
    return Document(str(path), content, lines, problems)


def _folder(path: Path) -> str:
    """Tell what a folder is that was taken for a configuration."""
    if is_run(path):
        return f"the folder of a run. 'kgeval summarize {path}' reads it; 'kgeval run {path / CONFIG}' runs it again."
    inside = ", ".join(str(file) for file in sorted(path.glob("*.y*ml"))[:8])
    return f"a folder. It holds {inside}." if inside else "a folder without a configuration (.yaml) in it."


def parse_value(text: str, where: str) -> Any:
    """Read a value from the command line as YAML, so that 1 is a number and true a truth value.

    Raises
    ------
    ConfigError
        if it is no YAML
    """
    try:
        return read_yaml(text, ExpandingLoader)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}".replace(" (config line 1)", "")) from error
    except ValueError as error:
        raise ConfigError(f"{where}: the value is not readable YAML.") from error


def _survey(root: yaml.Node | None) -> tuple[dict[Place, str], list[str]]:
    """Map the place of every value to the line that it stands in; find the keys that are said twice."""
    lines: dict[Place, str] = {}
    problems: list[str] = []
    seen: set[int] = set()

    def walk(node: yaml.Node, place: Place) -> None:
        # An alias stands for a block that was seen already: following them all could multiply without end.
        if id(node) in seen:
            return
        seen.add(id(node))
        for key, mark, value in _items(node):
            here, line = (*place, key), f"config line {mark.line + 1}"
            if here in lines:
                before = lines[here].removeprefix("config ")
                problems.append(Problem(here, f"said twice, before in {before}", "Keep one of them.").format(line))
            lines[here] = line
            walk(value, here)

    if root is not None:
        walk(root, ())
    return lines, problems


def _items(node: yaml.Node) -> Iterator[tuple[str, yaml.Mark, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((key.value, key.start_mark, value) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((str(index), value.start_mark, value) for index, value in enumerate(node.value))
