"""Configuration files as plain data: YAML with environment variables, the line of every value, and overrides."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from kgeval.base.errors import ConfigError, FileError, KgevalError, counted
from kgeval.base.files import exists_safely, read_settings, refuse_special, suggest_paths
from kgeval.base.settings import Problem, as_texts, short_repr
from kgeval.base.settings_text import VARIABLE, CountingLoader, QuotedText, escaped, look_up, read_yaml
from kgeval.ranking.run_directory.stored_run import StoredRun

HIDDEN = re.compile("\ue000([^\ue000\ue001]*)\ue001")


class ExpandingLoader(CountingLoader):
    """Reads YAML with variables. A variable expands to a value or a part of a value, never to structure.

    Braces have another meaning in YAML inside ``{…}`` and ``[…]``, so variables are hidden from its scanner. A value
    without quotes is read as a number or a truth value if it is one after expansion.
    """

    def __init__(self, text: str) -> None:
        super().__init__(VARIABLE.sub(lambda match: f"\ue000{match[1]}{match[2]}{match[3] or ''}\ue001", text))
        self._unset: dict[str, list[int]] = {}
        self.values: dict[yaml.Node, dict[str, str]] = {}
        """for each scalar, the values of the variables in it that are set, and the variables as they were written"""

    def get_single_node(self) -> yaml.Node | None:
        """Compose the document; refuse variables that are not set, each with all of its lines."""
        root: yaml.Node | None = super().get_single_node()
        messages = []
        for name, lines in self._unset.items():
            distinct = sorted(set(lines))
            where = f"config line{'s' if len(distinct) > 1 else ''} {', '.join(map(str, distinct))}"
            hint = f"Set it, give ${{{name}:-a default}}, or write $${{{name}}} for the text itself."
            messages.append(f"the environment variable {name} is not set ({where}). {hint}")
        if messages:
            raise ConfigError("\n".join(messages))
        return root

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        hidden, line = node.value, node.start_mark.line + 1
        node.value = HIDDEN.sub(lambda match: self._value(match[1], line), hidden)
        if node.value != hidden and node.style is None:
            node.tag = self.resolve(yaml.ScalarNode, node.value, (True, False))  # type: ignore[no-untyped-call]
        variables = ((name, os.environ.get(name.partition(":-")[0])) for name in HIDDEN.findall(hidden))
        self.values[node] = {value: f"${{{name}}}" for name, value in variables if value}
        return node

    def _value(self, variable: str, line: int) -> str:
        """Look up ``NAME`` or ``NAME:-default``; the default also replaces an empty variable, as in a shell."""
        value = look_up(variable)
        if value is None:
            self._unset.setdefault(variable, []).append(line)
        return value or ""


Place = tuple[str, ...]
"""the path to a value: its keys and positions, as they are written"""

SHORTEST = 3
"""the least length of a value that is replaced inside a longer text; shorter ones occur by chance"""

NAMED = {
    *("name", "layout", "kind", "format", "baseline", "protocol", "device", "kernel"),
    *("model", "loss", "regularizer", "optimizer", "lr_scheduler", "training_loop", "negative_sampler", "stopper"),
    *("split", "sides", "filter", "times", "unseen", "nan", "metrics", "ties", "chance", "unit", "intervals", "by"),
    *("calibration", "mapping"),
}
"""keys whose text is a name that kgeval or PyKEEN knows: a run stores it, so that it does not need the variable"""

SERVICES = ("tracker", "executor")
"""blocks for services: numbers may also be secret in them"""


@dataclass(frozen=True)
class Variables:
    """The values of variables that are not shown, and each variable as it was written."""

    hidden: dict[str, str] = field(default_factory=dict)

    def add(self, place: Place, loader: ExpandingLoader, node: yaml.ScalarNode) -> None:
        """Add the variables of a scalar at a place of a configuration, unless its value is stored."""
        values = loader.values[node]
        if _is_hidden(place, loader.construct_object(node)):
            self.hidden.update(values)
        if place[0] in SERVICES and node.value in values:  # maybe a number
            self.hidden[str(loader.construct_object(node))] = values[node.value]

    def conceal(self, words: Any) -> Any:
        """Replace the values of variables by the variables, in a text or in each text of a block or list."""
        if isinstance(words, dict):
            return type(words)((name, self.conceal(part)) for name, part in words.items())
        if isinstance(words, list | tuple):
            return type(words)(map(self.conceal, words))
        for value in sorted(self.hidden, key=len, reverse=True) if isinstance(words, str) else ():
            for form in dict.fromkeys((value, value.rstrip("/"), str(Path(value)), escaped(value))):
                if len(form) >= SHORTEST:
                    # A word or a number is not replaced inside a longer one.
                    edges = r"(?<![^\W_]){}(?![^\W_])" if form.isalpha() or form.isdecimal() else "{}"
                    words = self.hidden[value].join(re.split(edges.format(re.escape(form)), words))
        return words

    def conceal_in_name(self, name: str) -> str:
        """Likewise in the name of a dataset, unless the variable is the whole name, which distinguishes results."""
        return name if name in self.hidden else str(self.conceal(name))

    @contextmanager
    def concealed(self) -> Iterator[None]:
        try:
            yield
        except (KgevalError, OSError) as error:
            error.args = tuple(self.conceal(part) if isinstance(part, str) else part for part in error.args)
            if isinstance(error, OSError) and isinstance(error.filename, str):
                error.filename = self.conceal(error.filename)
            raise

    def as_written(self, content: Any, place: Place = ()) -> Any:
        """Write the variables at a place of a configuration again, and escape texts that only look like variables."""
        if isinstance(content, dict):
            return {escaped(key): self.as_written(value, (*place, key)) for key, value in content.items()}
        if isinstance(content, list | tuple):
            return [self.as_written(value, (*place, str(step))) for step, value in enumerate(content)]
        if not _is_hidden(place, content):
            return escaped(content)
        whole = self.hidden.get(str(content)) if place[0] in SERVICES else None
        written = whole or self.conceal(escaped(content))
        return QuotedText(written) if isinstance(content, str) and written != escaped(content) else written


def innermost(place: Place, known: Container[Place]) -> Place | None:
    """The longest known beginning of a place: the place itself, or a block around it."""
    return next((place[:depth] for depth in range(len(place), -1, -1) if place[:depth] in known), None)


def _is_hidden(place: Place, value: Any) -> bool:
    """Whether a value is stored as it was written: any text except known names, and everything for services."""
    if place[0] in SERVICES:
        return True
    *blocks, key = [step for step in place if not step.isdecimal()] or [""]
    is_path = place == ("model",) or blocks == ["models"]
    is_free = any(step == "options" or step.endswith("_kwargs") for step in blocks)
    return isinstance(value, str) and (is_path or is_free or key not in NAMED)


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
        located = map(self.in_file, problems)
        messages = [problem.format(self.line(problem), self._option(problem)) for problem in located]
        return [*self.variables.conceal(messages)]

    def in_file(self, problem: Problem) -> Problem:
        """Locate a problem where its block stands in the file."""
        place = as_texts(problem.location)
        around = innermost(place, self.origins)
        return problem if around is None else replace(problem, location=self.origins[around] + place[len(around) :])

    def refusal(self, problems: Iterable[Problem], of_parts: Sequence[str] = ()) -> ConfigError:
        """Refuse the configuration with all of its problems, each once; ``of_parts`` are messages of its parts."""
        messages = [*dict.fromkeys([*self.variables.conceal(self.problems), *self.told(problems), *of_parts])]
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
    walked: set[int] = set()

    def walk(node: yaml.Node, place: Place) -> None:
        if isinstance(node, yaml.ScalarNode) and place:
            variables.add(place, loader, node)
        # Each block once: following its aliases too could take exponential time.
        if id(node) in walked:
            return
        walked.add(id(node))
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
