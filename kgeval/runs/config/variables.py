"""Configurations with environment variables: YAML whose values know what they were written with."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kgeval.errors import ConfigError, KgevalError
from kgeval.files.settings_text import VARIABLE, CountingLoader, QuotedText, escaped, look_up

HIDDEN = re.compile("\ue000([^\ue000\ue001]*)\ue001")


@dataclass(frozen=True)
class Expansion:
    """A value with variables, as it was written."""

    text: str
    written: str
    """for example ``${HOME}/data``"""
    values: tuple[tuple[str, str], ...]
    """the value of each variable that is set, and the variable as it was written"""


class Expanded:
    expansion: Expansion
    plain: Any


KINDS = {kind: type(f"Expanded{kind.__name__}", (kind, Expanded), {}) for kind in (str, int, float)}


class ExpandingLoader(CountingLoader):
    """Reads YAML with variables. A variable expands to a value or a part of a value, never to structure.

    Braces have another meaning in YAML inside ``{…}`` and ``[…]``, so variables are hidden from its scanner. A value
    without quotes is read as a number or a truth value if it is one after expansion.
    """

    def __init__(self, text: str) -> None:
        super().__init__(VARIABLE.sub(lambda match: f"\ue000{match[1]}{match[2]}{match[3] or ''}\ue001", text))
        self._unset: dict[str, list[int]] = {}
        self._expansions: dict[yaml.Node, Expansion] = {}

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
        if variables := [name for name in HIDDEN.findall(hidden) if not name.startswith("$")]:
            values = ((os.environ.get(name.partition(":-")[0]), _written(name)) for name in variables)
            written = HIDDEN.sub(lambda match: _written(match[1]), hidden)
            known = tuple((value, name) for value, name in values if value)
            self._expansions[node] = Expansion(node.value, written, known)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002  # PyYAML calls it so
        value = super().construct_object(node, deep)
        if node in self._expansions and type(value) in KINDS:
            plain, value = value, KINDS[type(value)](value)
            value.plain, value.expansion = plain, self._expansions[node]
        return value

    def _value(self, variable: str, line: int) -> str:
        """Look up ``NAME`` or ``NAME:-default``; the default also replaces an empty variable, as in a shell."""
        value = look_up(variable)
        if value is None:
            self._unset.setdefault(variable, []).append(line)
        return value or ""


def _written(hidden: str) -> str:
    return f"$${{{hidden[1:]}}}" if hidden.startswith("$") else f"${{{hidden}}}"


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
    """The values of a configuration that were written with variables."""

    places: Mapping[Place, Expansion] = field(default_factory=dict)

    @classmethod
    def of(cls, content: Any) -> Variables:
        return cls(dict(_expansions(content, ())))

    def of_model(self, name: str) -> Variables:
        shared = {place: value for place, value in self.places.items() if place[:1] != ("models",)}
        own = {place[2:]: value for place, value in self.places.items() if place[:2] == ("models", name)}
        return Variables(shared | {("model", *place): value for place, value in own.items()})

    def conceal(self, words: Any) -> Any:
        """Replace the values of variables by the variables, in a text or in each text of a block or list."""
        if isinstance(words, dict):
            return type(words)((name, self.conceal(part)) for name, part in words.items())
        if isinstance(words, list | tuple):
            return type(words)(map(self.conceal, words))
        for place, expansion in self.places.items():
            if isinstance(words, str) and _is_hidden(place, expansion.text):
                words = conceal(words, expansion)
        return words

    def conceal_in_name(self, name: str) -> str:
        """Likewise in the name of a dataset, unless the variable is the whole name, which distinguishes results."""
        values = {value for expansion in self.places.values() for value, _ in expansion.values}
        return name if name in values else str(self.conceal(name))

    @contextmanager
    def concealed(self) -> Iterator[None]:
        try:
            yield
        except (KgevalError, OSError) as error:
            error.args = tuple(self.conceal(part) if isinstance(part, str) else part for part in error.args)
            if isinstance(error, OSError) and isinstance(error.filename, str):
                error.filename = self.conceal(error.filename)
            raise

    def as_written(self, content: Any, place: Place = (), *, whole: bool = False) -> Any:
        """Write the variables of a configuration again, and escape texts that only look like variables.

        Unless ``whole``, numbers and known names stay as they are; ``place`` is the place of the content.
        """
        if isinstance(content, dict):
            return {escaped(key): self.as_written(value, (*place, key), whole=whole) for key, value in content.items()}
        if isinstance(content, list | tuple):
            return [self.as_written(value, (*place, str(step)), whole=whole) for step, value in enumerate(content)]
        around = innermost(place, self.places)  # maybe a block, if the configuration has a text that is short for it
        if around is None or not (whole or _is_hidden(place, content)):
            return escaped(content)
        expansion = self.places[around]
        if not isinstance(content, str):
            return expansion.written
        return QuotedText(expansion.written if content == expansion.text else conceal(content, expansion))


def innermost(place: Place, known: Container[Place]) -> Place | None:
    """The longest known beginning of a place: the place itself, or a block around it."""
    return next((place[:depth] for depth in range(len(place), -1, -1) if place[:depth] in known), None)


def plain(content: Any) -> Any:
    """The values without the variables that they were written with."""
    if isinstance(content, dict):
        return {plain(key): plain(value) for key, value in content.items()}
    if isinstance(content, list):
        return [plain(value) for value in content]
    return content.plain if isinstance(content, Expanded) else content


def conceal(text: str, expansion: Expansion) -> str:
    """Replace the values of variables in a text by the variables.

    >>> conceal("no such file 'data/hunter2.csv'", Expansion("hunter2", "${NAME}", (("hunter2", "${NAME}"),)))
    "no such file 'data/${NAME}.csv'"
    """
    if not expansion.values:  # all are defaults, which the configuration shows
        return text
    for value, variable in ((expansion.text, expansion.written), *expansion.values):
        for form in dict.fromkeys((value, value.rstrip("/"), str(Path(value)))):
            if len(form) >= SHORTEST:
                # A word or a number is not replaced inside a longer one.
                edges = r"(?<![^\W_]){}(?![^\W_])" if form.isalpha() or form.isdecimal() else "{}"
                text = variable.join(re.split(edges.format(re.escape(form)), text))
    return text


def _expansions(content: Any, place: Place) -> Iterator[tuple[Place, Expansion]]:
    if isinstance(content, Expanded):
        yield place, content.expansion
    listed = enumerate(content) if isinstance(content, list | tuple) else ()
    for step, value in content.items() if isinstance(content, dict) else listed:
        yield from _expansions(value, (*place, str(step)))


def _is_hidden(place: Place, value: Any) -> bool:
    """Whether a value is stored as it was written: any text except known names, and everything for services."""
    if place[0] in SERVICES:
        return True
    *blocks, key = [step for step in place if not step.isdecimal()]
    is_path = place == ("model",) or blocks == ["models"]
    is_free = any(step == "options" or step.endswith("_kwargs") for step in blocks)
    return isinstance(value, str) and (is_path or is_free or key not in NAMED)
