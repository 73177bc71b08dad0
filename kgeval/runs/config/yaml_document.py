"""Configuration files as plain data: YAML with environment variables, the line of every value, and overrides.

``read_document`` makes a :class:`Document` of a file. Its ``content`` is not checked; the checks of
:mod:`kgeval.runs.config.load` ask it where a wrong value stands, and the copy of a configuration that a run stores
keeps the variables of the file by their names (``Document.write``).
"""

from __future__ import annotations

import json
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
from kgeval.base.setting_problems import Problem, as_texts, short_repr
from kgeval.base.settings_text import VARIABLE, CountingLoader, QuotedText, escaped, look_up, map_texts, read_yaml
from kgeval.stored.contents import RESULTS
from kgeval.stored.stored_run import StoredRun

Place = tuple[str, ...]
"""the path to a value: its keys and positions, as they are written"""

SERVICES = ("tracker", "executor")
"""blocks for services, where the values of variables may be secret"""

SHORTEST = 3
"""the least length of a value that is replaced in messages; shorter ones occur by chance"""

SHORTEST_CUT = 20
"""the least length of the beginning of a value that is replaced too, as a message may have cut the value"""

UNCLOSED = re.compile(r"(?<!\$)\$\{([A-Za-z_]\w*)[^}]*$")
"""a variable without the brace at its end"""


def read_document(path: Path) -> Document:
    """Read a configuration file; a folder, a missing file or unreadable YAML is refused."""
    refuse_special(path)
    if exists_safely(path) and path.is_dir():
        raise ConfigError(f"no such configuration file {short_repr(str(path))}: it is {_describe_folder(path)}")
    if not exists_safely(path) or not path.is_file():
        raise ConfigError(f"no such configuration file {short_repr(str(path))}. {suggest_paths(path)}".strip())
    try:
        text = read_settings(path)
        content, written = (read_yaml(text, loader) for loader in (ExpandingLoader, WrittenLoader))
        lines, problems = survey(text)
    except FileError:
        raise
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: not readable YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected keys such as dataset, model and evaluation.")
    return Document(str(path), content, lines, problems, written=written, paths=paths_of(content, written))


def _describe_folder(path: Path) -> str:
    run = StoredRun(path)
    if run.is_complete:
        # An evaluation inside PyKEEN does not keep its model.
        again = "" if (run.path / RESULTS).is_file() else f"; 'kgeval run {run.config_file}' runs it again"
        return f"a run directory. 'kgeval summarize {path}' shows its metrics{again}."
    inside = ", ".join(str(file) for file in sorted(path.glob("*.y*ml"))[:8])
    return f"a folder. It contains {inside}." if inside else "a folder without a configuration (.yaml)."


def survey(text: str) -> tuple[dict[Place, str], list[str]]:
    """Return the line of every value, and a problem for every duplicate key."""
    lines: dict[Place, str] = {}
    problems: list[str] = []
    walked: set[int] = set()

    def walk(node: yaml.Node, place: Place) -> None:
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

    if (root := ExpandingLoader(text).get_single_node()) is not None:
        walk(root, ())
    return lines, problems


