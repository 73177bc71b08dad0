"""Configurations with environment variables: YAML whose values know what they were written with."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from kgeval.errors import ConfigError
from kgeval.files.variables import VARIABLE, look_up
from kgeval.files.yaml_text import CountingLoader

HIDDEN = re.compile("\ue000([^\ue000\ue001]*)\ue001")


@dataclass(frozen=True)
class Expansion:
    """What a value was written with."""

    text: str
    """the value, as text"""
    written: str
    """such as ``${HOME}/data``"""
    values: tuple[tuple[str, str], ...]
    """the value of each variable that is set, and the variable as it was written"""


class Expanded:
    """A value that knows what it was written with."""

    expansion: Expansion
    plain: Any
    """the value alone"""


class _Text(str, Expanded):
    pass


class _Integer(int, Expanded):
    pass


class _Number(float, Expanded):
    pass


KINDS: dict[type, type] = {str: _Text, int: _Integer, float: _Number}


class ExpandingLoader(CountingLoader):
    """Reads YAML with variables, which expand to a value or a part of one, never to structure.

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
        if self._unset:
            raise ConfigError("\n".join(_unset_message(name, lines) for name, lines in self._unset.items()))
        return root

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        """Expand the variables of a value or a key."""
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        hidden, line = node.value, node.start_mark.line + 1
        node.value = HIDDEN.sub(lambda match: self._value(match[1], line), hidden)
        if node.value != hidden and node.style is None:
            node.tag = self.resolve(yaml.ScalarNode, node.value, (True, False))  # type: ignore[no-untyped-call]
        if variables := [name for name in HIDDEN.findall(hidden) if not name.startswith("$")]:
            values = ((os.environ.get(name.partition(":-")[0]), _written(name)) for name in variables)
            written = HIDDEN.sub(lambda match: _written(match[1]), hidden)
            self._expansions[node] = Expansion(
                node.value, written, tuple((value, name) for value, name in values if value)
            )
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002  # PyYAML calls it so
        """Make a value of a node, which knows what it was written with."""
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


def _unset_message(name: str, lines: Sequence[int]) -> str:
    distinct = sorted(set(lines))
    where = f"config line{'s' if len(distinct) > 1 else ''} {', '.join(map(str, distinct))}"
    hint = f"Set it, give ${{{name}:-a default}}, or write $${{{name}}} for the text itself."
    return f"the environment has no variable {name} ({where}). {hint}"
