"""Configuration files as plain data: YAML with the line of every value, and ``--set`` overrides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from kgeval.base.errors import ConfigError, FileError, counted
from kgeval.base.files import exists_safely, read_settings, refuse_special, suggest_paths
from kgeval.base.settings import Problem, as_texts, short_repr
from kgeval.base.settings_text import CountingLoader, read_yaml
from kgeval.ranking.run_directory.stored_run import StoredRun
from kgeval.runs.config.variables import ExpandingLoader, Place, Variables, innermost

UNCLOSED = re.compile(r"(?<!\$)\$\{([A-Za-z_]\w*)[^}]*$")
"""a variable without the brace at its end"""


@dataclass(frozen=True)
class Document:
    source: str
    content: dict[str, Any]
    lines: dict[Place, str] = field(default_factory=dict)
    """the source of each value: ``config line 3``, or ``--set``"""
    problems: list[str] = field(default_factory=list)
    origins: Mapping[Place, Place] = field(default_factory=dict)
    """where blocks stand in the file, if the content has them elsewhere"""
    options: Mapping[Place, str] = field(default_factory=dict)
    """the command-line option of each value that has one"""
    variables: Variables = field(default_factory=Variables)

    def line(self, problem: Problem) -> str:
        """Return the source of a value with a problem: its line, the line of the block around it, or ``--set``."""
        place = as_texts(problem.location[:-1] if problem.absent else problem.location)
        around = [self.lines[place[:depth]] for depth in range(len(place), 0, -1) if place[:depth] in self.lines]
        overridden = any(line == "--set" and other[: len(place)] == place for other, line in self.lines.items())
        if "--set" in around or (place and place not in self.lines and overridden):
            return "--set"
        return around[0] if around else ""

    def told(self, problems: Iterable[Problem]) -> list[str]:
        """Return the messages of problems, without the values of variables."""
        found = map(self.in_file, problems)
        messages = [problem.format(self.line(problem), self._option(problem)) for problem in found]
        return [*self.variables.conceal(messages)]

    def in_file(self, problem: Problem) -> Problem:
        """Locate a problem where its block stands in the file."""
        place = as_texts(problem.location)
        around = innermost(place, self.origins)
        return problem if around is None else replace(problem, location=self.origins[around] + place[len(around) :])

    def refusal(self, problems: Iterable[Problem], told: Sequence[str] = ()) -> ConfigError:
        """Refuse the configuration with all of its problems, each once; ``told`` are messages of its parts."""
        messages = [*dict.fromkeys([*self.variables.conceal(self.problems), *self.told(problems), *told])]
        if self.options and len(messages) == 1:
            return ConfigError(messages[0])
        return ConfigError("\n  ".join([f"{self.source}: {counted(len(messages), 'problem')}", *messages]))

    @property
    def as_written(self) -> dict[str, Any]:
        return dict(self.variables.as_written(self.content))

    def _option(self, problem: Problem) -> str:
        """Return the option of a value with a problem, and the keys inside that value."""
        if self.line(problem) == "--set":
            return ""
        place = as_texts(problem.location)
        if (around := innermost(place, self.options)) is None:
            return ""
        return " ".join([self.options[around], *(step for step in place[len(around) :] if not step.isdecimal())])

    def override(self, assignment: str, expand: Callable[[list[str], Any], Any]) -> None:
        """Set a value by ``KEY=VALUE``, such as ``model.options.norm=1``: a key with dots, a value in YAML.

        ``expand`` returns the block that a value at a place is short for.
        """
        key, equals, value = assignment.partition("=")
        option = f"--set {short_repr(assignment)}"
        if not equals or not key:
            raise ConfigError(f"{option}: expected KEY=VALUE, for example evaluation.corruption.count=100.")
        if unclosed := UNCLOSED.search(value):
            raise ConfigError(f"{option}: the variable is not closed. Write ${{{unclosed[1]}}}.")
        place: Any = self.content
        *parents, last = key.split(".")
        for depth, name in enumerate(parents, 1):
            block = expand(parents[:depth], place.get(name, {}))
            if not isinstance(block, dict):
                raise ConfigError(f"{option}: {'.'.join(parents[:depth])} has no keys.")
            place[name] = dict(block)  # a copy: an alias may refer to the same block
            place = place[name]
        place[last] = parse_value(value, option, ExpandingLoader)
        survey(value, self.variables, (*parents, last))
        self.lines[(*parents, last)] = "--set"


def read_document(path: Path) -> Document:
    refuse_special(path)
    if exists_safely(path) and path.is_dir():
        raise ConfigError(f"no such configuration file {short_repr(str(path))}: it is {_describe_folder(path)}")
    if not exists_safely(path) or not path.is_file():
        raise ConfigError(f"no such configuration file {short_repr(str(path))}. {suggest_paths(path)}".strip())
    try:
        text, variables = read_settings(path), Variables()
        content = read_yaml(text, ExpandingLoader)
        lines, problems = survey(text, variables)
    except FileError:
        raise
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: not readable YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected keys such as dataset, model and evaluation.")
    return Document(str(path), content, lines, problems, variables=variables)


def _describe_folder(path: Path) -> str:
    run = StoredRun(path)
    if run.is_complete:
        again = "" if run.is_of_pykeen else f"; 'kgeval run {run.config_file}' runs it again"
        return f"a run directory. 'kgeval summarize {path}' shows its metrics{again}."
    inside = ", ".join(str(file) for file in sorted(path.glob("*.y*ml"))[:8])
    return f"a folder. It contains {inside}." if inside else "a folder without a configuration (.yaml)."


def parse_value(text: str, where: str, loader: type[CountingLoader] = CountingLoader) -> Any:
    """Read a value from the command line as YAML, so that 1 is a number and true a truth value."""
    try:
        return read_yaml(text, loader)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}".replace(" (config line 1)", "")) from error
    except ValueError as error:
        raise ConfigError(f"{where}: the value is not readable YAML.") from error


def survey(text: str, variables: Variables, at: Place = ()) -> tuple[dict[Place, str], list[str]]:
    """Return the line of every value, and a problem for every duplicate key; add to the variables those in the text."""
    loader = ExpandingLoader(text)
    lines: dict[Place, str] = {}
    problems: list[str] = []
    seen: set[int] = set()

    def walk(node: yaml.Node, place: Place) -> None:
        if isinstance(node, yaml.ScalarNode) and place:
            variables.add(place, loader, node)
        # Each block once: following its aliases too could take exponential time.
        if id(node) in seen:
            return
        seen.add(id(node))
        for key, mark, value in _items(node):
            path, line = (*place, key), f"config line {mark.line + 1}"
            if path in lines:
                first = lines[path].removeprefix("config ")
                problems.append(Problem(path, f"duplicate key, first in {first}", "Keep one of them.").format(line))
            lines[path] = line
            walk(value, path)

    if (root := loader.get_single_node()) is not None:
        walk(root, at)
    return lines, problems


def _items(node: yaml.Node) -> Iterator[tuple[str, yaml.Mark, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((key.value, key.start_mark, value) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((str(index), value.start_mark, value) for index, value in enumerate(node.value))