def _items(node: yaml.Node) -> Iterator[tuple[str, yaml.Mark, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((key.value, key.start_mark, value) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((str(index), value.start_mark, value) for index, value in enumerate(node.value))


@dataclass(frozen=True)
class Document:
    """The content of a configuration, and where each value of it was written."""

    source: str
    content: dict[str, Any]
    lines: dict[Place, str] = field(default_factory=dict)
    """the source of each value: ``config line 3``, or ``--set``"""
    problems: list[str] = field(default_factory=list)
    """messages on keys that the file has twice"""
    origins: Mapping[Place, Place] = field(default_factory=dict)
    """by the place of a block in the content, its place in the file, if that is another"""
    options: Mapping[Place, str] = field(default_factory=dict)
    """the command-line option of each value that has one"""
    written: dict[str, Any] = field(default_factory=dict)
    """the content of the file, with variables as they are written"""
    paths: dict[str, str] = field(default_factory=dict)
    """by path in the content, the same path with the variables as they are written, if it has any"""

    def line(self, problem: Problem) -> str:
        """Return the source of a value with a problem: its line, the line of the block around it, or ``--set``."""
        place = as_texts(problem.location[:-1] if problem.absent else problem.location)
        around = [self.lines[place[:depth]] for depth in range(len(place), 0, -1) if place[:depth] in self.lines]
        overridden = any(line == "--set" and other[: len(place)] == place for other, line in self.lines.items())
        if "--set" in around or (place and place not in self.lines and overridden):
            return "--set"
        return around[0] if around else ""

    def told(self, problems: Iterable[Problem]) -> list[str]:
        """Return the messages of problems, without what may be secret."""
        located = map(self.in_file, problems)
        messages = [problem.format(self.line(problem), self._option(problem)) for problem in located]
        return [*map(self.conceal, messages)]

    def in_file(self, problem: Problem) -> Problem:
        """Locate a problem where its block stands in the file."""
        place = as_texts(problem.location)
        around = innermost(place, self.origins)
        return problem if around is None else replace(problem, location=self.origins[around] + place[len(around) :])

    def refusal(self, problems: Iterable[Problem], of_parts: Sequence[str] = ()) -> ConfigError:
        """Refuse the configuration with all of its problems, each once; ``of_parts`` are messages of its parts."""
        messages = [*dict.fromkeys([*map(self.conceal, self.problems), *self.told(problems), *of_parts])]
        if self.options and len(messages) == 1:
            return ConfigError(messages[0])
        return ConfigError("\n  ".join([f"{self.source}: {counted(len(messages), 'problem')}", *messages]))

    def write(self, content: dict[str, Any]) -> dict[str, Any]:
        """Make a configuration that can be stored: services and existing paths get back their variables."""

        def written(text: str) -> str:
            path = self.paths.get(str(Path(text))) if text else None
            return QuotedText(path) if path and exists_safely(Path(text)) else str(escaped(text))

        services = {name: self.written[name] for name in SERVICES if name in content and name in self.written}
        return dict(map_texts(content, written)) | services

    def fill(self, block: Any, word: str, value: str) -> Any:
        """Replace ``{dataset}`` or ``{seed}`` in all texts of a block."""
        # Where a variable holds the word, its text cannot be filled: such a path is stored as it is.
        alike = {path: text for path, text in self.paths.items() if path.count(word) == text.count(word)}
        self.paths.update({path.replace(word, value): text.replace(word, value) for path, text in alike.items()})
        return map_texts(block, lambda text: text.replace(word, value))

    def write_path(self, path: str) -> str:
        """Write the path of a file, in a folder or alone, with the variables of that folder or file."""
        bases = [base for base in map(str, (Path(path), *Path(path).parents)) if base in self.paths]
        return str(Path(self.paths[bases[0]]) / Path(path).relative_to(bases[0])) if bases else path

    def conceal(self, message: str) -> str:
        """Replace the values of variables in the blocks for services, which may be secret, also where they are cut."""
        for value, text in sorted(self._secrets.items(), key=lambda secret: -len(secret[0])):
            for form in (value, repr(value)[1:-1], value.strip()):
                for part in (form[:end] for end in range(len(form), min(len(form), SHORTEST_CUT) - 1, -1)):
                    message = message.replace(part, text) if len(part) >= SHORTEST else message
        return message

    @property
    def _secrets(self) -> dict[str, str]:
        """By each secret value, what to write instead: values in the blocks for services, and their variables."""
        services = [(self.content.get(name), self.written.get(name)) for name in SERVICES]
        parts = [
            (part, text)
            for pair in services
            for part, text in _parts_of(*pair)
            if part != text and not isinstance(part, bool | None)
        ]
        secrets = {spelled: str(text) for part, text in parts for spelled in (str(part), repr(part))}
        for match in VARIABLE.finditer(json.dumps([text for _, text in services], ensure_ascii=False, default=str)):
            secrets |= {} if match[1] else {os.environ.get(match[2], ""): match[0]}
        return secrets

    @contextmanager
    def concealed(self) -> Iterator[None]:
        try:
            yield
        except (KgevalError, OSError) as error:
            error.args = tuple(self.conceal(part) if isinstance(part, str) else part for part in error.args)
            if isinstance(error, OSError) and isinstance(error.filename, str):
                error.filename = self.conceal(error.filename)
            raise

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
        *parents, last = key.split(".")

        def put(content: dict[str, Any], loader: type[CountingLoader]) -> None:
            place = content
            for depth, name in enumerate(parents, 1):
                block = expand(parents[:depth], place.get(name, {}))
                if not isinstance(block, dict) and content is self.content:
                    raise ConfigError(f"{option}: {'.'.join(parents[:depth])} has no keys.")
                place[name] = dict(block) if isinstance(block, dict) else {}  # a copy: an alias may refer to the block
                place = place[name]
            place[last] = parse_value(value, option, loader)

        put(self.content, ExpandingLoader)
        put(self.written, WrittenLoader)
        self.paths.clear()
        self.paths.update(paths_of(self.content, self.written))
        self.lines[(*parents, last)] = "--set"


def innermost(place: Place, known: Container[Place]) -> Place | None:
    """The longest known beginning of a place: the place itself, or a block around it."""
    return next((place[:depth] for depth in range(len(place), -1, -1) if place[:depth] in known), None)


def paths_of(content: Any, written: Any) -> dict[str, str]:
    """Find the paths with variables in a configuration: {path as it is read: path as it is written}.

    A path that is written in two ways is left out.
    """
    spellings: dict[str, set[str]] = {}
    for part, text in _parts_of(content, written):
        if isinstance(part, str) and "/" in part:
            spellings.setdefault(str(Path(part)), set()).add(text)
    return {path: text for path, (text, *others) in spellings.items() if not others and VARIABLE.search(text)}


def _parts_of(content: Any, written: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each value of a configuration as it is read and as it is written; blocks of different size are skipped."""
    left = [(content, written)]
    while left:  # a loop, as --set can nest blocks as deep as it likes
        blocks = left.pop()
        if not all(isinstance(block, dict | list) for block in blocks):
            yield blocks
        elif len(blocks[0]) == len(blocks[1]):
            left += zip(*(block.values() if isinstance(block, dict) else block for block in blocks), strict=True)


def parse_value(text: str, where: str, loader: type[CountingLoader] = CountingLoader) -> Any:
    """Read a value from the command line as YAML, so that 1 is a number and true a truth value."""
    try:
        return read_yaml(text, loader)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}".replace(" (config line 1)", "")) from error
    except ValueError as error:
        raise ConfigError(f"{where}: the value is not readable YAML.") from error


HIDDEN = re.compile("\ue000([^\ue000\ue001]*)\ue001")
"""a variable between two private characters, as :class:`WrittenLoader` hides it"""


class WrittenLoader(CountingLoader):
    """Reads YAML with variables as they are written.

    Braces have another meaning in YAML inside ``{…}`` and ``[…]``, so variables are hidden from its scanner.
    """

    quoted: type[str] = QuotedText

    def __init__(self, text: str) -> None:
        super().__init__(VARIABLE.sub(lambda match: f"\ue000{match[1]}{match[2]}{match[3] or ''}\ue001", text))

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        hidden, line = node.value, node.start_mark.line + 1
        text = HIDDEN.sub(lambda match: self._value(match[1], line), hidden)
        node.value = text if node.style is None else self.quoted(text)
        if text != hidden and node.style is None:
            node.tag = self.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        return node

    def _value(self, variable: str, line: int) -> str:
        dollars = "$" * variable.startswith("$")
        return f"${dollars}{{{variable.removeprefix('$')}}}"


class ExpandingLoader(WrittenLoader):
    """Reads YAML with the values of variables. A variable expands to a value or a part of a value, never to structure.

    A value without quotes is read as a number or a truth value if it is one after expansion.
    """

    quoted = str

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._unset: dict[str, list[int]] = {}

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

    def _value(self, variable: str, line: int) -> str:
        """Look up ``NAME`` or ``NAME:-default``; the default also replaces an empty variable, as in a shell."""
        value = look_up(variable)
        if value is None:
            self._unset.setdefault(variable, []).append(line)
        return value or ""
